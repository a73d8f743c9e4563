/* SPDX-License-Identifier: MIT */
/*
 * fail.c - fills struct rye_err for the front.
 *
 * Owns nothing and allocates nothing. The engine has functions of the same use, which the
 * front cannot see.
 */
#include "core/fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 2, 0))) static void put(struct rye_err *err, const char *format,
						      va_list ap)
{
	vsnprintf(err->msg, sizeof(err->msg), format, ap);
}

int fail(struct rye_err *err, enum rye_code code, const char *format, ...)
{
	va_list ap;

	if (!err)
		return -(int)code;
	err->code = code;
	err->sys = 0;
	va_start(ap, format);
	put(err, format, ap);
	va_end(ap);
	return -(int)code;
}

int fail_sys(struct rye_err *err, int sys, const char *format, ...)
{
	char text[64];
	size_t n;
	va_list ap;

	if (!err)
		return -(int)RYE_IO;
	err->code = RYE_IO;
	err->sys = sys;
	va_start(ap, format);
	put(err, format, ap);
	va_end(ap);
	n = strlen(err->msg);
	snprintf(err->msg + n, sizeof(err->msg) - n, ": %s", strerror_r(sys, text, sizeof(text)));
	return -(int)RYE_IO;
}
