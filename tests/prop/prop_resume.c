/* SPDX-License-Identifier: MIT */
/*
 * prop_resume.c - the conversation of a thread that was killed anywhere is one that vendors take.
 *
 * A round is a chain of threads. Each writes what a runner writes, of a made-up model, until its transcript is
 * cut at any byte: between events and within one, behind an answer, in the middle of its calls. It is closed
 * as recovery closes it, or not at all, as another implementation leaves it; then the next one goes on with
 * it, with the same model or another. What the provider would be sent then has to keep the vendor's rules
 * for calls and results, which are told here by themselves. RYE_ROUNDS: how many. RYE_SEED replays a run.
 */
#include "provider_script.h"
#include "messages_read.h"
#include "told.h"
#include "random_steps.h"
#include "bounds.h"

#include "agent/agent_inner.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS 1000
#define CHAIN 3
#define TOKENS 16000

static struct random chance;

static size_t below(size_t n)
{
	return random_below(&chance, n);
}

static bool one_in(size_t n)
{
	return !below(n);
}

/* ---- the vendors' rules ---- */

/* Ids of calls that wait for a result; `seen` all there ever were. */
struct rules {
	json_t *open, *seen;
	const char *broken; /* or NULL */
};

static void broken(struct rules *rules, bool is, const char *what)
{
	if (is && !rules->broken)
		rules->broken = what;
}

static void rule_call(struct rules *rules, const char *id)
{
	broken(rules, !*id, "a call without an id");
	broken(rules, json_object_get(rules->seen, id), "an id twice");
	json_object_set_new(rules->seen, id, json_true());
	json_object_set_new(rules->open, id, json_true());
}

static void rule_result(struct rules *rules, const char *id)
{
	broken(rules, json_object_del(rules->open, id), "a result without a call");
}

static void rule_settled(struct rules *rules)
{
	broken(rules, json_object_size(rules->open), "a call without a result");
}

/* Neighbours of one role are one message: results come first in it, and answer all of the one before. */
static void rules_anthropic(struct rules *rules, const json_t *doc)
{
	const json_t *message, *block, *content;
	bool own = true, words = false;
	size_t i, k;

	json_array_foreach(json_object_get(doc, "messages"), i, message) {
		bool now = !strcmp(json_str(message, "role"), "assistant");

		broken(rules, !i && now, "an answer comes first");
		if (now != own && now)
			rule_settled(rules);
		words = now != own ? false : words;
		own = now;
		content = json_object_get(message, "content");
		broken(rules, !json_array_size(content), "an empty message");
		json_array_foreach(content, k, block) {
			const char *type = json_str(block, "type");

			if (!strcmp(type, "tool_use")) {
				rule_call(rules, json_str(block, "id"));
			} else if (!strcmp(type, "tool_result")) {
				broken(rules, words, "a result behind words");
				rule_result(rules, json_str(block, "tool_use_id"));
			} else if (!strcmp(type, "text")) {
				words = true;
				broken(rules, !*json_str(block, "text"), "an empty text");
				if (!now)
					rule_settled(rules);
			}
		}
	}
	rule_settled(rules);
}

static void rules_chat(struct rules *rules, const json_t *doc)
{
	const json_t *message, *call;
	size_t i, k;

	json_array_foreach(json_object_get(doc, "messages"), i, message) {
		const char *role = json_str(message, "role");

		if (!strcmp(role, "tool")) {
			rule_result(rules, json_str(message, "tool_call_id"));
			continue;
		}
		rule_settled(rules);
		broken(rules,
		       !strcmp(role, "assistant") && !*json_str(message, "content") &&
			       !json_array_size(json_object_get(message, "tool_calls")),
		       "an empty message");
		json_array_foreach(json_object_get(message, "tool_calls"), k, call)
			rule_call(rules, json_str(call, "id"));
	}
	rule_settled(rules);
}

/* A list of items: responses, interactions. */
static void rules_items(struct rules *rules, const json_t *doc)
{
	const json_t *item;
	size_t i;

	json_array_foreach(json_object_get(doc, "input"), i, item) {
		const char *type = json_str(item, "type");

		if (!strcmp(type, "function_call"))
			rule_call(rules, *json_str(item, "call_id") ? json_str(item, "call_id") :
								      json_str(item, "id"));
		else if (!strcmp(type, "function_call_output") || !strcmp(type, "function_result"))
			rule_result(rules, json_str(item, "call_id"));
		else if (strcmp(type, "reasoning") != 0 && strcmp(type, "thought") != 0 &&
			 (!strcmp(json_str(item, "role"), "user") || !strcmp(type, "user_input")))
			rule_settled(rules);
	}
	rule_settled(rules);
}

/* As many answers to functions as calls, at once, and the user first. */
static void rules_gemini(struct rules *rules, const json_t *doc)
{
	const json_t *content, *part;
	size_t i, k, calls = 0;

	json_array_foreach(json_object_get(doc, "contents"), i, content) {
		bool model = !strcmp(json_str(content, "role"), "model");
		size_t answers = 0, asked = 0;

		broken(rules, !i && model, "an answer comes first");
		broken(rules, !json_array_size(json_object_get(content, "parts")),
		       "an empty message");
		json_array_foreach(json_object_get(content, "parts"), k, part) {
			asked += json_object_get(part, "functionCall") != NULL;
			answers += json_object_get(part, "functionResponse") != NULL;
		}
		broken(rules, answers != calls, "results are not as many as calls");
		calls = asked;
	}
	broken(rules, calls, "a call without a result");
}

static const struct {
	const char *wire;
	void (*rules)(struct rules *rules, const json_t *doc);
	const char *call; /* as an answer has it; @: its id */
} wires[] = {
	{ "anthropic_messages", rules_anthropic,
	  "{\"type\":\"tool_use\",\"id\":\"@\",\"name\":\"ls\",\"input\":{}}" },
	{ "openai_chat", rules_chat,
	  "{\"id\":\"@\",\"type\":\"function\",\"function\":{\"name\":\"ls\",\"arguments\":\"{}\"}}" },
	{ "openai_responses", rules_items,
	  "{\"type\":\"function_call\",\"call_id\":\"@\",\"name\":\"ls\",\"arguments\":\"{}\"}" },
	{ "gemini_generate", rules_gemini,
	  "{\"functionCall\":{\"id\":\"@\",\"name\":\"ls\",\"args\":{}}}" },
	{ "gemini_interactions", rules_items,
	  "{\"type\":\"function_call\",\"id\":\"@\",\"name\":\"ls\",\"arguments\":{}}" },
};

/* ---- what a runner writes ---- */

struct world {
	struct provider_place *p;
	struct provider *providers[ARRAY_SIZE(wires)];
	struct key_secret key;
	struct record record;
	size_t wire; /* of the threads so far */
	size_t ids; /* of calls */
	json_t *past; /* messages of the threads so far, the oldest first */
};

static void event(struct chronicle *t, const char *type, json_t *payload)
{
	assert_non_null(payload);
	assert_works(&told_err, chronicle_event(t, type, payload, &told_err));
}

static json_t *some_answer(struct world *w, size_t calls)
{
	json_t *blocks = json_array();

	if (!calls || one_in(2))
		json_array_append_new(blocks, json_pack("{s:s, s:s}", "kind", "text", "text",
							one_in(8) ? "" : "I look."));
	for (size_t i = 0; i < calls; i++) {
		const char *form = wires[w->wire].call, *at = strchr(form, '@');
		char id[40], raw[200];

		snprintf(id, sizeof(id), "call_%zu", w->ids++);
		snprintf(raw, sizeof(raw), "%.*s%s%s", (int)(at - form), form, id, at + 1);
		json_array_append_new(blocks,
				      json_pack("{s:s, s:s, s:s, s:{}, s:s}", "kind", "tool_call",
						"id", id, "name", "ls", "arguments", "raw", raw));
	}
	return json_pack("{s:s, s:s, s:s, s:s, s:o}", "role", "assistant", "wire",
			 wires[w->wire].wire, "provider", "test", "model", "m", "blocks", blocks);
}

static void tell_call(struct chronicle *t, const json_t *block, bool result)
{
	if (result)
		event(t, "tool_call_result",
		      json_pack("{s:s, s:s}", "call_id", json_str(block, "id"), "output", "a.c"));
	else
		event(t, "tool_call_start",
		      json_pack("{s:s, s:s, s:{}}", "tool", "ls", "call_id", json_str(block, "id"),
				"input"));
}

/* One after the other, or all at once. */
static void tell_calls(struct chronicle *t, const json_t *answer)
{
	json_t *block;
	bool together = one_in(3);
	size_t i;

	json_array_foreach(json_object_get(answer, "blocks"), i, block) {
		if (strcmp(json_str(block, "kind"), "tool_call") != 0)
			continue;
		tell_call(t, block, false);
		if (!together)
			tell_call(t, block, true);
	}
	json_array_foreach(json_object_get(answer, "blocks"), i, block)
		if (together && !strcmp(json_str(block, "kind"), "tool_call"))
			tell_call(t, block, true);
}

static void tell_answer(struct world *w, struct chronicle *t, size_t calls, const char *reason)
{
	auto_json json_t *answer = some_answer(w, calls);
	json_t *raw = NULL;

	/* now and then it is longer than a line holds */
	if (one_in(300))
		json_set(answer, "pad", json_sprintf("%070000d", 1));
	assert_works(&told_err,
		     answer_keep(&w->record, (int64_t)below(100000), answer, &raw, &told_err));
	event(t, "cognition_out",
	      json_pack("{s:s, s:s, s:s, s:o}", "text",
			json_str(json_array_get(json_object_get(answer, "blocks"), 0), "text"),
			"model", "m", "finish_reason", reason, "raw", raw));
	if (calls && !strcmp(reason, "tool"))
		tell_calls(t, answer);
}

static void tell_attempts(struct chronicle *t, json_t *input)
{
	size_t n = one_in(6) ? 1 + below(3) : 1;

	while (n--) {
		event(t, "cognition_in", json_incref(input));
		event(t, "token_delta", json_pack("{s:s, s:s}", "type", "text", "text", "I"));
		if (n)
			event(t, "cognition_out",
			      json_pack("{s:s, s:s, s:b}", "text", "I", "model", "m", "is_partial",
					1));
	}
	json_decref(input);
}

static void tell_thread(struct world *w, struct chronicle *t, const char *said)
{
	size_t turns = 1 + below(5);

	event(t, "system_prompt", json_pack("{s:s, s:[]}", "text", "Be brief.", "layers"));
	tell_attempts(t, json_pack("{s:s, s:s}", "text", said, "role", "user"));
	for (size_t i = 0; i < turns; i++) {
		size_t calls = below(5);

		if (one_in(12))
			tell_answer(w, t, calls, one_in(2) ? "refusal" : "bad_call");
		tell_answer(w, t, calls, calls ? "tool" : one_in(6) ? "length" : "end");
		if (calls)
			tell_attempts(t, json_pack("{s:s, s:s}", "text", "a.c", "role", "tool"));
		else
			tell_attempts(t,
				      json_pack("{s:s, s:s}", "text", "And now?", "role", "user"));
	}
	/* the window was full: its calls are never carried out */
	if (one_in(8))
		tell_answer(w, t, below(3), "context");
	event(t, "thread_completed", json_object());
}

/* ---- its end, and the next one ---- */

static void cut(struct world *w)
{
	int fd = openat(w->record.dir, "transcript.jsonl", O_RDWR);
	off_t size = lseek(fd, 0, SEEK_END);

	/* its first line is there: nothing goes on with a thread that has not begun */
	assert_int_equal(ftruncate(fd, 150 + (off_t)below((size_t)size - 150)), 0);
	close(fd);
}

static struct rye_blob *transcript(struct world *w)
{
	struct rye_blob *text = NULL;

	assert_true(io_read_at(w->record.dir, "transcript.jsonl", RYE_BUF_CAP, &text) >= 0);
	return text;
}

static void recovered(struct world *w, bool closes)
{
	struct chronicle *t = NULL;
	auto_blob struct rye_blob *text = NULL;

	assert_works(&told_err, chronicle_open(&w->record, &t, &told_err));
	text = transcript(w);
	if (closes)
		assert_true(chronicle_close_calls(
				    t, CHRONICLE_TEXT(((struct rye_span){ text->data, text->len })),
				    "Runner lost", NULL) >= 0);
	event(t, "thread_error", json_object());
	chronicle_close(t);
}

/* A thread from its begin to its end; its messages are behind those before it. */
static void one_thread(struct world *w, const char *said, bool closes)
{
	struct chronicle *t = NULL;
	auto_blob struct rye_blob *text = NULL;
	json_t *own = NULL;

	unlinkat(w->record.dir, "transcript.jsonl", 0);
	assert_works(&told_err, chronicle_open(&w->record, &t, &told_err));
	tell_thread(w, t, said);
	chronicle_close(t);
	cut(w);
	recovered(w, closes);
	text = transcript(w);
	assert_works(&told_err,
		     messages_replay((struct rye_span){ text->data, text->len }, &own, &told_err));
	json_array_extend(w->past, own);
	json_decref(own);
}

/* What goes out when the next thread goes on with it; true: as it was. */
static bool expect_taken(struct world *w, size_t wire)
{
	struct continuation_ask ask = { w->providers[wire], &w->record };
	auto_json json_t *newest = messages_trim(w->past, TOKENS), *messages = NULL, *doc = NULL;
	auto_json json_t *open = json_object(), *seen = json_object();
	auto_buf struct rye_buf body = RYE_BUF_INIT;
	struct rules rules = { open, seen, NULL };
	struct provider_request request = { .system = "Be brief." };
	bool kept = continuation_kept(&ask, newest);

	messages = continuation_of(newest, kept);
	json_array_append_new(messages, user_message("Go on."));
	request.messages = messages;
	assert_works(&told_err,
		     provider_request_make(w->providers[wire], &request, NULL, &body, &told_err));
	doc = json_loadb(body.data, body.len, 0, NULL);
	assert_non_null(doc);
	wires[wire].rules(&rules, doc);
	if (rules.broken)
		fail_msg("%s: %s: %.*s", wires[wire].wire, rules.broken, (int)body.len, body.data);
	return kept;
}

/* How many went on as they were. */
static size_t one_round(struct world *w)
{
	size_t threads = 1 + below(CHAIN), kept = 0;

	w->wire = below(ARRAY_SIZE(wires));
	w->ids = 0;
	w->past = json_array();
	for (size_t i = 0; i < threads; i++) {
		one_thread(w, i ? "Go on." : "Greet Bob.", !one_in(5));
		kept += expect_taken(w, w->wire);
		expect_taken(w, below(ARRAY_SIZE(wires)));
	}
	json_decref(w->past);
	return kept;
}

static void open_world(struct world *w, struct provider_place *p)
{
	char path[300];

	*w = (struct world){ .p = p };
	snprintf(p->port, sizeof(p->port), "1");
	for (size_t i = 0; i < ARRAY_SIZE(wires); i++)
		w->providers[i] = provider_at(p, wires[i].wire, "");
	assert_works(&told_err, keystore_automatic(&p->place.env, &w->key, &told_err));
	snprintf(path, sizeof(path), "%s/.ai", p->place.project);
	w->record =
		(struct record){ .id = "t/hello/hello-1", .key = &w->key, .trust = p->place.trust };
	w->record.ai = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(io_mkdirs_at(w->record.ai, "state/threads/t/hello/hello-1", 0700), 0);
	w->record.dir = openat(w->record.ai, "state/threads/t/hello/hello-1",
			       O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(w->record.dir >= 0);
}

static void rounds(void **state)
{
	const char *many = getenv("RYE_ROUNDS");
	size_t n = many ? strtoul(many, NULL, 10) : ROUNDS, kept = 0;
	struct world w;

	chance = random_seed();
	open_world(&w, *state);
	for (size_t i = 0; i < n; i++)
		kept += one_round(&w);
	print_message("# %zu rounds, %zu threads went on with what their model was sent\n", n,
		      kept);
	/* both ways are tried */
	assert_in_range(kept, 1, CHAIN * n);
	for (size_t i = 0; i < ARRAY_SIZE(wires); i++)
		provider_free(w.providers[i]);
	close(w.record.ai);
	close(w.record.dir);
	key_wipe(&w.key);
}

int main(void)
{
	const struct CMUnitTest tests[] = { provider_test(rounds) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
