/* SPDX-License-Identifier: MIT */
/*
 * result.h: what a process printed and how it ended → what its tool answered (tools 3.3 with
 * our differences: any JSON value counts, an error is never empty, NaN becomes null).
 */
#ifndef RYE_PROCESS_RESULT_H
#define RYE_PROCESS_RESULT_H

#include "base/json.h"

struct captured;

struct result {
	enum rye_code code; /* RYE_OK, RYE_TOOL_FAILED, RYE_TIMEOUT, RYE_CANCELLED … */
	json_t *data; /* never NULL after result_of; owned */
	json_t *warnings; /* array of strings, owned */
	char *error; /* "" when code is RYE_OK; owned */
	bool retryable; /* the tool said "retryable": true */
};

void result_of(const struct captured *got, int64_t timeout_ms, struct result *ret);
/* The process never was: return_code −1, error in stderr. */
void result_unspawned(const struct rye_err *err, struct result *ret);
void result_done(struct result *result);

/*
 * Adds bytes to ret as text: invalid sequences become U+FFFD. How many bytes were used; unless
 * `end`, a character that is cut off at the end is left.
 */
size_t result_mend(struct rye_span bytes, bool end, struct rye_buf *ret);
/* Bytes as text: invalid sequences become U+FFFD, as Python and Rust do; NULs stay. */
json_t *result_text(struct rye_span bytes);

#endif
