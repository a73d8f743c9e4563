/* SPDX-License-Identifier: MIT */
/* number.h: the characters of a number, for the readers of Python and JavaScript literals. */
#ifndef RYE_FORMAT_NUMBER_H
#define RYE_FORMAT_NUMBER_H

#include <rye/rye.h>

/* Longer numbers are no metadata, and conversion is not linear. */
#define NUMBER_MAX 400

/*
 * Copies the number's token at *at without its underscores; *at moves behind it. False: none is
 * there, or it is too long. Whether the characters are a number is the caller's to find out.
 */
bool number_chars(struct rye_span text, size_t *at, char ret[NUMBER_MAX + 1]);

#endif
