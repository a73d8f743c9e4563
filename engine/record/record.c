/* SPDX-License-Identifier: MIT */
/*
 * What the files of a thread have in common: the clock they are stamped by, strings that must never be
 * written, references for signatures, and putting a file in its place. No lock.
 */
#include "record/record_inner.h"

#include "base/io.h"
#include "bounds.h"
#include "clock.h"
#include "memory.h"
#include "scope.h"
#include "sign/sign.h"
#include "str.h"

#include <errno.h>
#include <stdio.h>

#define REDACTED "[redacted]"
/* Shorter ones are found everywhere, and keep nothing secret. */
#define SECRET_MIN 4

int64_t record_now(const struct record *record)
{
	struct timespec now;

	if (record->now_us)
		return record->now_us(record->now_arg);
	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void record_stamp(const struct record *record, char ret[40])
{
	clock_iso_at(record_now(record), ret);
}

void record_ref(const struct record *record, const char *name, char ret[RECORD_REF_MAX])
{
	snprintf(ret, RECORD_REF_MAX, "state:%s/%.1024s/%s",
		 record->place ? record->place : "threads", record->id, name);
}

/* ---- secrets ---- */

/* The text without any of them; NULL: it has none. */
static char *redact_text(const json_t *secrets, const char *text)
{
	char *clean = NULL;
	json_t *secret;
	size_t i;

	json_array_foreach(secrets, i, secret) {
		auto_buf struct rye_buf buf = RYE_BUF_INIT;
		const char *from = clean ? clean : text, *hide = json_string_value(secret), *hit;

		if (!hide || strlen(hide) < SECRET_MIN || !strstr(from, hide))
			continue;
		for (; (hit = strstr(from, hide)); from = hit + strlen(hide)) {
			buf_add(&buf, from, (size_t)(hit - from));
			buf_adds(&buf, REDACTED);
		}
		buf_adds(&buf, from);
		free(clean);
		clean = memory_note(buf_steal(&buf));
		if (!clean)
			return memory_note(strdup(REDACTED));
	}
	return clean;
}

static json_t *redact_value(const json_t *secrets, const json_t *value);

static json_t *redact_object(const json_t *secrets, const json_t *value)
{
	json_t *clean = json_object(), *element;
	const char *key;

	json_object_foreach((json_t *)value, key, element) {
		auto_free char *name = redact_text(secrets, key);

		json_set(clean, name ? name : key, redact_value(secrets, element));
	}
	return clean;
}

static json_t *redact_value(const json_t *secrets, const json_t *value)
{
	if (json_is_string(value)) {
		auto_free char *text = redact_text(secrets, json_string_value(value));

		return text ? json_string(text) : json_incref((json_t *)value);
	}
	if (json_is_array(value)) {
		json_t *clean = json_array(), *element;
		size_t i;

		json_array_foreach(value, i, element) {
			json_array_append_new(clean, redact_value(secrets, element));
		}
		return clean;
	}
	return json_is_object(value) ? redact_object(secrets, value) : json_incref((json_t *)value);
}

json_t *record_redact(const struct record *record, const json_t *value)
{
	if (!json_array_size(record->secrets))
		return json_incref((json_t *)value);
	return redact_value(record->secrets, value);
}

/* ---- files ---- */

int record_parse(struct rye_span text, int flags, const char *what, json_t **ret,
		 struct rye_err *err)
{
	unsigned long since = memory_failures();
	struct rye_err why = { .code = RYE_INVALID };
	json_t *doc = json_parse(text, flags, what, &why);

	if (memory_check(since, &why) || !doc) {
		json_decref(doc);
		if (err)
			*err = why;
		return -(int)why.code;
	}
	*ret = doc;
	return 0;
}

int record_put(int dir, const char *path, struct rye_span bytes, struct rye_err *err)
{
	const char *slash = strrchr(path, '/');
	auto_free char *parent = strndup(path, slash ? (size_t)(slash - path) : 0);
	int r = 0;

	if (!parent)
		return memory_fail(err);
	if (slash)
		r = io_mkdirs_at(dir, parent, 0700);
	if (!r)
		r = io_replace_at(dir, path, bytes, 0600);
	return r ? rye_fail_sys(err, -r, "cannot write %.700s", path) : 0;
}

int record_put_signed(const struct record *record, const struct record_text *what,
		      struct rye_err *err)
{
	auto_blob struct rye_blob *blob = NULL;
	struct signature signature;
	char stamp[24];
	int r;

	clock_stamp((time_t)(record_now(record) / 1000000), stamp);
	r = sign_text(&(struct sign_text){ .key = record->key,
					   .place = { RYE_KNOWLEDGE, what->id, ".md" },
					   .raw = what->text,
					   .stamp = stamp },
		      &blob, &signature, err);
	if (r)
		return r;
	return record_put(what->dir, what->path, (struct rye_span){ blob->data, blob->len }, err);
}

/* ---- cost ---- */

json_t *thread_cost_json(const struct thread_cost *cost)
{
	return json_pack("{s:I, s:I, s:I, s:f, s:f}", "turns", (json_int_t)cost->turns,
			 "input_tokens", (json_int_t)cost->input_tokens, "output_tokens",
			 (json_int_t)cost->output_tokens, "spend", cost->spend, "elapsed_seconds",
			 cost->elapsed_seconds);
}

void thread_cost_add(struct thread_cost *cost, const struct thread_cost *more)
{
	cost->turns += more->turns;
	cost->input_tokens += more->input_tokens;
	cost->output_tokens += more->output_tokens;
	cost->spend += more->spend;
	cost->elapsed_seconds += more->elapsed_seconds;
}

void thread_cost_read(const json_t *object, struct thread_cost *ret)
{
	*ret = (struct thread_cost){
		.turns = json_int(object, "turns", 0),
		.input_tokens = json_int(object, "input_tokens", 0),
		.output_tokens = json_int(object, "output_tokens", 0),
		.spend = json_number_value(json_object_get(object, "spend")),
		.elapsed_seconds = json_number_value(json_object_get(object, "elapsed_seconds")),
	};
}

/* ---- records of another machine ---- */

int record_note(const struct record *record, const char *name, bool synced, json_t *doc,
		struct rye_err *err)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	int r;

	json_sets(doc, "thread_id", record->id);
	r = signdoc_sign(record->key, doc, NULL, err);
	if (r)
		return r;
	json_put(&text, doc, true);
	if (text.failed)
		return memory_fail(err);
	r = (synced ? io_replace_at : io_remember_at)(record->dir, name, buf_span(&text), 0600);
	return r < 0 ? rye_fail_sys(err, -r, "%s", name) : 0;
}

json_t *record_noted(const struct record *record, const char *name)
{
	auto_blob struct rye_blob *text = NULL;
	auto_json json_t *doc = NULL;
	char ref[RECORD_REF_MAX];

	if (io_read_at(record->dir, name, RYE_MESSAGE_MAX, &text))
		return NULL;
	doc = json_parse((struct rye_span){ text->data, text->len }, 0, name, NULL);
	record_ref(record, name, ref);
	if (!doc || signdoc_verify(record->trust, ref, doc, NULL) ||
	    strcmp(json_str(doc, "thread_id"), record->id) != 0)
		return NULL;
	return steal(&doc);
}

int record_vouch(const struct record *record, const char *remote, const char *pem,
		 struct rye_err *err)
{
	auto_json json_t *doc = json_pack("{s:s, s:s}", "remote", remote, "key", pem);

	return doc ? record_note(record, RECORD_VOUCHED, true, doc, err) : memory_fail(err);
}

bool record_vouched(const struct record *record, char ret_remote[65], struct trust_box **ret_box)
{
	auto_json json_t *doc = record_noted(record, RECORD_VOUCHED);
	char state[RECORD_REF_MAX], story[RECORD_REF_MAX];
	const char *const scope[2] = { state, story };
	struct key_public key;

	if (!doc || key_public_parse(span_of(json_str(doc, "key")), &key, NULL))
		return false;
	record_ref(record, "**", state);
	snprintf(story, sizeof(story), "knowledge:agent/threads/%.1024s/**", record->id);
	if (ret_remote)
		snprintf(ret_remote, 65, "%s", json_str(doc, "remote"));
	*ret_box = trust_box_with(record->trust, &key, scope);
	return true;
}
