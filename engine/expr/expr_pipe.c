/* SPDX-License-Identifier: MIT */
/*
 * What stands behind a | in an expression, as a table. upper and lower change ASCII letters.
 */
#include "expr/expr.h"

#include "format/format.h"
#include "scope.h"
#include "str.h"

#include <ctype.h>

static json_t *pipe_json(json_t *value)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	json_t *ret;

	json_python_dumps(&text, value ? value : json_null());
	ret = text.failed ? NULL : json_stringn(text.data, text.len);
	json_decref(value);
	return ret;
}

static json_t *pipe_from_json(json_t *value)
{
	struct rye_span text = { json_string_value(value), json_string_length(value) };
	json_t *ret;

	if (!json_is_string(value))
		return value;
	ret = json_parse(text, JSON_LOAD_ANY | JSON_LOAD_LAST_WINS, "from_json", NULL);
	json_decref(value);
	return ret;
}

static json_t *pipe_length(json_t *value)
{
	struct rye_span text = { json_string_value(value), json_string_length(value) };
	size_t n = json_is_array(value)	 ? json_array_size(value) :
		   json_is_object(value) ? json_object_size(value) :
		   json_is_string(value) ? utf8_count(text) :
					   0;

	json_decref(value);
	return json_integer((json_int_t)n);
}

static json_t *pipe_keys(json_t *value)
{
	json_t *ret = json_array(), *member;
	const char *key;

	json_object_foreach(value, key, member) {
		json_array_append_new(ret, json_string(key));
	}
	json_decref(value);
	return ret;
}

static json_t *change_case(json_t *value, int (*change)(int))
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	json_t *ret;

	if (!value || json_is_null(value))
		return value;
	buf_adds(&text, "");
	json_python_str(&text, value);
	json_decref(value);
	if (text.failed)
		return NULL;
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.data[i] < 0x80)
			text.data[i] = (char)change(text.data[i]);
	ret = json_stringn(text.data, text.len);
	return ret;
}

static json_t *pipe_upper(json_t *value)
{
	return change_case(value, toupper);
}

static json_t *pipe_lower(json_t *value)
{
	return change_case(value, tolower);
}

struct pipe_row {
	const char *name;
	json_t *(*pass)(json_t *value);
};

static const struct pipe_row pipe_rows[] = {
	{ "json", pipe_json }, { "from_json", pipe_from_json }, { "length", pipe_length },
	{ "keys", pipe_keys }, { "upper", pipe_upper },		{ "lower", pipe_lower },
};

static const struct pipe_row *pipe_row(struct rye_span name)
{
	for (size_t i = 0; i < ARRAY_SIZE(pipe_rows); i++)
		if (span_eq(name, pipe_rows[i].name))
			return &pipe_rows[i];
	return NULL;
}

bool expr_pipe_known(struct rye_span name)
{
	return pipe_row(name);
}

json_t *expr_pipe(struct rye_span name, json_t *value)
{
	const struct pipe_row *row = pipe_row(name);

	return row ? row->pass(value) : value;
}
