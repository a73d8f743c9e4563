/* SPDX-License-Identifier: MIT */
/*
 * json_put.c: JSON values as text. All forms share their escapes and the shortest spelling of a
 * float that reads back as the same number; they differ in blanks, order and \u escapes.
 * No lock. Values are trees: jansson could make circles, this program makes none.
 */
#include "base/json.h"
#include "memory.h"

#include "str.h"

#include <stdlib.h>

static char short_escape(uint32_t cp)
{
	static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
	const char *hit = cp && cp < 0x80 ? strchr(from, (int)cp) : NULL;

	return hit ? to[hit - from] : 0;
}

struct spelling {
	const char *comma, *colon;
	bool sorted, ascii;
	unsigned indent; /* blanks for each level; 0: all on one line */
};

/* Where a value stands. */
struct json_put_place {
	const struct spelling *how;
	unsigned depth;
};

static void put_escape(struct rye_buf *buf, uint32_t cp)
{
	char named = short_escape(cp);

	if (named) {
		buf_addc(buf, '\\');
		buf_addc(buf, named);
	} else if (cp >= 0x10000) {
		buf_addf(buf, "\\u%04x\\u%04x", 0xd800 + ((cp - 0x10000) >> 10),
			 0xdc00 + ((cp - 0x10000) & 0x3ff));
	} else {
		buf_addf(buf, "\\u%04x", cp);
	}
}

/* Runs of bytes that stand for themselves are copied whole: texts may have megabytes. */
static void json_put_string(struct rye_buf *buf, struct rye_span text, bool ascii)
{
	size_t start = 0, i = 0, n;
	uint32_t cp;

	buf_addc(buf, '"');
	while (i < text.len) {
		unsigned char c = (unsigned char)text.ptr[i];

		if (c >= 0x20 && c != '"' && c != '\\' && (c < 0x7f || !ascii)) {
			i++;
			continue;
		}
		buf_add(buf, text.ptr + start, i - start);
		n = utf8_next(span_skip(text, i), &cp);
		put_escape(buf, n ? cp : 0xfffd);
		i += n ? n : 1;
		start = i;
	}
	buf_add(buf, text.ptr + start, i - start);
	buf_addc(buf, '"');
}

static int by_key(const void *a, const void *b)
{
	/* Byte order of UTF-8 is code point order. */
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void put_value(struct rye_buf *buf, const json_t *value, struct json_put_place at);

static void put_break(struct rye_buf *buf, struct json_put_place at)
{
	if (at.how->indent)
		buf_addf(buf, "\n%*s", (int)(at.depth * at.how->indent), "");
}

static void put_object(struct rye_buf *buf, const json_t *value, struct json_put_place at)
{
	json_t *object = (json_t *)value;
	size_t n = 0;
	struct json_put_place within = { at.how, at.depth + 1 };
	const char **keys = memory_note(calloc(json_object_size(object) + 1, sizeof(*keys))), *key;
	json_t *element;

	if (!keys) {
		buf->failed = true;
		return;
	}
	json_object_foreach(object, key, element)
		keys[n++] = key;
	if (at.how->sorted)
		qsort(keys, n, sizeof(*keys), by_key);
	buf_addc(buf, '{');
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_adds(buf, at.how->comma);
		put_break(buf, within);
		json_put_string(buf, span_of(keys[i]), at.how->ascii);
		buf_adds(buf, at.how->colon);
		put_value(buf, json_object_get(object, keys[i]), within);
	}
	if (n)
		put_break(buf, at);
	buf_addc(buf, '}');
	free(keys);
}

static void put_array(struct rye_buf *buf, const json_t *value, struct json_put_place at)
{
	struct json_put_place within = { at.how, at.depth + 1 };
	size_t i;
	json_t *element;

	buf_addc(buf, '[');
	json_array_foreach(value, i, element) {
		if (i)
			buf_adds(buf, at.how->comma);
		put_break(buf, within);
		put_value(buf, element, within);
	}
	if (json_array_size(value))
		put_break(buf, at);
	buf_addc(buf, ']');
}

static void put_value(struct rye_buf *buf, const json_t *value, struct json_put_place at)
{
	switch (value ? json_typeof(value) : JSON_NULL) {
	case JSON_OBJECT:
		put_object(buf, value, at);
		break;
	case JSON_ARRAY:
		put_array(buf, value, at);
		break;
	case JSON_STRING:
		json_put_string(buf,
				(struct rye_span){ json_string_value(value),
						   json_string_length(value) },
				at.how->ascii);
		break;
	case JSON_REAL:
		json_python_float(buf, json_real_value(value));
		break;
	case JSON_INTEGER:
		json_python_str(buf, value);
		break;
	default:
		buf_adds(buf, json_is_true(value)  ? "true" :
			      json_is_false(value) ? "false" :
						     "null");
	}
}

static const struct spelling compact = { ",", ":" }, pretty = { ",", ": ", .indent = 2 },
			     python = { ", ", ": ", .ascii = true },
			     python_indent = { ",", ": ", .ascii = true, .indent = 2 },
			     python_sorted = { ", ", ": ", .sorted = true, .ascii = true },
			     canonical = { ",", ":", .sorted = true, .ascii = true };

void json_canonical(struct rye_buf *buf, const json_t *value)
{
	put_value(buf, value, (struct json_put_place){ &canonical, 0 });
}

void json_python_dumps(struct rye_buf *buf, const json_t *value)
{
	put_value(buf, value, (struct json_put_place){ &python, 0 });
}

void json_python_indent(struct rye_buf *buf, const json_t *value)
{
	put_value(buf, value, (struct json_put_place){ &python_indent, 0 });
}

void json_python_sorted(struct rye_buf *buf, const json_t *value)
{
	put_value(buf, value, (struct json_put_place){ &python_sorted, 0 });
}

void json_put(struct rye_buf *buf, const json_t *value, bool line)
{
	put_value(buf, value, (struct json_put_place){ &compact, 0 });
	if (line)
		buf_addc(buf, '\n');
}

void json_pretty(struct rye_buf *buf, const json_t *value)
{
	put_value(buf, value, (struct json_put_place){ &pretty, 0 });
	buf_addc(buf, '\n');
}

struct rye_blob *json_blob(const json_t *value, bool many_lines)
{
	auto_buf struct rye_buf buf = RYE_BUF_INIT;

	if (many_lines)
		json_pretty(&buf, value);
	else
		json_put(&buf, value, true);
	return buf_blob(&buf);
}
