/* SPDX-License-Identifier: MIT */
/*
 * regex.h: searching text with a pattern from outside, in bounded time. Syntax is PCRE's,
 * which ECMA and Python patterns of schemas are a subset of; \uHHHH is understood, letters
 * and digits are ASCII ones, $ is the very end, a match may begin anywhere.
 */
#ifndef RYE_FORMAT_REGEX_H
#define RYE_FORMAT_REGEX_H

#include "err.h"

enum regex_answer {
	REGEX_MATCH,
	REGEX_NO_MATCH,
	REGEX_BAD, /* the pattern is none */
	REGEX_TOO_MUCH, /* limits.h: RYE_REGEX_* */
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

#endif
