/* SPDX-License-Identifier: MIT */
/*
 * err.h: making errors. Every function here returns -code, so that
 * `return rye_fail(err, RYE_INVALID, "…")` is the whole error path. err may be NULL.
 * Messages: one line, lower case, no full stop, name the object, say what was wanted.
 */
#ifndef RYE_COMMON_ERR_H
#define RYE_COMMON_ERR_H

#include <rye/rye.h>

/*
 * What a message may end with, on a line of its own or behind "; ": a command that can be typed as
 * it stands and helps.
 */
#define MEND_WITH "mend with: "
/* What a line is refused with that may be a part of a message: bash's echo and printf write so. */
#define ERR_SEVERAL                                                                    \
	"several parameters: one JSON object, {path: src, force: true}, or all lines " \
	"in one write (\xe2\x80\xa6 | cat > run)"

#define RYE_PRINTF(f, a) __attribute__((format(printf, f, a)))

int rye_fail(struct rye_err *err, enum rye_code code, const char *format, ...) RYE_PRINTF(3, 4);

/* `sys` is an errno; its text is appended. The code is chosen from it (ENOENT → not found …). */
int rye_fail_sys(struct rye_err *err, int sys, const char *format, ...) RYE_PRINTF(3, 4);

/* Prepends "what: " to a message that is there; returns the same -code. */
int rye_wrap(struct rye_err *err, const char *format, ...) RYE_PRINTF(2, 3);

/* An analyzer that sees one file at a time does not know that these never return 0. */
#if defined(__clang_analyzer__) && !defined(RYE_ERR_SOURCE)
#define rye_fail(...) (rye_fail(__VA_ARGS__), -1)
#define rye_fail_sys(...) (rye_fail_sys(__VA_ARGS__), -1)
#define rye_wrap(...) (rye_wrap(__VA_ARGS__), -1)
#endif

enum rye_code rye_code_from_errno(int sys);
/* By its wire name; RYE_OK: none has it. */
enum rye_code rye_code_named(const char *name);

/* There is no room, no memory, or too many files are open: it may go well a moment later. */
bool err_scarce(const struct rye_err *err);

/* Cuts at a UTF-8 boundary and replaces control characters; for one-line uses of a message. */
void rye_err_line(const struct rye_err *err, char *line, size_t size);

#endif
