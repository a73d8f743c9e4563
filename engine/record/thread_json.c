/* SPDX-License-Identifier: MIT */
/*
 * thread.json: what a thread is and what came of it, signed over its canonical form, so that other
 * implementations of the format read it. Put in place in one step; a reader sees the old one or the
 * new one. No lock: the process that owns the thread writes it.
 */
#include "record/record_inner.h"

#include "base/io.h"
#include "bounds.h"
#include "clock.h"
#include "memory.h"
#include "scope.h"
#include "sign/sign.h"
#include "str.h"

#define THREAD_JSON "thread.json"

static void put_word(json_t *doc, const char *key, const char *text)
{
	if (text && *text)
		json_sets(doc, key, text);
}

/* What is empty is left out. */
static void thread_json_put(json_t *doc, const char *key, const json_t *value)
{
	if (json_truthy(value))
		json_object_set(doc, key, (json_t *)value);
}

static json_t *thread_json_make(const struct record *record, const struct thread_json *what,
				const char *now)
{
	json_t *doc = json_object(), *value;
	const char *key;

	json_sets(doc, "thread_id", record->id);
	json_sets(doc, "directive", what->directive);
	json_sets(doc, "tool_id", what->tool_id ? what->tool_id : THREAD_TOOL_ID);
	json_sets(doc, "status", what->status);
	json_sets(doc, "created_at", what->created_at);
	json_sets(doc, "updated_at", now);
	put_word(doc, "model", what->model);
	thread_json_put(doc, "cost", what->cost);
	thread_json_put(doc, "limits", what->limits);
	thread_json_put(doc, "capabilities", what->capabilities);
	thread_json_put(doc, "outputs", what->outputs);
	put_word(doc, "transcript_head", what->transcript_head);
	json_object_foreach((json_t *)what->more, key, value) {
		if (!json_object_get(doc, key))
			thread_json_put(doc, key, value);
	}
	return doc;
}

/* Signs it; of what was made since then nothing may lack for want of memory. */
static int thread_json_keep(const struct record *record, json_t *doc, unsigned long since,
			    struct rye_err *err)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	char stamp[24];
	int r;

	if (memory_check(since, err))
		return -(int)RYE_IO;
	clock_stamp((time_t)(record_now(record) / 1000000), stamp);
	r = signdoc_sign(record->key, doc, stamp, err);
	if (r)
		return r;
	json_python_indent(&text, doc);
	if (text.failed || memory_check(since, NULL))
		return memory_fail(err);
	return record_put(record->dir, THREAD_JSON, (struct rye_span){ text.data, text.len }, err);
}

int thread_json_write(const struct record *record, struct thread_json *what, struct rye_err *err)
{
	unsigned long since = memory_failures();
	auto_json json_t *plain = NULL, *doc = NULL;
	char now[40];

	record_stamp(record, now);
	if (!*what->created_at)
		memcpy(what->created_at, now, sizeof(now));
	plain = thread_json_make(record, what, now);
	doc = record_redact(record, plain);
	return thread_json_keep(record, doc, since, err);
}

int thread_json_again(const struct record *record, const json_t *old, const char *status,
		      struct rye_err *err)
{
	unsigned long since = memory_failures();
	auto_json json_t *doc = json_copy((json_t *)old);
	char now[40];

	record_stamp(record, now);
	json_sets(doc, "status", status);
	json_sets(doc, "updated_at", now);
	json_object_del(doc, "_signature");
	return thread_json_keep(record, doc, since, err);
}

int thread_json_parse(const struct record *record, struct rye_span text, json_t **ret,
		      struct rye_err *err)
{
	auto_json json_t *doc = NULL;
	char ref[RECORD_REF_MAX];
	int r = record_parse(text, 0, THREAD_JSON, &doc, err);

	record_ref(record, THREAD_JSON, ref);
	if (!r)
		r = signdoc_verify(record->trust, ref, doc, err);
	if (r)
		return r;
	if (strcmp(json_str(doc, "thread_id"), record->id) != 0)
		return rye_fail(err, RYE_MOVED, "thread.json of another thread: %.300s",
				json_str(doc, "thread_id"));
	*ret = steal(&doc);
	return 0;
}

int thread_json_read(const struct record *record, json_t **ret, struct rye_err *err)
{
	auto_blob struct rye_blob *blob = NULL;
	int r = io_read_at(record->dir, THREAD_JSON, RYE_BUF_CAP, &blob);

	if (r < 0)
		return rye_fail_sys(err, -r, "%.700s/" THREAD_JSON, record->id);
	return thread_json_parse(record, (struct rye_span){ blob->data, blob->len }, ret, err);
}
