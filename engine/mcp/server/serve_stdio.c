/* SPDX-License-Identifier: MIT */
/*
 * The server on standard input and output: one message a line, both eras on one stream. The thread
 * that called reads and takes messages; the writer thread writes, so no other waits for a client that
 * reads slowly, and one that does not read for 30 seconds, or is gone, ends the server.
 *
 * At the end of input what was asked may still be answered for a moment, for a client that only
 * closed its end; a client that is gone has closed both, and then everything is cancelled at once.
 */
#include "mcp/server/server_inner.h"

#include "bounds.h"
#include "clock.h"
#include "err.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

/* For answers behind the end of input. A client that has gone, or sends SIGTERM, ends the wait. */
#define GRACE_MS 4000
#define GRACE_LOOK_MS 10

/* A reader that takes nothing for so long is none. */
#define READER_MS (SERVE_READER_S * 1000)
/* A pipe that can be written to takes so much without waiting. */
#define PIECE 4096

struct stdio_server {
	struct serve *serve;
	struct serve_reply *reply; /* what is written; NULL: it was never opened */
	struct mcp_lines lines;
	struct serve_heard heard;
	int in, out, signals;
	int broke; /* an eventfd: nothing can be written any more */
	pthread_t writer;
};

/* ---- the writer ---- */

/* A piece of it, without waiting; -1: nothing can be written any more. */
static ssize_t write_piece(int fd, const char *ptr, size_t len)
{
	ssize_t n = send(fd, ptr, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	struct pollfd ready = { fd, POLLOUT, 0 };

	if (n >= 0 || (errno != ENOTSOCK && errno != EAGAIN))
		return n;
	if (errno == ENOTSOCK && poll(&ready, 1, 0) == 1 && ready.revents & POLLOUT)
		return write(fd, ptr, MIN_OF(len, PIECE));
	if (poll(&ready, 1, READER_MS) <= 0)
		return -1;
	return ready.revents & POLLOUT ? 0 : -1;
}

static bool write_line(int fd, const struct serve_part *line)
{
	for (size_t at = 0; at < line->len;) {
		ssize_t n = write_piece(fd, line->text + at, line->len - at);

		if (n < 0 && errno != EINTR)
			return false;
		at += n > 0 ? (size_t)n : 0;
	}
	return true;
}

static void *writer_main(void *arg)
{
	struct stdio_server *server = arg;
	enum serve_wait got = SERVE_PART;
	sigset_t pipe;

	/* A reader that is gone is EPIPE, not the end of this process. */
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, NULL);
	while (got == SERVE_PART) {
		struct serve_part *line = NULL;

		got = serve_reply_wait(server->reply, -1, -1, &line);
		if (line && !write_line(server->out, line))
			got = SERVE_GONE;
		serve_part_free(line);
	}
	if (got == SERVE_GONE)
		(void)!eventfd_write(server->broke, 1);
	return NULL;
}

/* ---- messages ---- */

static void stdio_take(struct stdio_server *server, struct rye_span line)
{
	auto_json json_t *error = NULL;

	if (line.len)
		serve_hear(server->serve, server->reply, line, &server->heard, &error);
	if (error)
		serve_reply_put(server->reply, error, true);
}

/* False: the end of input, or more than a message may be. */
static bool stdio_read(struct stdio_server *server)
{
	auto_json json_t *error = NULL;
	struct rye_span line;
	char part[65536];
	ssize_t n = read(server->in, part, sizeof(part));

	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	mcp_lines_add(&server->lines, n ? (struct rye_span){ part, (size_t)n } : SPAN("\n"));
	while (mcp_lines_next(&server->lines, &line))
		stdio_take(server, line);
	if (!server->lines.too_big)
		return n > 0;
	error = mcp_error(NULL, MCP_NO_REQUEST, SERVE_TOO_BIG, NULL);
	serve_reply_put(server->reply, error, true);
	return false;
}

/* Has the client closed its end of our output? */
static bool reader_gone(const struct stdio_server *server)
{
	struct pollfd out = { server->out, 0, 0 };

	return poll(&out, 1, 0) == 1 && out.revents & (POLLERR | POLLHUP | POLLNVAL);
}

/* False: time is over, and requests are without an answer. */
static bool finish_answers(struct stdio_server *server)
{
	int64_t end = clock_ms() + GRACE_MS;
	struct pollfd signals = { server->signals, POLLIN, 0 };

	while (clock_ms() < end && !reader_gone(server) &&
	       (serve_open_count(server->serve) || !serve_reply_done(server->reply)))
		if (poll(&signals, 1, GRACE_LOOK_MS) > 0)
			return true;
	return reader_gone(server) || !serve_open_count(server->serve);
}

static int stdio_run(struct stdio_server *server, struct rye_err *err)
{
	struct pollfd fds[] = { { server->in, POLLIN, 0 },
				{ server->signals, POLLIN, 0 },
				{ server->broke, POLLIN, 0 } };

	for (;;) {
		if (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno != EINTR)
			return rye_fail_sys(err, errno, "cannot wait for messages");
		if (fds[1].revents || fds[2].revents)
			return 0;
		if (!fds[0].revents || stdio_read(server))
			continue;
		if (finish_answers(server))
			return 0;
		return rye_fail(
			err, RYE_TIMEOUT,
			"the input has ended; calls that went on %d s later were ended without "
			"an answer: leave the input open until the answers are there",
			GRACE_MS / 1000);
	}
}

static int stdio_open(struct stdio_server *server, struct rye_err *err)
{
	sigset_t set;

	serve_signals(&set);
	server->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	/* Only messages belong there: what anything else prints goes to standard error. */
	server->out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (server->signals < 0 || server->out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return rye_fail_sys(err, errno, "cannot use standard output");
	server->broke = eventfd(0, EFD_CLOEXEC);
	server->reply = serve_reply_new(SERVE_LINES);
	if (server->broke >= 0 && server->reply &&
	    !pthread_create(&server->writer, NULL, writer_main, server))
		return 0;
	if (server->reply)
		serve_reply_unref(steal(&server->reply));
	return rye_fail(err, RYE_IO, "out of memory for the server");
}

int serve_stdio(struct rye *rye, const struct serve_options *opt, struct rye_err *err)
{
	struct stdio_server server = { .in = STDIN_FILENO, .out = -1, .signals = -1, .broke = -1 };
	int r = stdio_open(&server, err);
	auto_close int out = server.out, signals = server.signals, broke = server.broke;

	if (r)
		rye_close(rye);
	else
		server.serve = serve_new(rye, opt, true);
	if (!r && !server.serve)
		r = rye_fail(err, RYE_IO, "out of memory for the server");
	if (server.serve) {
		r = stdio_run(&server, err);
		serve_end(server.serve);
		serve_free(server.serve);
	}
	if (server.reply) {
		/* what is left is written, within its limit of time */
		serve_reply_end(server.reply);
		pthread_join(server.writer, NULL);
		serve_reply_unref(server.reply);
	}
	mcp_lines_done(&server.lines);
	return r;
}
