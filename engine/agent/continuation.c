/* SPDX-License-Identifier: MIT */
/*
 * Threads that go on where another has ended: after a hand-over by a runner whose conversation has
 * grown too long, or a resume by a person (resumption.c). The new thread is a process of its own; it
 * verifies what the old one left before it believes a word of it.
 */
#include "agent/agent_inner.h"

#include "base/id.h"
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
/* What words the last message of a thread that goes on, unless its directive names another. */
#define CONTINUATION_ID "rye/agent/continuation"

/* ---- taking up what the old one left ---- */

/* What is read of the threads before it. */
struct continued {
	json_t *all; /* messages, the oldest first */
	char before[THREAD_ID_MAX]; /* the thread that is read next; "": there is none */
	bool kept; /* the newest of them was sent exactly these */
	json_t *system, *tools; /* … with these, a string and an array; or NULL */
};

static void continued_done(struct continued *past)
{
	json_decref(past->all);
	json_decref(past->system);
	json_decref(past->tools);
}

/* Text of a rebuilt message as blocks of this program's form. names: of the calls so far. */
static json_t *continued_message(const json_t *old, json_t *names)
{
	const char *role = json_str(old, "role"), *text = json_str(old, "content");
	json_t *blocks = json_array(), *call, *result;
	size_t i;

	if (!strcmp(role, "tool")) {
		const char *id = json_str(old, "tool_call_id");

		result = json_pack("{s:s, s:s, s:s, s:s}", "kind", "tool_result", "id", id, "name",
				   json_str(names, id), "text", text);
		if (json_flag(old, "is_error", false))
			json_set(result, "is_error", json_true());
		json_array_append_new(blocks, result);
		return json_pack("{s:s, s:o}", "role", "user", "blocks", blocks);
	}
	if (*text)
		json_array_append_new(blocks,
				      json_pack("{s:s, s:s}", "kind", "text", "text", text));
	json_array_foreach(json_object_get(old, "tool_calls"), i, call) {
		json_t *input = json_object_get(call, "input");

		json_sets(names, json_str(call, "id"), json_str(call, "name"));
		json_array_append_new(blocks, json_pack("{s:s, s:s, s:s, s:o}", "kind", "tool_call",
							"id", json_str(call, "id"), "name",
							json_str(call, "name"), "arguments",
							json_is_object(input) ? json_incref(input) :
										json_object()));
	}
	return json_pack("{s:s, s:o}", "role", role, "blocks", blocks);
}

/* Results of one answer's calls are one message; one that says nothing is none. */
static void continued_add(json_t *messages, json_t *message)
{
	json_t *last = json_array_get(messages, json_array_size(messages) - 1);
	json_t *blocks = json_object_get(message, "blocks");
	const json_t *before = json_object_get(last, "blocks");

	if (!strcmp(json_str(json_array_get(blocks, 0), "kind"), "tool_result") &&
	    !strcmp(json_str(json_array_get(before, 0), "kind"), "tool_result"))
		json_array_extend(json_object_get(last, "blocks"), blocks);
	else if (json_array_size(blocks))
		json_array_append(messages, message);
	json_decref(message);
}

json_t *continuation_of(const json_t *list, bool kept)
{
	json_t *messages = json_array(), *names = json_object(), *message;
	size_t i;

	json_array_foreach(list, i, message) {
		/* also of one that goes on as it was: it has the names of the calls */
		json_t *said = continued_message(message, names);
		json_t *raw = kept ? json_object_get(message, "raw") : NULL;

		if (raw)
			json_array_append(messages, raw);
		else
			continued_add(messages, json_incref(said));
		json_decref(said);
	}
	json_decref(names);
	return messages;
}

/* The calls that the transcript has results of are those that the answer makes, in its order. */
static bool continued_pairs(const json_t *message, const json_t *answer)
{
	const json_t *calls = json_object_get(message, "tool_calls"), *block;
	size_t i, n = 0;

	json_array_foreach(json_object_get(answer, "blocks"), i, block) {
		if (strcmp(json_str(block, "kind"), "tool_call") != 0)
			continue;
		if (strcmp(json_str(json_array_get(calls, n++), "id"), json_str(block, "id")) != 0)
			return false;
	}
	return n == json_array_size(calls);
}

/* This model gave it; a long answer is taken out of the store. */
static bool continued_answer(const struct continuation_ask *ask, json_t *message)
{
	const struct provider *provider = ask->provider;
	const json_t *raw = json_object_get(message, "raw");
	json_t *whole;

	if (strcmp(json_str(raw, "wire"), provider->wire_name) ||
	    strcmp(json_str(raw, "provider"), provider->name) ||
	    strcmp(json_str(raw, "model"), provider->model) ||
	    answer_whole(ask->record, raw, &whole, NULL))
		return false;
	json_set(message, "raw", whole);
	return continued_pairs(message, whole);
}

bool continuation_kept(const struct continuation_ask *ask, const json_t *list)
{
	json_t *message;
	size_t i;

	json_array_foreach(list, i, message)
		if (!strcmp(json_str(message, "role"), "assistant") &&
		    !continued_answer(ask, message))
			return false;
	return true;
}

/* The record of the thread before, its directory opened. */
static int continued_open(struct agent *agent, const char *id, struct record *ret,
			  struct rye_err *err)
{
	*ret = agent->record;
	ret->id = id;
	ret->trust = agent->items->trust;
	ret->dir = threads_dir(agent->threads, id, err);
	return ret->dir < 0 ? -(int)err->code : 0;
}

/* A transcript that is read: nothing of it counts before it was found to be what its thread wrote. */
struct continued_walk {
	struct messages *messages;
	json_t *system;
};

static int continued_line(void *arg, const struct chronicle_line *line)
{
	struct continued_walk *walk = arg;

	if (!walk->system && !strcmp(line->type, "system_prompt"))
		walk->system = json_incref(json_object_get(line->payload, "text"));
	return messages_event(walk->messages, line);
}

/* Of the newest one: with what its messages were sent. */
static void continued_sent(const struct record *record, json_t *system, struct continued *past)
{
	past->kept = !capabilities_md_read(record, &past->tools, NULL);
	past->system = json_incref(system);
}

static int continued_read(const struct record *record, const char *head, json_t **ret_own,
			  json_t **ret_system, struct rye_err *err)
{
	struct continued_walk walk = { .messages = messages_begin(true) };
	const struct chronicle_hearer hearer = { continued_line, &walk };
	struct chronicle_check check = { .code = RYE_OK };
	int r, end;

	if (!walk.messages)
		return memory_fail(err);
	r = chronicle_audit(record, *head ? head : NULL, &hearer, &check, err);
	if (!r && check.code != RYE_OK)
		r = rye_fail(err, check.code, "%s", check.why.msg);
	end = messages_end(walk.messages, ret_own, r ? NULL : err);
	*ret_system = walk.system;
	return r ? r : end;
}

/* Its messages, in front of all; only of a transcript that is what its thread wrote. */
static int continued_messages(const struct record *record, struct continued *past,
			      struct rye_err *err)
{
	auto_json json_t *doc = NULL, *system = NULL, *read = NULL;
	json_t *own;
	int r = thread_json_read(record, &doc, err);

	if (!r)
		r = continued_read(record, json_str(doc, "transcript_head"), &read, &system, err);
	if (r)
		return rye_wrap(err, "thread %s cannot be continued", record->id);
	own = steal(&read);
	if (!json_array_size(past->all))
		continued_sent(record, system, past);
	json_array_extend(own, past->all);
	json_decref(past->all);
	past->all = own;
	snprintf(past->before, sizeof(past->before), "%s", json_str(doc, "previous_thread_id"));
	/* what stands before it may have been shortened, and told in other words */
	past->kept &= !*past->before || json_flag(doc, "history_kept", false);
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
static int continued_chain(struct agent *agent, const char *id, struct continued *past,
			   struct rye_err *err)
{
	char at[THREAD_ID_MAX];
	int r = 0;

	snprintf(at, sizeof(at), "%s", id);
	for (int i = 0; i < FORK_CHAIN_MAX && *at && !r && !continued_enough(past->all); i++) {
		struct record record;
		struct rye_err why = { 0 };

		r = continued_open(agent, at, &record, &why);
		if (!r) {
			r = continued_messages(&record, past, &why);
			close(record.dir);
		}
		/* what is older than the last one may be gone */
		if (r && !i)
			return rye_fail(err, why.code, "%s", why.msg);
		if (!r)
			snprintf(at, sizeof(at), "%s", past->before);
	}
	past->kept &= !*at;
	return 0;
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

/*
 * A person's resume with the same model goes on with what that has signed and cached: the messages,
 * the system text and the tools as they were sent. All else begins a new conversation, in words that
 * any model can read.
 */
static void continued_take(struct agent *agent, struct continued *past, const json_t *newest)
{
	const struct continuation_ask ask = { agent->provider, &agent->record };
	bool kept = past->kept && *json_str(agent->ask->doc, "continuation_message") &&
		    json_array_size(newest) == json_array_size(past->all) &&
		    continuation_kept(&ask, newest);

	json_decref(agent->messages);
	agent->messages = continuation_of(newest, kept);
	agent->past.kept = kept;
	if (!kept)
		return;
	agent->past.system = steal(&past->system);
	agent->past.tools = agent->palette.tools;
	agent->palette.tools = steal(&past->tools);
}

int continuation_read(struct agent *agent, struct rye_err *err)
{
	__attribute__((cleanup(continued_done))) struct continued past = { .all = json_array() };
	const char *id = json_str(agent->ask->doc, "previous_id");
	auto_json json_t *newest = NULL;
	int r;

	if (!*id)
		return 0;
	continued_wait(agent, id);
	if (agent_stopped(agent)) {
		agent_ends(agent, "cancelled", RYE_CANCELLED, "Cancelled");
		return rye_fail(err, RYE_CANCELLED, "Cancelled");
	}
	r = continued_chain(agent, id, &past, err);
	newest = r ? NULL : messages_trim(past.all, CONTINUATION_TOKENS);
	if (r)
		return r;
	if (!newest)
		return memory_fail(err);
	continued_take(agent, &past, newest);
	if (agent->before.turns)
		agent_warn(agent,
			   "thread %s has handed over: its conversation is shortened here, and its "
			   "turns, tokens and time count on",
			   id);
	return 0;
}

/* ---- what is said to it ---- */

static const char *continued_words(const struct agent *agent)
{
	const char *said = json_str(agent->ask->doc, "continuation_message");

	if (*said)
		return said;
	return "The conversation so far was longer than fits; its end stands above. Go on with the "
	       "directive from where it stood, and do not repeat what is done.";
}

static void continued_body(const struct agent *agent, const struct rye_item *item,
			   const json_t *inputs, struct rye_buf *out)
{
	const struct interp in = { .inputs = inputs,
				   .env = interp_environ,
				   .env_arg = (void *)agent->opt.env_names };

	interp_text(&in, span_of(json_str(item->meta, "body")), out);
}

/* The inputs that it declares, of those that every continuation directive is given. */
static json_t *continued_inputs(const struct agent *agent, const struct rye_item *item)
{
	auto_buf struct rye_buf body = RYE_BUF_INIT;
	json_t *given = json_object(), *input;
	size_t i;

	continued_body(agent, agent->brief.chain[0], agent->brief.inputs, &body);
	buf_adds(&body, "");
	json_array_foreach(json_object_get(item->meta, "inputs"), i, input) {
		const char *name = json_str(input, "name");

		if (!strcmp(name, "original_directive"))
			json_sets(given, name, agent->directive);
		else if (!strcmp(name, "original_directive_body"))
			json_sets(given, name, body.data);
		else if (!strcmp(name, "previous_thread_id"))
			json_sets(given, name, json_str(agent->ask->doc, "previous_id"));
		else if (!strcmp(name, "continuation_message"))
			json_sets(given, name, continued_words(agent));
	}
	return given;
}

/* The text of the directive's continuation directive, or of CONTINUATION_ID where there is one. */
static bool continued_directive(struct agent *agent, struct rye_buf *out)
{
	const char *own = json_str(agent->brief.chain[0]->meta, "continuation_directive");
	struct item_ask ask = { .kind = RYE_DIRECTIVE, .id = CONTINUATION_ID };
	auto_item struct rye_item *item = NULL;
	auto_json json_t *given = NULL;
	auto_json json_t *inputs = NULL;
	struct rye_err err = { 0 };
	int r;

	ask.id = *own ? own : CONTINUATION_ID;
	id_split(ask.id, &ask.id);
	r = rye_load(agent->items, &ask, &item, &err);
	if (r == -(int)RYE_NOT_FOUND && !*own)
		return false;
	given = r ? NULL : continued_inputs(agent, item);
	if (!r)
		r = inputs_resolve(item, given, &inputs, NULL, &err);
	if (r) {
		agent_warn(agent, "continuation directive %s: %s", ask.id, err.msg);
		return false;
	}
	continued_body(agent, item, inputs, out);
	return true;
}

static void continued_join(struct rye_buf *out, const char *text)
{
	if (out->len && *text)
		buf_adds(out, "\n\n");
	buf_adds(out, text);
}

/* The first message of a conversation that is kept may hold the prompt, as it is now, already. */
static bool continued_has_prompt(const struct agent *agent)
{
	const json_t *blocks = json_object_get(json_array_get(agent->messages, 0), "blocks");

	return agent->past.kept &&
	       strstr(json_str(json_array_get(blocks, 0), "text"), agent->brief.first);
}

void continuation_say(struct agent *agent, struct rye_buf *out)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	if (continued_directive(agent, &text) && text.len) {
		continued_join(out, text.data);
		return;
	}
	if (!continued_has_prompt(agent))
		continued_join(out, agent->brief.first);
	continued_join(out, continued_words(agent));
}

static void continued_tools(const struct agent *agent, struct rye_buf *out)
{
	const json_t *before = agent->palette.tools, *now = agent->past.tools, *tool;
	size_t i;

	json_array_foreach(before, i, tool) {
		const char *name = json_str(tool, "name");
		const json_t *other = json_find(now, "name", name);
		auto_buf struct rye_buf line = RYE_BUF_INIT;

		if (other && json_equal((json_t *)other, (json_t *)tool))
			continue;
		buf_addf(&line, other ? "The tool %s has changed: " : "The tool %s is gone.", name);
		if (other)
			json_put(&line, other, false);
		continued_join(out, line.failed ? "" : line.data);
	}
	json_array_foreach(now, i, tool) {
		const char *name = json_str(tool, "name");

		if (!json_find(before, "name", name))
			buf_addf(out, "%sThe tool %s is new; it can be called through rye_execute.",
				 out->len ? "\n\n" : "", name);
	}
}

void continuation_keep(struct agent *agent, struct rye_buf *system, struct rye_buf *out)
{
	const char *before = json_string_value(agent->past.system);
	const char *now = system->len ? system->data : "";

	before = before ? before : "";
	if (strcmp(before, now) != 0) {
		continued_join(out, "Of your instructions this is what holds now:");
		continued_join(out, *now ? now : "none");
		buf_clear(system);
		buf_adds(system, before);
	}
	continued_tools(agent, out);
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

/* What the chain has cost so far. */
static json_t *continued_before(const struct agent *agent)
{
	struct thread_cost all = agent->before, own = agent->cost;

	own.elapsed_seconds = (double)(clock_ms() - agent->start_ms) / 1000;
	thread_cost_add(&all, &own);
	return thread_cost_json(&all);
}

static int continued_fork(struct agent *agent, char ret[THREAD_ID_MAX], struct rye_err *err)
{
	const json_t *doc = agent->ask->doc;
	auto_json json_t *request = continued_request(agent);
	auto_json json_t *reply = NULL, *before = continued_before(agent);
	auto_buf struct rye_buf ref = RYE_BUF_INIT;
	struct continued_funds funds = { .agent = agent };
	struct fork_ask ask = { .request = request,
				.async = true,
				.wake = -1,
				.previous_id = agent->thread_id,
				.chain = 1 + (int)json_int(doc, "chain", 0),
				.before = before,
				.fund = continued_fund,
				.fund_arg = &funds,
				.authority = agent->authority };
	int r;

	if (ask.chain > FORK_CHAIN_MAX)
		return rye_fail(err, RYE_BUDGET, "more than %d threads of one chain",
				FORK_CHAIN_MAX);
	buf_addf(&ref, "directive:%s", agent->directive);
	ask.ref = ref.data;
	if (*json_str(doc, "parent_id"))
		ask.parent_id = json_str(doc, "parent_id");
	r = fork_start(agent->threads, &ask, &reply, err);
	if (!r)
		snprintf(ret, THREAD_ID_MAX, "%s", json_str(reply, "thread_id"));
	else if (*funds.next)
		budget_settle(agent->budget, funds.next, "error", NULL);
	return r;
}

static int continued_next(struct agent *agent, char ret[THREAD_ID_MAX], struct rye_err *err)
{
	int r;

	if (json_int(agent->ask->doc, "chain", 0) == FORK_CHAIN_ASKER) {
		fork_next(agent->thread_id, ret);
		return 0;
	}
	r = continued_fork(agent, ret, err);
	return r ? r : registry_chain(agent->registry, agent->thread_id, ret, err);
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
	if (continued_next(agent, next, &err)) {
		agent_warn(agent, "cannot hand over: %s", err.msg);
		return false;
	}
	agent_event(agent, "thread_handoff",
		    json_pack("{s:s, s:s}", "new_thread_id", next, "directive", agent->directive));
	agent_ends(agent, "continued", RYE_OK, "%s", "");
	return true;
}
