/* SPDX-License-Identifier: MIT */
/*
 * python.h: reading program text of Python without running it: tokens, and the value of a
 * literal expression. Used by parse_python.c, and by parse_shell.c for `__key__ = value`.
 *
 * Values as JSON: tuples and sets are arrays, bytes are text (one character a byte), integers
 * beyond 64 bits are reals, infinities the strings of yaml.h, complex numbers their text.
 */
#ifndef RYE_FORMAT_PYTHON_H
#define RYE_FORMAT_PYTHON_H

#include "base/json.h"

struct py {
	struct rye_span text;
	size_t at;
	size_t nodes; /* values made so far */
	size_t limit; /* … and how many may be (RYE_LITERAL_NODES or less) */
	bool failed; /* not Python: err says why */
	struct rye_err *err;
};

/* '\0' at the end of the text. */
static inline char py_peek(const struct py *p, size_t ahead)
{
	return p->at + ahead < p->text.len ? p->text.ptr[p->at + ahead] : 0;
}

/* RYE_UNPARSABLE "Syntax error: <what> (line N)"; sets failed, returns false. */
bool py_fail(struct py *p, const char *what);
/* Blanks and continued lines; inside brackets line ends and comments too. */
void py_blanks(struct py *p, bool bracketed);
/* The name at p->at (empty: none), ASCII and any byte above; p->at moves behind it. */
struct rye_span py_name(struct py *p);
/* Behind the string whose opening quote is at p->at; false: it does not end. */
bool py_skip_string(struct py *p);
/* Length of a string's prefix letters at p->at, or -1 when no string begins there. */
int py_string_prefix(const struct py *p);

/*
 * The literal at p->at, a new reference, with p->at behind it. NULL: no literal, or failed;
 * p->at is then anywhere. depth: brackets around it already.
 */
json_t *py_literal(struct py *p, int depth);

#endif
