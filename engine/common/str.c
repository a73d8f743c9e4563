/* SPDX-License-Identifier: MIT */
/*
 * Spans, UTF-8, hex and base64url. Pure functions over borrowed bytes; the tables of Unicode
 * whitespace are those of Python's str.strip(), because the hash of a text that is stripped first
 * depends on them (tests/unit/test_base_str.c).
 */
#include "str.h"

#include "memory.h"
#include "scope.h"

#include <stdlib.h>

bool span_eq(struct rye_span a, const char *b)
{
	size_t n = strlen(b);

	return a.len == n && !memcmp(a.ptr, b, n);
}

bool span_starts(struct rye_span s, const char *prefix)
{
	size_t n = strlen(prefix);

	return s.len >= n && !memcmp(s.ptr, prefix, n);
}

bool span_ends(struct rye_span s, const char *suffix)
{
	size_t n = strlen(suffix);

	return s.len >= n && !memcmp(s.ptr + s.len - n, suffix, n);
}

struct rye_span span_skip(struct rye_span s, size_t n)
{
	/* an empty one may have no address */
	return n ? (struct rye_span){ s.ptr + n, s.len - n } : s;
}

ssize_t span_find(struct rye_span s, size_t from, const char *needle)
{
	const char *hit;

	if (!s.ptr || from > s.len)
		return -1;
	hit = memmem(s.ptr + from, s.len - from, needle, strlen(needle));
	return hit ? hit - s.ptr : -1;
}

bool span_line(struct rye_span *s, struct rye_span *ret_line)
{
	const char *lf;
	size_t n;

	if (!s->len)
		return false;
	lf = memchr(s->ptr, '\n', s->len);
	n = lf ? (size_t)(lf - s->ptr) : s->len;
	*ret_line = (struct rye_span){ s->ptr, n };
	*s = span_skip(*s, lf ? n + 1 : n);
	return true;
}

static bool ascii_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

struct rye_span span_trim(struct rye_span s)
{
	while (s.len && ascii_blank(s.ptr[0]))
		s = span_skip(s, 1);
	while (s.len && ascii_blank(s.ptr[s.len - 1]))
		s.len--;
	return s;
}

static bool unicode_blank(uint32_t cp)
{
	return (cp >= 0x09 && cp <= 0x0d) || (cp >= 0x1c && cp <= 0x20) || cp == 0x85 ||
	       cp == 0xa0 || cp == 0x1680 || (cp >= 0x2000 && cp <= 0x200a) || cp == 0x2028 ||
	       cp == 0x2029 || cp == 0x202f || cp == 0x205f || cp == 0x3000;
}

struct rye_span span_strip_unicode(struct rye_span s)
{
	uint32_t cp;
	size_t n;

	while ((n = utf8_next(s, &cp)) && unicode_blank(cp))
		s = span_skip(s, n);
	while (s.len) {
		n = 1;
		while (n < 4 && n < s.len && ((unsigned char)s.ptr[s.len - n] & 0xc0) == 0x80)
			n++;
		if (utf8_next((struct rye_span){ s.ptr + s.len - n, n }, &cp) != n ||
		    !unicode_blank(cp))
			break;
		s.len -= n;
	}
	return s;
}

bool span_conflict(struct rye_span s)
{
	static const char *const marks[] = { "<<<<<<< ", "=======", ">>>>>>> " };
	struct rye_span line;
	size_t seen = 0;

	while (seen < ARRAY_SIZE(marks) && span_line(&s, &line))
		seen += span_starts(line, marks[seen]);
	return seen == ARRAY_SIZE(marks);
}

char *span_dup(struct rye_span s)
{
	char *copy = memory_note(malloc(s.len + 1));

	if (!copy)
		return NULL;
	if (s.len)
		memcpy(copy, s.ptr, s.len);
	copy[s.len] = 0;
	return copy;
}

bool str_ends(const char *s, const char *suffix)
{
	return span_ends(span_of(s), suffix);
}

bool str_one_name(const char *id, bool exact, char ret[256])
{
	size_t n = 0;

	for (; *id && n < 256 - 4; id++) {
		if (exact && (*id == ':' || *id == '%'))
			n += (size_t)snprintf(ret + n, 256 - n, "%%%02X", *id);
		else
			ret[n++] = *id == '/' ? ':' : *id;
	}
	ret[n] = 0;
	return !*id;
}

void str_one_name_old(char *name)
{
	char *to = name;

	for (const char *from = name; *from;) {
		bool slash = !strncasecmp(from, "%2f", 3);

		*to++ = slash ? ':' : *from;
		from += slash ? 3 : 1;
	}
	*to = 0;
}

size_t utf8_next(struct rye_span s, uint32_t *cp)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *p = (const unsigned char *)s.ptr;
	size_t n;

	if (!s.len)
		return 0;
	if (p[0] < 0x80) {
		*cp = p[0];
		return 1;
	}
	n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	if (p[0] < 0xc2 || p[0] > 0xf4 || s.len < n)
		return 0;
	*cp = p[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		*cp = *cp << 6 | (p[i] & 0x3f);
	}
	if (*cp < least[n] || *cp > 0x10ffff || (*cp >= 0xd800 && *cp <= 0xdfff))
		return 0;
	return n;
}

/* Bytes of ASCII at the front, counted in whole words: nearly all of nearly every text. */
static size_t ascii_run(struct rye_span s)
{
	uint64_t word;
	size_t n = 0;

	while (s.len - n >= sizeof(word)) {
		memcpy(&word, s.ptr + n, sizeof(word));
		if (word & 0x8080808080808080u)
			break;
		n += sizeof(word);
	}
	return n;
}

bool utf8_valid(struct rye_span s)
{
	uint32_t cp;
	size_t n;

	while (s.len) {
		s = span_skip(s, ascii_run(s));
		if (!s.len)
			break;
		n = utf8_next(s, &cp);
		if (!n)
			return false;
		s = span_skip(s, n);
	}
	return true;
}

bool utf8_unseen(uint32_t cp)
{
	static const uint32_t ranges[][2] = {
		{ 0, 0x1f },	    { 0x7f, 0x9f },	{ 0xad, 0xad },	      { 0x61c, 0x61c },
		{ 0x180e, 0x180e }, { 0x200b, 0x200f }, { 0x2028, 0x202e },   { 0x2060, 0x206f },
		{ 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe007f },
	};

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		if (cp >= ranges[i][0] && cp <= ranges[i][1])
			return true;
	return false;
}

size_t utf8_put(char out[4], uint32_t cp)
{
	if (cp < 0x80) {
		out[0] = (char)cp;
		return 1;
	}
	if (cp < 0x800) {
		out[0] = (char)(0xc0 | cp >> 6);
		out[1] = (char)(0x80 | (cp & 0x3f));
		return 2;
	}
	if (cp < 0x10000) {
		out[0] = (char)(0xe0 | cp >> 12);
		out[1] = (char)(0x80 | (cp >> 6 & 0x3f));
		out[2] = (char)(0x80 | (cp & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | cp >> 18);
	out[1] = (char)(0x80 | (cp >> 12 & 0x3f));
	out[2] = (char)(0x80 | (cp >> 6 & 0x3f));
	out[3] = (char)(0x80 | (cp & 0x3f));
	return 4;
}

void utf8_mend(char *text)
{
	struct rye_span rest = span_of(text);
	uint32_t cp;

	while (rest.len) {
		size_t n = utf8_next(rest, &cp);

		if (!n)
			text[rest.ptr - text] = '?';
		rest = span_skip(rest, n ? n : 1);
	}
}

static bool utf8_goes_on(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

size_t utf8_count(struct rye_span s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.len; i++)
		n += !utf8_goes_on(s.ptr[i]);
	return n;
}

size_t utf8_start(const char *text, size_t at)
{
	while (at && utf8_goes_on(text[at]))
		at--;
	return at;
}

void utf8_cut(const char *text, char *ret, size_t size)
{
	static const char more[] = "\xe2\x80\xa6";
	size_t n = strlen(text);

	if (n < size) {
		memcpy(ret, text, n + 1);
		return;
	}
	n = utf8_start(text, size - sizeof(more));
	memcpy(ret, text, n);
	memcpy(ret + n, more, sizeof(more));
}

void str_vformat(char *ret, size_t size, const char *format, va_list args)
{
	vsnprintf(ret, size, format, args);
	utf8_mend(ret);
}

void hex_of(const unsigned char *bytes, size_t n, char *ret_hex)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		ret_hex[2 * i] = digits[bytes[i] >> 4];
		ret_hex[2 * i + 1] = digits[bytes[i] & 15];
	}
	ret_hex[2 * n] = 0;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool is_hex_lower(struct rye_span s)
{
	for (size_t i = 0; i < s.len; i++)
		if (hex_digit(s.ptr[i]) < 0)
			return false;
	return true;
}

const char *path_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	if (n && dir[n - 1] == '/')
		n--;
	if (strncmp(path, dir, n) != 0 || (n && path[n] && path[n] != '/'))
		return NULL;
	path += n;
	return path + (*path == '/');
}

void b64url_of(const unsigned char *bytes, size_t n, char *ret)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	uint32_t bits = 0;
	int have = 0;

	for (size_t i = 0; i < n; i++) {
		bits = bits << 8 | bytes[i];
		for (have += 8; have >= 6; have -= 6)
			*ret++ = alphabet[bits >> (have - 6) & 63];
	}
	if (have)
		*ret++ = alphabet[bits << (6 - have) & 63];
	*ret = 0;
}

static int b64url_digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '-' ? 62 : c == '_' ? 63 : -1;
}

bool b64url_to(struct rye_span text, unsigned char *ret, size_t n)
{
	uint32_t bits = 0;
	int have = 0;
	size_t out = 0;

	for (int pad = 0; pad < 2 && text.len && text.ptr[text.len - 1] == '='; pad++)
		text.len--;
	if (text.len != (n * 4 + 2) / 3)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		int digit = b64url_digit(text.ptr[i]);

		if (digit < 0)
			return false;
		bits = bits << 6 | (uint32_t)digit;
		have += 6;
		if (have >= 8) {
			have -= 8;
			ret[out++] = (unsigned char)(bits >> have);
		}
	}
	return out == n && !(bits & ((1u << have) - 1));
}

/*
 * Iterative with one remembered star of each sort, so that a pattern from outside cannot make
 * it exponential: '**' restarts win over '*' restarts only after those are used up.
 */
bool glob_match(const char *pattern, const char *text)
{
	const char *star = NULL, *star_text = NULL, *deep = NULL, *deep_text = NULL;

	while (*text) {
		if (pattern[0] == '*' && pattern[1] == '*') {
			pattern += 2;
			deep = pattern;
			deep_text = text;
			star = NULL;
		} else if (*pattern == '*') {
			star = ++pattern;
			star_text = text;
		} else if (*pattern == *text || (*pattern == '?' && *text != '/')) {
			pattern++;
			text++;
		} else if (star && *star_text != '/') {
			pattern = star;
			text = ++star_text;
		} else if (deep) {
			pattern = deep;
			text = ++deep_text;
			star = NULL;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}
