/* SPDX-License-Identifier: MIT */
/*
 * expr.h: what signed documents say about values that are known only when they run: paths into a
 * document, conditions, and templates with ${...}. Graphs and hooks are made of these.
 *
 * Pure. The text of an expression comes from a signed item; values are data, and what a value holds
 * is never read as an expression.
 */
#ifndef RYE_EXPR_EXPR_H
#define RYE_EXPR_EXPR_H

#include "base/json.h"
#include "str.h"

/*
 * expr_path.c: "state.items[0].name", also "state.items.0.name"; -1 is the last element of a list.
 * Borrowed; NULL: there is none, or it is null. An empty path is the document itself.
 */
const json_t *expr_path(const json_t *doc, struct rye_span path);

/*
 * expr_compare.c: {path, op, value}. Equality and order are Python's of the same values: 1, 1.0 and
 * true are equal, texts are ordered by code point; what has no order is not less, equal or greater.
 */
bool expr_equal(const json_t *a, const json_t *b); /* NULL: null */
/* False for an operator that is none. actual NULL: null. */
bool expr_compare(const char *op, const json_t *actual, const json_t *value);
bool expr_operator_known(const char *op);
const char *expr_operator_name(size_t n); /* NULL: there are no more */

/*
 * expr_condition.c: a comparison, or {any: […]}, {all: […]}, {not: …}. Empty or NULL is true.
 */
bool expr_holds(const json_t *condition, const json_t *doc);
/* What is wrong with it is appended to the array `faults`, a sentence each; `where` begins it. */
void expr_check_condition(const json_t *condition, const char *where, json_t *faults);
/* The same as JSON Schema, to stand at this place; a new reference. */
#define EXPR_CONDITION "#/definitions/condition"
json_t *expr_condition_schema(void);

/*
 * expr_hook.c: what hooks of threads and graphs are asked for, and what is wrong with one.
 */

enum expr_event {
	EVENT_RESOLVE_EXTENDS,
	EVENT_BUILD_SYSTEM_PROMPT,
	EVENT_THREAD_STARTED,
	EVENT_THREAD_CONTINUED,
	EVENT_CONTEXT_LIMIT_REACHED,
	EVENT_DIRECTIVE_RETURN,
	EVENT_AFTER_COMPLETE,
	EVENT_GRAPH_STARTED,
	EVENT_AFTER_STEP,
	EVENT_ERROR,
	EVENT_LIMIT,
	EVENT_GRAPH_COMPLETED,
	EVENT__MAX
};
enum expr_event expr_event_of(const char *name); /* EVENT__MAX: none */
const char *expr_event_name(enum expr_event event);

/* The order in which a thread asks its hooks. */
enum hook_layer { LAYER_USER, LAYER_DIRECTIVE, LAYER_BUILTIN, LAYER_PROJECT, LAYER_INFRA };

/* The tool that steers, by its parameter `action`. */
#define EXPR_CONTROL "rye/agent/threads/internal/control"
enum expr_steer {
	STEER_NONE,
	STEER_CONTINUE,
	STEER_RETRY,
	STEER_FAIL,
	STEER_ABORT,
	STEER_SUSPEND,
	STEER_ESCALATE,
};
enum expr_steer expr_steer_of(const char *action);

/* Whose hook it is; bits. */
enum hook_of { HOOK_OF_CONFIG = 1, HOOK_OF_DIRECTIVE = 2, HOOK_OF_GRAPH = 4 };
struct hook_check {
	enum hook_of of;
	const char *where;
	/* It is no hook; it never does anything; it does not do all that it says. May be one array. */
	json_t *faults, *never, *warnings;
};
/* As expr_check_condition. */
void expr_check_hook(const json_t *hook, const struct hook_check *to);
/* The same as JSON Schema; action: what the member of that name is, taken over, NULL: a call. */
json_t *expr_hook_schema(enum hook_of of, json_t *action);

/*
 * expr_pipe.c: json from_json length keys upper lower. Takes over value, which may be NULL (null);
 * a new reference, NULL: null. What does not fit a pipe goes through as it is.
 */
json_t *expr_pipe(struct rye_span name, json_t *value);
bool expr_pipe_known(struct rye_span name);

/*
 * expr_fill.c: texts with ${path}, ${a || b} (the first that is not null), ${a | pipe}; and
 * {input:name}, {input:name?}, {input:name:default} of the document's `inputs`.
 */
struct expr_scope {
	const json_t *doc; /* the names that expressions may begin with */
	json_t *warnings; /* array: which expressions came to nothing; or NULL */
};

/*
 * A copy of the template, of any type, with its texts filled in. A text that is one ${...} alone
 * becomes its value, of its type; within other text a value is spelt as Python does, null not at
 * all. A new reference; NULL: out of memory, or the result is too big.
 */
json_t *expr_fill(const struct expr_scope *scope, const json_t *template);
/* Pipes that are none, expressions without an end: as expr_check_condition. */
void expr_check_template(const json_t *template, const char *where, json_t *faults);
/* Each path of its expressions, once each. */
typedef void (*expr_name_fn)(void *arg, struct rye_span path);
void expr_each_path(const json_t *template, expr_name_fn fn, void *arg);

#endif
