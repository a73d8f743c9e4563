/* SPDX-License-Identifier: MIT */
/*
 * Formats one line and hands it to the sink given at rye_open. The sink locks, not we. Names
 * from outside cannot begin a second line or leave UTF-8.
 */
#include "base/log.h"

#include "str.h"

#include <stdio.h>

void log_line(const struct log *log, enum rye_level level, const char *module, const char *format,
	      ...)
{
	char line[1024];

	if (!log || !log->fn)
		return;
	STR_FORMAT(line, format);
	for (char *c = line; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = ' ';
	log->fn(log->arg, level, module, line);
}
