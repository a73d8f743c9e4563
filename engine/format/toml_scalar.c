/* SPDX-License-Identifier: MIT */
/*
 * One unquoted TOML value: numbers of base 2, 8, 10 and 16, floats, dates and times, booleans.
 * What JSON has no type for (inf, nan, dates) stays the text that was written. An integer
 * beyond 64 bits is none. Pure; called by toml.c, whose fuzz target covers it.
 */
#include "format/format.h"

#include "scope.h"
#include "str.h"

#include <errno.h>
#include <stdlib.h>

/* Digits of a base with single underscores between them, copied without those. */
static bool copy_digits(struct rye_span s, const char *allowed, struct rye_buf *out)
{
	bool last = false;

	for (size_t i = 0; i < s.len; i++) {
		bool digit = s.ptr[i] && strchr(allowed, s.ptr[i]);

		if (!digit && (s.ptr[i] != '_' || !last))
			return false;
		if (digit)
			buf_addc(out, s.ptr[i]);
		last = digit;
	}
	return last && !out->failed;
}

static json_t *based(struct rye_span s, int base, const char *allowed)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	unsigned long long n;

	if (!copy_digits(s, allowed, &text))
		return NULL;
	errno = 0;
	n = strtoull(text.data, NULL, base);
	return errno || n > INT64_MAX ? NULL : json_integer((json_int_t)n);
}

/* No leading zeros, except zero itself. */
static bool toml_scalar_decimal(struct rye_span s, struct rye_buf *out)
{
	return copy_digits(s, "0123456789", out) && (s.len == 1 || s.ptr[0] != '0');
}

static json_t *integer(struct rye_span s)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	long long n;

	if (s.len && (s.ptr[0] == '-' || s.ptr[0] == '+')) {
		buf_addc(&text, s.ptr[0]);
		s = span_skip(s, 1);
	}
	if (!s.len || !toml_scalar_decimal(s, &text))
		return NULL;
	errno = 0;
	n = strtoll(text.data, NULL, 10);
	return errno ? NULL : json_integer(n);
}

/* From the exponent's letter on. */
static bool copy_exponent(struct rye_span s, struct rye_buf *out)
{
	s = span_skip(s, 1);
	buf_addc(out, 'e');
	if (s.len && (s.ptr[0] == '-' || s.ptr[0] == '+')) {
		buf_addc(out, s.ptr[0]);
		s = span_skip(s, 1);
	}
	return copy_digits(s, "0123456789", out);
}

static json_t *real(struct rye_span s)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	size_t n = 0, from;

	if (s.len && (s.ptr[0] == '-' || s.ptr[0] == '+')) {
		buf_addc(&text, s.ptr[0]);
		s = span_skip(s, 1);
	}
	while (n < s.len && s.ptr[n] != '.' && (s.ptr[n] | 32) != 'e')
		n++;
	if (!n || !toml_scalar_decimal((struct rye_span){ s.ptr, n }, &text))
		return NULL;
	if (n < s.len && s.ptr[n] == '.') {
		buf_addc(&text, '.');
		from = ++n;
		while (n < s.len && (s.ptr[n] | 32) != 'e')
			n++;
		if (!copy_digits((struct rye_span){ s.ptr + from, n - from }, "0123456789", &text))
			return NULL;
	}
	if (n < s.len && !copy_exponent(span_skip(s, n), &text))
		return NULL;
	return text.failed ? NULL : json_real(strtod(text.data, NULL));
}

static json_t *toml_scalar_number(struct rye_span s)
{
	struct rye_span plain = s;
	json_t *n;

	if (span_starts(s, "0x"))
		return based(span_skip(s, 2), 16, "0123456789abcdefABCDEF");
	if (span_starts(s, "0o"))
		return based(span_skip(s, 2), 8, "01234567");
	if (span_starts(s, "0b"))
		return based(span_skip(s, 2), 2, "01");
	if (span_starts(s, "+") || span_starts(s, "-"))
		plain = span_skip(s, 1);
	if (span_eq(plain, "inf") || span_eq(plain, "nan"))
		return json_stringn(s.ptr, s.len);
	n = integer(s);
	return n ? n :
	       memchr(s.ptr, '.', s.len) || memchr(s.ptr, 'e', s.len) || memchr(s.ptr, 'E', s.len) ?
		   real(s) :
		   NULL;
}

/* Two or four digits, then a literal; moves s. */
static bool toml_scalar_field(struct rye_span *s, size_t width, int low, int high)
{
	int n = 0;

	if (s->len < width)
		return false;
	for (size_t i = 0; i < width; i++) {
		if (s->ptr[i] < '0' || s->ptr[i] > '9')
			return false;
		n = n * 10 + (s->ptr[i] - '0');
	}
	*s = span_skip(*s, width);
	return n >= low && n <= high;
}

static bool toml_scalar_one_of(struct rye_span *s, const char *any)
{
	if (!s->len || !strchr(any, s->ptr[0]) || !s->ptr[0])
		return false;
	*s = span_skip(*s, 1);
	return true;
}

static bool clock_time(struct rye_span *s)
{
	if (!toml_scalar_field(s, 2, 0, 23) || !toml_scalar_one_of(s, ":") ||
	    !toml_scalar_field(s, 2, 0, 59) || !toml_scalar_one_of(s, ":") ||
	    !toml_scalar_field(s, 2, 0, 60))
		return false;
	if (!toml_scalar_one_of(s, "."))
		return true;
	if (!s->len || s->ptr[0] < '0' || s->ptr[0] > '9')
		return false;
	while (s->len && s->ptr[0] >= '0' && s->ptr[0] <= '9')
		*s = span_skip(*s, 1);
	return true;
}

static bool is_date(struct rye_span s)
{
	if (clock_time(&(struct rye_span){ s.ptr, s.len }))
		return clock_time(&s) && !s.len;
	if (!toml_scalar_field(&s, 4, 0, 9999) || !toml_scalar_one_of(&s, "-") ||
	    !toml_scalar_field(&s, 2, 1, 12) || !toml_scalar_one_of(&s, "-") ||
	    !toml_scalar_field(&s, 2, 1, 31))
		return false;
	if (!s.len)
		return true;
	if (!toml_scalar_one_of(&s, "Tt ") || !clock_time(&s))
		return false;
	if (!s.len || toml_scalar_one_of(&s, "Zz"))
		return !s.len;
	return toml_scalar_one_of(&s, "+-") && toml_scalar_field(&s, 2, 0, 23) &&
	       toml_scalar_one_of(&s, ":") && toml_scalar_field(&s, 2, 0, 59) && !s.len;
}

json_t *toml_scalar(struct rye_span token)
{
	if (span_eq(token, "true") || span_eq(token, "false"))
		return json_boolean(token.len == 4);
	if (is_date(token))
		return json_stringn(token.ptr, token.len);
	return token.len ? toml_scalar_number(token) : NULL;
}
