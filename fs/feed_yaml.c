/* SPDX-License-Identifier: MIT */
/*
 * feed_yaml.c - one line of YAML, as a person types it at a prompt, into JSON text.
 *
 * Only what fits a line and means one thing: a single `key: value`, or flow style. Anchors,
 * tags, block scalars, lists in block style and several keys are refused with a sentence;
 * whoever needs them writes JSON. Scalars become what a YAML 1.1 reader would make of them,
 * but for dates and base 60 numbers, which stay text (nobody means 750 by 12:30).
 *
 * Pure: no lock, no I/O. Reads outside bytes, so it has a fuzz target. Called by feed.c.
 */
#include "feed.h"

#include "feed_out.h"
#include "feed_scalar.h"
#include "util.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Flow collections in one line; recursion stops here. */
#define FLOW_DEPTH 32

struct yaml {
	const char *p, *end;
	const char *begin;
	const char *wrong; /* what stopped it, NULL while all is well */
	unsigned depth;
	struct feed_out out;
};

static void fail(struct yaml *y, const char *wrong)
{
	if (!y->wrong)
		y->wrong = wrong;
}

static bool blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Past spaces, and past a comment, which needs a space before it. */
static void skip_blanks(struct yaml *y)
{
	bool spaced = y->p == y->begin || blank(y->p[-1]);

	while (y->p < y->end && blank(*y->p)) {
		spaced = true;
		y->p++;
	}
	if (spaced && y->p < y->end && *y->p == '#')
		y->p = y->end;
}

static void add_utf8(struct feed_out *out, uint32_t c)
{
	char bytes[4];
	size_t n = 1;

	if (c < 0x80) {
		bytes[0] = c;
		feed_out_escaped(out, bytes, 1);
		return;
	}
	if (c < 0x800) {
		bytes[0] = 0xc0 | c >> 6;
		n = 2;
	} else if (c < 0x10000) {
		bytes[0] = 0xe0 | c >> 12;
		n = 3;
	} else {
		bytes[0] = 0xf0 | c >> 18;
		n = 4;
	}
	for (size_t i = 1; i < n; i++)
		bytes[i] = 0x80 | ((c >> (6 * (n - 1 - i))) & 0x3f);
	feed_out_add(out, bytes, n);
}

static void escape_code(struct yaml *y, size_t digits)
{
	uint32_t c = 0;

	for (size_t i = 0; i < digits; i++, y->p++) {
		int digit = y->p < y->end ? feed_hex(*y->p) : -1;

		if (digit < 0) {
			fail(y, "an escape wants hexadecimal digits");
			return;
		}
		c = c << 4 | (uint32_t)digit;
	}
	if (c == 0 || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		fail(y, "an escape names no character");
	else
		add_utf8(&y->out, c);
}

/* Behind a backslash in double quotes. */
static void escape(struct yaml *y)
{
	static const char from[] = "abtnvfre \"/\\\tN_LP";
	static const uint32_t to[] = { 7,   8,	 9,    10,   11,     12,   13,	   27,	  ' ',
				       '"', '/', '\\', '\t', 0x0085, 0xa0, 0x2028, 0x2029 };
	char c = *y->p++;
	const char *found = c ? strchr(from, c) : NULL;

	if (c == 'x')
		escape_code(y, 2);
	else if (c == 'u')
		escape_code(y, 4);
	else if (c == 'U')
		escape_code(y, 8);
	else if (found)
		add_utf8(&y->out, to[found - from]);
	else
		fail(y, "an escape that YAML does not have");
}

static void close_quote(struct yaml *y)
{
	if (y->p >= y->end)
		fail(y, "a string is not closed");
	else
		y->p++;
	feed_out_add(&y->out, "\"", 1);
}

static void double_quoted(struct yaml *y)
{
	feed_out_add(&y->out, "\"", 1);
	for (y->p++; y->p < y->end && *y->p != '"' && !y->wrong;) {
		if (*y->p != '\\') {
			feed_out_escaped(&y->out, y->p++, 1);
			continue;
		}
		if (++y->p < y->end)
			escape(y);
	}
	close_quote(y);
}

static void single_quoted(struct yaml *y)
{
	feed_out_add(&y->out, "\"", 1);
	for (y->p++; y->p < y->end; y->p++) {
		if (*y->p == '\'') {
			if (y->p + 1 == y->end || y->p[1] != '\'')
				break;
			y->p++;
		}
		feed_out_escaped(&y->out, y->p, 1);
	}
	close_quote(y);
}

static bool ends_plain(const struct yaml *y, const char *p)
{
	if (*p == ':' && (p + 1 == y->end || blank(p[1])))
		return true;
	if (*p == '#' && p > y->begin && blank(p[-1]))
		return true;
	if (y->depth == 0)
		return false;
	return strchr(",[]{}", *p) || (*p == ':' && strchr(",[]{}", p[1]));
}

/* The plain scalar at p, its end without trailing spaces. */
static struct rye_span plain(struct yaml *y)
{
	const char *begin = y->p, *end;

	if (y->p < y->end && strchr("&*!|>%@`", *y->p))
		fail(y, "anchors, tags and block text need more than a line, wanted JSON");
	else if (y->p + 1 < y->end && strchr("-?", *y->p) && blank(y->p[1]))
		fail(y, "lists and complex keys need more than a line, wanted JSON");
	else if (y->p < y->end && strchr(",]}", *y->p) && y->depth == 0)
		fail(y, "text that begins so needs quotes");
	while (y->p < y->end && !ends_plain(y, y->p))
		y->p++;
	for (end = y->p; end > begin && blank(end[-1]);)
		end--;
	return (struct rye_span){ begin, end - begin };
}

static void value(struct yaml *y);

/* A key, always text, and its colon; false: not followed by one. */
static bool key(struct yaml *y)
{
	bool quoted = y->p < y->end && (*y->p == '"' || *y->p == '\'');

	if (quoted) {
		*y->p == '"' ? double_quoted(y) : single_quoted(y);
	} else {
		struct rye_span text = plain(y);

		if (text.len == 0)
			fail(y, "wanted a name");
		feed_out_string(&y->out, text.ptr, text.len);
	}
	if (y->wrong)
		return false;
	skip_blanks(y);
	feed_out_add(&y->out, ":", 1);
	if (y->p >= y->end || *y->p != ':')
		return false;
	y->p++;
	if (!quoted && y->p < y->end && !blank(*y->p) && !strchr(",[]{}", *y->p))
		fail(y, "wanted a space behind the colon");
	skip_blanks(y);
	return true;
}

static void flow_entry(struct yaml *y, bool map)
{
	if (!map) {
		value(y);
	} else if (key(y) && y->p < y->end && *y->p != ',' && *y->p != '}') {
		value(y);
	} else {
		feed_out_text(&y->out, "null");
	}
}

static void flow(struct yaml *y)
{
	bool map = *y->p == '{', first = true;
	char close = map ? '}' : ']';

	if (++y->depth > FLOW_DEPTH)
		fail(y, "nested too deep for a line");
	feed_out_add(&y->out, y->p++, 1);
	for (skip_blanks(y); !y->wrong && y->p < y->end && *y->p != close; skip_blanks(y)) {
		if (!first)
			feed_out_add(&y->out, ",", 1);
		first = false;
		if (*y->p == ',')
			fail(y, "a comma with nothing before it");
		flow_entry(y, map);
		skip_blanks(y);
		if (y->p < y->end && *y->p == ',')
			y->p++;
		else if (y->p < y->end && *y->p != close)
			fail(y, map ? "wanted , or }" : "wanted , or ]");
	}
	if (y->p >= y->end)
		fail(y, map ? "wanted }" : "wanted ]");
	else
		y->p++;
	y->depth--;
	feed_out_add(&y->out, &close, 1);
}

static void value(struct yaml *y)
{
	char c = y->p < y->end ? *y->p : '\0';

	if (y->wrong)
		return;
	if (c == '{' || c == '[') {
		flow(y);
	} else if (c == '"') {
		double_quoted(y);
	} else if (c == '\'') {
		single_quoted(y);
	} else {
		struct rye_span text = plain(y);

		feed_scalar(&y->out, text.ptr, text.len);
	}
}

static void message(struct yaml *y)
{
	skip_blanks(y);
	if (y->p < y->end && *y->p == '{') {
		flow(y);
	} else {
		feed_out_add(&y->out, "{", 1);
		if (!key(y))
			fail(y, "wanted one JSON object, or one line `name: value`");
		value(y);
		feed_out_add(&y->out, "}", 1);
	}
	if (y->wrong)
		return;
	skip_blanks(y);
	if (y->p < y->end)
		fail(y, *y->p == ':' ? "text with a colon and a space in it needs quotes" :
				       "something is left behind the value");
}

static bool printable(struct rye_span line)
{
	for (size_t i = 0; i < line.len; i++)
		if ((unsigned char)line.ptr[i] < ' ' && line.ptr[i] != '\t')
			return false;
	return true;
}

int feed_yaml(struct rye_span line, char **ret, size_t *ret_len, char why[240])
{
	struct yaml y = { .p = line.ptr, .end = line.ptr + line.len, .begin = line.ptr };

	if (printable(line))
		message(&y);
	else
		fail(&y, "a control character");
	if (!y.wrong && !y.out.failed) {
		*ret = y.out.data;
		*ret_len = y.out.len;
		return 0;
	}
	free(y.out.data);
	if (!y.wrong) {
		snprintf(why, 240, "message too big as JSON, wanted at most 16 MiB");
		return EFBIG;
	}
	size_t column = MIN_OF((size_t)(y.p - y.begin), line.len) + 1;
	snprintf(why, 240, "message broken at column %zu: %s", column, y.wrong);
	return EINVAL;
}
