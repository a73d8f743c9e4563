/* SPDX-License-Identifier: MIT */
/*
 * The server on standard input and output: one message a line, both eras on one stream. The thread
 * that called reads and takes messages; the outbox's thread writes.
 *
 * At the end of input what was asked may still be answered for a moment, for a client that only
 * closed its end; a client that is gone has closed both, and then everything is cancelled at once.
 */
#include "serve/serve_inner.h"

#include "bounds.h"
#include "clock.h"
#include "err.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>

/* For answers behind the end of input. A client that has gone, or sends SIGTERM, ends the wait. */
#define GRACE_MS 4000
#define GRACE_LOOK_MS 10

struct stdio_server {
	struct serve *serve;
	struct serve_outbox *outbox;
	struct mcp_lines lines;
	bool opened; /* `initialize` was heard */
	int in, out, signals;
};

static void stdio_error(struct stdio_server *server, const struct mcp_message *message,
			struct serve_fault *fault)
{
	auto_json json_t *error = serve_error(message->id, fault);

	server->outbox->sink.put(&server->outbox->sink, error, true);
}

static void stdio_take(struct stdio_server *server, struct rye_span line)
{
	const struct serve_heard heard = { .opened = server->opened };
	struct serve_fault fault = { 0 };
	struct mcp_message message;

	if (!line.len)
		return;
	if (mcp_read(line, &message) == MCP_JUNK) {
		serve_junk(&message, &fault);
		stdio_error(server, &message, &fault);
	} else {
		server->opened |= serve_initialize_is(&message);
		if (!serve_take(server->serve, &server->outbox->sink, &message, &heard, &fault) &&
		    message.kind == MCP_REQUEST)
			stdio_error(server, &message, &fault);
	}
	json_decref(fault.data);
	mcp_message_done(&message);
}

/* False: the end of input, or more than a message may be. */
static bool stdio_read(struct stdio_server *server)
{
	const struct mcp_message none = { .kind = MCP_JUNK };
	struct serve_fault fault;
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
	serve_fail(&fault, MCP_NO_REQUEST, "a message has at most %u bytes", RYE_MCP_MESSAGE_MAX);
	stdio_error(server, &none, &fault);
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
	       (serve_open_count(server->serve) || !serve_outbox_empty(server->outbox)))
		if (poll(&signals, 1, GRACE_LOOK_MS) > 0)
			return true;
	return reader_gone(server) || !serve_open_count(server->serve);
}

static int stdio_run(struct stdio_server *server, struct rye_err *err)
{
	struct pollfd fds[] = { { server->in, POLLIN, 0 },
				{ server->signals, POLLIN, 0 },
				{ server->outbox->wake, POLLIN, 0 } };

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
	server->outbox = serve_outbox_new(server->out);
	return server->outbox ? 0 : rye_fail(err, RYE_IO, "out of memory for the server");
}

int serve_stdio(struct rye *rye, const struct serve_options *opt, struct rye_err *err)
{
	struct stdio_server server = { .in = STDIN_FILENO, .out = -1, .signals = -1 };
	auto_close int out = -1, signals = -1;
	int r = stdio_open(&server, err);

	out = server.out;
	signals = server.signals;
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
	if (server.outbox)
		serve_outbox_close(server.outbox);
	mcp_lines_done(&server.lines);
	return r;
}
