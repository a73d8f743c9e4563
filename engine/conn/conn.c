/* SPDX-License-Identifier: MIT */
/*
 * One connection from its opening to its end: frames in and out over conn_io.c, and the shape of a
 * question with its answer. On threads that may wait.
 */
#include "conn/conn_inner.h"

#include "clock.h"
#include "memory.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

static bool is_socket(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
}

static int make_ready(int fd, struct rye_err *err)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return rye_fail_sys(err, errno, "a connection cannot use descriptor %d", fd);
	return 0;
}

/* Takes the ends over, on failure too. */
static int conn_new(struct ends *ends, struct conn **ret, struct rye_err *err)
{
	struct conn *conn = memory_note(calloc(1, sizeof(*conn)));
	int r = 0;

	if (!conn) {
		ends_close(ends);
		return memory_fail(err);
	}
	conn->ends = *ends;
	conn->most = FRAME_MAX;
	conn->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	conn->in_socket = is_socket(ends->in);
	conn->out_socket = is_socket(ends->out);
	pthread_mutex_init(&conn->lock, NULL);
	clock_cond_init(&conn->turn);
	if (conn->wake < 0)
		r = rye_fail_sys(err, errno, "a connection has no event to be woken by");
	if (!r)
		r = make_ready(ends->in, err);
	if (!r)
		r = make_ready(ends->out, err);
	if (!r && ends->said >= 0)
		r = make_ready(ends->said, err);
	if (r < 0)
		conn_close(conn);
	else
		*ret = conn;
	return r;
}

int conn_check(const char *url, struct rye_err *err)
{
	const char *rest;
	const struct transport *row = transport_find(url, &rest, err);

	return row ? row->check(rest, err) : -(int)RYE_INVALID;
}

int conn_open(const char *url, struct conn **ret, struct rye_err *err)
{
	struct ends ends = { .in = -1, .out = -1, .said = -1 };
	const char *rest;
	const struct transport *row = transport_find(url, &rest, err);
	int r = row ? row->check(rest, err) : -(int)RYE_INVALID;

	if (!r)
		r = row->open(rest, &ends, err);
	return r < 0 ? r : conn_new(&ends, ret, err);
}

int conn_over(int in, int out, struct conn **ret, struct rye_err *err)
{
	struct ends ends = { .in = in, .out = out, .said = -1 };

	return conn_new(&ends, ret, err);
}

void conn_close(struct conn *conn)
{
	if (!conn)
		return;
	ends_close(&conn->ends);
	for (size_t i = 0; i < conn->n_kept; i++)
		frame_done(&conn->kept[i]);
	free(conn->kept);
	frame_reader_done(&conn->reader);
	buf_done(&conn->said);
	if (conn->wake >= 0)
		close(conn->wake);
	pthread_cond_destroy(&conn->turn);
	pthread_mutex_destroy(&conn->lock);
	free(conn);
}

void conn_stop(struct conn *conn)
{
	{
		GUARD(&conn->lock);
		conn->stopped = true;
		pthread_cond_broadcast(&conn->turn);
	}
	(void)!eventfd_write(conn->wake, 1);
}

void conn_limit(struct conn *conn, uint32_t most)
{
	GUARD(&conn->lock);

	conn->most = most;
}

void conn_counts(struct conn *conn, struct conn_counts *ret)
{
	GUARD(&conn->lock);

	*ret = conn->counts;
}

uint32_t conn_stream(struct conn *conn)
{
	GUARD(&conn->lock);

	return ++conn->stream;
}

/* ---- sending ---- */

int conn_send(struct conn *conn, enum frame_type type, uint32_t stream, struct rye_span body,
	      struct rye_err *err)
{
	unsigned char head[FRAME_HEAD];

	if (body.len > FRAME_MAX)
		return rye_fail(err, RYE_TOO_BIG, "%zu bytes are more than a frame's %u", body.len,
				FRAME_MAX);
	frame_head(head, type, stream, body.len);
	return conn_write(conn, head, body, err);
}

int conn_send_json(struct conn *conn, enum frame_type type, uint32_t stream, const json_t *body,
		   struct rye_err *err)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	json_put(&text, body, false);
	if (text.failed)
		return memory_fail(err);
	return conn_send(conn, type, stream, buf_span(&text), err);
}

int conn_send_fault(struct conn *conn, uint32_t stream, const struct rye_err *why)
{
	auto_json json_t *body = frame_fault(why);

	return body ? conn_send_json(conn, FRAME_ERR, stream, body, NULL) : -(int)RYE_IO;
}

/* ---- receiving ---- */

/* One that came while a thread sent. */
static bool take_kept(struct conn *conn, struct conn_frame *ret)
{
	GUARD(&conn->lock);

	if (!conn->n_kept)
		return false;
	*ret = conn->kept[0];
	memmove(conn->kept, conn->kept + 1, --conn->n_kept * sizeof(*conn->kept));
	return true;
}

int conn_recv(struct conn *conn, int64_t until, struct conn_frame *ret, struct rye_err *err)
{
	return conn_recv_also(conn, &(struct conn_until){ until, -1 }, ret, err);
}

int conn_recv_also(struct conn *conn, const struct conn_until *until, struct conn_frame *ret,
		   struct rye_err *err)
{
	int r;

	for (;;) {
		if (take_kept(conn, ret))
			return 0;
		if (conn_turn_read(conn, true, until->ms))
			break;
		if (until->ms && clock_ms() >= until->ms)
			return rye_fail(err, RYE_TIMEOUT, "nothing was heard in time");
	}
	/* a sender may have kept one and given its turn back meanwhile */
	r = take_kept(conn, ret) ? 0 : conn_read(conn, until, ret, err);
	conn_turn_read_end(conn);
	return r;
}

/* The next frame of the answer. 1: it is over. */
static int answer_step(struct conn *conn, const struct conn_ask *ask, uint32_t stream, json_t **ret,
		       struct rye_err *err)
{
	auto_frame struct conn_frame frame = { 0 };
	int r = conn_recv(conn, ask->until, &frame, err);

	/* also while there is always something to read */
	if (!r && ask->until && clock_ms() >= ask->until)
		r = rye_fail(err, RYE_TIMEOUT, "the answer has not ended in time");
	if (r < 0)
		return r;
	if (frame.type == FRAME_ERR && (!frame.stream || frame.stream == stream))
		return frame_fault_read(&frame, err);
	if (frame.stream != stream)
		return 0;
	if (frame.type == FRAME_DATA)
		return ask->data ? ask->data(ask->arg, frame_span(&frame), err) : 0;
	if (frame.type != FRAME_REPLY)
		return rye_fail(err, RYE_IO, "the answer has a frame of type %d, which is none",
				(int)frame.type);
	*ret = frame_json(&frame, err);
	return *ret ? 1 : -(int)err->code;
}

int conn_answer(struct conn *conn, const struct conn_ask *ask, uint32_t stream, json_t **ret,
		struct rye_err *err)
{
	struct rye_err own = { 0 };
	int r = 0;

	err = err ? err : &own;
	while (!r)
		r = answer_step(conn, ask, stream, ret, err);
	return r < 0 ? r : 0;
}

int conn_ask(struct conn *conn, const struct conn_ask *ask, json_t **ret, struct rye_err *err)
{
	uint32_t stream = conn_stream(conn);
	int r = conn_send_json(conn, ask->type, stream, ask->body, err);

	return r < 0 ? r : conn_answer(conn, ask, stream, ret, err);
}
