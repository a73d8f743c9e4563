/* SPDX-License-Identifier: MIT */
/*
 * A directive's <metadata>: model, permissions, limits, runtime, hooks, context, and any other
 * child by its text. What other parts of the map are made of (inputs, body …) cannot be set from
 * here. Pure; called by parse_directive.c.
 */
#include "parse/parse_inner.h"

#include "format/format.h"

#include "scope.h"
#include "str.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <strings.h>

static bool digits_ok(struct rye_span s, const char *more)
{
	for (size_t i = 0; i < s.len; i++) {
		bool inner = i > 0 && i + 1 < s.len && isdigit((unsigned char)s.ptr[i - 1]) &&
			     isdigit((unsigned char)s.ptr[i + 1]);

		if (s.ptr[i] == '_' ? !inner :
				      !isdigit((unsigned char)s.ptr[i]) &&
					      !(s.ptr[i] && strchr(more, s.ptr[i])))
			return false;
	}
	return s.len > 0;
}

static json_t *directive_meta_as_int(const char *digits)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(digits, &end, 10);
	return errno || *end || end == digits ? NULL : json_integer(value);
}

static json_t *as_real(const char *digits)
{
	char *end;
	double value = strtod(digits, &end);

	return *end || end == digits || !isfinite(value) ? NULL : json_real(value);
}

json_t *directive_coerce(const char *text, bool flags)
{
	struct rye_span s = span_strip_unicode(span_of(text));
	bool real = strchr(text, '.');
	char digits[64];
	size_t n = 0;
	json_t *value;

	if (flags && (!strcasecmp(text, "true") || !strcasecmp(text, "false")))
		return json_boolean(!strcasecmp(text, "true"));
	if (s.len >= sizeof(digits) || !digits_ok(s, real ? "+-.eE" : "+-"))
		return json_string(text);
	for (size_t i = 0; i < s.len; i++)
		if (s.ptr[i] != '_')
			digits[n++] = s.ptr[i];
	digits[n] = 0;
	value = real ? as_real(digits) : directive_meta_as_int(digits);
	return value ? value : json_string(text);
}

static json_t *coerced(const json_t *attrs, bool flags)
{
	json_t *map = json_object(), *value;
	const char *key;

	json_object_foreach((json_t *)attrs, key, value) {
		json_set(map, key, directive_coerce(json_string_value(value), flags));
	}
	return map;
}

static const char *granting(const char *tag)
{
	const char *primary = directive_primary(tag);

	if (primary)
		return primary;
	return !strcmp(tag, "search") || !strcmp(tag, "load") ? "fetch" : NULL;
}

static void directive_meta_grant(json_t *list, const char *primary, const char *kind,
				 const char *pattern)
{
	auto_buf struct rye_buf cap = RYE_BUF_INIT;

	buf_addf(&cap, "rye.%s.", primary);
	if (*kind)
		buf_addf(&cap, "%s.", kind);
	buf_adds(&cap, pattern);
	if (!cap.failed)
		json_array_append_new(list,
				      json_pack("{s:s, s:s}", "tag", "cap", "content", cap.data));
}

static void add_grants(json_t *list, const char *primary, const json_t *node)
{
	const json_t *kids = json_object_get(node, "kids");

	if (*xml_text(node))
		directive_meta_grant(list, primary, "", xml_text(node));
	for (size_t i = 0; i < json_array_size(kids); i++) {
		const json_t *kid = json_array_get(kids, i);

		if (*xml_text(kid))
			directive_meta_grant(list, primary, xml_tag(kid), xml_text(kid));
	}
}

static void directive_meta_acknowledge(json_t *map, const json_t *node)
{
	json_t *list = json_object_get(map, "acknowledged_risks");

	if (!list) {
		list = json_array();
		json_object_set_new(map, "acknowledged_risks", list);
	}
	json_array_append_new(list, json_pack("{s:s, s:s}", "risk",
					      json_str(json_object_get(node, "attrs"), "risk"),
					      "reason", xml_text(node)));
}

/* Everything is granted by a star alone; saying why one may do so is no narrowing of it. */
static bool grants_all(const json_t *node)
{
	const json_t *kids = json_object_get(node, "kids");
	bool all = !strcmp(xml_text(node), "*");

	for (size_t i = 0; i < json_array_size(kids); i++)
		all = all && !strcmp(xml_tag(json_array_get(kids, i)), "acknowledge");
	return all;
}

static int read_permissions(const json_t *node, json_t *map, struct rye_err *err)
{
	const json_t *kids = json_object_get(node, "kids");
	auto_json json_t *list = json_array();

	if (grants_all(node))
		json_array_append_new(list,
				      json_pack("{s:s, s:s}", "tag", "cap", "content", "rye.*"));
	for (size_t i = 0; i < json_array_size(kids); i++) {
		const json_t *kid = json_array_get(kids, i);
		const char *tag = xml_tag(kid), *primary = granting(tag);

		if (primary)
			add_grants(list, primary, kid);
		else if (!strcmp(tag, "acknowledge"))
			directive_meta_acknowledge(map, kid);
		else
			return rye_fail(err, RYE_UNPARSABLE,
					"Unknown tag <%.80s> inside <permissions>. Valid tags: "
					"acknowledge, execute, fetch, sign",
					tag);
	}
	json_object_set(map, "permissions", list);
	return 0;
}

static json_t *context(const json_t *node)
{
	const json_t *kids = json_object_get(node, "kids");
	json_t *map =
		json_pack("{s:[], s:[], s:[], s:[]}", "system", "before", "after", "suppress");

	for (size_t i = 0; i < json_array_size(kids); i++) {
		const json_t *kid = json_array_get(kids, i);
		json_t *list = json_object_get(map, xml_tag(kid));

		if (list && *xml_text(kid))
			json_array_append_new(list, json_string(xml_text(kid)));
	}
	return map;
}

/* Names that other parts of the directive are known by. */
static bool is_structural(const char *tag)
{
	static const char *const names[] = {
		"acknowledged_risks", "actions", "body",     "content", "inputs", "outputs",
		"preamble",	      "raw",	 "templates"
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(tag, names[i]))
			return true;
	return !strncmp(tag, "__", 2);
}

static int metadata_child(const json_t *kid, json_t *map, struct rye_err *err)
{
	const char *tag = xml_tag(kid);
	json_t *attrs = json_object_get(kid, "attrs");

	if (!strcmp(tag, "permissions"))
		return read_permissions(kid, map, err);
	if (!strcmp(tag, "model") || !strcmp(tag, "model_class"))
		json_object_set(map, "model", attrs);
	else if (!strcmp(tag, "limits"))
		json_set(map, tag, coerced(attrs, false));
	else if (!strcmp(tag, "runtime"))
		json_set(map, tag, coerced(attrs, true));
	else if (!strcmp(tag, "hooks"))
		json_set(map, tag, directive_hooks(kid));
	else if (!strcmp(tag, "context"))
		json_set(map, tag, context(kid));
	else if (!is_structural(tag) && (json_object_get(kid, "text") || !strcmp(tag, "category")))
		json_sets(map, tag, xml_text(kid));
	return 0;
}

int directive_metadata(const json_t *metadata, json_t *map, struct rye_err *err)
{
	const json_t *kids = json_object_get(metadata, "kids");

	for (size_t i = 0; i < json_array_size(kids); i++) {
		int r = metadata_child(json_array_get(kids, i), map, err);

		if (r)
			return r;
	}
	return 0;
}
