/* SPDX-License-Identifier: MIT */
/*
 * Speaking with a server by its standard input and output: one line a message. Each wait ends: with
 * the answer, with the process, with the time, with the call. The process is not trusted: it may
 * print anything, nothing, or without end. On the worker of the call; no lock.
 */
#include "mcp/client/client_inner.h"

#include "bounds.h"
#include "clock.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#define STDIO_CHUNK (64 << 10)
/* Looked at before a call, of what a server has printed unasked. */
#define STDIO_PIECES 64

enum { SEAT_IN, SEAT_OUT, SEAT_ERR, SEAT_END, SEAT_CANCEL, SEAT__MAX };

struct stdio_exchange {
	struct mcp_hearing hearing; /* first */
	struct mcp_process *process;
	struct rye_buf out;
	size_t sent;
};

/* struct mcp_hearing's: with what goes to the process next. */
static void send_line(struct mcp_hearing *hearing, const json_t *doc)
{
	json_put(&((struct stdio_exchange *)hearing)->out, doc, true);
}

/* ---- what comes ---- */

/* False: there is no more for now. */
static bool hear_piece(struct stdio_exchange *x)
{
	struct mcp_process *process = x->process;
	char bytes[STDIO_CHUNK];
	struct rye_span line;
	ssize_t n = read(process->out, bytes, sizeof(bytes));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		mcp_hearing_end(&x->hearing, MCP_HEARD_END);
		return false;
	}
	mcp_lines_add(&process->lines, (struct rye_span){ bytes, (size_t)n });
	while (!x->hearing.over && mcp_lines_next(&process->lines, &line))
		mcp_hear(&x->hearing, line);
	if (!x->hearing.over && process->lines.too_big)
		mcp_hear_flood(&x->hearing);
	return true;
}

/* ---- what goes ---- */

/* As much as its input takes now; false: it takes nothing any more. */
static bool exchange_write(struct stdio_exchange *x)
{
	ssize_t n = write(x->process->in, x->out.data + x->sent, x->out.len - x->sent);

	if (n > 0)
		x->sent += (size_t)n;
	return n >= 0 || errno == EAGAIN || errno == EINTR;
}

static void exchange_send(struct stdio_exchange *x)
{
	if (!exchange_write(x))
		mcp_hearing_end(&x->hearing, MCP_HEARD_END);
}

/* The call waits for the answer no more: a server that is at work may stop. */
static void exchange_cancel(struct stdio_exchange *x, enum mcp_heard why)
{
	auto_json json_t *notice = mcp_cancel_notice(&x->hearing, why);

	if (notice) {
		json_put(&x->out, notice, true);
		exchange_send(x);
	}
	mcp_hearing_end(&x->hearing, why);
}

/* ---- one request ---- */

static void exchange_wait(struct stdio_exchange *x)
{
	struct mcp_process *process = x->process;
	struct pollfd fds[SEAT__MAX] = {
		[SEAT_IN] = { x->sent < x->out.len ? process->in : -1, POLLOUT, 0 },
		[SEAT_OUT] = { process->out, POLLIN, 0 },
		[SEAT_ERR] = { process->err, POLLIN, 0 },
		[SEAT_END] = { process->child.pidfd, POLLIN, 0 },
		[SEAT_CANCEL] = { x->hearing.peer->ask->cancel, POLLIN, 0 },
	};
	int64_t left = x->hearing.until_ms - clock_ms();

	if (left <= 0) {
		exchange_cancel(x, MCP_HEARD_SILENCE);
		return;
	}
	if (poll(fds, SEAT__MAX, (int)MIN_OF(left, INT32_MAX)) <= 0)
		return;
	if (fds[SEAT_CANCEL].revents) {
		exchange_cancel(x, MCP_HEARD_CANCEL);
		return;
	}
	if (fds[SEAT_ERR].revents)
		mcp_process_log(process);
	if (fds[SEAT_OUT].revents)
		hear_piece(x);
	if (!x->hearing.over && fds[SEAT_IN].revents)
		exchange_send(x);
	if (x->hearing.over || !fds[SEAT_END].revents)
		return;
	while (!x->hearing.over && hear_piece(x))
		;
	if (!x->hearing.over)
		mcp_hearing_end(&x->hearing, MCP_HEARD_END);
}

/* Of a server that says, in its own words, that it may not. */
#define BARRED                                                                            \
	"; it runs in the sandbox, where requires: [fs.write, net.http] let it write in " \
	"the project and use the network, and config.home: private gives it a home"

/* What it has said last is the reason. */
static void note_end(struct stdio_exchange *x)
{
	auto_free char *words = NULL;

	mcp_process_log(x->process);
	words = mcp_process_last_words(x->process, x->hearing.noise);
	x->hearing.peer->err = (struct rye_err){ 0 };
	if (words && *words)
		rye_fail(&x->hearing.peer->err, RYE_TOOL_FAILED, "%.400s%s", words,
			 mcp_process_barred(x->process) ? BARRED : "");
}

/* struct mcp_wire's */
static enum mcp_heard stdio_ask(struct mcp_peer *peer, struct mcp_turn *turn)
{
	struct stdio_exchange x = { .process = mcp_process_of(peer->kept) };

	x.hearing.send = send_line;
	mcp_hearing_begin(&x.hearing, peer, turn);
	json_put(&x.out, turn->request, true);
	if (x.out.failed || x.out.len > RYE_MCP_MESSAGE_MAX) {
		rye_fail(&peer->err, RYE_TOO_BIG, "the request is over %u bytes",
			 RYE_MCP_MESSAGE_MAX);
		mcp_hearing_end(&x.hearing, MCP_HEARD_REFUSED);
	}
	/* Its input has room but for big requests; a failure is met again, and told, by the wait. */
	if (!x.hearing.over)
		(void)exchange_write(&x);
	while (!x.hearing.over)
		exchange_wait(&x);
	if (x.hearing.heard == MCP_HEARD_END)
		note_end(&x);
	/* What the server has asked meanwhile came with its answer. */
	if (x.hearing.heard == MCP_HEARD_ANSWER && x.sent < x.out.len)
		(void)!exchange_write(&x);
	/* Half a message is in its input, or an answer may come to no call: no use for others. */
	if (x.hearing.heard != MCP_HEARD_REFUSED &&
	    (x.sent < x.out.len ||
	     (x.hearing.heard != MCP_HEARD_ANSWER && x.hearing.heard != MCP_HEARD_CANCEL)))
		peer->kept->broken = true;
	buf_done(&x.out);
	return x.hearing.heard;
}

/* struct mcp_wire's: small, and the server is reading. */
static void stdio_tell(struct mcp_peer *peer, const json_t *notice)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	int in = mcp_process_of(peer->kept)->in;

	json_put(&text, notice, true);
	if (text.failed || write(in, text.data, text.len) != (ssize_t)text.len)
		peer->kept->broken = true;
}

/* struct mcp_wire's */
static bool stdio_renew(struct mcp_peer *peer, struct rye_err *err)
{
	struct mcp_kept *fresh;

	if (mcp_process_start(peer->mcp, peer->ask->spec, &fresh, err))
		return false;
	mcp_drop(peer->mcp, peer->kept);
	peer->kept = fresh;
	peer->state = &fresh->state;
	return true;
}

/* struct mcp_wire's: what has come between two calls, of which some matters. */
static void stdio_catch_up(struct mcp_peer *peer)
{
	struct stdio_exchange x = { .process = mcp_process_of(peer->kept) };

	x.hearing.send = send_line;
	x.hearing.peer = peer;
	for (int i = 0; i < STDIO_PIECES && !x.hearing.over && hear_piece(&x); i++)
		;
	if (x.out.len && !exchange_write(&x))
		peer->kept->broken = true;
	buf_done(&x.out);
	peer->err = (struct rye_err){ 0 };
}

const struct mcp_wire mcp_wire_stdio = {
	.start = mcp_process_start,
	.ask = stdio_ask,
	.tell = stdio_tell,
	.renew = stdio_renew,
	.catch_up = stdio_catch_up,
};
