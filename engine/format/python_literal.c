/* SPDX-License-Identifier: MIT */
/*
 * Values of Python literal expressions: strings with all prefixes but f, implicit
 * concatenation, numbers, True, False, None, tuples, lists, dicts and sets. Anything else
 * (names, calls, operators) is no literal and gives NULL. Recursive by nesting, at most
 * RYE_LITERAL_DEPTH; linear in the text. Pure.
 */
#include "format/format_inner.h"

#include "bounds.h"
#include "scope.h"
#include "str.h"

#include <ctype.h>
#include <math.h>

static json_t *python_literal_counted(struct py *p, json_t *value)
{
	if (++p->nodes <= p->limit)
		return value;
	json_decref(value);
	return NULL;
}

/* Adjacent strings are one; text and bytes do not mix. */
static json_t *strings(struct py *p, int depth)
{
	auto_buf struct rye_buf out = RYE_BUF_INIT;
	bool bytes = false, first = true;

	while (py_string_prefix(p) >= 0) {
		struct py_string s;

		if (!py_string_begin(p, &s) || s.format || (!first && s.bytes != bytes))
			return NULL;
		bytes = s.bytes;
		first = false;
		if (!py_string_decode(p, &s, &out))
			return NULL;
		py_blanks(p, depth > 0);
	}
	if (out.failed)
		return NULL;
	return python_literal_counted(p, json_stringn(out.data ? out.data : "", out.len));
}

static json_t *integer_or_real(double big, bool fits, json_int_t value)
{
	if (fits)
		return json_integer(value);
	return isinf(big) ? json_string(big > 0 ? ".inf" : "-.inf") : json_real(big);
}

static json_t *python_literal_number(struct py *p, bool negative)
{
	struct py_number n;

	if (!py_number_read(p, &n))
		return NULL;
	if (n.imaginary) {
		auto_buf struct rye_buf text = RYE_BUF_INIT;

		buf_adds(&text, negative ? "-" : "");
		buf_addspan(&text, n.text);
		return python_literal_counted(p, text.failed ? NULL :
							       json_stringn(text.data, text.len));
	}
	if (negative) {
		n.real = -n.real;
		n.fits = n.fits && !__builtin_sub_overflow(0, n.whole, &n.whole);
	}
	return python_literal_counted(p, integer_or_real(n.real, n.fits, n.whole));
}

static json_t *python_literal_named(struct py *p)
{
	struct rye_span name = py_name(p);

	if (span_eq(name, "None"))
		return python_literal_counted(p, json_null());
	if (span_eq(name, "True"))
		return python_literal_counted(p, json_true());
	return span_eq(name, "False") ? python_literal_counted(p, json_false()) : NULL;
}

/* A comma or the closing bracket; *ret_more: another element may follow. */
static bool python_literal_separator(struct py *p, char close, bool *ret_more)
{
	py_blanks(p, true);
	*ret_more = py_peek(p, 0) == ',';
	if (*ret_more) {
		p->at++;
		py_blanks(p, true);
	}
	return *ret_more || py_peek(p, 0) == close;
}

/* Elements of ( … ) or [ … ]; "(x)" without a comma is x itself. */
static json_t *sequence(struct py *p, char close, int depth)
{
	auto_json json_t *list = python_literal_counted(p, json_array());
	bool more = true, comma = false;

	p->at++;
	py_blanks(p, true);
	while (list && more && py_peek(p, 0) != close) {
		json_t *value = py_literal(p, depth + 1);

		if (!value || json_array_append_new(list, value) ||
		    !python_literal_separator(p, close, &more))
			return NULL;
		comma |= more;
	}
	if (!list || py_peek(p, 0) != close)
		return NULL;
	p->at++;
	if (close == ')' && !comma && json_array_size(list) == 1)
		return json_incref(json_array_get(list, 0));
	return steal(&list);
}

static bool python_literal_add_pair(json_t *map, const json_t *key, json_t *value)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	if (json_is_string(key))
		buf_add(&text, json_string_value(key), json_string_length(key));
	else if (json_is_real(key) || json_is_array(key))
		json_python_str(&text, key);
	else
		json_put(&text, key, false);
	if (!text.failed && text.data && strlen(text.data) == text.len)
		return json_set(map, text.data, value);
	json_decref(value);
	return false;
}

/* What follows the first key of a brace: pairs when a colon does, else a set. */
static bool brace_item(struct py *p, json_t **map, json_t **set, int depth)
{
	auto_json json_t *key = py_literal(p, depth + 1);
	json_t *value;

	if (!key)
		return false;
	py_blanks(p, true);
	if (py_peek(p, 0) != ':') {
		if (!*set)
			*set = json_array();
		return !*map && json_array_append(*set, key) == 0;
	}
	p->at++;
	py_blanks(p, true);
	if (*set || json_is_object(key))
		return false;
	if (!*map)
		*map = json_object();
	value = py_literal(p, depth + 1);
	return value && python_literal_add_pair(*map, key, value);
}

static json_t *braces(struct py *p, int depth)
{
	auto_json json_t *map = NULL, *set = NULL;
	bool more = true;

	p->at++;
	py_blanks(p, true);
	while (more && py_peek(p, 0) != '}')
		if (!brace_item(p, &map, &set, depth) || !python_literal_separator(p, '}', &more))
			return NULL;
	if (py_peek(p, 0) != '}')
		return NULL;
	p->at++;
	return python_literal_counted(p, set ? steal(&set) : map ? steal(&map) : json_object());
}

json_t *py_literal(struct py *p, int depth)
{
	char c = py_peek(p, 0);

	if (depth > RYE_LITERAL_DEPTH || p->nodes >= p->limit)
		return NULL;
	if (py_string_prefix(p) >= 0)
		return strings(p, depth);
	if (c == '(' || c == '[')
		return sequence(p, c == '(' ? ')' : ']', depth);
	if (c == '{')
		return braces(p, depth);
	if (c == '-' || c == '+') {
		p->at++;
		py_blanks(p, depth > 0);
		return python_literal_number(p, c == '-');
	}
	if (isdigit((unsigned char)c) || c == '.')
		return python_literal_number(p, false);
	return python_literal_named(p);
}
