/* SPDX-License-Identifier: MIT */
/*
 * PCRE2 with every limit it has, and one it has not: its match limit counts per start position
 * and not at all inside a repeated single character, so a callout before each pattern item
 * looks at the own time of its thread, which a busy machine makes no longer. Without JIT. One
 * struct regex belongs to one thread.
 */
#include "format/format_inner.h"

#include "bounds.h"
#include "clock.h"
#include "memory.h"
#include "scope.h"

#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/* Callouts between two looks at the clock. */
#define CLOCK_EVERY 256

static void free_context(pcre2_match_context **held)
{
	pcre2_match_context_free(*held);
}

static void free_data(pcre2_match_data **held)
{
	pcre2_match_data_free(*held);
}

static void free_compile(pcre2_compile_context **held)
{
	pcre2_compile_context_free(*held);
}

struct regex_watch {
	int64_t deadline_us;
	unsigned calls;
};

void regex_done(struct regex *regex)
{
	pcre2_code_free(regex->code);
	free(regex->pattern);
	memset(regex, 0, sizeof(*regex));
}

static int on_callout(pcre2_callout_block *block, void *arg)
{
	struct regex_watch *watch = arg;

	if (++watch->calls % CLOCK_EVERY)
		return 0;
	return clock_own_us() > watch->deadline_us ? PCRE2_ERROR_CALLOUT : 0;
}

static bool regex_compile(struct regex *regex, const char *pattern)
{
	__attribute__((cleanup(free_compile)))
	pcre2_compile_context *context = pcre2_compile_context_create(NULL);
	PCRE2_SIZE at;
	int code;

	if (regex->pattern && !strcmp(regex->pattern, pattern))
		return regex->code;
	pcre2_code_free(regex->code);
	free(regex->pattern);
	regex->code = NULL;
	regex->pattern = memory_note(strdup(pattern));
	snprintf(regex->why, sizeof(regex->why), "out of memory");
	if (!regex->pattern || !context)
		return false;
	pcre2_set_max_pattern_length(context, RYE_REGEX_PATTERN);
	regex->code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
				    PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_DOLLAR_ENDONLY |
					    PCRE2_ALT_BSUX | PCRE2_AUTO_CALLOUT,
				    &code, &at, context);
	if (!regex->code)
		pcre2_get_error_message(code, (PCRE2_UCHAR *)regex->why, sizeof(regex->why));
	return regex->code;
}

static int regex_match(struct regex *regex, struct rye_span text, struct regex_watch *watch,
		       pcre2_match_data *data)
{
	__attribute__((cleanup(free_context)))
	pcre2_match_context *context = pcre2_match_context_create(NULL);

	if (!context || !data)
		return PCRE2_ERROR_NOMEMORY;
	pcre2_set_match_limit(context, RYE_REGEX_STEPS);
	pcre2_set_depth_limit(context, RYE_REGEX_STEPS);
	pcre2_set_heap_limit(context, RYE_REGEX_HEAP_KIB);
	pcre2_set_callout(context, on_callout, watch);
	return pcre2_match(regex->code, (PCRE2_SPTR)text.ptr, text.len, 0, 0, data, context);
}

enum regex_answer regex_check(struct regex *regex, const char *pattern)
{
	return regex_compile(regex, pattern) ? REGEX_MATCH : REGEX_BAD;
}

enum regex_answer regex_search(struct regex *regex, const char *pattern, struct rye_span text)
{
	int64_t start = clock_own_us();
	struct regex_watch watch = { .deadline_us = start + RYE_REGEX_MS * 1000 - regex->spent_us };
	__attribute__((cleanup(free_data)))
	pcre2_match_data *data = pcre2_match_data_create(1, NULL);
	int r;

	if (!regex_compile(regex, pattern))
		return REGEX_BAD;
	if (regex->exhausted || text.len > RYE_REGEX_SUBJECT)
		return REGEX_TOO_MUCH;
	r = regex_match(regex, text, &watch, data);
	regex->spent_us += clock_own_us() - start;
	regex->exhausted = regex->spent_us > RYE_REGEX_MS * 1000;
	if (r >= 0)
		return REGEX_MATCH;
	return r == PCRE2_ERROR_NOMATCH ? REGEX_NO_MATCH : REGEX_TOO_MUCH;
}

bool text_matches(const char *pattern, struct rye_span text)
{
	auto_regex struct regex regex = { 0 };

	return regex_search(&regex, pattern, text) == REGEX_MATCH;
}

bool regex_groups(const char *pattern, struct rye_span text, struct rye_span *ret, size_t n)
{
	auto_regex struct regex regex = { 0 };
	struct regex_watch watch = { .deadline_us = clock_own_us() + RYE_REGEX_MS * 1000 };
	__attribute__((cleanup(free_data)))
	pcre2_match_data *data = pcre2_match_data_create((uint32_t)n, NULL);
	const PCRE2_SIZE *at;
	int found;

	if (!regex_compile(&regex, pattern) || text.len > RYE_REGEX_SUBJECT)
		return false;
	found = regex_match(&regex, text, &watch, data);
	if (found < 0)
		return false;
	at = pcre2_get_ovector_pointer(data);
	for (size_t i = 0; i < n; i++) {
		bool set = (!found || i < (size_t)found) && at[2 * i] != PCRE2_UNSET;

		ret[i] =
			set ? (struct rye_span){ text.ptr + at[2 * i], at[2 * i + 1] - at[2 * i] } :
			      (struct rye_span){ "", 0 };
	}
	return true;
}
