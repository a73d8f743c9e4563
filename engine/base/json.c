/* SPDX-License-Identifier: MIT */
/*
 * jansson helpers and the Python spellings that signatures and placeholders need. No lock:
 * documents are either owned by one thread or frozen.
 */
#include "base/json.h"

#include "bounds.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void *json_memory(size_t size)
{
	return memory_note(malloc(size));
}

/* Before main: no value may be older, none of another thread be made meanwhile. */
__attribute__((constructor)) static void json_memory_open(void)
{
	json_set_alloc_funcs(json_memory, free);
}

static bool is_shallow(struct rye_span text)
{
	size_t depth = 0;
	bool quoted = false;

	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];

		if (quoted) {
			if (c == '\\')
				i++;
			else if (c == '"')
				quoted = false;
		} else if (c == '"') {
			quoted = true;
		} else if (c == '{' || c == '[') {
			if (++depth > RYE_JSON_DEPTH)
				return false;
		} else if ((c == '}' || c == ']') && depth) {
			depth--;
		}
	}
	return true;
}

/* Which member the fault is in: the last name before it, `"name":`. */
static void wrap_member(struct rye_span text, int position, struct rye_err *err)
{
	size_t end = position < 0 || (size_t)position > text.len ? text.len : (size_t)position;
	size_t begin = 0, close = 0;
	bool inside = false;

	for (size_t i = 0, open = 0; i < end; i++) {
		if (text.ptr[i] == '\\' && inside) {
			i++;
		} else if (text.ptr[i] == '"') {
			inside = !inside;
			open = inside ? i + 1 : open;
		} else if (text.ptr[i] == ':' && !inside && open && text.ptr[i - 1] == '"') {
			begin = open;
			close = i - 1;
		}
	}
	if (err && close > begin && close - begin < 80 && strlen(err->msg) + 100 < sizeof(err->msg))
		snprintf(err->msg + strlen(err->msg), 100, ", in \"%.*s\"", (int)(close - begin),
			 text.ptr + begin);
	if (err)
		utf8_mend(err->msg);
}

json_t *json_parse(struct rye_span text, int flags, const char *what, struct rye_err *err)
{
	size_t jflags = (flags & JSON_LOAD_LAST_WINS ? 0 : JSON_REJECT_DUPLICATES) |
			(flags & JSON_LOAD_ANY ? JSON_DECODE_ANY : 0) |
			(flags & JSON_LOAD_NUL ? JSON_ALLOW_NUL : 0);
	unsigned long since = memory_failures();
	json_error_t where;
	json_t *value;

	if (!is_shallow(text)) {
		rye_fail(err, RYE_INVALID, "%s: JSON nested deeper than %d levels", what,
			 RYE_JSON_DEPTH);
		return NULL;
	}
	value = json_loadb(text.ptr, text.len, jflags, &where);
	if (!value) {
		enum json_error_code code = json_error_code(&where);
		bool nul = code == json_error_null_character || code == json_error_null_byte_in_key;

		if (memory_check(since, err))
			return NULL;
		rye_fail(err, RYE_INVALID, "%s: not valid JSON: %s (line %d, column %d)", what,
			 nul ? "a NUL character is not allowed here" : where.text, where.line,
			 where.column);
		wrap_member(text, where.position, err);
		return NULL;
	}
	if (!(flags & JSON_LOAD_ANY) && !json_is_object(value)) {
		json_decref(value);
		rye_fail(err, RYE_INVALID, "%s: a JSON object is wanted", what);
		return NULL;
	}
	return value;
}

const char *json_str(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

json_int_t json_int(const json_t *object, const char *key, json_int_t fallback)
{
	const json_t *value = json_object_get(object, key);

	return json_is_integer(value) ? json_integer_value(value) : fallback;
}

bool json_flag(const json_t *object, const char *key, bool fallback)
{
	const json_t *value = json_object_get(object, key);

	return json_is_boolean(value) ? json_is_true(value) : fallback;
}

bool json_lists(const json_t *array, const char *text)
{
	json_t *element;
	size_t i;

	json_array_foreach(array, i, element) {
		if (json_is_string(element) && !strcmp(json_string_value(element), text))
			return true;
	}
	return false;
}

json_t *json_find(const json_t *array, const char *key, const char *text)
{
	json_t *element;
	size_t i;

	json_array_foreach(array, i, element) {
		if (!strcmp(json_str(element, key), text))
			return element;
	}
	return NULL;
}

bool json_truthy(const json_t *value)
{
	switch (value ? json_typeof(value) : JSON_NULL) {
	case JSON_OBJECT:
		return json_object_size(value) > 0;
	case JSON_ARRAY:
		return json_array_size(value) > 0;
	case JSON_STRING:
		return json_string_length(value) > 0;
	case JSON_INTEGER:
		return json_integer_value(value) != 0;
	case JSON_REAL:
		return fpclassify(json_real_value(value)) != FP_ZERO;
	case JSON_TRUE:
		return true;
	default:
		return false;
	}
}

bool json_set(json_t *object, const char *key, json_t *value)
{
	return value && json_object_set_new(object, key, value) == 0;
}

bool json_sets(json_t *object, const char *key, const char *text)
{
	return json_set(object, key, text ? json_string(text) : json_null());
}

/*
 * The shortest digits that read back as the same double, then Python's choice of form:
 * exponent below 1e-4 and from 1e16 on, otherwise fixed with at least ".0".
 */
void json_python_float(struct rye_buf *buf, double value)
{
	char text[40], digits[24];
	const char *exponent;
	int power, n = 0;

	if (!isfinite(value)) {
		buf_adds(buf, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
		return;
	}
	for (int precision = 0; precision <= 17; precision++) {
		snprintf(text, sizeof(text), "%.*e", precision, value);
		if (!(strtod(text, NULL) < value) && !(strtod(text, NULL) > value))
			break;
	}
	exponent = strchr(text, 'e');
	power = atoi(exponent + 1);
	for (const char *p = text; p < exponent; p++)
		if (*p >= '0' && *p <= '9')
			digits[n++] = *p;
	if (signbit(value))
		buf_addc(buf, '-');
	if (power < -4 || power >= 16) {
		buf_add(buf, digits, 1);
		if (n > 1)
			buf_addc(buf, '.');
		buf_add(buf, digits + 1, (size_t)n - 1);
		buf_addf(buf, "e%c%02d", power < 0 ? '-' : '+', abs(power));
		return;
	}
	if (power < 0) {
		buf_adds(buf, "0.");
		for (int i = -1; i > power; i--)
			buf_addc(buf, '0');
		buf_add(buf, digits, (size_t)n);
		return;
	}
	for (int i = 0; i <= power || i < n; i++) {
		if (i == power + 1)
			buf_addc(buf, '.');
		buf_addc(buf, i < n ? digits[i] : '0');
	}
	if (n <= power + 1)
		buf_adds(buf, ".0");
}

/*
 * Code points Python escapes in repr: controls, formats, separators and private use, as of
 * Unicode 14, and those that can never be assigned. Merely unassigned ones are not known here.
 */
static bool unprintable(uint32_t cp)
{
	static const uint32_t ranges[][2] = {
		{ 0x0, 0x1f },	      { 0x7f, 0xa0 },	     { 0xad, 0xad },
		{ 0x600, 0x605 },     { 0x61c, 0x61c },	     { 0x6dd, 0x6dd },
		{ 0x70f, 0x70f },     { 0x890, 0x891 },	     { 0x8e2, 0x8e2 },
		{ 0x1680, 0x1680 },   { 0x180e, 0x180e },    { 0x2000, 0x200f },
		{ 0x2028, 0x202f },   { 0x205f, 0x206f },    { 0x3000, 0x3000 },
		{ 0xd800, 0xf8ff },   { 0xfdd0, 0xfdef },    { 0xfeff, 0xfeff },
		{ 0xfff0, 0xfffb },   { 0x110bd, 0x110bd },  { 0x110cd, 0x110cd },
		{ 0x13430, 0x13438 }, { 0x1bca0, 0x1bca3 },  { 0x1d173, 0x1d17a },
		{ 0xe0000, 0xe00ff }, { 0xe01f0, 0x10ffff },
	};

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		if (cp >= ranges[i][0] && cp <= ranges[i][1])
			return true;
	return (cp & 0xfffe) == 0xfffe;
}

static void repr_escape(struct rye_buf *buf, uint32_t cp)
{
	if (cp == '\n')
		buf_adds(buf, "\\n");
	else if (cp == '\r')
		buf_adds(buf, "\\r");
	else if (cp == '\t')
		buf_adds(buf, "\\t");
	else if (cp < 0x100)
		buf_addf(buf, "\\x%02x", cp);
	else if (cp < 0x10000)
		buf_addf(buf, "\\u%04x", cp);
	else
		buf_addf(buf, "\\U%08x", cp);
}

void json_python_repr(struct rye_buf *buf, struct rye_span text)
{
	bool single = memchr(text.ptr, '\'', text.len), both = memchr(text.ptr, '"', text.len);
	char quote = single && !both ? '"' : '\'';
	uint32_t cp;
	size_t n;

	buf_addc(buf, quote);
	while ((n = utf8_next(text, &cp))) {
		if (cp == '\\' || cp == (uint32_t)quote) {
			buf_addc(buf, '\\');
			buf_addc(buf, (char)cp);
		} else if (unprintable(cp)) {
			repr_escape(buf, cp);
		} else {
			buf_add(buf, text.ptr, n);
		}
		text = span_skip(text, n);
	}
	buf_addc(buf, quote);
}

static struct rye_span string_span(const json_t *value)
{
	return (struct rye_span){ json_string_value(value), json_string_length(value) };
}

static void python_value(struct rye_buf *buf, const json_t *value);

static void python_array(struct rye_buf *buf, const json_t *value)
{
	size_t i;
	json_t *element;

	buf_addc(buf, '[');
	json_array_foreach(value, i, element) {
		if (i)
			buf_adds(buf, ", ");
		python_value(buf, element);
	}
	buf_addc(buf, ']');
}

static void python_object(struct rye_buf *buf, const json_t *value)
{
	json_t *object = (json_t *)value; /* jansson iterates by non-const pointer only */
	const char *key, *comma = "";
	json_t *element;

	buf_addc(buf, '{');
	json_object_foreach(object, key, element) {
		buf_adds(buf, comma);
		json_python_repr(buf, span_of(key));
		buf_adds(buf, ": ");
		python_value(buf, element);
		comma = ", ";
	}
	buf_addc(buf, '}');
}

static void python_value(struct rye_buf *buf, const json_t *value)
{
	if (json_is_string(value))
		json_python_repr(buf, string_span(value));
	else
		json_python_str(buf, value);
}

const char *json_python_type(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_STRING:
		return "str";
	case JSON_INTEGER:
		return "int";
	case JSON_REAL:
		return "float";
	case JSON_TRUE:
	case JSON_FALSE:
		return "bool";
	case JSON_ARRAY:
		return "list";
	case JSON_OBJECT:
		return "dict";
	default:
		return "NoneType";
	}
}

void json_python_str(struct rye_buf *buf, const json_t *value)
{
	switch (value ? json_typeof(value) : JSON_NULL) {
	case JSON_OBJECT:
		python_object(buf, value);
		break;
	case JSON_ARRAY:
		python_array(buf, value);
		break;
	case JSON_STRING:
		buf_addspan(buf, string_span(value));
		break;
	case JSON_INTEGER:
		buf_addf(buf, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
		break;
	case JSON_REAL:
		json_python_float(buf, json_real_value(value));
		break;
	case JSON_TRUE:
		buf_adds(buf, "True");
		break;
	case JSON_FALSE:
		buf_adds(buf, "False");
		break;
	default:
		buf_adds(buf, "None");
	}
}
