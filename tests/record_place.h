/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * record_place.h - a project in a temporary directory with the directory of one thread, the key that
 * signs what threads leave behind, and a clock that the test moves.
 */
#include "item_place.h"

#include "bounds.h"
#include "record/record.h"

struct record_place {
	struct test_place p;
	struct key_secret key;
	struct record record;
	int64_t now_us;
	int ai, dir;
};

#define RECORD_ID "t/hello/hello-1"

static inline int64_t record_place_now(void *arg)
{
	return ((struct record_place *)arg)->now_us;
}

static inline void record_place_make(struct record_place *r, const char *id)
{
	char path[300];
	struct rye_err err = { 0 };

	*r = (struct record_place){ .now_us = INT64_C(1767323045000000) };
	place_make(&r->p);
	place_text(r->p.project, "state/threads/.keep", "");
	place_open(&r->p, false);
	if (keystore_automatic(&r->p.env, &r->key, &err))
		fail_msg("%s", err.msg);
	snprintf(path, sizeof(path), "%s/.ai", r->p.project);
	r->ai = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(path, sizeof(path), "state/threads/%s", id);
	assert_int_equal(io_mkdirs_at(r->ai, path, 0700), 0);
	r->dir = openat(r->ai, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(r->dir >= 0);
	r->record = (struct record){ .ai = r->ai,
				     .dir = r->dir,
				     .id = id,
				     .key = &r->key,
				     .trust = r->p.trust,
				     .now_us = record_place_now,
				     .now_arg = r };
}

static inline void record_place_drop(struct record_place *r)
{
	close(r->ai);
	close(r->dir);
	key_wipe(&r->key);
	place_drop(&r->p);
}

/* The whole transcript. */
static inline int record_transcript(const struct record *record, struct rye_blob **ret,
				    struct rye_err *err)
{
	int r = io_read_at(record->dir, "transcript.jsonl", RYE_BUF_CAP, ret);

	return r < 0 ? rye_fail_sys(err, -r, "transcript.jsonl") : 0;
}

/* The artifact of that name in the index. */
static inline int record_artifact(const struct record *record, const char *key,
				  struct rye_blob **ret, struct rye_err *err)
{
	auto_json json_t *entries = NULL;
	int r = artifact_index(record, &entries, err);

	return r ? r :
		   artifact_blob(record, json_str(json_object_get(entries, key), "blob_hash"), ret,
				 err);
}

/* A conversation of two turns: a tool's call, then the answer, and its end. */
static inline void record_talk(struct record_place *r, struct chronicle *t)
{
	static const struct {
		const char *type, *payload;
	} events[] = {
		{ "system_prompt", "{\"text\":\"Be brief.\",\"layers\":[]}" },
		{ "cognition_in", "{\"text\":\"Greet Bob.\",\"role\":\"user\"}" },
		{ "cognition_out", "{\"text\":\"I look.\",\"model\":\"m\"}" },
		{ "cognition_reasoning", "{\"text\":\"one\\n\\ntwo\"}" },
		{ "tool_call_start",
		  "{\"tool\":\"rye_read\",\"call_id\":\"c0\",\"input\":{\"path\":\"a\"}}" },
		{ "tool_call_result", "{\"call_id\":\"c0\",\"output\":\"Bob \\u00e9 ``` x\"}" },
		{ NULL, NULL },
		{ "cognition_in", "{\"text\":\"Bob\",\"role\":\"tool\"}" },
		{ "cognition_in", "{\"text\":\"Bob\",\"role\":\"tool\"}" },
		{ "cognition_out", "{\"text\":\"Hello, Bob.\",\"model\":\"m\"}" },
		{ "thread_completed", "{\"cost\":{\"turns\":2}}" },
		{ NULL, NULL },
	};
	int64_t turn = 0;

	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		r->now_us += 1250000;
		if (events[i].type)
			assert_int_equal(chronicle_event(t, events[i].type,
							 json_loads(events[i].payload, 0, NULL),
							 NULL),
					 0);
		else
			assert_int_equal(chronicle_checkpoint(t, ++turn, NULL), 0);
	}
}
