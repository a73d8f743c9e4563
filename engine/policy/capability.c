/* SPDX-License-Identifier: MIT */
/*
 * Capabilities: what a directive's permissions grant, what a child keeps of them, and whether a call
 * is covered. A call is checked against the list of the thread and those of all above it: whether one
 * pattern lies within another cannot be told by comparing their texts. Pure.
 */
#include "policy/policy.h"

#include "memory.h"
#include "scope.h"
#include "str.h"

#include <stdio.h>

#define INTERNAL "rye/agent/threads/internal/"

/* ---- lists ---- */

static void add_once(json_t *list, const char *text)
{
	if (!json_lists(list, text))
		json_array_append_new(list, json_string(text));
}

static int add_permission(json_t *list, const json_t *permission, struct rye_err *err)
{
	const char *content = json_string_value(json_object_get(permission, "content"));
	char *text, *slash;

	if (!content)
		return rye_fail(err, RYE_INVALID,
				"permissions: a list of {\"tag\", \"content\"} is wanted");
	text = memory_note(strdup(content));
	if (!text)
		return memory_fail(err);
	for (slash = text; (slash = strchr(slash, '/'));)
		*slash = '.';
	add_once(list, text);
	free(text);
	return 0;
}

int capabilities_of(const json_t *permissions, json_t **ret, struct rye_err *err)
{
	unsigned long since = memory_failures();
	auto_json json_t *list = json_array();
	json_t *permission;
	size_t i;

	if (permissions && !json_is_array(permissions))
		return rye_fail(err, RYE_INVALID, "permissions: a list is wanted");
	json_array_foreach(permissions, i, permission) {
		int r = add_permission(list, permission, err);

		if (r)
			return r;
	}
	if (memory_check(since, err))
		return -(int)RYE_IO;
	*ret = steal(&list);
	return 0;
}

/* ---- matching ---- */

/*
 * The set behind a '[': its end, or NULL when it is not closed and so stands for itself. A ']' right
 * behind the bracket belongs to the set.
 */
static const char *set_end(const char *p, const char *end)
{
	p++;
	if (p < end && *p == '!')
		p++;
	if (p < end && *p == ']')
		p++;
	return p < end ? memchr(p, ']', (size_t)(end - p)) : NULL;
}

static bool set_has(const char *p, const char *close, unsigned char c)
{
	bool negated = *++p == '!', found = false;

	for (p += negated; p < close; p++) {
		if (close - p > 2 && p[1] == '-') {
			found |= (unsigned char)p[0] <= c && c <= (unsigned char)p[2];
			p += 2;
		} else {
			found |= (unsigned char)*p == c;
		}
	}
	return found != negated;
}

/* One element of the pattern, not a star, against one character; its end, or NULL: no. */
static const char *element_match(const char *p, const char *end, unsigned char c)
{
	const char *close = *p == '[' ? set_end(p, end) : NULL;

	if (close)
		return set_has(p, close, c) ? close + 1 : NULL;
	return *p == '?' || (unsigned char)*p == c ? p + 1 : NULL;
}

bool capability_match(struct rye_span text, struct rye_span pattern)
{
	const char *t = text.ptr, *t_end = t + text.len, *p = pattern.ptr, *p_end = p + pattern.len;
	const char *star = NULL, *from = NULL; /* behind the last star, and what it takes so far */

	while (t < t_end) {
		const char *next =
			p < p_end && *p != '*' ? element_match(p, p_end, (unsigned char)*t) : NULL;

		if (next) {
			p = next;
			t++;
		} else if (p < p_end && *p == '*') {
			star = ++p;
			from = t;
		} else if (star) {
			p = star;
			t = ++from;
		} else {
			return false;
		}
	}
	while (p < p_end && *p == '*')
		p++;
	return p == p_end;
}

static bool capability_text_matches(const char *text, const char *pattern)
{
	return capability_match(span_of(text), span_of(pattern));
}

/* Signing is not within a wildcard of everything: it has to be named. */
static const char *must_be_named(const char *required)
{
	return span_starts(span_of(required), "rye.sign.") ? "rye.sign." : "";
}

static bool covers_as(const json_t *capabilities, const char *required, const char *named)
{
	json_t *element;
	size_t i;

	json_array_foreach(capabilities, i, element) {
		const char *pattern = json_string_value(element);

		if (pattern && span_starts(span_of(pattern), named) &&
		    capability_text_matches(required, pattern))
			return true;
	}
	return false;
}

bool capabilities_cover(const json_t *capabilities, const char *required)
{
	return covers_as(capabilities, required, must_be_named(required));
}

/* ---- children ---- */

/* All that the parent has of a broad one. */
static void keep_covered(json_t *list, const json_t *parent, const char *broad)
{
	json_t *element;
	size_t i;

	json_array_foreach(parent, i, element) {
		const char *text = json_string_value(element);

		if (text && span_starts(span_of(broad), must_be_named(text)) &&
		    capability_text_matches(text, broad))
			add_once(list, text);
	}
}

json_t *capabilities_attenuate(const json_t *declared, const json_t *parent)
{
	json_t *list = json_array(), *element;
	size_t i;

	json_array_foreach(declared, i, element) {
		const char *text = json_string_value(element);

		if (!text)
			continue;
		if (!parent || capabilities_cover(parent, text))
			add_once(list, text);
		else
			keep_covered(list, parent, text);
	}
	return list;
}

/* ---- calls ---- */

static const char *primary_of(const char *primary)
{
	bool fetch = !strcmp(primary, "load") || !strcmp(primary, "search");

	return fetch ? "fetch" : primary;
}

/* Results of a query are filtered one by one: to ask, any capability of the kind will do. */
static bool covers_query(const json_t *capabilities, const char *required)
{
	size_t n = strlen(required), i;
	json_t *element;

	json_array_foreach(capabilities, i, element) {
		const char *text = json_string_value(element);

		if (text && (capability_text_matches(required, text) ||
			     (!strncmp(text, required, n) && text[n] == '.')))
			return true;
	}
	return false;
}

/*
 * Signing takes a pattern for an id, whose `*` a `?` of a capability would match. What it names lies
 * within a capability when that is a literal text with one star behind it, which the pattern begins with.
 */
static bool covers_pattern(const json_t *capabilities, const char *required)
{
	json_t *element;
	size_t i;

	json_array_foreach(capabilities, i, element) {
		const char *text = json_string_value(element);
		size_t n = text ? strcspn(text, "*?[") : 0;

		if (text && span_starts(span_of(text), "rye.sign.") && !strcmp(text + n, "*") &&
		    !strncmp(required, text, n))
			return true;
	}
	return false;
}

static bool list_covers(const struct capability_ask *ask, const json_t *list, const char *required)
{
	if (!ask->id)
		return covers_query(list, required);
	if (!strcmp(ask->primary, "sign") && strpbrk(ask->id, "*?["))
		return covers_pattern(list, required);
	if (ask->writes && span_starts(span_of(required), "rye.fetch."))
		return covers_as(list, required, "rye.fetch.");
	return capabilities_cover(list, required);
}

void capability_name(struct rye_buf *out, const char *primary, const char *kind, const char *id)
{
	buf_addf(out, "rye.%s", primary_of(primary));
	if (*kind || id)
		buf_addf(out, ".%s", kind);
	if (id)
		buf_addc(out, '.');
	for (const char *p = id; p && *p; p++)
		buf_addc(out, *p == '/' ? '.' : *p);
}

static void put_denial(const struct capability_ask *ask, size_t level, const char *required,
		       struct rye_buf *out)
{
	if (!json_array_size(json_array_get(ask->lists, 0))) {
		buf_addf(out, "Permission denied: no capabilities declared. Cannot %s %s '%.300s'",
			 primary_of(ask->primary), ask->kind, ask->id ? ask->id : "");
		return;
	}
	buf_addf(out, "Permission denied: '%.300s' not covered by capabilities ", required);
	json_python_str(out, json_array_get(ask->lists, level));
	if (level)
		buf_adds(out, " of a thread above");
}

int capability_check(const struct capability_ask *ask, struct rye_err *err)
{
	auto_buf struct rye_buf required = RYE_BUF_INIT, why = RYE_BUF_INIT;
	json_t *list;
	size_t i;

	if (ask->id && span_starts(span_of(ask->id), INTERNAL))
		return rye_fail(err, RYE_DENIED,
				"Permission denied: " INTERNAL " is for hooks alone");
	capability_name(&required, ask->primary, ask->kind, ask->id);
	if (required.failed)
		return memory_fail(err);
	json_array_foreach(ask->lists, i, list) {
		if (list_covers(ask, list, required.data))
			continue;
		if (err)
			put_denial(ask, i, required.data, &why);
		return rye_fail(err, RYE_DENIED, "%s",
				why.len && !why.failed ? why.data : "Permission denied");
	}
	return json_array_size(ask->lists) ? 0 : rye_fail(err, RYE_DENIED, "Permission denied");
}
