/* SPDX-License-Identifier: MIT */
/*
 * Threads that go on where another has ended: after a hand-over by a runner whose conversation has
 * grown too long, or a resume by a person (resumption.c). The new thread is a process of its own; it
 * verifies what the old one left before it believes a word of it.
 */
#include "agent/agent_inner.h"

#include "base/io.h"
#include "clock.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

/* Tokens of the old conversation that the new one begins with. */
#define CONTINUATION_TOKENS 16000
/* Milliseconds that the old thread's end is waited for, and between two looks. */
#define CONTINUATION_WAIT_MS 10000
#define CONTINUATION_LOOK_MS 20
/* Threads of one chain: a model that fills its window in every one would go on for ever. */
#define CONTINUATION_CHAIN 50

/* ---- taking up what the old one left ---- */

/* Text of a rebuilt message as blocks of this program's form. */
static json_t *continued_message(const json_t *old)
{
	const char *role = json_str(old, "role"), *text = json_str(old, "content");
	json_t *blocks = json_array(), *call;
	size_t i;

	if (!strcmp(role, "tool")) {
		json_array_append_new(
			blocks, json_pack("{s:s, s:s, s:s, s:s}", "kind", "tool_result", "id",
					  json_str(old, "tool_call_id"), "name", "", "text", text));
		return json_pack("{s:s, s:o}", "role", "user", "blocks", blocks);
	}
	if (*text)
		json_array_append_new(blocks,
				      json_pack("{s:s, s:s}", "kind", "text", "text", text));
	json_array_foreach(json_object_get(old, "tool_calls"), i, call)
		json_array_append_new(blocks, json_pack("{s:s, s:s, s:s, s:O?}", "kind",
							"tool_call", "id", json_str(call, "id"),
							"name", json_str(call, "name"), "arguments",
							json_object_get(call, "input")));
	return json_pack("{s:s, s:o}", "role", role, "blocks", blocks);
}

/* Results of one answer's calls are one message. */
static void continued_add(json_t *messages, json_t *message)
{
	json_t *last = json_array_get(messages, json_array_size(messages) - 1);
	const json_t *blocks = json_object_get(message, "blocks");
	const json_t *before = json_object_get(last, "blocks");

	if (!strcmp(json_str(json_array_get(blocks, 0), "kind"), "tool_result") &&
	    !strcmp(json_str(json_array_get(before, 0), "kind"), "tool_result")) {
		json_array_extend(json_object_get(last, "blocks"),
				  json_object_get(message, "blocks"));
		json_decref(message);
		return;
	}
	json_array_append_new(messages, message);
}

/* The record of the thread before, its directory opened. */
static int continued_open(struct agent *agent, const char *id, struct record *ret,
			  struct rye_err *err)
{
	*ret = agent->record;
	ret->id = id;
	if (spawn_threads(agent, err))
		return -(int)err->code;
	ret->dir = threads_dir(agent->threads, id);
	return ret->dir < 0 ? rye_fail(err, RYE_NOT_FOUND, "Thread not found: %s", id) : 0;
}

/* Its messages, in front of `all`; only of a transcript that is what its thread wrote. */
static int continued_messages(const struct record *record, json_t **all,
			      char ret_before[THREAD_ID_MAX], struct rye_err *err)
{
	auto_json json_t *doc = NULL;
	auto_blob struct rye_blob *text = NULL;
	struct chronicle_check check;
	json_t *own = NULL;
	const char *head;
	int r = thread_json_read(record, &doc, err);

	if (!r)
		r = chronicle_text(record, &text, err);
	if (r)
		return rye_wrap(err, "thread %s cannot be continued", record->id);
	head = json_str(doc, "transcript_head");
	chronicle_check(record, (struct rye_span){ text->data, text->len }, *head ? head : NULL,
			&check);
	if (check.code != RYE_OK)
		return rye_fail(err, check.code, "thread %s cannot be continued: %s", record->id,
				check.why.msg);
	r = messages_of((struct rye_span){ text->data, check.signed_len }, &own, err);
	if (r)
		return r;
	json_array_extend(own, *all);
	json_decref(*all);
	*all = own;
	snprintf(ret_before, THREAD_ID_MAX, "%s", json_str(doc, "previous_thread_id"));
	return 0;
}

/* Four characters are a token. */
static bool continued_enough(const json_t *messages)
{
	size_t i, n = 0;
	json_t *message;

	json_array_foreach(messages, i, message)
		n += strlen(json_str(message, "content"));
	return n / 4 >= CONTINUATION_TOKENS;
}

/* The threads before it, the last one first, as far back as there is room. */
static int continued_chain(struct agent *agent, const char *id, json_t **all, struct rye_err *err)
{
	char at[THREAD_ID_MAX], before[THREAD_ID_MAX];
	int r = 0;

	snprintf(at, sizeof(at), "%s", id);
	for (int i = 0; i < CONTINUATION_CHAIN && *at && !r && !continued_enough(*all); i++) {
		struct record record;
		struct rye_err why = { 0 };

		r = continued_open(agent, at, &record, &why);
		if (!r) {
			r = continued_messages(&record, all, before, &why);
			close(record.dir);
		}
		/* what is older than the last one may be gone */
		if (r)
			return i ? 0 : rye_fail(err, why.code, "%s", why.msg);
		snprintf(at, sizeof(at), "%s", before);
	}
	return r;
}

/* The one that hands over signs its last words after it has started this one. */
static void continued_wait(struct agent *agent, const char *id)
{
	int64_t end = clock_ms() + CONTINUATION_WAIT_MS;
	struct pollfd fd = { .fd = agent->ask->stop, .events = POLLIN };
	struct registry_row row = { .status = "" };

	while (clock_ms() < end && !registry_get(agent->registry, id, false, &row, NULL) &&
	       !registry_terminal(row.status))
		if (poll(&fd, 1, CONTINUATION_LOOK_MS) > 0)
			return;
}

int continuation_read(struct agent *agent, const char *id, struct rye_err *err)
{
	json_t *all = json_array(), *message;
	auto_json json_t *newest = NULL;
	size_t i;
	int r;

	continued_wait(agent, id);
	if (agent_stopped(agent)) {
		agent_ends(agent, "cancelled", RYE_CANCELLED, "Cancelled");
		return rye_fail(err, RYE_CANCELLED, "Cancelled");
	}
	r = continued_chain(agent, id, &all, err);
	newest = r ? NULL : messages_trim(all, CONTINUATION_TOKENS);
	json_decref(all);
	if (r)
		return r;
	if (!newest)
		return memory_fail(err);
	json_array_foreach(newest, i, message)
		continued_add(agent->messages, continued_message(message));
	return 0;
}

const char *continuation_words(const struct agent *agent)
{
	const char *said = json_str(agent->ask->doc, "continuation_message");

	if (*said)
		return said;
	return "The conversation so far was longer than fits; its end stands above. Go on with the "
	       "directive from where it stood, and do not repeat what is done.";
}

/* ---- handing over ---- */

/* The same again, with what is left of the money. */
static json_t *continued_request(const struct agent *agent)
{
	json_t *request = json_deep_copy(agent->request);
	json_t *overrides = json_object_get(request, "limit_overrides");
	double left = agent->limits.value[LIMIT_SPEND] - agent->cost.spend;
	struct budget_row row;

	if (!agent->limits.set[LIMIT_SPEND])
		return request;
	/* what children have spent, and what they hold, is no longer there */
	if (!budget_get(agent->budget, agent->thread_id, &row, NULL))
		left = row.remaining;
	if (!json_is_object(overrides)) {
		overrides = json_object();
		json_object_set_new(request, "limit_overrides", overrides);
	}
	json_object_set_new(overrides, "spend", json_real(left > 0 ? left : 0));
	return request;
}

struct continued_funds {
	const struct agent *agent;
	char next[THREAD_ID_MAX]; /* "": nothing was handed over */
};

/* What it held of the money is the next one's. */
static int continued_fund(void *arg, const char *thread_id, struct rye_err *err)
{
	struct continued_funds *funds = arg;
	const struct agent *agent = funds->agent;
	int r = budget_pass_on(agent->budget, agent->thread_id, thread_id, err);

	if (!r)
		snprintf(funds->next, sizeof(funds->next), "%s", thread_id);
	return r;
}

static int continued_fork(struct agent *agent, char ret[THREAD_ID_MAX], struct rye_err *err)
{
	const json_t *doc = agent->ask->doc;
	auto_json json_t *request = continued_request(agent);
	auto_json json_t *reply = NULL;
	auto_buf struct rye_buf ref = RYE_BUF_INIT;
	struct continued_funds funds = { .agent = agent };
	struct fork_ask ask = { .request = request,
				.async = true,
				.wake = -1,
				.previous_id = agent->thread_id,
				.chain = 1 + (int)json_int(doc, "chain", 0),
				.fund = continued_fund,
				.fund_arg = &funds,
				.authority = agent->authority };
	int r = spawn_threads(agent, err);

	if (r)
		return r;
	if (ask.chain > CONTINUATION_CHAIN)
		return rye_fail(err, RYE_BUDGET, "more than %d threads of one chain",
				CONTINUATION_CHAIN);
	buf_addf(&ref, "directive:%s", agent->directive);
	ask.ref = ref.data;
	if (*json_str(doc, "parent_id"))
		ask.parent_id = json_str(doc, "parent_id");
	r = agent_fork(agent->threads, &ask, &reply, err);
	if (!r)
		snprintf(ret, THREAD_ID_MAX, "%s", json_str(reply, "thread_id"));
	else if (*funds.next)
		budget_settle(agent->budget, funds.next, "error", NULL);
	return r;
}

bool continuation_hand_over(struct agent *agent)
{
	char next[THREAD_ID_MAX];
	struct rye_err err = { 0 };
	json_int_t window = agent->provider->window;

	agent_event(agent, "context_limit_reached",
		    json_pack("{s:f, s:I, s:I}", "usage_ratio",
			      window > 0 ? (double)agent->context / (double)window : 1.0,
			      "tokens_used", agent->context, "tokens_limit", window));
	if (continued_fork(agent, next, &err) ||
	    registry_chain(agent->registry, agent->thread_id, next, &err)) {
		agent_warn(agent, "cannot hand over: %s", err.msg);
		return false;
	}
	agent_event(agent, "thread_handoff",
		    json_pack("{s:s, s:s}", "new_thread_id", next, "directive", agent->directive));
	agent_ends(agent, "continued", RYE_OK, "%s", "");
	return true;
}
