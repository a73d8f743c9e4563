/* SPDX-License-Identifier: MIT */
/*
 * Where a number ends in program text: letters, digits, points, underscores, and the sign of an
 * exponent, which a hexadecimal number does not have. Pure. Called by python_token.c and
 * javascript_literal.c, whose fuzz targets cover it.
 */
#include "format/format_inner.h"

#include <ctype.h>

static char number_peek(struct rye_span text, size_t at)
{
	return at < text.len ? text.ptr[at] : 0;
}

bool number_chars(struct rye_span text, size_t *at, char ret[NUMBER_MAX + 1])
{
	bool hex = number_peek(text, *at) == '0' && (number_peek(text, *at + 1) | 0x20) == 'x';
	size_t n = 0;

	for (;; (*at)++) {
		char c = number_peek(text, *at), before = n ? ret[n - 1] : 0;
		bool sign = (c == '+' || c == '-') && !hex && (before | 0x20) == 'e';

		if (!isalnum((unsigned char)c) && c != '_' && c != '.' && !sign)
			break;
		if (c == '_')
			continue;
		if (n == NUMBER_MAX)
			return false;
		ret[n++] = c;
	}
	ret[n] = 0;
	return n > 0;
}
