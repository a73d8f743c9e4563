/* SPDX-License-Identifier: MIT */
/*
 * Tokens of Python: blanks, names, strings, numbers. Line ends are LF, CR LF and CR, as the
 * language has them. Nothing is looked at twice, so reading stays linear. Pure; used by
 * python_literal.c and parse_python.c.
 */
#include "format/format_inner.h"

#include "str.h"

#include <ctype.h>
#include <stdlib.h>

static bool python_token_is_eol(char c)
{
	return c == '\n' || c == '\r';
}

bool py_fail(struct py *p, const char *what)
{
	size_t line = 1, end = p->at < p->text.len ? p->at : p->text.len;

	for (size_t i = 0; i < end; i++)
		line += p->text.ptr[i] == '\n';
	rye_fail(p->err, RYE_UNPARSABLE, "Syntax error: %s (line %zu)", what, line);
	p->failed = true;
	return false;
}

void py_blanks(struct py *p, bool bracketed)
{
	for (;; p->at++) {
		char c = py_peek(p, 0);

		if (c == ' ' || c == '\t' || c == '\f')
			continue;
		if (c == '\\' && python_token_is_eol(py_peek(p, 1))) {
			p->at += py_peek(p, 1) == '\r' && py_peek(p, 2) == '\n' ? 2 : 1;
			continue;
		}
		if (bracketed && python_token_is_eol(c))
			continue;
		if (!bracketed || c != '#')
			return;
		while (p->at + 1 < p->text.len && !python_token_is_eol(py_peek(p, 1)))
			p->at++;
	}
}

static bool name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

struct rye_span py_name(struct py *p)
{
	size_t from = p->at;

	if (!isdigit((unsigned char)py_peek(p, 0)))
		while (p->at < p->text.len && name_char(py_peek(p, 0)))
			p->at++;
	return (struct rye_span){ p->text.ptr + from, p->at - from };
}

int py_string_prefix(const struct py *p)
{
	for (int n = 0; n <= 2; n++) {
		char c = py_peek(p, (size_t)n);

		if (c == '"' || c == '\'')
			return n;
		if (!c || !strchr("rRbBuUfF", c))
			return -1;
	}
	return -1;
}

static bool triple_at(const struct py *p, char quote)
{
	return py_peek(p, 0) == quote && py_peek(p, 1) == quote && py_peek(p, 2) == quote;
}

/* Moves to the closing quote; false: there is none. */
static bool find_close_quote(struct py *p, char quote, bool triple)
{
	for (; p->at < p->text.len; p->at++) {
		char c = py_peek(p, 0);

		if (c == '\\')
			p->at += py_peek(p, 1) == '\r' && py_peek(p, 2) == '\n' ? 2 : 1;
		else if (!triple && python_token_is_eol(c))
			return false;
		else if (c == quote && (!triple || triple_at(p, quote)))
			return true;
	}
	p->at = p->text.len;
	return false;
}

static bool read_quoted(struct py *p, struct rye_span *ret_inner)
{
	char quote = py_peek(p, 0);
	bool triple = triple_at(p, quote);
	size_t from = p->at + (triple ? 3 : 1), opened = p->at;

	p->at = from;
	if (!find_close_quote(p, quote, triple)) {
		p->at = opened;
		return py_fail(p, "unterminated string literal");
	}
	*ret_inner = (struct rye_span){ p->text.ptr + from, p->at - from };
	p->at += triple ? 3 : 1;
	return true;
}

bool py_skip_string(struct py *p)
{
	struct rye_span inner;

	return read_quoted(p, &inner);
}

bool py_string_begin(struct py *p, struct py_string *ret)
{
	int n = py_string_prefix(p);

	if (n < 0)
		return false;
	*ret = (struct py_string){ 0 };
	for (; n; n--, p->at++) {
		char c = (char)tolower((unsigned char)py_peek(p, 0));

		ret->raw |= c == 'r';
		ret->bytes |= c == 'b';
		ret->format |= c == 'f';
	}
	return read_quoted(p, &ret->inner);
}

static void put_code(struct rye_buf *out, uint32_t cp)
{
	char bytes[4];

	if (cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff))
		cp = 0xfffd; /* half of a surrogate pair has no UTF-8 */
	buf_add(out, bytes, utf8_put(bytes, cp));
}

/* \xHH, \uHHHH, \UHHHHHHHH: `digits` of them at s.ptr[at]. */
static size_t hex_escape(struct rye_span s, size_t at, size_t digits, struct rye_buf *out)
{
	char text[9] = "", *end;
	unsigned long cp;

	if (at + digits > s.len)
		return 0;
	memcpy(text, s.ptr + at, digits);
	for (size_t i = 0; i < digits; i++)
		if (!isxdigit((unsigned char)text[i]))
			return 0;
	cp = strtoul(text, &end, 16);
	put_code(out, (uint32_t)cp);
	return 2 + digits;
}

static size_t octal_escape(struct rye_span s, struct rye_buf *out)
{
	uint32_t cp = 0;
	size_t n = 1;

	for (; n <= 3 && n < s.len && s.ptr[n] >= '0' && s.ptr[n] <= '7'; n++)
		cp = cp * 8 + (uint32_t)(s.ptr[n] - '0');
	put_code(out, cp);
	return n;
}

/* One escape at s (a backslash); bytes taken, 0: not an escape Python accepts. */
static size_t python_token_escape(struct rye_span s, bool bytes, struct rye_buf *out)
{
	static const char from[] = "\\'\"abfnrtv", to[] = "\\'\"\a\b\f\n\r\t\v";
	char c = s.len > 1 ? s.ptr[1] : 0;
	const char *simple = c ? strchr(from, c) : NULL;

	if (simple) {
		buf_addc(out, to[simple - from]);
		return 2;
	}
	if (c == '\n' || c == '\r')
		return c == '\r' && s.len > 2 && s.ptr[2] == '\n' ? 3 : 2;
	if (c >= '0' && c <= '7')
		return octal_escape(s, out);
	if (c == 'x')
		return hex_escape(s, 2, 2, out);
	if (!bytes && (c == 'u' || c == 'U'))
		return hex_escape(s, 2, c == 'u' ? 4 : 8, out);
	/* an unknown escape, and \N{NAME}, for which we carry no table, stay as written */
	buf_addc(out, '\\');
	return 1;
}

bool py_string_decode(struct py *p, const struct py_string *s, struct rye_buf *out)
{
	struct rye_span rest = s->inner;

	while (rest.len) {
		const char *special = rest.ptr;
		size_t n;

		while (special < rest.ptr + rest.len && *special != '\r' &&
		       (*special != '\\' || s->raw))
			special++;
		n = (size_t)(special - rest.ptr);
		buf_add(out, rest.ptr, n);
		rest = span_skip(rest, n);
		if (!rest.len)
			break;
		if (rest.ptr[0] == '\r') {
			buf_addc(out, '\n');
			n = rest.len > 1 && rest.ptr[1] == '\n' ? 2 : 1;
		} else {
			n = python_token_escape(rest, s->bytes, out);
		}
		if (!n)
			return py_fail(p, "bad escape in a string");
		rest = span_skip(rest, n);
	}
	return true;
}

static bool whole_number(const char *text, struct py_number *ret)
{
	char kind = text[0] == '0' ? (char)tolower((unsigned char)text[1]) : 0;
	int base = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 10;
	json_int_t value = 0;
	double real = 0;
	bool fits = true;

	text += base == 10 ? 0 : 2;
	for (const char *c = text; *c; c++) {
		int digit = isdigit((unsigned char)*c)	? *c - '0' :
			    isxdigit((unsigned char)*c) ? (*c | 0x20) - 'a' + 10 :
							  99;

		if (digit >= base)
			return false;
		real = real * base + digit;
		fits = fits && !__builtin_mul_overflow(value, base, &value) &&
		       !__builtin_add_overflow(value, digit, &value);
	}
	ret->whole = value;
	ret->real = base == 10 ? strtod(text, NULL) : real;
	ret->fits = fits;
	return *text;
}

bool py_number_read(struct py *p, struct py_number *ret)
{
	char text[NUMBER_MAX + 1], *end;
	size_t from = p->at;

	*ret = (struct py_number){ 0 };
	if (!number_chars(p->text, &p->at, text))
		return false;
	ret->text = (struct rye_span){ p->text.ptr + from, p->at - from };
	if (whole_number(text, ret))
		return true;
	if (!strpbrk(text, ".eEjJ") || strpbrk(text, "xXpPnN"))
		return false;
	ret->real = strtod(text, &end);
	ret->imaginary = end > text && (*end == 'j' || *end == 'J') && !end[1];
	return end > text && (!*end || ret->imaginary);
}
