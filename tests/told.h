/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * told.h - what a call of the engine must do. A case that fails shows the call, the code that it
 * returned, the sentence that a person would have read, and what was wanted:
 *
 *	assert_works(&told_err, rye_load_path(env, &ask, &item, &told_err));
 *	assert_refused(&told_err, RYE_UNSIGNED, rye_load_path(env, &ask, &item, &told_err));
 */
#include "rye_test.h"

#include <rye/rye.h>

/* For cases that look at nothing else of an error. */
static _Thread_local struct rye_err told_err __attribute__((unused));

static inline const char *told_name(int result)
{
	return result ? rye_code_name((enum rye_code)(result < 0 ? -result : result)) : "success";
}

static inline void told_check(int result, int wanted, const struct rye_err *err, const char *call,
			      const char *file, int line)
{
	if (result == wanted)
		return;
	print_error("%s\n  returned %s (%d): %s\n  wanted %s\n", call, told_name(result), result,
		    result ? err->msg : "", told_name(wanted));
	_fail(file, line);
}

/* The call fills *err and returns 0 or a code, negated or not. */
#define assert_works(err, call)                                           \
	do {                                                              \
		int result_ = (call);                                     \
		told_check(result_, 0, (err), #call, __FILE__, __LINE__); \
	} while (0)

#define assert_refused(err, code, call)                                              \
	do {                                                                         \
		int result_ = (call);                                                \
		told_check(result_, -(int)(code), (err), #call, __FILE__, __LINE__); \
	} while (0)
