/* SPDX-License-Identifier: MIT */
/*
 * What a server of S3 answers in XML: an Error, a page of a list. It is believed in nothing: names are
 * checked, numbers bounded. Pure; outside bytes.
 */
#include "store/s3_inner.h"

#include "clock.h"
#include "format/format.h"
#include "str.h"

#include <string.h>

/* Names of elements stand behind the name of their vocabulary. */
static bool tag_is(const json_t *node, const char *name)
{
	const char *tag = xml_tag(node), *bar = strrchr(tag, '|');

	return !strcmp(bar ? bar + 1 : tag, name);
}

static const json_t *kid_of(const json_t *node, const char *name)
{
	const json_t *kid;
	size_t i;

	json_array_foreach(json_object_get(node, "kids"), i, kid)
		if (tag_is(kid, name))
			return kid;
	return NULL;
}

static const char *kid_text(const json_t *node, const char *name)
{
	const json_t *kid = kid_of(node, name);

	return kid ? xml_text(kid) : "";
}

void s3_error_code(struct rye_span body, char ret[S3_CODE_MAX])
{
	auto_json json_t *doc = body.len ? xml_parse(body, NULL) : NULL;
	const char *code = doc && tag_is(doc, "Error") ? kid_text(doc, "Code") : "";
	size_t n = strspn(code, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");

	snprintf(ret, S3_CODE_MAX, "%s", n < S3_CODE_MAX && !code[n] ? code : "");
}

/* The name of one of ours; NULL: another's. */
static const char *own_name(const char *key, const char *prefix)
{
	const char *name = path_below(key, prefix);

	return !name || store_name_check(name, NULL) ? NULL : name;
}

static int list_object(const json_t *node, const char *prefix, store_fn fn, void *arg)
{
	struct store_object object = { .name = own_name(kid_text(node, "Key"), prefix) };
	const char *size = kid_text(node, "Size");
	struct timespec at = { 0 };

	if (!object.name || !*size || size[strspn(size, "0123456789")] || strlen(size) > 18)
		return 0;
	/* without a time it is not old enough for anything */
	if (!clock_iso_read(kid_text(node, "LastModified"), &at))
		return 0;
	object.size = strtoull(size, NULL, 10);
	object.made = at.tv_sec;
	return fn(arg, &object);
}

int s3_list_read(struct rye_span body, const char *prefix, store_fn fn, void *arg,
		 struct s3_page *ret, struct rye_err *err)
{
	struct rye_err why = { 0 };
	auto_json json_t *doc = xml_parse(body, &why);
	const char *token;
	const json_t *kid;
	size_t i;

	*ret = (struct s3_page){ .more = false };
	if (!doc || why.code || !tag_is(doc, "ListBucketResult"))
		return rye_fail(err, RYE_UNREACHABLE, "what it answers is no list of a bucket%s%s",
				why.code ? ": " : "", why.msg);
	token = kid_text(doc, "NextContinuationToken");
	ret->more = !strcmp(kid_text(doc, "IsTruncated"), "true");
	if (ret->more && (!*token || strlen(token) >= sizeof(ret->token)))
		return rye_fail(err, RYE_UNREACHABLE, "its list goes on nowhere");
	snprintf(ret->token, sizeof(ret->token), "%s", token);
	json_array_foreach(json_object_get(doc, "kids"), i, kid)
		if (!ret->stopped && tag_is(kid, "Contents"))
			ret->stopped = list_object(kid, prefix, fn, arg);
	return 0;
}
