/* SPDX-License-Identifier: MIT */
/*
 * `x-mcp-header`: a server's tool says in its schema which arguments it wants to see in headers as
 * well. The schema is the server's text: an annotation that could name another header, or one
 * twice, makes the tool one that is not used. Pure; outside bytes, fuzzed.
 */
#include "mcp/mcp.h"

#include "bounds.h"
#include "http/http.h"
#include "scope.h"
#include "str.h"

#include <ctype.h>
#include <sodium.h>
#include <string.h>

#define MIRROR "x-mcp-header"

struct mirror_walk {
	json_t *names; /* array: those seen, in lower case */
	const char *why; /* of the first that may not be; NULL: none */
};

static bool is_mirrored_type(const json_t *schema)
{
	const char *type = json_str(schema, "type");

	return !strcmp(type, "string") || !strcmp(type, "integer") || !strcmp(type, "boolean");
}

static void check_mirror(struct mirror_walk *walk, const json_t *schema, bool reached)
{
	const json_t *said = json_object_get(schema, MIRROR);
	auto_free char *name = NULL;

	if (!said || walk->why)
		return;
	if (!json_is_string(said) || !http_is_token((struct rye_span){
					     json_string_value(said), json_string_length(said) })) {
		walk->why = MIRROR " is no name of a header";
	} else if (!reached) {
		walk->why = MIRROR " stands where no argument is";
	} else if (!is_mirrored_type(schema)) {
		walk->why = MIRROR " at what is no string, integer or boolean";
	} else {
		name = strdup(json_string_value(said));
		for (char *c = name; c && *c; c++)
			*c = (char)tolower((unsigned char)*c);
		if (!name || json_lists(walk->names, name))
			walk->why = "two " MIRROR " of one name";
		else
			json_array_append_new(walk->names, json_string(name));
	}
}

/* Keywords whose value is data, not a schema. */
static bool is_data(const char *keyword)
{
	return !strcmp(keyword, "default") || !strcmp(keyword, "enum") ||
	       !strcmp(keyword, "const") || !strcmp(keyword, "examples");
}

static void walk_any(struct mirror_walk *walk, const json_t *value, int left);

/* reached: by `properties` alone, from the root on. */
static void walk_schema(struct mirror_walk *walk, const json_t *schema, bool reached, int left)
{
	json_t *object = (json_t *)schema, *value, *property;
	const char *keyword, *name;

	if (!left) {
		walk->why = "a schema that is nested too deep";
		return;
	}
	check_mirror(walk, schema, reached);
	json_object_foreach(object, keyword, value) {
		if (is_data(keyword))
			continue;
		if (strcmp(keyword, "properties") != 0) {
			walk_any(walk, value, left - 1);
			continue;
		}
		json_object_foreach(value, name, property)
			walk_schema(walk, property, reached, left - 1);
	}
}

static void walk_any(struct mirror_walk *walk, const json_t *value, int left)
{
	json_t *element;
	size_t i;

	if (json_is_object(value))
		walk_schema(walk, value, false, left);
	json_array_foreach(value, i, element)
		if (left)
			walk_any(walk, element, left - 1);
}

bool mcp_mirror_check(const json_t *schema, const char **ret_why)
{
	auto_json json_t *names = json_array();
	struct mirror_walk walk = { .names = names };

	walk_schema(&walk, schema, true, RYE_MCP_DEPTH);
	*ret_why = walk.why;
	return !walk.why;
}

static void mirror_each(const json_t *schema, const json_t *arguments, mcp_mirror_fn fn, void *arg,
			int left)
{
	json_t *properties = json_object_get(schema, "properties"), *property;
	const char *name;

	json_object_foreach(properties, name, property) {
		const char *header = json_str(property, MIRROR);
		const json_t *value = json_object_get(arguments, name);

		if (*header && http_is_token(span_of(header)) &&
		    (json_is_string(value) || json_is_integer(value) || json_is_boolean(value)))
			fn(arg, header, value);
		if (left && json_is_object(value))
			mirror_each(property, value, fn, arg, left - 1);
	}
}

void mcp_mirror(const json_t *schema, const json_t *arguments, mcp_mirror_fn fn, void *arg)
{
	mirror_each(schema, arguments, fn, arg, RYE_MCP_DEPTH);
}

/* ---- values ---- */

#define ENCODED "=?base64?"

static bool is_plain(struct rye_span text)
{
	const char *end = text.ptr + text.len;

	if (text.len && (strchr(" \t", text.ptr[0]) || strchr(" \t", end[-1])))
		return false;
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] != '\t' &&
		    ((unsigned char)text.ptr[i] < 0x20 || (unsigned char)text.ptr[i] > 0x7e))
			return false;
	return !span_starts(text, ENCODED) || text.len < 2 || end[-2] != '?' || end[-1] != '=';
}

void mcp_header_value(struct rye_buf *out, struct rye_span text)
{
	size_t size = sodium_base64_ENCODED_LEN(text.len, sodium_base64_VARIANT_ORIGINAL);

	if (is_plain(text)) {
		buf_addspan(out, text);
		return;
	}
	buf_adds(out, ENCODED);
	if (buf_reserve(out, size)) {
		sodium_bin2base64(out->data + out->len, size, (const unsigned char *)text.ptr,
				  text.len, sodium_base64_VARIANT_ORIGINAL);
		out->len += size - 1;
	}
	buf_adds(out, "?=");
}
