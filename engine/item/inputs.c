/* SPDX-License-Identifier: MIT */
/*
 * Inputs of directives (docs/items.md): what is declared against what is given. The order is fixed:
 * unknown names, defaults, required ones; null and "" count as given, types are not checked.
 * Also inputs written as a query behind a name. Pure; the item's map is only read.
 */
#include "item/item.h"

#include "memory.h"
#include "scope.h"
#include "str.h"

#include <ctype.h>

static const char *name_of(const json_t *inputs, size_t i)
{
	return json_str(json_array_get(inputs, i), "name");
}

static void inputs_add_name(struct rye_buf *list, const char *name)
{
	if (list->len)
		buf_adds(list, ", ");
	buf_adds(list, name);
}

static const char *inputs_text_of(const struct rye_buf *list)
{
	return list->data ? list->data : "";
}

static int refuse_unknown(const json_t *inputs, const json_t *given, struct rye_err *err)
{
	auto_buf struct rye_buf unknown = RYE_BUF_INIT, valid = RYE_BUF_INIT;
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)given, key, value) {
		if (!json_find(inputs, "name", key))
			inputs_add_name(&unknown, key);
	}
	if (!unknown.len)
		return 0;
	for (size_t i = 0; i < json_array_size(inputs); i++)
		inputs_add_name(&valid, name_of(inputs, i));
	return rye_fail(err, RYE_INVALID, "Unknown parameters: %.400s. Valid inputs: %.480s",
			inputs_text_of(&unknown), inputs_text_of(&valid));
}

static int refuse_missing(const json_t *inputs, const json_t *values, struct rye_err *err)
{
	auto_buf struct rye_buf missing = RYE_BUF_INIT;

	for (size_t i = 0; i < json_array_size(inputs); i++)
		if (json_is_true(json_object_get(json_array_get(inputs, i), "required")) &&
		    !json_object_get(values, name_of(inputs, i)))
			inputs_add_name(&missing, name_of(inputs, i));
	if (!missing.len)
		return 0;
	return rye_fail(err, RYE_INVALID, "Missing required inputs: %.900s",
			inputs_text_of(&missing));
}

static void inputs_fill_defaults(const json_t *inputs, json_t *values)
{
	for (size_t i = 0; i < json_array_size(inputs); i++) {
		json_t *fallback = json_object_get(json_array_get(inputs, i), "default");

		if (fallback && !json_object_get(values, name_of(inputs, i)))
			json_object_set(values, name_of(inputs, i), fallback);
	}
}

static json_t *declared_input(const json_t *input)
{
	static const char *const keys[] = { "name", "type", "required", "default", "description" };
	json_t *map = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (json_object_get(input, keys[i]))
			json_object_set(map, keys[i], json_object_get(input, keys[i]));
	return map;
}

static json_t *reply_members(const struct rye_item *directive, const json_t *inputs)
{
	json_t *list = json_array();

	for (size_t i = 0; i < json_array_size(inputs); i++)
		json_array_append_new(list, declared_input(json_array_get(inputs, i)));
	return json_pack("{s:s, s:o}", "item_id", directive->id, "declared_inputs", list);
}

int inputs_fill(const struct rye_item *directive, const json_t *given, json_t **ret,
		struct rye_err *err)
{
	const json_t *inputs = json_object_get(directive->meta, "inputs");
	auto_json json_t *values = NULL;
	int r;

	if (given && !json_is_object(given))
		return rye_fail(err, RYE_INVALID, "parameters must be an object");
	r = json_array_size(inputs) ? refuse_unknown(inputs, given, err) : 0;
	if (r)
		return r;
	values = given ? json_copy((json_t *)given) : json_object();
	if (!values)
		return memory_fail(err);
	inputs_fill_defaults(inputs, values);
	*ret = steal(&values);
	return 0;
}

int inputs_resolve(const struct rye_item *directive, const json_t *given, json_t **ret,
		   json_t **ret_extra, struct rye_err *err)
{
	const json_t *inputs = json_object_get(directive->meta, "inputs");
	auto_json json_t *values = NULL;
	int r = inputs_fill(directive, given, &values, err);

	if (!r)
		r = refuse_missing(inputs, values, err);
	if (r && ret_extra)
		*ret_extra = reply_members(directive, inputs);
	if (!r)
		*ret = steal(&values);
	return r;
}

static int hex_value(char c)
{
	if (!isxdigit((unsigned char)c))
		return -1;
	return isdigit((unsigned char)c) ? c - '0' : (c | 0x20) - 'a' + 10;
}

/* Percent-decoded, NUL-terminated; NULL: bad escape, NUL, or not UTF-8. */
static char *decoded(struct rye_span s)
{
	auto_buf struct rye_buf out = RYE_BUF_INIT;

	buf_reserve(&out, s.len);
	for (size_t i = 0; i < s.len; i++) {
		int high, low;

		if (s.ptr[i] != '%') {
			buf_addc(&out, s.ptr[i]);
			continue;
		}
		high = i + 2 < s.len ? hex_value(s.ptr[i + 1]) : -1;
		low = i + 2 < s.len ? hex_value(s.ptr[i + 2]) : -1;
		if (high < 0 || low < 0 || !(high << 4 | low))
			return NULL;
		buf_addc(&out, (char)(high << 4 | low));
		i += 2;
	}
	return utf8_valid((struct rye_span){ out.data, out.len }) ? buf_steal(&out) : NULL;
}

static int query_pair(struct rye_span pair, json_t *map, struct rye_err *err)
{
	const char *equals = memchr(pair.ptr, '=', pair.len);
	size_t n = equals ? (size_t)(equals - pair.ptr) : pair.len;
	auto_free char *name = decoded((struct rye_span){ pair.ptr, n });
	auto_free char *value = decoded(span_skip(pair, equals ? n + 1 : n));

	if (!name || !value)
		return rye_fail(err, RYE_INVALID,
				"bad percent escape in the query at %.*s, wanted %%HH of UTF-8",
				(int)(pair.len < 80 ? pair.len : 80), pair.ptr);
	if (!*name)
		return rye_fail(err, RYE_INVALID, "the query has a value without a name");
	if (json_object_get(map, name))
		return rye_fail(err, RYE_INVALID, "the query names %.200s twice", name);
	return json_sets(map, name, value) ? 0 : memory_fail(err);
}

json_t *inputs_query(const char *query, struct rye_err *err)
{
	auto_json json_t *map = json_object();
	struct rye_span rest = span_of(query ? query : "");

	while (rest.len) {
		const char *amp = memchr(rest.ptr, '&', rest.len);
		size_t n = amp ? (size_t)(amp - rest.ptr) : rest.len;

		if (n && query_pair((struct rye_span){ rest.ptr, n }, map, err))
			return NULL;
		rest = span_skip(rest, amp ? n + 1 : n);
	}
	return steal(&map);
}
