/* SPDX-License-Identifier: MIT */
/*
 * What comes while a request is open: its answer, progress, news, questions of a legacy server, and
 * what is no message at all. Over either transport; the server is not trusted. On the worker of the
 * call; no lock.
 */
#include "mcp/client/client_inner.h"

#include "bounds.h"
#include "clock.h"
#include "scope.h"
#include "str.h"

#include <string.h>

/* Between two events that tell how far a call is. */
#define HEAR_TELL_MS 250

static void restart_clock(struct mcp_hearing *hearing)
{
	hearing->until_ms =
		MIN_OF(clock_ms() + hearing->turn->timeout_ms, hearing->peer->ask->until_ms);
}

void mcp_hearing_begin(struct mcp_hearing *hearing, struct mcp_peer *peer, struct mcp_turn *turn)
{
	hearing->peer = peer;
	hearing->turn = turn;
	hearing->id = json_object_get(turn->request, "id");
	restart_clock(hearing);
}

void mcp_hearing_end(struct mcp_hearing *hearing, enum mcp_heard heard)
{
	hearing->over = true;
	hearing->heard = heard;
}

/* Too much of what no call needs. */
static void count_noise(struct mcp_hearing *hearing)
{
	if (++hearing->junk <= RYE_MCP_JUNK)
		return;
	rye_fail(&hearing->peer->err, RYE_TOOL_FAILED, "prints what is no message: %s",
		 hearing->noise);
	mcp_hearing_end(hearing, MCP_HEARD_NOISE);
}

static void hear_noise(struct mcp_hearing *hearing, struct rye_span text)
{
	text = span_trim(text);
	if (!text.len)
		return;
	snprintf(hearing->noise, sizeof(hearing->noise), "%.*s", (int)MIN_OF(text.len, 120u),
		 text.ptr);
	utf8_mend(hearing->noise);
	count_noise(hearing);
}

void mcp_hear_flood(struct mcp_hearing *hearing)
{
	rye_fail(&hearing->peer->err, RYE_TOOL_FAILED, "a message of more than %u bytes",
		 RYE_MCP_MESSAGE_MAX);
	mcp_hearing_end(hearing, MCP_HEARD_NOISE);
}

static void hear_progress(struct mcp_hearing *hearing, const json_t *params)
{
	const json_t *token = json_object_get(params, "progressToken");
	double progress = json_number_value(json_object_get(params, "progress"));
	int64_t now = clock_ms();

	if (!token || !json_equal(token, hearing->id))
		return;
	restart_clock(hearing);
	if (now - hearing->told_ms < HEAR_TELL_MS)
		return;
	hearing->told_ms = now;
	events_progress(hearing->peer->ask->events,
			progress > 0 && progress < 1e15 ? (uint64_t)progress : 0);
}

static void hear_notice(struct mcp_hearing *hearing, const struct mcp_message *message)
{
	if (!strcmp(message->method, "notifications/progress"))
		hear_progress(hearing, message->params);
	else if (!strcmp(message->method, "notifications/tools/list_changed"))
		hearing->peer->state->tools_until_ms = 0;
}

/* A modern server never asks; a legacy one is told that there is no such thing here. */
static void hear_request(struct mcp_hearing *hearing, const struct mcp_message *message)
{
	auto_json json_t *answer = NULL;

	if (hearing->peer->state->era == MCP_MODERN)
		return;
	snprintf(hearing->noise, sizeof(hearing->noise), "requests without end");
	count_noise(hearing);
	answer = mcp_refusal(message->id, message->method);
	if (!hearing->over)
		hearing->send(hearing, answer);
}

void mcp_hear(struct mcp_hearing *hearing, struct rye_span text)
{
	struct mcp_message message;

	switch (mcp_read(text, &message)) {
	case MCP_JUNK:
		hear_noise(hearing, text);
		break;
	case MCP_NOTICE:
		hear_notice(hearing, &message);
		break;
	case MCP_REQUEST:
		hear_request(hearing, &message);
		break;
	case MCP_RESPONSE:
		/* Only one request is open: an error without an id is about that. */
		if (hearing->turn && (mcp_answers(&message, hearing->id) || !message.id)) {
			*hearing->turn->ret = message;
			mcp_hearing_end(hearing, MCP_HEARD_ANSWER);
			return;
		}
	}
	mcp_message_done(&message);
}

json_t *mcp_cancel_notice(const struct mcp_hearing *hearing, enum mcp_heard why)
{
	if (strcmp(json_str(hearing->turn->request, "method"), "tools/call") != 0)
		return NULL;
	return mcp_notice("notifications/cancelled",
			  json_pack("{s:O, s:s}", "requestId", hearing->id, "reason",
				    why == MCP_HEARD_CANCEL ? "cancelled" : "timeout"));
}
