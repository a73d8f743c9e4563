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

void feed_out_add(struct feed_out *out, const char *ptr, size_t len)
{
	if (out->failed || len == 0)
		return;
	if (len > FEED_MAX || out->len + len > FEED_MAX) {
		out->failed = true;
		return;
	}
	if (out->len + len + 1 > out->size) {
		size_t size = MAX_OF(out->size * 2, out->len + len + 64);
		char *data = realloc(out->data, size);

		if (!data) {
			out->failed = true;
			return;
		}
		out->data = data;
		out->size = size;
	}
	memcpy(out->data + out->len, ptr, len);
	out->len += len;
	out->data[out->len] = '\0';
}

static void add_text(struct feed_out *out, const char *text)
{
	feed_out_add(out, text, strlen(text));
}

/* A piece of a JSON string. */
static void add_escaped(struct feed_out *out, const char *ptr, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = ptr[i];
		char escaped[8];

		if (c == '"' || c == '\\')
			snprintf(escaped, sizeof(escaped), "\\%c", c);
		else if (c == '\n')
			snprintf(escaped, sizeof(escaped), "\\n");
		else if (c < ' ' || c == 0x7f)
			snprintf(escaped, sizeof(escaped), "\\u%04x", c);
		else
			snprintf(escaped, sizeof(escaped), "%c", c);
		add_text(out, escaped);
	}
}

void feed_out_string(struct feed_out *out, const char *ptr, size_t len)
{
	feed_out_add(out, "\"", 1);
	add_escaped(out, ptr, len);
	feed_out_add(out, "\"", 1);
}

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
		add_escaped(out, bytes, 1);
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

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static void escape_code(struct yaml *y, size_t digits)
{
	uint32_t c = 0;

	for (size_t i = 0; i < digits; i++, y->p++) {
		int digit = y->p < y->end ? hex_digit(*y->p) : -1;

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
			add_escaped(&y->out, y->p++, 1);
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
		add_escaped(&y->out, y->p, 1);
	}
	close_quote(y);
}

static bool word_in(const char *ptr, size_t len, const char *words)
{
	for (const char *w = words; *w; w += strlen(w) + 1)
		if (strlen(w) == len && memcmp(w, ptr, len) == 0)
			return true;
	return false;
}

/* Digits of a base with underscores between; at least one digit. */
static bool digits_only(const char *ptr, size_t len, int base)
{
	bool any = false;

	for (size_t i = 0; i < len; i++) {
		int digit = hex_digit(ptr[i]);

		if (ptr[i] == '_')
			continue;
		if (digit < 0 || digit >= base)
			return false;
		any = true;
	}
	return any;
}

static bool add_based(struct feed_out *out, bool minus, struct rye_span digits, int base)
{
	uint64_t value = 0;
	char text[32];

	for (size_t i = 0; i < digits.len; i++) {
		if (digits.ptr[i] == '_')
			continue;
		if (value > (UINT64_MAX >> 1) / (unsigned)base)
			return false;
		value = value * (unsigned)base + (unsigned)hex_digit(digits.ptr[i]);
	}
	if (value > INT64_MAX)
		return false;
	snprintf(text, sizeof(text), "%s%llu", minus ? "-" : "", (unsigned long long)value);
	add_text(out, text);
	return true;
}

static bool add_integer(struct feed_out *out, const char *ptr, size_t len)
{
	bool minus = len && *ptr == '-';
	size_t sign = len && (*ptr == '-' || *ptr == '+');
	struct rye_span digits = { ptr + sign, len - sign };
	int base = 10;

	if (digits.len == 0 || digits.ptr[0] == '_')
		return false;
	if (digits.ptr[0] == '0' && digits.len > 1) {
		base = digits.ptr[1] == 'x' ? 16 : digits.ptr[1] == 'b' ? 2 : 8;
		size_t skip = base == 8 ? 1 : 2;

		digits = (struct rye_span){ digits.ptr + skip, digits.len - skip };
	}
	return digits_only(digits.ptr, digits.len, base) && add_based(out, minus, digits, base);
}

/* [sign] digits . digits [e sign digits], as YAML 1.1 wants it: with a point. */
static bool looks_float(const char *p, const char *end)
{
	const char *point, *exp;

	p += p < end && (*p == '-' || *p == '+');
	point = memchr(p, '.', end - p);
	if (!point)
		return false;
	for (exp = point + 1; exp < end && *exp != 'e' && *exp != 'E';)
		exp++;
	if (point == p && exp == point + 1)
		return false;
	if (point > p && !digits_only(p, point - p, 10))
		return false;
	if (exp > point + 1 && !digits_only(point + 1, exp - point - 1, 10))
		return false;
	if (exp < end &&
	    (end - exp < 3 || !strchr("+-", exp[1]) || !digits_only(exp + 2, end - exp - 2, 10)))
		return false;
	return true;
}

static bool add_float(struct feed_out *out, const char *ptr, size_t len)
{
	char text[128];
	size_t n = 0;
	double number;

	if (len >= sizeof(text) || !looks_float(ptr, ptr + len))
		return false;
	for (size_t i = 0; i < len; i++)
		if (ptr[i] != '_')
			text[n++] = ptr[i];
	text[n] = '\0';
	number = strtod(text, NULL);
	if (number - number != 0)
		return false;
	snprintf(text, sizeof(text), "%.15g", number);
	if (strtod(text, NULL) != number)
		snprintf(text, sizeof(text), "%.17g", number);
	if (!strpbrk(text, ".e"))
		snprintf(text + strlen(text), 4, ".0");
	add_text(out, text);
	return true;
}

static void add_plain(struct feed_out *out, const char *ptr, size_t len)
{
	if (len == 0 || word_in(ptr, len, "~\0null\0Null\0NULL\0"))
		add_text(out, "null");
	else if (word_in(ptr, len, "true\0True\0TRUE\0yes\0Yes\0YES\0on\0On\0ON\0"))
		add_text(out, "true");
	else if (word_in(ptr, len, "false\0False\0FALSE\0no\0No\0NO\0off\0Off\0OFF\0"))
		add_text(out, "false");
	else if (!add_integer(out, ptr, len) && !add_float(out, ptr, len))
		feed_out_string(out, ptr, len);
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
		add_text(&y->out, "null");
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

		add_plain(&y->out, text.ptr, text.len);
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
