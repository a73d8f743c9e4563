/* SPDX-License-Identifier: MIT */
/*
 * Speaking with a server by its standard input and output: one line a message. Each wait ends: with
 * the answer, with the process, with the time, with the call. The process is not trusted: it may
 * print anything, nothing, or without end. On the worker of the call; no lock.
 */
#include "mcp/mcp_inner.h"

#include "bounds.h"
#include "clock.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#define STDIO_CHUNK (64 << 10)
/* Between two events that tell how far a call is. */
#define STDIO_TELL_MS 250

enum { SEAT_IN, SEAT_OUT, SEAT_ERR, SEAT_END, SEAT_CANCEL, SEAT__MAX };

struct stdio_exchange {
	struct mcp_stdio *stdio;
	struct mcp_process *process;
	struct mcp_turn *turn;
	const json_t *id;
	struct rye_buf out;
	size_t sent;
	int64_t until_ms, told_ms;
	unsigned junk;
	bool over;
	enum mcp_heard heard; /* once it is over */
};

static void exchange_end(struct stdio_exchange *x, enum mcp_heard heard)
{
	x->over = true;
	x->heard = heard;
}

static void exchange_clock(struct stdio_exchange *x)
{
	x->until_ms = MIN_OF(clock_ms() + x->turn->timeout_ms, x->stdio->peer.ask->until_ms);
}

/* ---- what comes ---- */

static void hear_noise(struct stdio_exchange *x, struct rye_span line)
{
	line = span_trim(line);
	if (!line.len)
		return;
	snprintf(x->process->noise, sizeof(x->process->noise), "%.*s", (int)MIN_OF(line.len, 120u),
		 line.ptr);
	utf8_mend(x->process->noise);
	if (++x->junk <= RYE_MCP_JUNK)
		return;
	rye_fail(&x->stdio->peer.err, RYE_TOOL_FAILED, "prints what is no message: %s",
		 x->process->noise);
	exchange_end(x, MCP_HEARD_NOISE);
}

static void hear_progress(struct stdio_exchange *x, const json_t *params)
{
	const json_t *token = json_object_get(params, "progressToken");
	double progress = json_number_value(json_object_get(params, "progress"));
	int64_t now = clock_ms();

	if (!token || !json_equal(token, x->id))
		return;
	exchange_clock(x);
	if (now - x->told_ms < STDIO_TELL_MS)
		return;
	x->told_ms = now;
	events_progress(x->stdio->peer.ask->events,
			progress > 0 && progress < 1e15 ? (uint64_t)progress : 0);
}

/* A modern server never asks; a legacy one is told that there is no such thing here. */
static void hear_request(struct stdio_exchange *x, const struct mcp_message *message)
{
	auto_json json_t *answer = NULL;

	if (x->process->state.era == MCP_MODERN)
		return;
	answer = mcp_refusal(message->id, message->method);
	json_put(&x->out, answer, true);
}

static void hear_line(struct stdio_exchange *x, struct rye_span line)
{
	struct mcp_message message;

	switch (mcp_read(line, &message)) {
	case MCP_JUNK:
		hear_noise(x, line);
		break;
	case MCP_NOTICE:
		if (!strcmp(message.method, "notifications/progress"))
			hear_progress(x, message.params);
		break;
	case MCP_REQUEST:
		hear_request(x, &message);
		break;
	case MCP_RESPONSE:
		/* Only one request is open: an error without an id is about that. */
		if (mcp_answers(&message, x->id) || !message.id) {
			*x->turn->ret = message;
			exchange_end(x, MCP_HEARD_ANSWER);
			return;
		}
	}
	mcp_message_done(&message);
}

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
		exchange_end(x, MCP_HEARD_END);
		return false;
	}
	mcp_lines_add(&process->lines, (struct rye_span){ bytes, (size_t)n });
	while (!x->over && mcp_lines_next(&process->lines, &line))
		hear_line(x, line);
	if (!x->over && process->lines.too_big) {
		rye_fail(&x->stdio->peer.err, RYE_TOOL_FAILED, "a message of more than %u bytes",
			 RYE_MCP_MESSAGE_MAX);
		exchange_end(x, MCP_HEARD_NOISE);
	}
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
		exchange_end(x, MCP_HEARD_END);
}

/* Nobody waits for the answer any more: a server that is at work may stop. */
static void exchange_cancel(struct stdio_exchange *x, enum mcp_heard why)
{
	const char *reason = why == MCP_HEARD_CANCEL ? "cancelled" : "timeout";
	auto_json json_t *notice = NULL;

	if (!strcmp(json_str(x->turn->request, "method"), "tools/call")) {
		notice = mcp_notice("notifications/cancelled",
				    json_pack("{s:O, s:s}", "requestId", x->id, "reason", reason));
		json_put(&x->out, notice, true);
		exchange_send(x);
	}
	exchange_end(x, why);
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
		[SEAT_CANCEL] = { x->stdio->peer.ask->cancel, POLLIN, 0 },
	};
	int64_t left = x->until_ms - clock_ms();

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
	if (!x->over && fds[SEAT_IN].revents)
		exchange_send(x);
	if (x->over || !fds[SEAT_END].revents)
		return;
	while (!x->over && hear_piece(x))
		;
	if (!x->over)
		exchange_end(x, MCP_HEARD_END);
}

/* What it has said last is the reason. */
static void note_end(struct stdio_exchange *x)
{
	auto_free char *words = NULL;

	mcp_process_log(x->process);
	words = mcp_process_last_words(x->process);
	x->stdio->peer.err = (struct rye_err){ 0 };
	if (words && *words)
		rye_fail(&x->stdio->peer.err, RYE_TOOL_FAILED, "%.400s", words);
}

/* struct mcp_wire's */
static enum mcp_heard stdio_ask(struct mcp_peer *peer, struct mcp_turn *turn)
{
	struct mcp_stdio *stdio = (struct mcp_stdio *)peer;
	struct stdio_exchange x = { .stdio = stdio, .process = stdio->process, .turn = turn };

	x.id = json_object_get(turn->request, "id");
	json_put(&x.out, turn->request, true);
	if (x.out.failed || x.out.len > RYE_MCP_MESSAGE_MAX) {
		rye_fail(&peer->err, RYE_TOO_BIG, "the request is over %u bytes",
			 RYE_MCP_MESSAGE_MAX);
		exchange_end(&x, MCP_HEARD_REFUSED);
	}
	exchange_clock(&x);
	while (!x.over)
		exchange_wait(&x);
	if (x.heard == MCP_HEARD_END)
		note_end(&x);
	/* What the server has asked meanwhile came with its answer. */
	if (x.heard == MCP_HEARD_ANSWER && x.sent < x.out.len)
		(void)!exchange_write(&x);
	/* Half a message is in its input, or an answer may come that nobody wants: no use for others. */
	if (x.heard != MCP_HEARD_REFUSED &&
	    (x.sent < x.out.len || (x.heard != MCP_HEARD_ANSWER && x.heard != MCP_HEARD_CANCEL)))
		x.process->broken = true;
	buf_done(&x.out);
	return x.heard;
}

/* struct mcp_wire's: small, and the server is reading. */
static void stdio_tell(struct mcp_peer *peer, const json_t *notice)
{
	struct mcp_process *process = ((struct mcp_stdio *)peer)->process;
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	json_put(&text, notice, true);
	if (text.failed || write(process->in, text.data, text.len) != (ssize_t)text.len)
		process->broken = true;
}

/* struct mcp_wire's */
static bool stdio_renew(struct mcp_peer *peer, struct rye_err *err)
{
	struct mcp_stdio *stdio = (struct mcp_stdio *)peer;
	struct mcp_process *fresh;

	if (mcp_process_start(mcp_boxes(stdio->mcp), peer->ask->spec, &fresh, err))
		return false;
	mcp_drop(stdio->mcp, stdio->process);
	stdio->process = fresh;
	peer->state = &fresh->state;
	return true;
}

const struct mcp_wire mcp_wire_stdio = {
	.ask = stdio_ask,
	.tell = stdio_tell,
	.renew = stdio_renew,
};
