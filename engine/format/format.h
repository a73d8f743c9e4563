/* SPDX-License-Identifier: MIT */
/*
 * format.h: texts of other formats as JSON values: YAML, TOML, XML, literals of Python and
 * JavaScript; patterns. Pure: bounded in time and memory, no file, no lock.
 */
#ifndef RYE_FORMAT_FORMAT_H
#define RYE_FORMAT_FORMAT_H

#include "base/json.h"
#include "err.h"

/*
 * emit.c: a JSON object written as a YAML 1.1 or TOML document that reads back as the same
 * values. Strings are always quoted, so no reader takes them for anything else. Pure.
 */

void mapping_yaml(struct rye_buf *buf, const json_t *map);
/* TOML has no null: such keys are left out. */
void mapping_toml(struct rye_buf *buf, const json_t *map);

/*
 * fence.c: what the parsers of item text share: the look at the bytes, and fenced blocks.
 */

/*
 * Every parser's first step: UTF-8 without a byte order mark and without NUL, else
 * RYE_UNPARSABLE ("Not valid UTF-8: byte 17").
 */
int text_guard(struct rye_span text, struct rye_err *err);

/* A block between a line of three backticks with an info string and one of three backticks. */
struct fence {
	struct rye_span before; /* up to the opening line */
	struct rye_span content; /* between the two lines, with its last LF */
	struct rye_span after; /* behind the closing line */
};

/*
 * The first such block that is not inside a fence of four or more backticks. False: there is
 * none, or the first one is not closed.
 */
bool fence_find(struct rye_span text, const char *info, struct fence *ret);

/* Behind a leading HTML comment and blanks, when there is one; else text as it is. */
struct rye_span text_skip_comment(struct rye_span text);

/*
 * Values of JavaScript literal expressions, for parse_javascript.c.
 */

struct js {
	struct rye_span text;
	size_t at;
	size_t nodes; /* values made so far, at most RYE_LITERAL_NODES */
	size_t work; /* bytes looked at by literals, failed ones included */
};

/* '\0' at the end of the text. */
static inline char js_peek(const struct js *j, size_t ahead)
{
	return j->at + ahead < j->text.len ? j->text.ptr[j->at + ahead] : 0;
}

/* Blanks, line ends and comments; false: a comment does not end. */
bool js_blanks(struct js *j);
/* Letters, digits, _ and $, not beginning with a digit; empty: none. */
struct rye_span js_name(struct js *j);

/*
 * A literal: string, template without ${}, number, true, false, null, undefined (null), array,
 * object; trailing commas and comments are fine. A new reference, with j->at behind it. NULL:
 * something else; j->at is then anywhere.
 */
json_t *js_literal(struct js *j, int depth);

/*
 * Reading program text of Python without running it: tokens, and the value of a
 * literal expression. Used by parse_python.c, and by parse_shell.c for `__key__ = value`.
 *
 * Values as JSON: tuples and sets are arrays, bytes are text (one character a byte), integers
 * beyond 64 bits are reals, infinities the strings that YAML gives (below), complex numbers their
 * text.
 */

struct py {
	struct rye_span text;
	size_t at;
	size_t nodes; /* values made so far */
	size_t limit; /* … and how many may be (RYE_LITERAL_NODES or less) */
	bool failed; /* not Python: err says why */
	struct rye_err *err;
};

/* '\0' at the end of the text. */
static inline char py_peek(const struct py *p, size_t ahead)
{
	return p->at + ahead < p->text.len ? p->text.ptr[p->at + ahead] : 0;
}

/* RYE_UNPARSABLE "Syntax error: <what> (line N)"; sets failed, returns false. */
bool py_fail(struct py *p, const char *what);
/* Blanks and continued lines; inside brackets line ends and comments too. */
void py_blanks(struct py *p, bool bracketed);
/* The name at p->at (empty: none), ASCII and any byte above; p->at moves behind it. */
struct rye_span py_name(struct py *p);
/* Behind the string whose opening quote is at p->at; false: it does not end. */
bool py_skip_string(struct py *p);
/* Length of a string's prefix letters at p->at, or -1 when no string begins there. */
int py_string_prefix(const struct py *p);

/*
 * The literal at p->at, a new reference, with p->at behind it. NULL: no literal, or failed;
 * p->at is then anywhere. depth: brackets around it already.
 */
json_t *py_literal(struct py *p, int depth);

/*
 * regex.c: searching text with a pattern from outside, in bounded time. Syntax is PCRE's,
 * which ECMA and Python patterns of schemas are a subset of; \uHHHH is understood, letters
 * and digits are ASCII ones, $ is the very end, a match may begin anywhere.
 */

enum regex_answer {
	REGEX_MATCH,
	REGEX_NO_MATCH,
	REGEX_BAD, /* the pattern is none */
	REGEX_TOO_MUCH, /* bounds.h: RYE_REGEX_* */
};

/* The compiled pattern of the last call and the time spent; all zero to begin with. */
struct regex {
	char *pattern;
	void *code;
	int64_t spent_us;
	bool exhausted; /* the time is used up: every further answer is REGEX_TOO_MUCH */
	char why[128]; /* after REGEX_BAD */
};

void regex_done(struct regex *regex);
enum regex_answer regex_search(struct regex *regex, const char *pattern, struct rye_span text);
/* Only whether the pattern is one: REGEX_MATCH or REGEX_BAD. */
enum regex_answer regex_check(struct regex *regex, const char *pattern);

#define auto_regex __attribute__((cleanup(regex_done)))

/*
 * regex.c: does the pattern match anywhere in the text? False also for what is no pattern and for
 * what takes longer than RYE_REGEX_MS.
 */
bool text_matches(const char *pattern, struct rye_span text);

/*
 * regex.c: a pattern's first match in a text and its groups 1 …, in bounded time; ret[0] is all of
 * it, groups that took no part are empty. False: none, no pattern, too long.
 */
bool regex_groups(const char *pattern, struct rye_span text, struct rye_span *ret, size_t n);

/*
 * toml.c: TOML 1.0 as JSON. Fails as a parser does (parse.h): *err is filled, the value is
 * partial or NULL.
 */

json_t *parse_toml(struct rye_span text, struct rye_err *err);

/* An unquoted value, for toml.c alone. A new reference; NULL: the token is no value. */
json_t *toml_scalar(struct rye_span token);

/*
 * xml.c: an XML element as JSON, for parse_directive.c:
 * {"tag", "attrs": {…}, "kids": […], "text"}: the text before the first child, stripped; "" when
 * there are only blanks, absent when there is nothing at all.
 * Namespaced names come as "uri|name", so they match none of ours.
 */

/*
 * The root element, a new reference. On a fault *err is filled ("Invalid XML: <detail>",
 * "XML …") and what was read until there is returned, NULL when that is nothing.
 */
json_t *xml_parse(struct rye_span text, struct rye_err *err);

/* The first child of that name, or NULL. Borrowed. */
const json_t *xml_kid(const json_t *node, const char *tag);
const char *xml_tag(const json_t *node);
/* "" when absent. */
const char *xml_text(const json_t *node);

/*
 * yaml.c: YAML 1.1 documents and scalars as JSON. Fails as a parser does (parse.h): *err is
 * filled, the value is partial or NULL. Bounded in time and memory (bounds.h).
 *
 * What JSON has no form for: dates and times become their ISO text, infinities and not-a-
 * number the strings ".inf", "-.inf", ".nan", whole numbers beyond 64 bits a real, !!binary
 * its base64 text without blanks.
 */

json_t *parse_yaml(struct rye_span text, struct rye_err *err); /* any YAML 1.1 document */
/* A message: names, dates and 12:30 stay text as written, a name may stand only once. */
json_t *parse_yaml_message(struct rye_span text, struct rye_err *err);

/*
 * tag: as libyaml gives it, NULL when there was none; plain: written without quotes. A new
 * reference; NULL: the tag is not one of YAML 1.1's or does not fit the text.
 */
json_t *yaml_scalar(struct rye_span text, const char *tag, bool plain);

/*
 * corrected.c: the parameters that a refused call was meant to have.
 */

struct corrected {
	const json_t *schema, *given; /* given NULL: none */
	const char *message; /* the engine's sentence, which names what is wrong; "": unknown */
};

/* A new object; what is wrong in a way that the schema does not tell is still in it. */
json_t *corrected_parameters(const struct corrected *fault);
/* "integer"; "any" when the schema leaves it open. */
const char *property_type(const json_t *property);
/* As far as its type and its enumeration tell. */
bool property_takes(const json_t *property, const json_t *value);

/*
 * plain.c: what a reply says to people, to clients and to models, without what it is wrapped in.
 * Programs that want the chain and the facts of the run read the whole reply.
 */

/* Does it tell of a failure? */
bool plain_failed(const json_t *reply);
/* The text that it has, as a new string; NULL: none, of a failure also an empty one. */
json_t *plain_text(const json_t *reply);
/* Of a success: its text, else its data. A new reference, not to be changed. */
json_t *plain_data(const json_t *reply);
/* The same; of a failure one text, which says each thing once. */
json_t *plain_said(const json_t *reply);
/* A text as it is; else JSON on one line, without its end. */
void plain_put(struct rye_buf *out, const json_t *said);

#endif
