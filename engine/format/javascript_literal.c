/* SPDX-License-Identifier: MIT */
/*
 * JavaScript literals → JSON. Strings are read as the language reads them, so a URL inside one is
 * no comment. Expressions, names and spreads are no literals and give NULL. Recursive by nesting,
 * at most RYE_LITERAL_DEPTH. Pure.
 */
#include "format/format.h"

#include "bounds.h"
#include "format/format_inner.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

bool js_blanks(struct js *j)
{
	while (j->at < j->text.len) {
		ssize_t end;

		if (is_blank(js_peek(j, 0))) {
			j->at++;
		} else if (js_peek(j, 0) == '/' && js_peek(j, 1) == '/') {
			end = span_find(j->text, j->at, "\n");
			j->at = end < 0 ? j->text.len : (size_t)end;
		} else if (js_peek(j, 0) == '/' && js_peek(j, 1) == '*') {
			end = span_find(j->text, j->at + 2, "*/");
			j->at = end < 0 ? j->text.len : (size_t)end + 2;
			if (end < 0)
				return false;
		} else {
			break;
		}
	}
	return true;
}

struct rye_span js_name(struct js *j)
{
	size_t from = j->at;

	while (j->at < j->text.len) {
		unsigned char c = (unsigned char)js_peek(j, 0);

		if (!isalpha(c) && c != '_' && c != '$' && c < 0x80 &&
		    !(isdigit(c) && j->at > from))
			break;
		j->at++;
	}
	return (struct rye_span){ j->text.ptr + from, j->at - from };
}

static json_t *javascript_literal_counted(struct js *j, json_t *value)
{
	if (++j->nodes <= RYE_LITERAL_NODES)
		return value;
	json_decref(value);
	return NULL;
}

static bool hex_digits(struct js *j, size_t n, uint32_t *cp)
{
	for (; n; n--, j->at++) {
		unsigned char c = (unsigned char)js_peek(j, 0);

		if (!isxdigit(c) || *cp > 0xffffff)
			return false;
		*cp = *cp * 16 + (uint32_t)(isdigit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
	}
	return true;
}

/* Behind "\u": four digits, or any number in braces. */
static bool unicode_escape(struct js *j, uint32_t *cp)
{
	if (js_peek(j, 0) != '{')
		return hex_digits(j, 4, cp);
	for (j->at++; js_peek(j, 0) != '}';)
		if (!hex_digits(j, 1, cp))
			return false;
	j->at++;
	return true;
}

static bool javascript_literal_is_low(uint32_t cp)
{
	return cp >= 0xdc00 && cp <= 0xdfff;
}

/* A high surrogate takes the low one behind it; a lone one has no UTF-8. */
static bool code_point(struct js *j, uint32_t *cp)
{
	uint32_t low = 0;
	size_t at;

	if (!unicode_escape(j, cp))
		return false;
	at = j->at;
	if (*cp >= 0xd800 && *cp <= 0xdbff && js_peek(j, 0) == '\\' && js_peek(j, 1) == 'u') {
		j->at += 2;
		if (unicode_escape(j, &low) && javascript_literal_is_low(low)) {
			*cp = 0x10000 + ((*cp - 0xd800) << 10) + (low - 0xdc00);
			return true;
		}
		j->at = at;
	}
	if ((*cp >= 0xd800 && *cp <= 0xdfff) || *cp > 0x10ffff)
		*cp = 0xfffd;
	return true;
}

/* Behind a backslash. */
static bool javascript_literal_escape(struct js *j, struct rye_buf *out)
{
	static const char from[] = "bfnrtv0", to[] = "\b\f\n\r\t\v";
	char c = js_peek(j, 0), bytes[4];
	const char *simple = c ? strchr(from, c) : NULL;
	uint32_t cp = 0;

	if (j->at >= j->text.len)
		return false;
	j->at++;
	if (simple) {
		buf_addc(out, to[simple - from]);
		return true;
	}
	if (c == '\n' || c == '\r') {
		j->at += c == '\r' && js_peek(j, 0) == '\n';
		return true;
	}
	if (c != 'x' && c != 'u') {
		buf_addc(out, c);
		return true;
	}
	if (c == 'x' ? !hex_digits(j, 2, &cp) : !code_point(j, &cp))
		return false;
	buf_add(out, bytes, utf8_put(bytes, cp));
	return true;
}

static json_t *javascript_literal_string(struct js *j)
{
	auto_buf struct rye_buf out = RYE_BUF_INIT;
	char quote = js_peek(j, 0);

	for (j->at++; js_peek(j, 0) != quote;) {
		char c = js_peek(j, 0);

		if (j->at >= j->text.len || (c == '\n' && quote != '`') ||
		    (c == '$' && quote == '`' && js_peek(j, 1) == '{'))
			return NULL;
		j->at++;
		if (c != '\\')
			buf_addc(&out, c);
		else if (!javascript_literal_escape(j, &out))
			return NULL;
	}
	j->at++;
	return javascript_literal_counted(j, json_stringn(out.data ? out.data : "", out.len));
}

static json_t *javascript_literal_number(struct js *j, bool negative)
{
	char text[NUMBER_MAX + 1], *end;
	int kind, base;
	bool whole;
	double real;
	long long value;

	if (!number_chars(j->text, &j->at, text))
		return NULL;
	kind = text[0] == '0' ? tolower((unsigned char)text[1]) : 0;
	base = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 10;
	whole = base != 10 || !strpbrk(text, ".eE");
	errno = 0;
	value = strtoll(text + (base == 10 ? 0 : 2), &end, base);
	if (whole && !errno && !*end && end > text + (base == 10 ? 0 : 2))
		return javascript_literal_counted(j, json_integer(negative ? -value : value));
	if (base != 10 || strpbrk(text, "xXpPnNiI"))
		return NULL;
	real = strtod(text, &end);
	if (*end || end == text || !isfinite(real))
		return NULL;
	return javascript_literal_counted(j, json_real(negative ? -real : real));
}

static json_t *word(struct js *j)
{
	struct rye_span name = js_name(j);

	if (span_eq(name, "true"))
		return javascript_literal_counted(j, json_true());
	if (span_eq(name, "false"))
		return javascript_literal_counted(j, json_false());
	if (span_eq(name, "null") || span_eq(name, "undefined"))
		return javascript_literal_counted(j, json_null());
	return NULL;
}

/* Behind an element: a comma (then more may come) or the closing bracket ahead. */
static bool javascript_literal_separator(struct js *j, char close, bool *ret_more)
{
	if (!js_blanks(j))
		return false;
	*ret_more = js_peek(j, 0) == ',';
	if (!*ret_more)
		return js_peek(j, 0) == close;
	j->at++;
	return js_blanks(j);
}

static json_t *javascript_literal_array(struct js *j, int depth)
{
	auto_json json_t *list = javascript_literal_counted(j, json_array());
	bool more = true;

	j->at++;
	if (!list || !js_blanks(j))
		return NULL;
	while (more && js_peek(j, 0) != ']') {
		json_t *value = js_literal(j, depth + 1);

		if (!value || json_array_append_new(list, value) ||
		    !javascript_literal_separator(j, ']', &more))
			return NULL;
	}
	if (js_peek(j, 0) != ']')
		return NULL;
	j->at++;
	return steal(&list);
}

/* A bare name, a string or a whole number; NULL: no key. Free it. */
static char *key(struct js *j)
{
	char c = js_peek(j, 0);
	size_t from = j->at;
	auto_json json_t *text = NULL;

	if (c == '"' || c == '\'') {
		text = javascript_literal_string(j);
		if (!text || strlen(json_string_value(text)) != json_string_length(text))
			return NULL;
		return memory_note(strdup(json_string_value(text)));
	}
	if (isdigit((unsigned char)c))
		while (isdigit((unsigned char)js_peek(j, 0)))
			j->at++;
	else
		js_name(j);
	return j->at > from ? span_dup((struct rye_span){ j->text.ptr + from, j->at - from }) :
			      NULL;
}

static bool javascript_literal_pair(struct js *j, json_t *map, int depth)
{
	auto_free char *name = key(j);
	json_t *value;

	if (!name || !js_blanks(j) || js_peek(j, 0) != ':')
		return false;
	j->at++;
	if (!js_blanks(j))
		return false;
	value = js_literal(j, depth + 1);
	return value && json_set(map, name, value);
}

static json_t *object(struct js *j, int depth)
{
	auto_json json_t *map = javascript_literal_counted(j, json_object());
	bool more = true;

	j->at++;
	if (!map || !js_blanks(j))
		return NULL;
	while (more && js_peek(j, 0) != '}')
		if (!javascript_literal_pair(j, map, depth) ||
		    !javascript_literal_separator(j, '}', &more))
			return NULL;
	if (js_peek(j, 0) != '}')
		return NULL;
	j->at++;
	return steal(&map);
}

json_t *js_literal(struct js *j, int depth)
{
	char c = js_peek(j, 0);

	if (depth > RYE_LITERAL_DEPTH)
		return NULL;
	if (c == '"' || c == '\'' || c == '`')
		return javascript_literal_string(j);
	if (c == '[')
		return javascript_literal_array(j, depth);
	if (c == '{')
		return object(j, depth);
	if (c == '-' || c == '+') {
		j->at++;
		return javascript_literal_number(j, c == '-');
	}
	return isdigit((unsigned char)c) || c == '.' ? javascript_literal_number(j, false) :
						       word(j);
}
