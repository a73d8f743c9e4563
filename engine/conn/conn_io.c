/* SPDX-License-Identifier: MIT */
/*
 * Bytes of a connection: reading and writing without ever being stuck in one of them, on threads that
 * may wait. To write and to read are turns, told by two flags under `lock`; no lock is held while
 * anything is read, written or waited for.
 */
#include "conn/conn_inner.h"

#include "clock.h"
#include "memory.h"
#include "str.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* The other end takes nothing for so long: it hangs, or the line is cut and nothing tells. */
#define STALL_MS 60000
/* What its program says at the end may come a moment behind the end of its output. */
#define LAST_WORDS_MS 300
/* Of what it says: the last line is told, and a line is short. */
#define SAID_MAX 4096
/* Frames that may wait while a thread sends: answers, which are short, to what it has sent before. */
#define KEPT_MAX 64

/* ---- what its program says ---- */

static void said_cut(struct rye_buf *said)
{
	size_t over = said->len > SAID_MAX ? said->len - SAID_MAX : 0;

	if (!over)
		return;
	memmove(said->data, said->data + over, SAID_MAX);
	buf_cut(said, SAID_MAX);
}

/* With the reading turn. False: that was all. */
static bool hear(struct conn *conn)
{
	char part[1024];
	ssize_t n = read(conn->ends.said, part, sizeof(part));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n <= 0) {
		close(steal_fd(&conn->ends.said));
		return false;
	}
	buf_add(&conn->said, part, (size_t)n);
	said_cut(&conn->said);
	return true;
}

static void last_words(struct conn *conn)
{
	int64_t end = clock_ms() + LAST_WORDS_MS;

	while (conn->ends.said >= 0 && clock_ms() < end) {
		struct pollfd at = { conn->ends.said, POLLIN, 0 };

		if (poll(&at, 1, LAST_WORDS_MS) > 0)
			hear(conn);
	}
}

/* The last line that has something in it, as text of one line; "" there is none. */
static void said_last(const struct rye_buf *said, char *ret, size_t size)
{
	struct rye_span all = buf_span(said), line, last = { "", 0 };
	struct rye_err text = { 0 };

	while (span_line(&all, &line))
		if (span_trim(line).len)
			last = span_trim(line);
	snprintf(text.msg, sizeof(text.msg), "%.*s", (int)MIN_OF(last.len, (size_t)400), last.ptr);
	utf8_mend(text.msg);
	rye_err_line(&text, ret, size);
}

/* With the reading turn, or where no thread reads any more. */
static int gone(struct conn *conn, struct rye_err *err)
{
	char line[512];

	if (!conn->ends.child.pid)
		return rye_fail(err, RYE_UNREACHABLE, "the other end has closed the connection");
	last_words(conn);
	said_last(&conn->said, line, sizeof(line));
	if (!*line)
		return rye_fail(err, RYE_UNREACHABLE, "%s has ended without a word",
				conn->ends.name);
	return rye_fail(err, RYE_UNREACHABLE, "%s said: %s", conn->ends.name, line);
}

/* ---- turns ---- */

bool conn_turn_read(struct conn *conn, bool wait, int64_t until)
{
	GUARD(&conn->lock);

	while (conn->reading && wait && !conn->n_kept && !conn->stopped) {
		if (!until)
			pthread_cond_wait(&conn->turn, &conn->lock);
		else if (clock_cond_wait(&conn->turn, &conn->lock, until * NS_PER_MS))
			return false;
	}
	if (conn->reading)
		return false;
	conn->reading = true;
	return true;
}

void conn_turn_read_end(struct conn *conn)
{
	GUARD(&conn->lock);

	conn->reading = false;
	pthread_cond_broadcast(&conn->turn);
}

static void turn_write(struct conn *conn)
{
	GUARD(&conn->lock);

	while (conn->writing)
		pthread_cond_wait(&conn->turn, &conn->lock);
	conn->writing = true;
}

static void turn_write_end(struct conn *conn)
{
	GUARD(&conn->lock);

	conn->writing = false;
	pthread_cond_broadcast(&conn->turn);
}

static bool is_stopped(struct conn *conn)
{
	GUARD(&conn->lock);

	return conn->stopped;
}

static int conn_refuse_stopped(struct rye_err *err)
{
	return rye_fail(err, RYE_CANCELLED, "the connection was ended here");
}

/* ---- reading ---- */

/* Returns how long a body may be. */
static uint32_t note_received(struct conn *conn, size_t n)
{
	GUARD(&conn->lock);

	conn->counts.received += n;
	return conn->most;
}

/* What is there, without waiting. 1: a frame; 0: no more for now; or -code. */
static int read_step(struct conn *conn, struct conn_frame *ret, struct rye_err *err)
{
	for (;;) {
		size_t len;
		char *place = frame_reader_place(&conn->reader, &len);
		ssize_t n = read(conn->ends.in, place, len);
		int r;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n <= 0)
			return gone(conn, err);
		conn->reader.most = note_received(conn, (size_t)n);
		r = frame_reader_fed(&conn->reader, (size_t)n, ret, err);
		if (r)
			return r;
	}
}

enum conn_slot { SLOT_IN, SLOT_OUT, SLOT_WAKE, SLOT_SAID, SLOT_ALSO, SLOT_MANY };

/*
 * Until one of those is ready: 1; the time is over: 0. want: bits of SLOT_IN, SLOT_OUT. at[SLOT_ALSO].fd
 * is the caller's: another descriptor, or -1.
 */
static int wait_for(struct conn *conn, unsigned want, int64_t until, struct pollfd at[SLOT_MANY])
{
	bool in = want & 1u << SLOT_IN;
	int64_t left = until ? until - clock_ms() : 1000;

	at[SLOT_IN] = (struct pollfd){ in ? conn->ends.in : -1, POLLIN, 0 };
	at[SLOT_OUT] = (struct pollfd){ want & 1u << SLOT_OUT ? conn->ends.out : -1, POLLOUT, 0 };
	at[SLOT_WAKE] = (struct pollfd){ conn->wake, POLLIN, 0 };
	at[SLOT_SAID] = (struct pollfd){ in ? conn->ends.said : -1, POLLIN, 0 };
	at[SLOT_ALSO] = (struct pollfd){ at[SLOT_ALSO].fd, POLLIN, 0 };
	if (left <= 0)
		return 0;
	if (poll(at, SLOT_MANY, (int)MIN_OF(left, (int64_t)60000)) < 0)
		for (int i = 0; i < SLOT_MANY; i++)
			at[i].revents = 0;
	if (at[SLOT_SAID].revents)
		hear(conn);
	return 1;
}

int conn_read(struct conn *conn, const struct conn_until *until, struct conn_frame *ret,
	      struct rye_err *err)
{
	struct pollfd at[SLOT_MANY] = { [SLOT_ALSO] = { .fd = until->also } };
	int r = 0;

	while (!(r = read_step(conn, ret, err))) {
		if (is_stopped(conn))
			return conn_refuse_stopped(err);
		if (!wait_for(conn, 1u << SLOT_IN, until->ms, at))
			return rye_fail(err, RYE_TIMEOUT, "nothing was heard in time");
		if (at[SLOT_ALSO].revents)
			return rye_fail(err, RYE_INTERRUPTED, "there is something else to do");
	}
	return r < 0 ? r : 0;
}

/* ---- writing ---- */

static ssize_t write_some(struct conn *conn, struct iovec *at, int n)
{
	struct msghdr msg = { .msg_iov = at, .msg_iovlen = (size_t)n };

	if (conn->out_socket)
		return sendmsg(conn->ends.out, &msg, MSG_NOSIGNAL);
	return writev(conn->ends.out, at, n);
}

/* n bytes of them are out. */
static void iovec_skip(struct iovec at[2], size_t n)
{
	for (int i = 0; i < 2; i++) {
		size_t of = MIN_OF(n, at[i].iov_len);

		at[i].iov_base = (char *)at[i].iov_base + of;
		at[i].iov_len -= of;
		n -= of;
	}
}

/* With the reading turn: a frame that has come while we send waits for its reader. */
static int keep_frame(struct conn *conn, struct rye_err *err)
{
	auto_frame struct conn_frame frame = { 0 };
	int r = read_step(conn, &frame, err);
	struct conn_frame *more;

	if (r <= 0)
		return r;
	GUARD(&conn->lock);
	more = realloc(conn->kept, (conn->n_kept + 1) * sizeof(*more));
	if (!more)
		return memory_fail(err);
	conn->kept = more;
	more[conn->n_kept++] = frame;
	frame = (struct conn_frame){ 0 };
	pthread_cond_broadcast(&conn->turn);
	return 0;
}

static bool has_room(struct conn *conn)
{
	GUARD(&conn->lock);

	return conn->n_kept < KEPT_MAX;
}

/* Until it takes more. What comes meanwhile is read, unless a thread does that. */
static int wait_writable(struct conn *conn, int64_t until, struct rye_err *err)
{
	bool reads = has_room(conn) && conn_turn_read(conn, false, 0);
	unsigned want = 1u << SLOT_OUT | (reads ? 1u << SLOT_IN : 0);
	struct pollfd at[SLOT_MANY] = { [SLOT_ALSO] = { .fd = -1 } };
	int r = wait_for(conn, want, until, at);

	if (!r)
		r = rye_fail(err, RYE_UNREACHABLE, "the other end takes nothing any more");
	else if (is_stopped(conn))
		r = conn_refuse_stopped(err);
	else
		r = reads && at[SLOT_IN].revents ? keep_frame(conn, err) : 0;
	if (reads)
		conn_turn_read_end(conn);
	return r;
}

/* The other end takes no more: what it said last says why. */
static int write_failed(struct conn *conn, int sys, struct rye_err *err)
{
	bool reads = conn_turn_read(conn, false, 0);
	int r = reads ? gone(conn, err) :
			rye_fail(err, RYE_UNREACHABLE, "the other end takes no more");

	(void)sys;
	if (reads)
		conn_turn_read_end(conn);
	return r;
}

static void note_sent(struct conn *conn, size_t n)
{
	GUARD(&conn->lock);

	conn->counts.sent += n;
}

static int write_all(struct conn *conn, struct iovec at[2], struct rye_err *err)
{
	int64_t until = clock_ms() + STALL_MS;

	while (at[0].iov_len + at[1].iov_len) {
		ssize_t n = write_some(conn, at, 2);
		int r = 0;

		if (n > 0) {
			iovec_skip(at, (size_t)n);
			until = clock_ms() + STALL_MS;
			note_sent(conn, (size_t)n);
		} else if (errno == EAGAIN) {
			r = wait_writable(conn, until, err);
		} else if (errno != EINTR) {
			r = write_failed(conn, errno, err);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

int conn_write(struct conn *conn, const unsigned char head[FRAME_HEAD], struct rye_span body,
	       struct rye_err *err)
{
	struct iovec at[2] = { { (void *)head, FRAME_HEAD }, { (void *)body.ptr, body.len } };
	int r;

	if (is_stopped(conn))
		return conn_refuse_stopped(err);
	turn_write(conn);
	r = write_all(conn, at, err);
	turn_write_end(conn);
	return r;
}
