/* SPDX-License-Identifier: MIT */
/*
 * The trust-store file format. Everything that can be said about one file without knowing the
 * others is said here, so that trust.c is left with the question which key vouches for which.
 * No I/O, no locks; any bytes may come in (a cloned project brings its own).
 */
#include "trust/trust_inner.h"

#include "base/id.h"
#include "format/format.h"
#include "parse/parse.h"
#include "scope.h"
#include "str.h"

#include <stdlib.h>

/* Globs of one key; each is tried for each item it signs. */
#define SCOPE_MAX 64

static int trustfile_bad(struct rye_err *err, const char *what)
{
	return rye_fail(err, RYE_INVALID, "%s", what);
}

void trustfile_done(struct trustfile *file)
{
	for (size_t i = 0; i < file->n_scope; i++)
		free(file->scope[i]);
	free(file->scope);
	*file = (struct trustfile){ 0 };
}

/* A key without its scope vouches for everything: what only looks like one is refused. */
static bool is_lost_scope(const char *key, bool top)
{
	return !strcasecmp(key, "scope") && !(top && !strcmp(key, "scope"));
}

/* `scope` anywhere but at the top, or spelt otherwise, would silently mean nothing. */
static bool scope_inside(const json_t *value, bool top)
{
	const char *key;
	json_t *member;
	size_t i;

	if (json_is_array(value)) {
		json_array_foreach(value, i, member)
			if (scope_inside(member, false))
				return true;
		return false;
	}
	json_object_foreach((json_t *)value, key, member)
		if (is_lost_scope(key, top) || scope_inside(member, false))
			return true;
	return false;
}

bool trustfile_scope_ok(const char *glob)
{
	const char *rest;

	if (id_split(glob, &rest) == RYE_KIND__MAX) {
		if (strncmp(glob, "state:", 6))
			return false;
		rest = glob + 6;
	}
	return *rest != 0;
}

static int trustfile_read_scope(const json_t *doc, struct trustfile *ret, struct rye_err *err)
{
	const json_t *scope = json_object_get(doc, "scope");
	size_t n = json_array_size(scope);

	if (scope_inside(doc, true))
		return trustfile_bad(
			err,
			"scope stands inside a table or in other letters, wanted scope at the top");
	if (!scope)
		return 0;
	if (!n || n > SCOPE_MAX)
		return trustfile_bad(err, "scope is not a list of one or more \"<kind>:<glob>\"");
	ret->scope = calloc(n + 1, sizeof(*ret->scope));
	if (!ret->scope)
		return trustfile_bad(err, "out of memory");
	for (size_t i = 0; i < n; i++) {
		const json_t *glob = json_array_get(scope, i);

		if (!json_is_string(glob) || !trustfile_scope_ok(json_string_value(glob)))
			return trustfile_bad(
				err, "scope is not a list of one or more \"<kind>:<glob>\"");
		ret->scope[i] = strdup(json_string_value(glob));
		if (!ret->scope[i])
			return trustfile_bad(err, "out of memory");
		ret->n_scope++;
	}
	return 0;
}

/* It ends up in messages of one line. */
static void copy_owner(char ret[128], const char *owner)
{
	snprintf(ret, 128, "%s", owner);
	for (char *c = ret; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	while (!utf8_valid(span_of(ret)))
		ret[strlen(ret) - 1] = 0;
}

static int trustfile_read_key(const json_t *doc, const char *stem, struct trustfile *ret,
			      struct rye_err *err)
{
	const char *pem = json_str(json_object_get(doc, "public_key"), "pem");
	const char *owner = json_str(doc, "owner");
	int r;

	if (!*pem)
		return trustfile_bad(err, "no public_key.pem");
	r = key_public_parse(span_of(pem), &ret->key, err);
	if (r < 0)
		return r;
	if (strcmp(ret->key.fp, stem) || strcmp(json_str(doc, "fingerprint"), stem))
		return rye_fail(err, RYE_INVALID,
				"its key is %s, wanted the same in file name and fingerprint",
				ret->key.fp);
	copy_owner(ret->owner, *owner ? owner : "unknown");
	return 0;
}

int trustfile_read(struct rye_span raw, const char *stem, struct trustfile *ret,
		   struct rye_err *err)
{
	__attribute__((cleanup(trustfile_done))) struct trustfile file = { 0 };
	struct rye_blob *text = digest_newlines(raw);
	json_t *doc;
	int r;

	if (!text)
		return trustfile_bad(err, "out of memory");
	r = stamped_read((struct rye_span){ text->data, text->len }, &file.line, err);
	doc = r < 0 ? NULL : parse_toml((struct rye_span){ text->data, text->len }, err);
	rye_blob_unref(text);
	if (r < 0)
		return r;
	if (!doc)
		return -(int)RYE_UNPARSABLE;
	r = trustfile_read_key(doc, stem, &file, err);
	if (!r)
		r = trustfile_read_scope(doc, &file, err);
	json_decref(doc);
	if (r < 0)
		return r;
	*ret = file;
	file = (struct trustfile){ 0 };
	return 0;
}

bool trustfile_signed_by(const struct trustfile *file, const unsigned char key[KEY_LEN])
{
	return stamped_by(&file->line, key);
}

/* A TOML basic string. */
static void trustfile_put_string(struct rye_buf *buf, const char *text)
{
	buf_addc(buf, '"');
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			buf_addc(buf, '\\');
		if (c < 0x20 || c == 0x7f)
			buf_addf(buf, "\\u%04X", c);
		else
			buf_addc(buf, *text);
	}
	buf_addc(buf, '"');
}

static void trustfile_put_field(struct rye_buf *buf, const char *name, const char *text)
{
	buf_addf(buf, "%s = ", name);
	trustfile_put_string(buf, text);
	buf_addc(buf, '\n');
}

static void put_document(struct rye_buf *buf, const struct trustfile_new *what)
{
	trustfile_put_field(buf, "version", "1.0.0");
	trustfile_put_field(buf, "category", what->category);
	trustfile_put_field(buf, "fingerprint", what->key->fp);
	trustfile_put_field(buf, "owner", what->owner);
	trustfile_put_field(buf, "attestation", "");
	for (size_t i = 0; what->scope && what->scope[i]; i++) {
		buf_adds(buf, i ? ", " : "scope = [");
		trustfile_put_string(buf, what->scope[i]);
	}
	if (what->scope)
		buf_adds(buf, "]\n");
	buf_addf(buf, "\n[public_key]\npem = \"\"\"\n%s\"\"\"\n", what->key->pem);
}

struct rye_blob *trustfile_write(const struct trustfile_new *what)
{
	auto_buf struct rye_buf doc = RYE_BUF_INIT;

	put_document(&doc, what);
	if (doc.failed)
		return NULL;
	return what->signer ? stamped_write(buf_span(&doc), what->signer, what->stamp) :
			      buf_blob(&doc);
}
