/* SPDX-License-Identifier: MIT */
/* fail.h: making errors in the front: returns -code, so `return fail(…)` is the error path. */
#ifndef RYE_FS_CORE_FAIL_H
#define RYE_FS_CORE_FAIL_H

#include <rye/rye.h>

int fail(struct rye_err *err, enum rye_code code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The text of the errno is appended. */
int fail_sys(struct rye_err *err, int sys, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
