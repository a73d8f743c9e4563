/* SPDX-License-Identifier: MIT */
/*
 * plan.h: from a checked chain and validated parameters to everything a primitive needs.
 * While it is made, a plan belongs to one thread (struct planner); afterwards it is frozen.
 */
#ifndef RYE_PLAN_PLAN_H
#define RYE_PLAN_PLAN_H

#include "plan/chain.h"
#include "sandbox/sandbox.h"
#include "plan/template.h"

struct interps;
struct prim;
struct prim_run;

/* What planning and starting need of an engine; frozen once it is open. */
struct plan_base {
	const struct item_env *items;
	const struct rye_options *opt;
	const struct log *log;
	struct env inherited; /* the engine's environment as it was at start */
	struct env allowed; /* the allow-list of it */
	char *project; /* real path */
	struct boxes *boxes;
	struct interps *interps;
};

/* What every primitive needs, and what only this one does. */
struct plan {
	const struct prim *prim; /* NULL: `own` is somebody else's */
	void *own; /* the primitive's own part: made by its plan, freed by its free */
	struct env env;
	char *cwd;
	int64_t timeout_ms;
	size_t output_cap;
	struct confine confine;
};

#define auto_plan __attribute__((cleanup(plan_done)))
void plan_done(struct plan *plan);

struct anchor {
	const struct link *link; /* the element that declares it; NULL: none does */
	bool active;
	char *path, *lib; /* "" when there is none */
};

/* The making of one plan. Everything in the second half is made by planner_make. */
struct planner {
	const struct plan_base *base;
	struct chain *chain;
	json_t *params; /* validated, owned; becomes what the tool gets */
	double timeout; /* the caller's, seconds; 0: none */
	bool own_timeout; /* the tool declares a parameter of that name itself */
	bool kept; /* by a thread: only limits that were set for this tool count, and the longest */
	struct confine limit; /* what the asking run may do itself */
	json_t *trace; /* or NULL; borrowed */
	json_t *warnings; /* array, borrowed */

	json_t *context; /* tool_path …: strings */
	json_t *config; /* merged over the chain */
	json_t *limits; /* execution.yaml as the runtimes ask for it, or NULL */
	struct anchor anchor;
	struct env env;
	struct rye_buf params_json;
};

#define auto_planner __attribute__((cleanup(planner_done)))
int planner_make(struct planner *planner, struct plan *ret, struct rye_err *err);
void planner_done(struct planner *planner);
void planner_warn(struct planner *planner, const char *format, ...) RYE_PRINTF(2, 3);

/* The steps, each in its file. */
int anchor_make(struct planner *planner, struct rye_err *err); /* context, anchor */
int anchor_verify(struct planner *planner, struct rye_err *err); /* verify_deps */
void anchor_env(struct planner *planner);
char *anchor_cwd(struct planner *planner); /* NULL: it does not say */
int envres_make(struct planner *planner, struct rye_err *err);
int config_make(struct planner *planner, struct rye_err *err); /* config, limits, params */
int64_t config_timeout_ms(struct planner *planner);
size_t config_output_cap(const struct planner *planner);

/* Absolute path of an element's interpreter; free it. NULL with *err filled. */
char *interp_resolve(struct planner *planner, const json_t *how, struct rye_err *err);
/* A program named by a chain: bare names by the system's PATH, never one of the project. */
char *interp_which(struct planner *planner, const char *name, struct rye_err *err);
/* Does this python know -P (3.11)? Asked once per program. */
bool interp_knows_safe_path(const struct plan_base *base, const char *path);
struct interps *interps_open(void);
void interps_close(struct interps *interps);

/* True: value (or an element of it) was templated into text. */
void plan_text(const struct planner *planner, const json_t *value, struct rye_buf *out);
/*
 * What a tool's signed `requires` lets it do: a present list grants what it names; no list
 * means what the sandbox option says.
 */
struct confine plan_confine(const struct tool_meta *meta, const struct rye_options *opt);

/* Parameters of a tool: reserved names, schema, action (params.c). */
struct params_check {
	const struct link *tool;
	json_t *params; /* changed in place */
	double timeout; /* the caller's; 0: none */
	bool own_timeout; /* the tool declares `timeout` itself */
	json_t *declared; /* on failure: declared_parameters, owned */
	json_t *warnings; /* array, borrowed */
};
int params_check(struct params_check *check, struct rye_err *err);

#endif
