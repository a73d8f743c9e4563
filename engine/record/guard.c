/* SPDX-License-Identifier: MIT */
/*
 * What a model is given of a tool's result: all of it when it is short, else the head and tail of its
 * longest texts, and where the whole lies. A result that was given before is given again: that it is
 * still before the model's eyes is not known here. Pure but for the artifact.
 */
#include "record/record_inner.h"

#include "format/format.h"
#include "bounds.h"
#include "memory.h"
#include "parse/parse.h"
#include "scope.h"
#include "str.h"

#include <stdio.h>

/* ---- cleaning ---- */

/* A header line is for machines. */
static json_t *without_signature(const char *text)
{
	static const char *const openers[] = { "<!-- ", "# ", "// " };
	auto_buf struct rye_buf out = RYE_BUF_INIT;
	struct rye_span rest = span_of(text), line;
	bool whole = true;

	while (span_line(&rest, &line)) {
		bool header = false;

		for (size_t i = 0; i < ARRAY_SIZE(openers); i++) {
			size_t n = strlen(openers[i]);

			header |= span_starts(line, openers[i]) &&
				  (span_starts(span_skip(line, n), "rye:signed:") ||
				   span_starts(span_skip(line, n), "rye:full:1:"));
		}
		whole &= !header;
		if (!header) {
			buf_addspan(&out, line);
			if (rest.len || text[strlen(text) - 1] == '\n')
				buf_addc(&out, '\n');
		}
	}
	return whole || out.failed ? NULL : json_stringn(out.len ? out.data : "", out.len);
}

json_t *guard_clean(const json_t *envelope)
{
	auto_json json_t *said = NULL;
	json_t *content, *clean;

	if (!json_is_object(envelope))
		return json_incref((json_t *)envelope);
	said = plain_said(envelope);
	content = json_is_string(said) ? said : json_object_get(said, "content");
	content = json_is_string(content) ? without_signature(json_string_value(content)) : NULL;
	if (!content)
		return steal(&said);
	if (json_is_string(said))
		return content;
	clean = json_copy(said);
	json_object_set_new(clean, "content", content);
	return clean;
}

/* Each text that may have been cut where it was taken, with how long it was. */
size_t guard_lost(const json_t *envelope)
{
	static const char *const parts[][2] = {
		{ "stdout", "stdout_bytes" },
		{ "stderr", "stderr_bytes" },
		{ "body", "body_bytes" },
	};
	const json_t *data = json_object_get(envelope, "data");
	size_t lost = 0;

	if (!json_flag(data, "truncated", false))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		json_int_t came = json_int(data, parts[i][1], 0);
		size_t kept = json_string_length(json_object_get(data, parts[i][0]));

		if (came > 0 && (size_t)came > kept)
			lost += (size_t)came - kept;
	}
	/* one that was mended may be longer than what came of it */
	return MAX_OF(lost, (size_t)1);
}

/* ---- cutting ---- */

/* Head and tail of at most `keep` bytes, with the number of bytes between them. */
static void put_ends(struct rye_buf *out, struct rye_span text, size_t keep)
{
	size_t head = utf8_start(text.ptr, keep / 2), tail = text.len - (keep - keep / 2);

	while (tail < text.len && ((unsigned char)text.ptr[tail] & 0xc0) == 0x80)
		tail++;
	buf_add(out, text.ptr, head);
	buf_addf(out, "\n[… %zu bytes left out …]\n", tail - head);
	buf_add(out, text.ptr + tail, text.len - tail);
}

#define MARK_ROOM 48

static json_t *cut_value(const json_t *value, size_t keep)
{
	auto_buf struct rye_buf out = RYE_BUF_INIT;
	json_t *copy, *element;
	const char *key;
	size_t i, len = json_string_length(value);

	if (json_is_string(value) && len > keep + MARK_ROOM) {
		put_ends(&out, (struct rye_span){ json_string_value(value), len }, keep);
		return out.failed ? json_null() : json_stringn(out.data, out.len);
	}
	if (json_is_array(value)) {
		copy = json_array();
		json_array_foreach(value, i, element) {
			json_array_append_new(copy, cut_value(element, keep));
		}
		return copy;
	}
	if (!json_is_object(value))
		return json_incref((json_t *)value);
	copy = json_object();
	json_object_foreach((json_t *)value, key, element) {
		json_set(copy, key, cut_value(element, keep));
	}
	return copy;
}

static bool put_cut(const json_t *value, size_t keep, size_t limit, struct rye_buf *out)
{
	auto_json json_t *cut = cut_value(value, keep);

	buf_clear(out);
	plain_put(out, cut);
	return !out->failed && out->len <= limit;
}

/* As much of its texts as fits; when even without them it is too long, the ends of the whole. */
static void put_short(const json_t *value, struct rye_span whole, size_t limit, struct rye_buf *out)
{
	size_t low = 0, high = limit;

	if (!put_cut(value, 0, limit, out)) {
		buf_clear(out);
		put_ends(out, whole, limit > MARK_ROOM ? limit - MARK_ROOM : 0);
		return;
	}
	while (high - low > 8) {
		size_t keep = (low + high) / 2;

		if (put_cut(value, keep, limit, out))
			low = keep;
		else
			high = keep;
	}
	put_cut(value, low, limit, out);
}

static void put_lost(struct rye_buf *out, const struct guard_ask *ask, size_t size)
{
	buf_addf(out, "[%zu bytes of at least %zu: the rest was cut and is lost", size,
		 size + ask->lost);
}

static void put_note(struct rye_buf *out, const struct guard_ask *ask, const char *key,
		     const char *hash, size_t size)
{
	if (ask->lost) {
		put_lost(out, ask, size);
		buf_adds(out, "; what was kept is ");
	} else {
		buf_addf(out, "[%zu bytes in all; the whole result is ", size);
	}
	if (ask->where)
		buf_addf(out, "%s/%s]\n", ask->where, key);
	else
		buf_addf(out, ".ai/state/objects/blobs/%.2s/%.2s/%s]\n", hash, hash + 2, hash);
}

/* The digest that its artifact is stored under. */
static int blob_hash(const struct record *record, const char *key, char ret[SHA_HEX],
		     struct rye_err *err)
{
	auto_json json_t *entries = NULL;
	int r = artifact_index(record, &entries, err);

	if (!r)
		snprintf(ret, SHA_HEX, "%s", json_str(json_object_get(entries, key), "blob_hash"));
	return r;
}

int guard_put(const struct record *record, const struct guard_ask *ask, struct rye_buf *out,
	      struct rye_err *err)
{
	unsigned long since = memory_failures();
	size_t limit = ask->context_used > 0.75 ? GUARD_LIMIT_FULL : GUARD_LIMIT;
	auto_json json_t *clean = record_redact(record, ask->result);
	auto_buf struct rye_buf whole = RYE_BUF_INIT, note = RYE_BUF_INIT, text = RYE_BUF_INIT;
	char key[ARTIFACT_KEY_MAX], hash[SHA_HEX] = "";
	int r;

	plain_put(&whole, clean);
	if (whole.failed || memory_check(since, NULL))
		return memory_fail(err);
	if (whole.len <= limit) {
		if (ask->lost) {
			put_lost(out, ask, whole.len);
			buf_adds(out, "]\n");
		}
		buf_add(out, whole.data, whole.len);
		return 0;
	}
	r = artifact_put(record, &ask->artifact, clean, key, err);
	if (!r)
		r = blob_hash(record, key, hash, err);
	if (r)
		return r;
	if (ask->whole) {
		buf_add(out, whole.data, whole.len);
		return 0;
	}
	put_note(&note, ask, key, hash, whole.len);
	put_short(clean, (struct rye_span){ whole.data, whole.len },
		  note.len < limit ? limit - note.len : 0, &text);
	buf_add(out, note.data, note.len);
	buf_add(out, text.data, text.len);
	return 0;
}
