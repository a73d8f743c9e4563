/* SPDX-License-Identifier: MIT */
/*
 * log.h: where lines go. A function returns an error or logs it, never both. Lines hold no
 * secrets. Cost when the level is off: one branch.
 */
#ifndef RYE_BASE_LOG_H
#define RYE_BASE_LOG_H

#include "err.h"

struct log {
	rye_log_fn fn; /* NULL: nowhere */
	void *arg;
};

void log_line(const struct log *log, enum rye_level level, const char *module, const char *format,
	      ...) RYE_PRINTF(4, 5);

#endif
