/* SPDX-License-Identifier: MIT */
/*
 * graph.h: state graphs: what a signed graph says (graph_read.c), walking it node by node
 * (graph_walk.c), and what a run leaves on disk so that another process can go on (graph_log.c).
 *
 * Calls of items are made by the caller (struct graph_ops): this room knows no engine. A struct
 * graph is frozen once read; a walk belongs to the worker that makes it.
 */
#ifndef RYE_GRAPH_GRAPH_H
#define RYE_GRAPH_GRAPH_H

#include "base/json.h"
#include "err.h"
#include "expr/expr.h"

/*
 * graph_read.c, graph_node.c: the item's maps → a typed graph. Everything points into the maps,
 * which the graph holds.
 */

enum graph_type { GRAPH_ACTION, GRAPH_FOREACH, GRAPH_GATE, GRAPH_RETURN };

struct graph_action {
	const char *primary; /* execute, fetch, sign; NULL: there is no action */
	const char *kind; /* of an item_id without one: "tool" */
	const json_t *item_id, *params; /* templates; params may be NULL */
	const char *thread; /* "" or "fork" */
	const json_t *doc; /* all of it, for graph_terms */
};

/* Members of an action that its request gets as they are: where it runs, what it may use. Ends with NULL. */
extern const char *const graph_terms[];

struct graph_node {
	const char *name;
	enum graph_type type;
	struct graph_action action;
	const json_t *assign, *next, *output, *over; /* or NULL */
	const char *as, *collect, *on_error; /* "" absent; as: "item" */
	const char *remote; /* "" here */
	json_int_t max_concurrency; /* 0: the graph's */
	bool parallel;
	bool keeps; /* cache_result */
	const json_t *env_requires; /* or NULL */
};

struct graph_hook {
	enum expr_event event;
	const json_t *condition; /* or NULL */
	struct graph_action action;
	const json_t *
		control; /* the template of {action: retry, …} itself: nothing is called; or NULL */
	json_int_t layer;
};

struct graph {
	const char *id, *start;
	struct graph_node *nodes;
	struct graph_hook *hooks;
	size_t n, n_hooks;
	json_int_t max_steps, max_concurrency;
	bool go_on; /* on_error: continue */
	const json_t *state; /* of the beginning; or NULL */
	const json_t *permissions; /* array of strings */
	const json_t *env_requires; /* or NULL */
	char digest[65]; /* of its config: another one is another graph */
	json_t *held; /* what all this points into */
};

struct graph_source {
	const char *id; /* outlives the graph */
	const json_t *config, *permissions, *env_requires; /* as written; NULL: absent */
	json_int_t max_steps, max_concurrency; /* when the config says none */
};

/*
 * Every mistake is a sentence in `faults` that begins with node and key ("node 'a': next: …"), what
 * is only strange one in `warnings`. NULL when memory is short, else a graph, which may be walked
 * only if there are no faults.
 */
struct graph *graph_read(const struct graph_source *source, json_t *faults, json_t *warnings);
void graph_free(struct graph *graph); /* NULL is fine */
/* What a graph's item has to say, as JSON Schema; a new reference. What its parts name is put into the
 * definitions of the document that it will stand in. */
#define GRAPH_DEFINED "#/definitions/"
json_t *graph_schema(json_t *definitions);
const struct graph_node *graph_node(const struct graph *graph, const char *name); /* NULL: none */

/*
 * graph_special.c: takes the special parameters (resume, node, validate …) out of params;
 * *ret_checked: whether the others have to fit the graph's schema. A new reference.
 */
json_t *graph_params_take(json_t *params, bool *ret_checked);
int graph_params_check(const json_t *own, struct rye_err *err);

/* graph_lint.c: nodes that cannot be reached, state that is never set or never read. */
void graph_lint(const struct graph *graph, json_t *warnings);

/*
 * graph_log.c: .ai/state/graphs/RUN/transcript.jsonl. Events are lines; those of the type
 * state_checkpoint hold what each step changed, so the state is theirs added up. A line that was
 * written survives the end of the process; the disk has it a second later, or at the end.
 */

struct graph_log;

/*
 * Makes the directory of a new run: wanted, or (NULL) STEM-SECONDS, finer when that is taken.
 * suffix: behind that, "" or "-step".
 */
struct graph_log_new {
	const char *project, *stem, *suffix, *wanted;
};
int graph_log_create(const struct graph_log_new *what, struct graph_log **ret, struct rye_err *err);

/* What a run has come to. */
struct graph_past {
	json_t *state, *errors; /* owned */
	char graph_id[1040], digest[65], node[256], status[32]; /* node: the next one; "" none */
	json_int_t step;
};
void graph_past_done(struct graph_past *past);
#define GRAPH_PAST_INIT ((struct graph_past){ .step = 0 })
#define auto_past __attribute__((cleanup(graph_past_done)))

/*
 * Goes on with a run that no process works on: RYE_NOT_FOUND, RYE_BUSY when one does, RYE_UNPARSABLE
 * when what it left cannot be read. log NULL: only looks.
 */
int graph_log_resume(const char *project, const char *run, struct graph_log **log,
		     struct graph_past *ret, struct rye_err *err);
/* The same from a transcript in memory; pure. */
int graph_past_read(struct rye_span text, struct graph_past *ret, struct rye_err *err);

const char *graph_log_run(const struct graph_log *log);
/* Takes payload over. The line is written by the next graph_log_flush. */
void graph_log_event(struct graph_log *log, const char *type, json_t *payload);
/* One write. end: to the disk, too. Once it has failed it fails from then on. */
int graph_log_flush(struct graph_log *log, bool end, struct rye_err *err);
void graph_log_close(struct graph_log *log); /* NULL is fine */

/*
 * graph_walk.c and its steps (graph_step.c, graph_foreach.c, graph_hook.c).
 */

/* One call of an item. */
struct graph_call {
	const char *primary, *thread, *remote;
	const json_t *terms; /* the action, which may have some; borrowed */
	char *ref; /* "tool:a/b"; owned */
	json_t *params; /* owned */
	json_t *reply; /* the envelope; owned; set before the call is given back */
	size_t n; /* of a foreach */
	json_int_t step, retry; /* of the run; how often the node was tried again */
	const char *keep; /* the node that keeps its results; NULL: it does not */
	bool kept; /* reply is an earlier result */
	char key[65]; /* the caller's: of what is kept */
	struct graph_call *next, *sibling; /* these are the caller's while it is begun */
	void *owner, *handle;
};

struct graph_ops {
	void *arg;
	/* Never fails: what goes wrong is an envelope with status "error". */
	void (*begin)(void *arg, struct graph_call *call);
	/* Waits for one of those that were begun. */
	struct graph_call *(*next)(void *arg);
	/* The walk is to end: cancelled, or its time is over. */
	bool (*stopped)(void *arg);
	/* A line for a person at a terminal. */
	void (*progress)(void *arg, const char *line);
};

struct graph_ask {
	const struct graph *graph;
	const json_t *inputs; /* of a new run */
	const struct graph_past *past; /* NULL: a new run */
	const json_t *inject; /* put over the state; or NULL */
	const char *node; /* only this one; or NULL */
	json_int_t max_steps; /* of the caller; 0: the graph's */
	struct graph_log *log;
	const struct graph_ops *ops;
};

enum graph_status { GRAPH_COMPLETED, GRAPH_WITH_ERRORS, GRAPH_FAILED, GRAPH_CANCELLED };

struct graph_end {
	enum graph_status status;
	json_t *data; /* {success, status, output, steps …}; owned */
	json_t *warnings; /* array of strings; owned */
};
/* err: the record of the run could not be kept, or memory is short. */
int graph_walk(const struct graph_ask *ask, struct graph_end *ret, struct rye_err *err);
void graph_end_done(struct graph_end *end);

/* graph_result.c: an envelope as a node sees it: its data, without what is the engine's; takes it over. */
json_t *graph_unwrap(json_t *envelope);
/* Members that are null are taken out, at every depth; changes value in place. */
void graph_strip(json_t *value);

#endif
