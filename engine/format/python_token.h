/* SPDX-License-Identifier: MIT */
/* python_token.h: string and number tokens of Python, for python_literal.c. */
#ifndef RYE_FORMAT_PYTHON_TOKEN_H
#define RYE_FORMAT_PYTHON_TOKEN_H

#include "format/python.h"

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
