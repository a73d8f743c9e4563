/* SPDX-License-Identifier: MIT */
/*
 * format_inner.h: readers and patterns that only the formats use themselves.
 */
#ifndef RYE_FORMAT_FORMAT_INNER_H
#define RYE_FORMAT_FORMAT_INNER_H

#include "err.h"
#include "format/format.h"

#include <rye/rye.h>

/*
 * number.c: the characters of a number, for the readers of Python and JavaScript literals.
 */

/* Longer numbers are no metadata, and conversion is not linear. */
#define NUMBER_MAX 400

/*
 * Copies the number's token at *at without its underscores; *at moves behind it. False: none is
 * there, or it is too long. Whether the characters are a number is the caller's to find out.
 */
bool number_chars(struct rye_span text, size_t *at, char ret[NUMBER_MAX + 1]);

/*
 * python_token.c: string and number tokens of Python, for python_literal.c.
 */

struct py_string {
	bool raw, bytes, format;
	struct rye_span inner; /* between the quotes */
};

/* Reads prefix and quotes and moves behind the string; false: none there, or failed. */
bool py_string_begin(struct py *p, struct py_string *ret);
/* The string's value; false: it has an escape that is none. */
bool py_string_decode(struct py *p, const struct py_string *s, struct rye_buf *out);

struct py_number {
	struct rye_span text;
	bool imaginary; /* 2j: only text counts */
	bool fits; /* a whole number of 64 bits, in `whole`; otherwise `real` */
	json_int_t whole;
	double real;
};

bool py_number_read(struct py *p, struct py_number *ret);

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
 * schema.c, schema_value.c, schema_logic.c: one check of a value against a schema.
 */

/* Values that anyOf, $ref and the like may look at: schemas made of each other double with each level. */
#define SCHEMA_STEPS 200000

struct schema_check {
	const json_t *root; /* what $ref begins at */
	struct schema_report *report;
	struct rye_buf path; /* "a.b[0]" */
	struct regex regex;
	int depth; /* 1: members of the outermost object */
	int inside; /* schemas made of others around this one */
	int steps; /* values looked at inside of those */
	int trial; /* faults are counted, not told: another schema may do */
	size_t faults, trial_from; /* trial_from: faults when the trial began */
	char stop[200]; /* not empty: the check as a whole cannot be made */
};

void schema_issue(struct schema_check *c, const char *format, ...) RYE_PRINTF(2, 3);
void schema_stop(struct schema_check *c, const char *format, ...) RYE_PRINTF(2, 3);
void schema_check_value(struct schema_check *c, const json_t *schema, const json_t *value);
/* keys: of the least, of the most, what is counted. */
void schema_check_count(struct schema_check *c, const json_t *schema, const char *const keys[3],
			json_int_t n);
/* True also for a pattern that is none (a warning). */
bool schema_matches(struct schema_check *c, const char *pattern, struct rye_span text);
void schema_check_scalar(struct schema_check *c, const json_t *schema, const json_t *value);
void schema_check_logic(struct schema_check *c, const json_t *schema, const json_t *value);

/* schema_report.c */
void schema_warn(struct schema_report *report, const char *format, ...) RYE_PRINTF(2, 3);
/* A warning for each keyword of the schema that could refuse a value and is not checked. */
void schema_unchecked(const json_t *schema, struct schema_report *report);

#endif
