/* SPDX-License-Identifier: MIT */
/*
 * content_xattr.c - user.rye.* on items' files, with -o xattr: the facts of info.json, one each.
 *
 * Owns the names. Values are taken out of the text of info.json, which the engine wrote: the
 * front has no JSON library and needs none for top-level fields of an object it trusts.
 */
#include "views/views_inner.h"

#include "core/front.h"
#include "core/reply.h"
#include "scope.h"

#include <errno.h>
#include <string.h>

#define PREFIX "user.rye."

static const struct {
	const char *name; /* behind PREFIX */
	const char *field; /* of info.json */
} facts[] = {
	{ "coverage", "coverage" }, { "id", "id" },
	{ "kind", "kind" },	    { "owner", "owner" },
	{ "path", "path" },	    { "sha256", "sha256" },
	{ "shadows", "shadows" },   { "signed_at", "signed_at" },
	{ "signer", "signer" },	    { "space", "space" },
	{ "verified", "verdict" },  { "version", "version" },
};

/* Behind the string that begins at s. */
static const char *skip_string(const char *s)
{
	for (s++; *s && *s != '"'; s++)
		if (*s == '\\' && s[1])
			s++;
	return *s ? s + 1 : s;
}

/* Behind the value that begins at s. */
static const char *skip_value(const char *s)
{
	int depth = 0;

	while (*s) {
		if (*s == '"') {
			s = skip_string(s);
			if (!depth)
				return s;
			continue;
		}
		if (!depth && strchr(",}]\n", *s))
			return s;
		depth += strchr("{[", *s) != NULL;
		depth -= strchr("}]", *s) != NULL;
		s++;
		if (!depth && (s[-1] == '}' || s[-1] == ']'))
			return s;
	}
	return s;
}

static const char *content_xattr_blanks(const char *s)
{
	return s + strspn(s, " \t\r\n");
}

/* The value of a top-level field; a string without its quotes. False: not there, or null. */
static bool content_xattr_field(const char *json, const char *name, struct rye_span *ret)
{
	size_t len = strlen(name);
	const char *s = content_xattr_blanks(json);

	if (*s++ != '{')
		return false;
	for (s = content_xattr_blanks(s); *s == '"'; s = content_xattr_blanks(s)) {
		const char *key = s + 1, *value;
		bool found = strncmp(key, name, len) == 0 && key[len] == '"';

		s = content_xattr_blanks(skip_string(s));
		if (*s++ != ':')
			return false;
		value = content_xattr_blanks(s);
		s = skip_value(value);
		if (found) {
			bool text = *value == '"' && s - value >= 2;

			*ret = (struct rye_span){ value + text, (size_t)(s - value) - 2 * text };
			return strncmp(value, "null", 4) != 0;
		}
		s = content_xattr_blanks(s);
		if (*s++ != ',')
			return false;
	}
	return false;
}

/* info.json of the item whose file this is; NULL: it is none, or has gone. */
static struct rye_blob *info(struct front *front, const struct node *node)
{
	struct rye_stat st;
	struct rye_ask ask = { node->kind, st.id, RYE_VIEW_INFO, NULL };
	struct rye_blob *blob = NULL;
	struct rye_err err;

	if ((node->sort != TREE_MERGED && node->sort != TREE_QUERY) ||
	    rye_lookup(front->rye, node->kind, node->text, &st, &err) || !st.is_file ||
	    rye_view(front->rye, &ask, &blob, &err))
		return NULL;
	return blob;
}

static void content_xattr_get(fuse_req_t req, struct node *node, const char *name, size_t size)
{
	size_t len = strlen(PREFIX);
	auto_blob struct rye_blob *json = NULL;
	struct rye_span value;

	if (strncmp(name, PREFIX, len) == 0)
		json = info(front_of(req), node);
	for (size_t i = 0; json && i < ARRAY_SIZE(facts); i++)
		if (strcmp(facts[i].name, name + len) == 0 &&
		    content_xattr_field(json->data, facts[i].field, &value)) {
			reply_xattr(req, size, value);
			return;
		}
	reply_errno(req, ENODATA);
}

static void content_xattr_list(fuse_req_t req, struct node *node, size_t size)
{
	auto_blob struct rye_blob *json = info(front_of(req), node);
	char names[512];
	struct rye_span value;
	size_t n = 0;

	for (size_t i = 0; json && i < ARRAY_SIZE(facts); i++)
		if (content_xattr_field(json->data, facts[i].field, &value))
			n += (size_t)snprintf(names + n, sizeof(names) - n, PREFIX "%s",
					      facts[i].name) +
			     1;
	reply_xattr(req, size, (struct rye_span){ names, n });
}

const struct node_xattrs content_xattrs = {
	.get = content_xattr_get,
	.list = content_xattr_list,
};
