/* SPDX-License-Identifier: MIT */
/*
 * What happened in a thread, out of its transcript: turn by turn, as a conversation, as a page. The
 * transcript is read and taken apart once for as long as it stays as it is: a listing of `turns` asks
 * for each of its files. Lock: facts->lock for what is kept; the file is read without it.
 */
#include "facts/facts_inner.h"

#include "base/io.h"
#include "bounds.h"
#include "hash.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- taking apart ---- */

struct facts_story {
	json_t *doc; /* {turns, prompt, system, answer} */
	json_t *turns, *turn; /* borrowed */
	json_t *open; /* {call id: the directory of its files}: calls without a result */
	bool answered;
	size_t calls; /* of this turn */
	size_t kept; /* bytes of lines that are in doc */
};

static void story_append(json_t *object, const char *key, const char *text)
{
	auto_buf struct rye_buf all = RYE_BUF_INIT;
	const char *old = json_str(object, key);

	buf_adds(&all, old);
	if (*old && old[strlen(old) - 1] != '\n')
		buf_addc(&all, '\n');
	buf_adds(&all, text);
	if (!all.failed)
		json_sets(object, key, all.data);
}

static void story_turn(struct facts_story *story)
{
	char name[32];

	snprintf(name, sizeof(name), "%03zu", json_object_size(story->turns) + 1);
	story->turn = json_object();
	json_object_set_new(story->turns, name, story->turn);
	story->answered = false;
	story->calls = 0;
}

static void heard_system(struct facts_story *story, const json_t *payload)
{
	story_append(story->doc, "system", json_str(payload, "text"));
}

/* Asked again after a failure, a turn's input is there twice. */
static void heard_in(struct facts_story *story, const json_t *payload)
{
	const char *text = json_str(payload, "text"), *role = json_str(payload, "role");

	if (strcmp(role, "tool") != 0 && !*json_str(story->doc, "prompt"))
		json_sets(story->doc, "prompt", text);
	if (!story->turn || story->answered)
		story_turn(story);
	if (strcmp(json_str(story->turn, "in"), text) != 0)
		story_append(story->turn, "in", text);
}

static void story_usage(json_t *turn, const json_t *payload)
{
	json_t *usage = json_object_get(json_object_get(payload, "raw"), "usage"), *value;
	auto_buf struct rye_buf lines = RYE_BUF_INIT;
	const char *name;

	json_object_foreach(usage, name, value)
		if (json_is_number(value))
			buf_addf(&lines, "%s %.10g\n", name, json_number_value(value));
	if (lines.len && !lines.failed)
		json_sets(turn, "cost", lines.data);
}

static void heard_out(struct facts_story *story, const json_t *payload)
{
	if (json_flag(payload, "is_partial", false))
		return;
	if (!story->turn || story->answered)
		story_turn(story);
	story->answered = true;
	json_sets(story->turn, "out", json_str(payload, "text"));
	/* one that only calls tools says nothing */
	if (*json_str(payload, "text"))
		json_sets(story->doc, "answer", json_str(payload, "text"));
	story_usage(story->turn, payload);
}

static void heard_reasoning(struct facts_story *story, const json_t *payload)
{
	if (story->turn)
		story_append(story->turn, "reasoning", json_str(payload, "text"));
}

static void heard_call(struct facts_story *story, const json_t *payload)
{
	auto_buf struct rye_buf input = RYE_BUF_INIT;
	const json_t *given = json_object_get(payload, "input");
	json_t *tools, *call = json_object();
	char tool[128], name[160];

	if (!story->turn)
		story_turn(story);
	tools = json_object_get(story->turn, "tools");
	if (!tools) {
		tools = json_object();
		json_object_set_new(story->turn, "tools", tools);
	}
	facts_name(json_str(payload, "tool"), tool);
	snprintf(name, sizeof(name), "%zu-%s", ++story->calls, tool);
	json_object_set_new(tools, name, call);
	if (given)
		json_pretty(&input, given);
	json_sets(call, "input.json", input.len && !input.failed ? input.data : "{}\n");
	json_object_set(story->open, json_str(payload, "call_id"), call);
}

static void heard_result(struct facts_story *story, const json_t *payload)
{
	json_t *call = json_object_get(story->open, json_str(payload, "call_id"));

	if (!call)
		return;
	json_sets(call, "output", json_str(payload, "output"));
	if (*json_str(payload, "error"))
		json_sets(call, "error", json_str(payload, "error"));
	json_object_del(story->open, json_str(payload, "call_id"));
}

static int hear_line(void *arg, const struct chronicle_line *line)
{
	static const struct {
		const char *type;
		void (*fn)(struct facts_story *story, const json_t *payload);
	} rows[] = {
		{ "cognition_in", heard_in },
		{ "cognition_out", heard_out },
		{ "cognition_reasoning", heard_reasoning },
		{ "system_prompt", heard_system },
		{ "tool_call_result", heard_result },
		{ "tool_call_start", heard_call },
	};

	struct facts_story *story = arg;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!strcmp(line->type, rows[i].type)) {
			story->kept += line->text.len;
			if (story->kept <= RYE_BUF_CAP)
				rows[i].fn(story, line->payload);
		}
	return 0;
}

static int story_parse(const struct facts_look *look, json_t **ret, struct rye_err *err)
{
	const struct record record = facts_record(look, -1);
	unsigned long since = memory_failures();
	auto_json json_t *open = json_object();
	auto_json json_t *doc = json_object();
	struct facts_story story = { .doc = doc, .turns = json_object(), .open = open };
	int r;

	json_object_set_new(doc, "turns", story.turns);
	r = memory_result(since, chronicle_each(CHRONICLE_FILE(&record), hear_line, &story, err),
			  err);
	if (!r && story.kept > RYE_BUF_CAP)
		r = rye_fail(err, RYE_TOO_BIG,
			     "what was said in thread %s alone has %zu MiB, wanted at most %u",
			     look->id, story.kept >> 20, RYE_BUF_CAP >> 20);
	if (!r)
		*ret = steal(&doc);
	return r;
}

/* ---- what is kept ---- */

/* A new reference to a document that nothing changes. */
static int story_of(const struct facts_look *look, json_t **ret, struct rye_err *err)
{
	struct facts *facts = look->facts;
	struct stat st, after;
	int r;

	if (fstatat(look->thread.dir, "transcript.jsonl", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return rye_fail(err, RYE_NOT_FOUND, "thread %s has no transcript", look->id);
	{
		GUARD(&facts->lock);
		*ret = facts->story && stat_same(&st, &facts->story_stat) ?
			       json_incref(facts->story) :
			       NULL;
	}
	if (*ret)
		return 0;
	r = story_parse(look, ret, err);
	if (r)
		return r;
	/* what has grown since belongs to a later look */
	if (!fstatat(look->thread.dir, "transcript.jsonl", &after, AT_SYMLINK_NOFOLLOW) &&
	    stat_same(&st, &after)) {
		GUARD(&facts->lock);
		json_decref(facts->story);
		facts->story = json_incref(*ret);
		facts->story_stat = st;
	}
	return 0;
}

/* ---- the rows ---- */

static int put_part(const struct facts_look *look, const char *key, struct rye_buf *out,
		    struct rye_err *err)
{
	auto_json json_t *story = NULL;
	int r = story_of(look, &story, err);

	if (!r)
		buf_adds(out, json_str(story, key));
	return r;
}

int fact_prompt(const struct facts_look *look, struct rye_buf *out, struct rye_err *err)
{
	return put_part(look, "prompt", out, err);
}

int fact_system(const struct facts_look *look, struct rye_buf *out, struct rye_err *err)
{
	return put_part(look, "system", out, err);
}

void facts_last_answer(const struct facts_look *look, struct rye_buf *out)
{
	if (look->has & NEEDS_STORY)
		put_part(look, "answer", out, NULL);
}

int fact_turns(const struct facts_look *look, json_t **ret, struct rye_err *err)
{
	auto_json json_t *story = NULL;
	int r = story_of(look, &story, err);

	if (!r)
		*ret = json_incref(json_object_get(story, "turns"));
	return r;
}

uint64_t fact_messages_state(const struct facts_look *look)
{
	return facts_file_state(HASH_BASIS, look->thread.dir, "transcript.jsonl");
}

int fact_messages(const struct facts_look *look, struct rye_buf *out, struct rye_err *err)
{
	const struct record record = facts_record(look, -1);
	auto_json json_t *list = NULL;
	struct messages *messages = messages_begin(false);
	int r, end;

	if (!messages)
		return memory_fail(err);
	r = chronicle_each(CHRONICLE_FILE(&record), messages_event, messages, err);
	end = messages_end(messages, &list, r ? NULL : err);
	if (!r && !end)
		json_pretty(out, list);
	return r ? r : end;
}

static void story_entry_path(const struct facts_look *look, struct rye_buf *path)
{
	buf_addf(path, "knowledge/agent/threads/%s.md", look->id);
}

uint64_t fact_transcript_state(const struct facts_look *look)
{
	const struct thread_cost *cost = &look->thread.links.cost;
	auto_close int ai = facts_ai(look->facts, NULL);
	auto_buf struct rye_buf path = RYE_BUF_INIT;
	uint64_t state = fact_messages_state(look);

	story_entry_path(look, &path);
	if (ai < 0 || path.failed)
		return 0;
	state = facts_file_state(state, ai, path.data);
	state = facts_file_state(state, look->thread.dir, "thread.json");
	if (!state)
		return 0;
	state = hash_text(state, look->thread.row.status);
	state = hash_bytes(state, &cost->spend, sizeof(cost->spend));
	state = hash_bytes(state, &cost->elapsed_seconds, sizeof(cost->elapsed_seconds));
	return hash_add(hash_add(hash_add(state, (uint64_t)cost->turns),
				 (uint64_t)cost->input_tokens),
			(uint64_t)cost->output_tokens);
}

/* The knowledge entry where there is one; else the page that it would be, unsigned. */
int fact_transcript(const struct facts_look *look, struct rye_buf *out, struct rye_err *err)
{
	auto_close int ai = facts_ai(look->facts, err);
	auto_blob struct rye_blob *text = NULL;
	auto_buf struct rye_buf path = RYE_BUF_INIT;
	struct story story = { .directive = json_str(look->doc, "directive"),
			       .status = look->thread.row.status,
			       .model = json_str(look->doc, "model"),
			       .cost = look->thread.links.cost,
			       .capabilities = json_object_get(look->doc, "capabilities") };
	const struct record record = facts_record(look, -1);

	if (ai < 0)
		return ai;
	story_entry_path(look, &path);
	if (!path.failed && io_read_at(ai, path.data, RYE_BUF_CAP, &text) == 0) {
		buf_add(out, text->data, text->len);
		return 0;
	}
	if (json_object_get(look->doc, "cost"))
		thread_cost_read(json_object_get(look->doc, "cost"), &story.cost);
	return story_put(out, look->id, &story, CHRONICLE_FILE(&record), err);
}
