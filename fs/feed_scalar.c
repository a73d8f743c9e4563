/* SPDX-License-Identifier: MIT */
/*
 * What an unquoted word means to a YAML 1.1 reader: null, booleans, integers of base 2, 8, 10
 * and 16, floats with a point. Dates and base 60 numbers stay text, and so does every number
 * that JSON could not carry.
 *
 * Pure: no lock, no I/O. Called by feed_yaml.c, whose fuzz target covers it.
 */
#include "feed_scalar.h"

#include <rye/rye.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int feed_hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
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
		int digit = feed_hex(ptr[i]);

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
		value = value * (unsigned)base + (unsigned)feed_hex(digits.ptr[i]);
	}
	if (value > INT64_MAX)
		return false;
	snprintf(text, sizeof(text), "%s%llu", minus ? "-" : "", (unsigned long long)value);
	feed_out_text(out, text);
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
	feed_out_text(out, text);
	return true;
}

void feed_scalar(struct feed_out *out, const char *ptr, size_t len)
{
	if (len == 0 || word_in(ptr, len, "~\0null\0Null\0NULL\0"))
		feed_out_text(out, "null");
	else if (word_in(ptr, len, "true\0True\0TRUE\0yes\0Yes\0YES\0on\0On\0ON\0"))
		feed_out_text(out, "true");
	else if (word_in(ptr, len, "false\0False\0FALSE\0no\0No\0NO\0off\0Off\0OFF\0"))
		feed_out_text(out, "false");
	else if (!add_integer(out, ptr, len) && !add_float(out, ptr, len))
		feed_out_string(out, ptr, len);
}
