/* SPDX-License-Identifier: MIT */
/* str.h: spans, text predicates, hex, base64url. Pure functions; nothing here fails silently. */
#ifndef RYE_COMMON_STR_H
#define RYE_COMMON_STR_H

#include <rye/rye.h>

#include <stdarg.h>
#include <string.h>

/* "1 file", "2 files": behind the noun; whatever integer it is */
#define PLURAL(n) ((n) == 1 ? "" : "s")

#define SPAN(literal)                          \
	(struct rye_span)                      \
	{                                      \
		(literal), sizeof(literal) - 1 \
	}

static inline struct rye_span span_of(const char *text)
{
	return (struct rye_span){ text, strlen(text) };
}

bool span_eq(struct rye_span a, const char *b);
bool span_starts(struct rye_span s, const char *prefix);
bool span_ends(struct rye_span s, const char *suffix);
struct rye_span span_skip(struct rye_span s, size_t n); /* n ≤ s.len */
/* Offset of needle at or after `from`; -1: none. */
ssize_t span_find(struct rye_span s, size_t from, const char *needle);
/* The next line without its LF; *s moves behind it. False: nothing left. */
bool span_line(struct rye_span *s, struct rye_span *ret_line);
/* ASCII blanks and line ends off both ends. */
struct rye_span span_trim(struct rye_span s);
/* The whitespace of Python's str.strip(), multi-byte characters included. */
struct rye_span span_strip_unicode(struct rye_span s);
/* A merge that git left open: "<<<<<<< ", "=======" and ">>>>>>> " at the beginning of lines, in this order. */
bool span_conflict(struct rye_span s);
char *span_dup(struct rye_span s); /* NUL-terminated; free it; NULL: out of memory */

bool str_ends(const char *s, const char *suffix);
/* An id as one name, with ":" for "/", which clients decode in no path as they do "%2F". exact: no two
 * ids have one name, so ":" and "%" of an id are %3A and %25. False: too long for a name. */
bool str_one_name(const char *id, bool exact, char ret[256]);
/* "%2F" of a name becomes ":": so they were spelt once, and are understood. */
void str_one_name_old(char *name);
bool utf8_valid(struct rye_span s);
/* Bytes of the character at s; 0: invalid. *cp gets the code point. */
size_t utf8_next(struct rye_span s, uint32_t *cp);
size_t utf8_put(char out[4], uint32_t cp);
/* Shown by nothing, or turning the text around it: a control character of ASCII or Unicode. */
bool utf8_unseen(uint32_t cp);
size_t utf8_count(struct rye_span s); /* characters, not bytes */
/* `at`, or where the character begins that it lies in. */
size_t utf8_start(const char *text, size_t at);
/* Bytes that are not UTF-8 (of a name, or where a text was cut) become '?'. */
void utf8_mend(char *text);
/* Copies what fits, cut between characters and with "…" where it was; always NUL-terminated. */
void utf8_cut(const char *text, char *ret, size_t size);

/* What is printed, as far as it fits, as UTF-8. */
void str_vformat(char *ret, size_t size, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));
/* The same into an array, by a function whose last named parameter is `format`. */
#define STR_FORMAT(array, format)                                     \
	do {                                                          \
		va_list rest_;                                        \
		va_start(rest_, format);                              \
		str_vformat((array), sizeof(array), (format), rest_); \
		va_end(rest_);                                        \
	} while (0)

void hex_of(const unsigned char *bytes, size_t n, char *ret_hex); /* 2n + 1 bytes */
bool is_hex_lower(struct rye_span s);

/* What of path lies below dir, without the slash between them: "" where it is dir; NULL: it lies elsewhere. Both
 * absolute, or both not; all lies below "". */
const char *path_below(const char *path, const char *dir);

/* Unpadded base64url of n bytes; ret has room for (n * 4 + 2) / 3 + 1. */
void b64url_of(const unsigned char *bytes, size_t n, char *ret);
/* Strict: alphabet, length, zero trailing bits; up to two '=' tolerated. False: refused. */
bool b64url_to(struct rye_span text, unsigned char *ret, size_t n);

/* '*' within a segment, '**' across, '?' one character but not '/'. */
bool glob_match(const char *pattern, const char *text);

#endif
