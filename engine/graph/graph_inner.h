/* SPDX-License-Identifier: MIT */
/*
 * graph_inner.h: what the files of graph/ share.
 */
#ifndef RYE_GRAPH_GRAPH_INNER_H
#define RYE_GRAPH_GRAPH_INNER_H

#include "graph/graph.h"
#include "schema/schema.h"

#include <rye/rye.h>

/* graph_node.c */

/* What nodes and their actions may say. */
extern const struct schema_field graph_node_fields[], graph_action_fields[];
/* Where faults go, and what they begin with. */
struct graph_faults {
	json_t *faults, *warnings;
	const char *where; /* "node 'a'" */
};
void graph_fault(const struct graph_faults *to, const char *format, ...) RYE_PRINTF(2, 3);
void graph_warn(const struct graph_faults *to, const char *format, ...) RYE_PRINTF(2, 3);
void graph_node_read(const char *name, const json_t *doc, struct graph_node *ret,
		     const struct graph_faults *to);
void graph_action_read(const json_t *doc, struct graph_action *ret, const struct graph_faults *to);
/* A whole number of at least 1; fallback when absent. */
json_int_t graph_count_read(const json_t *doc, const char *key, json_int_t fallback,
			    const struct graph_faults *to);
/* A list of names, or one. */
const json_t *graph_env_read(const json_t *value, const struct graph_faults *to);
/* The member, or NULL when it is absent or null. */
const json_t *graph_member(const json_t *doc, const char *key);

/*
 * graph_walk.c: a walk, of one worker.
 */

struct graph_walker {
	const struct graph_ask *ask;
	const struct graph *graph;
	const char *current; /* the next node; NULL: the end */
	json_int_t step, max_steps;
	json_t *state; /* with inputs below "inputs" */
	json_t *set, *unset; /* what this step has changed */
	json_t *errors; /* suppressed ones */
	json_t *warnings;
	int64_t start_us;
	struct graph_end *end; /* set when it is over */
	bool over;
};

/* What the expressions of a node may name; `result` NULL: none. A new reference. */
json_t *walker_scope(const struct graph_walker *walker, const json_t *result);
json_t *walker_fill(struct graph_walker *walker, const json_t *template, const json_t *scope);
void walker_set(struct graph_walker *walker, const char *key, json_t *value); /* takes value over */
void walker_unset(struct graph_walker *walker, const char *key);
/* The node that `next` leads to; NULL: the end. */
const char *walker_next(const struct graph_walker *walker, const json_t *next,
			const json_t *result);
/* "[graph:ID] step 3/7 NODE MARK 0.1s (detail)" */
void walker_progress(struct graph_walker *walker, const char *node, const char *mark,
		     double seconds, const char *detail);
/* Ends the walk with an error; error is borrowed. */
void walker_fail(struct graph_walker *walker, const char *node, const json_t *error);

/* graph_step.c */

/* A call with its texts filled in; NULL with *ret_error (a result) when it cannot be made. */
struct graph_call *call_make(struct graph_walker *walker, const struct graph_action *action,
			     const json_t *scope, json_t **ret_error);
/* The same for the action of a node. */
struct graph_call *call_of_node(struct graph_walker *walker, const struct graph_node *node,
				const json_t *scope, json_t **ret_error);
void call_free(struct graph_call *call);
/* Waits for a call that is not begun yet; takes it over. An unwrapped result. *ret_kept: an earlier one. */
json_t *call_carry_out(struct graph_walker *walker, struct graph_call *call, bool *ret_kept);
bool result_failed(const json_t *result);
/*
 * Carries out the node `current`; leaves the next one there. Its result, a new reference; NULL: it
 * was not completed, or its failure was dealt with.
 */
json_t *graph_step(struct graph_walker *walker, const struct graph_node *node);
/* The hooks behind a completed step, whose record is written by then. */
void graph_after(struct graph_walker *walker, const struct graph_node *node, const json_t *result);

/* graph_foreach.c: collected values; a new reference. */
json_t *graph_foreach(struct graph_walker *walker, const struct graph_node *node);

/*
 * graph_hook.c: context is taken over. The first result of a hook that decides (layers 1 and 2); a
 * new reference, or NULL.
 */
json_t *graph_hooks(struct graph_walker *walker, enum expr_event event, json_t *context);

#endif
