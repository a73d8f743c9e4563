/* SPDX-License-Identifier: MIT */
/*
 * Results of tools and long answers of models, whole, below .ai/state/objects: a blob by the digest of
 * its bytes, so the same one is there once, and for each thread an index of them, an object that a
 * pointer file names. The index is written anew for each artifact; the one before it goes. No lock: the process that owns the
 * thread writes.
 */
#include "record/record_inner.h"

#include "base/io.h"
#include "bounds.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#define OBJECTS "state/objects"
#define OBJECT_PATH 160

static void object_path(const char *sort, const char *hash, const char *ext, char ret[OBJECT_PATH])
{
	snprintf(ret, OBJECT_PATH, OBJECTS "/%s/%.2s/%.2s/%.64s%s", sort, hash, hash + 2, hash,
		 ext);
}

static void pointer_path(const struct record *record, char ret[1200])
{
	snprintf(ret, 1200, OBJECTS "/refs/artifacts/%.1024s.json", record->id);
}

/* Bytes under their own digest; what is there already is the same. */
static int store_object(const struct record *record, const char *sort, struct rye_span bytes,
			char ret_hash[SHA_HEX], struct rye_err *err)
{
	char path[OBJECT_PATH];

	sha256_hex(bytes, ret_hash);
	object_path(sort, ret_hash, strcmp(sort, "objects") ? "" : ".json", path);
	if (faccessat(record->ai, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	return record_put(record->ai, path, bytes, err);
}

static bool is_digest(const char *text)
{
	return strlen(text) == SHA_HEX - 1 && is_hex_lower(span_of(text));
}

/* The hash in the pointer file; "": there is none. */
static int read_pointer(const struct record *record, char ret[SHA_HEX], struct rye_err *err)
{
	auto_blob struct rye_blob *blob = NULL;
	auto_json json_t *doc = NULL;
	char path[1200];
	int r;

	*ret = 0;
	pointer_path(record, path);
	r = io_read_at(record->ai, path, 4096, &blob);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return rye_fail_sys(err, -r, "%.900s", path);
	r = record_parse((struct rye_span){ blob->data, blob->len }, 0, path, &doc, err);
	if (r)
		return r;
	if (!is_digest(json_str(doc, "hash")))
		return rye_fail(err, RYE_INVALID, "%.900s: no hash of an index", path);
	snprintf(ret, SHA_HEX, "%s", json_str(doc, "hash"));
	return 0;
}

/* The bytes of an object, if they are what their name says. */
static int read_object(const struct record *record, const char *path, const char *hash,
		       struct rye_blob **ret, struct rye_err *err)
{
	auto_blob struct rye_blob *blob = NULL;
	char found[SHA_HEX];
	int r = io_read_at(record->ai, path, RYE_BUF_CAP, &blob);

	if (r < 0)
		return rye_fail_sys(err, -r, "%s", path);
	sha256_hex((struct rye_span){ blob->data, blob->len }, found);
	if (strcmp(found, hash) != 0)
		return rye_fail(err, RYE_MODIFIED, "%s: its bytes are not what its name says",
				path);
	*ret = steal(&blob);
	return 0;
}

/* The whole index object; NULL with 0: the thread has none. */
static int read_index(const struct record *record, const char *hash, json_t **ret,
		      struct rye_err *err)
{
	auto_blob struct rye_blob *blob = NULL;
	auto_json json_t *doc = NULL;
	char path[OBJECT_PATH];
	int r;

	*ret = NULL;
	if (!*hash)
		return 0;
	object_path("objects", hash, ".json", path);
	r = read_object(record, path, hash, &blob, err);
	if (r)
		return r;
	r = record_parse((struct rye_span){ blob->data, blob->len }, 0, path, &doc, err);
	if (r)
		return r;
	if (strcmp(json_str(doc, "kind"), "artifact_index") != 0 ||
	    strcmp(json_str(doc, "thread_id"), record->id) != 0 ||
	    !json_is_object(json_object_get(doc, "entries")))
		return rye_fail(err, RYE_INVALID, "%s: no index of artifacts of thread %.500s",
				path, record->id);
	*ret = steal(&doc);
	return 0;
}

int artifact_index(const struct record *record, json_t **ret, struct rye_err *err)
{
	auto_json json_t *index = NULL;
	char hash[SHA_HEX];
	int r = read_pointer(record, hash, err);

	if (!r)
		r = read_index(record, hash, &index, err);
	if (!r)
		*ret = index ? json_incref(json_object_get(index, "entries")) : json_object();
	return r;
}

int artifact_blob(const struct record *record, const char *hash, struct rye_blob **ret,
		  struct rye_err *err)
{
	char path[OBJECT_PATH];

	if (!is_digest(hash))
		return rye_fail(err, RYE_NOT_FOUND, "no such artifact of thread %.600s",
				record->id);
	object_path("blobs", hash, "", path);
	return read_object(record, path, hash, ret, err);
}

/* ---- writing ---- */

/* A name of one component: servers make up ids as they like. */
static void artifact_key(const json_t *entries, const struct artifact *what,
			 char ret[ARTIFACT_KEY_MAX])
{
	char id[200];

	utf8_cut(*what->call_id ? what->call_id : "call", id, sizeof(id));
	for (char *c = id; *c; c++)
		if (*c == '/' || (unsigned char)*c < 0x20)
			*c = '_';
	if (*id == '.')
		*id = '_';
	snprintf(ret, ARTIFACT_KEY_MAX, "%s", id);
	for (size_t n = what->n; json_object_get(entries, ret); n++)
		snprintf(ret, ARTIFACT_KEY_MAX, "%" PRId64 ".%zu.%s", what->turn, n, id);
}

static int put_pointer(const struct record *record, const char *hash, struct rye_err *err)
{
	char path[1200], text[96];
	int n = snprintf(text, sizeof(text), "{\"hash\":\"%s\"}", hash);

	pointer_path(record, path);
	return record_put(record->ai, path, (struct rye_span){ text, (size_t)n }, err);
}

static int put_index(const struct record *record, const json_t *entries, const char *old,
		     struct rye_err *err)
{
	auto_json json_t *index = json_pack("{s:O, s:s, s:i, s:s}", "entries", entries, "kind",
					    "artifact_index", "schema", 2, "thread_id", record->id);
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	char hash[SHA_HEX], path[OBJECT_PATH];
	int r;

	json_canonical(&text, index);
	if (!index || text.failed)
		return memory_fail(err);
	r = store_object(record, "objects", (struct rye_span){ text.data, text.len }, hash, err);
	if (!r)
		r = put_pointer(record, hash, err);
	if (!r && *old && strcmp(old, hash) != 0) {
		object_path("objects", old, ".json", path);
		unlinkat(record->ai, path, 0);
	}
	return r;
}

static int add_entry(const struct record *record, const struct artifact *what, const char *hash,
		     char ret_key[ARTIFACT_KEY_MAX], struct rye_err *err)
{
	unsigned long since = memory_failures();
	auto_json json_t *index = NULL, *entries = NULL;
	char old[SHA_HEX];
	int r = read_pointer(record, old, err);

	if (!r)
		r = read_index(record, old, &index, err);
	if (r)
		return r;
	entries = index ? json_incref(json_object_get(index, "entries")) : json_object();
	artifact_key(entries, what, ret_key);
	json_object_set_new(entries, ret_key,
			    json_pack("{s:s, s:s, s:s}", "blob_hash", hash, "content_hash", hash,
				      "tool_name", what->tool_name));
	if (memory_check(since, err))
		return -(int)RYE_IO;
	return put_index(record, entries, old, err);
}

int artifact_put(const struct record *record, const struct artifact *what, const json_t *result,
		 char ret_key[ARTIFACT_KEY_MAX], struct rye_err *err)
{
	unsigned long since = memory_failures();
	auto_json json_t *clean = record_redact(record, result);
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	char hash[SHA_HEX];
	int r;

	json_python_sorted(&text, clean);
	/* a secret that could not be taken out is not written */
	if (text.failed || memory_check(since, NULL))
		return memory_fail(err);
	r = store_object(record, "blobs", (struct rye_span){ text.data, text.len }, hash, err);
	return r ? r : add_entry(record, what, hash, ret_key, err);
}

/* ---- answers of models ---- */

/* All but its blocks, and the digest of the whole. */
static json_t *answer_stub(const json_t *answer, const char *hash)
{
	json_t *stub = json_copy((json_t *)answer);

	json_object_del(stub, "blocks");
	json_sets(stub, "artifact", hash);
	return stub;
}

static int put_answer(const struct record *record, int64_t turn, struct rye_span text,
		      struct rye_err *err)
{
	char call_id[40], key[ARTIFACT_KEY_MAX], hash[SHA_HEX];
	const struct artifact what = { call_id, "", turn, 0 };
	int r = store_object(record, "blobs", text, hash, err);

	snprintf(call_id, sizeof(call_id), "answer-%" PRId64, turn);
	return r ? r : add_entry(record, &what, hash, key, err);
}

/* Its members keep their order: another model is told them in it. */
int answer_keep(const struct record *record, int64_t turn, const json_t *answer, json_t **ret,
		struct rye_err *err)
{
	unsigned long since = memory_failures();
	auto_json json_t *clean = record_redact(record, answer), *stub = NULL;
	auto_buf struct rye_buf buf = RYE_BUF_INIT;
	struct rye_span text;
	char hash[SHA_HEX];
	int r;

	json_python_dumps(&buf, clean);
	if (buf.failed || memory_check(since, NULL))
		return memory_fail(err);
	if (buf.len <= ANSWER_INLINE) {
		*ret = json_incref((json_t *)answer);
		return 0;
	}
	text = (struct rye_span){ buf.data, buf.len };
	sha256_hex(text, hash);
	stub = answer_stub(answer, hash);
	if (memory_check(since, err))
		return -(int)RYE_IO;
	r = put_answer(record, turn, text, err);
	if (!r)
		*ret = steal(&stub);
	return r;
}

int answer_whole(const struct record *record, const json_t *kept, json_t **ret, struct rye_err *err)
{
	const char *hash = json_str(kept, "artifact");
	auto_blob struct rye_blob *blob = NULL;
	int r;

	if (!*hash) {
		*ret = json_incref((json_t *)kept);
		return 0;
	}
	if (!is_digest(hash))
		return rye_fail(err, RYE_INVALID, "an answer's artifact is no digest");
	r = artifact_blob(record, hash, &blob, err);
	return r ? r : record_parse((struct rye_span){ blob->data, blob->len }, 0, hash, ret, err);
}
