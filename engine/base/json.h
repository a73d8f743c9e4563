/* SPDX-License-Identifier: MIT */
/*
 * json.h: jansson as this project uses it. Parsing is strict: one value, no duplicate keys
 * unless asked, no NUL in strings, nesting at most RYE_JSON_DEPTH. Shared documents are
 * frozen: never changed after a second thread can see them (jansson's counts are atomic).
 */
#ifndef RYE_BASE_JSON_H
#define RYE_BASE_JSON_H

#include "buf.h"

#include <jansson.h>

DEFINE_AUTO(auto_json_, json_t *, json_decref)

#define auto_json __attribute__((cleanup(auto_json_)))

enum json_load_flags {
	JSON_LOAD_LAST_WINS = 1, /* duplicate keys: the last one counts */
	JSON_LOAD_ANY = 2, /* scalars too; otherwise an object is wanted */
	JSON_LOAD_NUL = 4, /* \u0000 is allowed in strings: take their length, not strlen */
};

/* A new reference, or NULL with *err filled ("what" names the text in the message). */
json_t *json_parse(struct rye_span text, int flags, const char *what, struct rye_err *err);
/* Compact, insertion order, UTF-8; with a newline when `line`. */
void json_put(struct rye_buf *buf, const json_t *value, bool line);
/* Over many lines, two blanks a level, with a newline at the end. */
void json_pretty(struct rye_buf *buf, const json_t *value);
struct rye_blob *json_blob(const json_t *value, bool many_lines);

/* "" and default when absent or of another type. Borrowed. */
const char *json_str(const json_t *object, const char *key);
json_int_t json_int(const json_t *object, const char *key, json_int_t fallback);
bool json_flag(const json_t *object, const char *key, bool fallback);
/* Does the array hold this string? False for what is no array. */
bool json_lists(const json_t *array, const char *text);
/* The first object of the array whose text at this key is that; NULL without one. Borrowed. */
json_t *json_find(const json_t *array, const char *key, const char *text);
/* Python's truth value. */
bool json_truthy(const json_t *value);
/* Moves value into object; false (and value released) when out of memory or bad UTF-8. */
bool json_set(json_t *object, const char *key, json_t *value);
bool json_sets(json_t *object, const char *key, const char *text); /* NULL: null */

/* Python's name of a value's type: "str", "int", "NoneType" … */
const char *json_python_type(const json_t *value);
/* Python's str() of a JSON value: True, None, 1.0, [1, 'x'], {'k': 'v'}. */
void json_python_str(struct rye_buf *buf, const json_t *value);
/* Python's repr of a text: in single quotes, in double ones when it has a single one alone. */
void json_python_repr(struct rye_buf *buf, struct rye_span text);
/* Python's shortest float spelling: 0.5, 1e-05, 1e+16, 1.0. */
void json_python_float(struct rye_buf *buf, double value);
/* Python's json.dumps: insertion order, ", " and ": ", \uXXXX escapes, Python floats. */
void json_python_dumps(struct rye_buf *buf, const json_t *value);
/* The same with indent=2: over many lines, without a newline at the end. */
void json_python_indent(struct rye_buf *buf, const json_t *value);
/* With sort_keys=True. */
void json_python_sorted(struct rye_buf *buf, const json_t *value);
/* Sorted keys, separators without blanks, \uXXXX escapes, Python floats: signatures of JSON
 * documents are made of this text. */
void json_canonical(struct rye_buf *buf, const json_t *value);

#endif
