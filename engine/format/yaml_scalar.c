/* SPDX-License-Identifier: MIT */
/*
 * The scalar resolver of YAML 1.1, in the reading of the common Python loader: which plain
 * texts are booleans, numbers of base 2, 8, 10, 16 and 60, floats, nulls and dates. libyaml
 * leaves this to its caller. Pure; called by yaml.c for every scalar.
 */
#include "format/format.h"

#include "scope.h"
#include "str.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A number of more characters is text: nothing means it, and conversion is not linear. */
#define DIGITS_MAX 400

#define TAG "tag:yaml.org,2002:"

static bool yaml_scalar_one_of(struct rye_span s, const char *const *words)
{
	for (; *words; words++)
		if (span_eq(s, *words))
			return true;
	return false;
}

static bool is_null(struct rye_span s)
{
	static const char *const words[] = { "", "~", "null", "Null", "NULL", NULL };

	return yaml_scalar_one_of(s, words);
}

static json_t *as_bool(struct rye_span s)
{
	static const char *const yes[] = { "yes",  "Yes", "YES", "true", "True",
					   "TRUE", "on",  "On",	 "ON",	 NULL };
	static const char *const no[] = { "no",	   "No",  "NO",	 "false", "False",
					  "FALSE", "off", "Off", "OFF",	  NULL };

	if (yaml_scalar_one_of(s, yes))
		return json_true();
	return yaml_scalar_one_of(s, no) ? json_false() : NULL;
}

/* Length of the run of characters from `set` at `from`. */
static size_t yaml_scalar_run(struct rye_span s, size_t from, const char *set)
{
	size_t n = 0;

	while (from + n < s.len && s.ptr[from + n] && strchr(set, s.ptr[from + n]))
		n++;
	return n;
}

/* The digits without sign and underscores, for strtoll and strtod. */
static bool bare_digits(struct rye_span s, char ret[DIGITS_MAX + 1])
{
	size_t n = 0;

	if (s.len > DIGITS_MAX)
		return false;
	for (size_t i = 0; i < s.len; i++)
		if (s.ptr[i] != '_')
			ret[n++] = s.ptr[i];
	ret[n] = 0;
	return n > 0;
}

static json_t *real_or_name(double value)
{
	if (isnan(value))
		return json_string(".nan");
	if (isinf(value))
		return json_string(value > 0 ? ".inf" : "-.inf");
	return json_real(value);
}

static json_t *whole(struct rye_span digits, int base, bool negative)
{
	char text[DIGITS_MAX + 2] = "-";
	double big = 0;
	long long value;
	char *end;

	if (!bare_digits(digits, text + 1))
		return NULL;
	errno = 0;
	value = strtoll(text + !negative, &end, base);
	if (*end)
		return NULL;
	if (!errno)
		return json_integer(value);
	if (base == 10)
		return real_or_name(strtod(text + !negative, NULL));
	for (const char *p = text + 1; *p; p++) {
		char digit[2] = { *p, 0 };

		big = big * base + (double)strtol(digit, NULL, 16);
	}
	return real_or_name(negative ? -big : big);
}

/* h:m:s, any number of parts, each after the first 0 to 59; `last` may carry a fraction. */
static json_t *sexagesimal(struct rye_span s, bool negative, bool real)
{
	char text[DIGITS_MAX + 1], *at = text, *end;
	double value = 0;

	if (!bare_digits(s, text))
		return NULL;
	for (;; at = end + 1) {
		value = value * 60 + strtod(at, &end);
		if (*end != ':')
			break;
	}
	if (negative)
		value = -value;
	if (real || fabs(value) >= 9007199254740992.0)
		return real_or_name(value);
	return json_integer((json_int_t)value);
}

/* Ends of the ":5", ":59" groups that follow `at`; at itself when there is none. */
static size_t sixties(struct rye_span s, size_t at)
{
	while (at + 1 < s.len && s.ptr[at] == ':') {
		size_t n = yaml_scalar_run(s, at + 1, "0123456789");

		if (n == 0 || n > 2 || (n == 2 && s.ptr[at + 1] > '5'))
			break;
		at += 1 + n;
	}
	return at;
}

static json_t *yaml_scalar_as_int(struct rye_span s)
{
	size_t sign = yaml_scalar_run(s, 0, "+-") ? 1 : 0, n, colon;
	struct rye_span digits = span_skip(s, sign);
	bool negative = sign && s.ptr[0] == '-';

	if (!digits.len)
		return NULL;
	if (span_starts(digits, "0b") && yaml_scalar_run(digits, 2, "01_") == digits.len - 2)
		return whole(span_skip(digits, 2), 2, negative);
	if (span_starts(digits, "0x") && digits.len > 2 &&
	    yaml_scalar_run(digits, 2, "0123456789abcdefABCDEF_") == digits.len - 2)
		return whole(span_skip(digits, 2), 16, negative);
	if (digits.ptr[0] == '0')
		return yaml_scalar_run(digits, 1, "01234567_") == digits.len - 1 ?
			       whole(digits, 8, negative) :
			       NULL;
	n = digits.ptr[0] == '_' ? 0 : yaml_scalar_run(digits, 0, "0123456789_");
	if (n && n == digits.len)
		return whole(digits, 10, negative);
	colon = n ? sixties(digits, n) : 0;
	return colon > n && colon == digits.len ? sexagesimal(digits, negative, false) : NULL;
}

/* The part behind a decimal point: digits, then an exponent that must have its sign. */
static bool fraction_ends(struct rye_span s, size_t at)
{
	size_t digits;

	at += yaml_scalar_run(s, at, "0123456789_");
	if (at == s.len)
		return true;
	if (s.ptr[at] != 'e' && s.ptr[at] != 'E')
		return false;
	at++;
	if (at == s.len || (s.ptr[at] != '+' && s.ptr[at] != '-'))
		return false;
	digits = yaml_scalar_run(s, at + 1, "0123456789");
	return digits && at + 1 + digits == s.len;
}

static json_t *named_float(struct rye_span s)
{
	static const char *const inf[] = { ".inf", ".Inf", ".INF", NULL };
	static const char *const nan[] = { ".nan", ".NaN", ".NAN", NULL };
	size_t sign = yaml_scalar_run(s, 0, "+-") ? 1 : 0;

	if (yaml_scalar_one_of(span_skip(s, sign), inf))
		return json_string(sign && s.ptr[0] == '-' ? "-.inf" : ".inf");
	return yaml_scalar_one_of(s, nan) ? json_string(".nan") : NULL;
}

static json_t *yaml_scalar_decimal(struct rye_span s)
{
	char text[DIGITS_MAX + 1], *end;
	double value;

	if (!bare_digits(s, text))
		return NULL;
	value = strtod(text, &end);
	return *end ? NULL : real_or_name(value);
}

static json_t *as_float(struct rye_span s)
{
	size_t sign = yaml_scalar_run(s, 0, "+-") ? 1 : 0, n, colon;
	struct rye_span rest = span_skip(s, sign);

	if (!rest.len)
		return NULL;
	if (rest.ptr[0] == '.') {
		if (!sign && yaml_scalar_run(rest, 1, "0123456789") && fraction_ends(rest, 1))
			return yaml_scalar_decimal(rest);
		return named_float(s);
	}
	n = rest.ptr[0] == '_' ? 0 : yaml_scalar_run(rest, 0, "0123456789_");
	if (!n)
		return NULL;
	if (n < rest.len && rest.ptr[n] == '.')
		return fraction_ends(rest, n + 1) ? yaml_scalar_decimal(s) : NULL;
	colon = sixties(rest, n);
	if (colon == n || colon == rest.len || rest.ptr[colon] != '.' ||
	    colon + 1 + yaml_scalar_run(rest, colon + 1, "0123456789_") != rest.len)
		return NULL;
	return sexagesimal(rest, sign && s.ptr[0] == '-', true);
}

/* Reads `least` to `most` digits at *at. */
static bool yaml_scalar_take(struct rye_span s, size_t *at, size_t least, size_t most, int *ret)
{
	size_t n = yaml_scalar_run(s, *at, "0123456789");

	if (n < least || n > most)
		return false;
	*ret = 0;
	for (size_t i = 0; i < n; i++)
		*ret = *ret * 10 + (s.ptr[*at + i] - '0');
	*at += n;
	return true;
}

static bool take_char(struct rye_span s, size_t *at, char c)
{
	if (*at >= s.len || s.ptr[*at] != c)
		return false;
	(*at)++;
	return true;
}

/* Z, +1, -05:30 behind the time, or nothing; the ISO spelling goes to ret. */
static bool read_zone(struct rye_span s, size_t at, char ret[16])
{
	int hours, minutes = 0;
	char sign;

	at += yaml_scalar_run(s, at, " \t");
	ret[0] = 0;
	if (at == s.len)
		return true;
	sign = s.ptr[at++];
	if (sign == 'Z') {
		snprintf(ret, 16, "Z");
		return at == s.len;
	}
	if ((sign != '+' && sign != '-') || !yaml_scalar_take(s, &at, 1, 2, &hours))
		return false;
	if (take_char(s, &at, ':') && !yaml_scalar_take(s, &at, 2, 2, &minutes))
		return false;
	snprintf(ret, 16, "%c%02d:%02d", sign, hours, minutes);
	return at == s.len && hours < 24 && minutes < 60;
}

static bool clock_part(struct rye_span s, size_t at, char ret[48])
{
	size_t blanks = yaml_scalar_run(s, at, " \t"), digits;
	int h, m, sec;
	char where[16], fraction[8] = "";

	if (!blanks && !take_char(s, &at, 'T') && !take_char(s, &at, 't'))
		return false;
	at += blanks;
	if (!yaml_scalar_take(s, &at, 1, 2, &h) || !take_char(s, &at, ':') ||
	    !yaml_scalar_take(s, &at, 2, 2, &m) || !take_char(s, &at, ':') ||
	    !yaml_scalar_take(s, &at, 2, 2, &sec) || h > 23 || m > 59 || sec > 59)
		return false;
	if (take_char(s, &at, '.')) {
		digits = yaml_scalar_run(s, at, "0123456789");
		if (digits)
			snprintf(fraction, sizeof(fraction), ".%.*s",
				 (int)(digits < 6 ? digits : 6), s.ptr + at);
		at += digits;
	}
	if (!read_zone(s, at, where))
		return false;
	snprintf(ret, 48, "T%02d:%02d:%02d%s%s", h, m, sec, fraction, where);
	return true;
}

static bool yaml_timestamp(struct rye_span s, char ret[64])
{
	int year, month, day;
	char time[48] = "";
	size_t at = 0;

	if (s.len > 64 || !yaml_scalar_take(s, &at, 4, 4, &year) || !take_char(s, &at, '-') ||
	    !yaml_scalar_take(s, &at, 1, 2, &month) || !take_char(s, &at, '-') ||
	    !yaml_scalar_take(s, &at, 1, 2, &day))
		return false;
	if (month < 1 || month > 12 || day < 1 || day > 31 || (at == s.len && s.len != 10))
		return false;
	if (at < s.len && !clock_part(s, at, time))
		return false;
	snprintf(ret, 64, "%04d-%02d-%02d%s", year, month, day, time);
	return true;
}

static json_t *yaml_scalar_text_of(struct rye_span s)
{
	return json_stringn(s.ptr ? s.ptr : "", s.len);
}

static json_t *base64_text(struct rye_span s)
{
	auto_buf struct rye_buf out = RYE_BUF_INIT;
	auto_free char *text = NULL;

	for (size_t i = 0; i < s.len; i++)
		if (!strchr(" \t\n\r", s.ptr[i]))
			buf_addc(&out, s.ptr[i]);
	text = buf_steal(&out);
	return text ? json_string(text) : NULL;
}

static json_t *resolved(struct rye_span s)
{
	char iso[64];
	json_t *value;

	if (is_null(s))
		return json_null();
	if (s.len > DIGITS_MAX)
		return yaml_scalar_text_of(s);
	value = as_bool(s);
	if (!value)
		value = yaml_scalar_as_int(s);
	if (!value)
		value = as_float(s);
	if (!value && yaml_timestamp(s, iso))
		value = json_string(iso);
	return value ? value : yaml_scalar_text_of(s);
}

static json_t *tagged_float(struct rye_span s)
{
	json_t *value = as_float(s);

	return value ? value : yaml_scalar_decimal(s);
}

json_t *yaml_scalar(struct rye_span s, const char *tag, bool plain)
{
	char iso[64];

	if (!tag)
		return plain ? resolved(s) : yaml_scalar_text_of(s);
	if (!strcmp(tag, "!") || !strcmp(tag, TAG "str"))
		return yaml_scalar_text_of(s);
	if (!strcmp(tag, TAG "null"))
		return json_null();
	if (!strcmp(tag, TAG "bool"))
		return as_bool(s);
	if (!strcmp(tag, TAG "int"))
		return yaml_scalar_as_int(s);
	if (!strcmp(tag, TAG "float"))
		return tagged_float(s);
	if (!strcmp(tag, TAG "timestamp"))
		return yaml_timestamp(s, iso) ? json_string(iso) : NULL;
	return !strcmp(tag, TAG "binary") ? base64_text(s) : NULL;
}
