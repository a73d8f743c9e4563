/* SPDX-License-Identifier: MIT */
/*
 * format_inner.h: readers and patterns that only the formats use themselves.
 */
#ifndef RYE_FORMAT_FORMAT_INNER_H
#define RYE_FORMAT_FORMAT_INNER_H

#include "err.h"
#include "format/format.h"

#include <rye/rye.h>

/*
 * number.c: the characters of a number, for the readers of Python and JavaScript literals.
 */

/* Longer numbers are no metadata, and conversion is not linear. */
#define NUMBER_MAX 400

/*
 * Copies the number's token at *at without its underscores; *at moves behind it. False: none is
 * there, or it is too long. Whether the characters are a number is the caller's to find out.
 */
bool number_chars(struct rye_span text, size_t *at, char ret[NUMBER_MAX + 1]);

/*
 * python_token.c: string and number tokens of Python, for python_literal.c.
 */

struct py_string {
	bool raw, bytes, format;
	struct rye_span inner; /* between the quotes */
};

/* Reads prefix and quotes and moves behind the string; false: none there, or failed. */
bool py_string_begin(struct py *p, struct py_string *ret);
/* The string's value; false: it has an escape that is none. */
bool py_string_decode(struct py *p, const struct py_string *s, struct rye_buf *out);

struct py_number {
	struct rye_span text;
	bool imaginary; /* 2j: only text counts */
	bool fits; /* a whole number of 64 bits, in `whole`; otherwise `real` */
	json_int_t whole;
	double real;
};

bool py_number_read(struct py *p, struct py_number *ret);

#endif
