/* SPDX-License-Identifier: MIT */
/*
 * plan.h: a verified tool and checked parameters → a frozen plan of its run.
 */
#ifndef RYE_PLAN_PLAN_H
#define RYE_PLAN_PLAN_H

#include "base/io.h"
#include "bounds.h"
#include "chain/chain.h"
#include "item/item.h"
#include "mcp/client/client.h"
#include "process/process.h"
#include "sandbox/sandbox.h"
#include "str.h"

/*
 * template.c: placeholders of signed configuration (docs/tools.md). The texts that are scanned come
 * from signed items only. A value is inserted once and never scanned again, so nothing a caller
 * sends is ever interpreted.
 */

/* Of a text that was made: what is in it, and where a caller's value stands in it first. */
struct template_seen {
	unsigned from; /* enum env_from, of all of its pieces */
	size_t given_at; /* SIZE_MAX: nowhere */
};

struct template
{
	const struct env *env; /* ${NAME}, ${NAME:-default}; an unknown name is empty */
	const json_t *context; /* {tool_path} …: object of strings, first */
	const json_t *config; /* then the merged signed config; NULL: none */
	const json_t *params; /* then the caller's parameters; NULL: none */
	/* How a caller's value is spelt where it stands; NULL: as template_value does. */
	void (*spell)(struct rye_buf * out, const json_t *value);
	struct template_seen *seen; /* is filled in; or NULL */
};

/* {name} of an unknown name stays as it is written. */
void template_text(const struct template *in, struct rye_span text, struct rye_buf *out);

/* A string with its placeholders filled, any other value as template_value spells it. */
void template_put(const struct template *in, const json_t *value, struct rye_buf *out);

/* Strings as they are, numbers decimal, true/false, null empty, the rest JSON. */
void template_value(struct rye_buf *out, const json_t *value);

/* Names asked for by ${NAME} in any string of value are added to the array `names`. */
void template_names(const json_t *value, json_t *names);

/*
 * plan.c: from a checked chain and validated parameters to everything a primitive needs.
 * While it is made, a plan belongs to one thread (struct planner); afterwards it is frozen.
 */

struct interps;
struct run;

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
	struct grounds *grounds;
};

struct plan;
struct planner;
struct result;

/* How a primitive is planned and carried out; engine/run has one for each row of PRIMS. */
struct prim_ops {
	/*
	 * Takes parameters that are the primitive's own out of params, before they are checked;
	 * *ret_checked: whether what is left has to fit the item's schema. NULL: there are none.
	 */
	json_t *(*take_params)(json_t *params, bool *ret_checked);
	/* Of plan->own, what only this primitive needs: zero when `plan` fills it. */
	size_t own_size;
	/* May fail with RYE_INVALID. */
	int (*plan)(struct planner *planner, struct plan *plan, struct rye_err *err);
	/* Carries it out on a worker thread. What goes wrong is a result too. */
	void (*run)(struct run *run, const struct plan *plan, struct result *ret);
	void (*done)(void *own); /* frees what is in it, not it */
};

/* What every primitive needs, and what only this one does. */
struct plan {
	const struct prim_ops *ops; /* NULL: `own` is not freed with the plan */
	void *own; /* the primitive's own part: filled by its plan, emptied by its done */
	struct env env;
	char *cwd;
	int64_t timeout_ms;
	size_t output_cap;
	struct confine confine;
	const json_t *may_call; /* capabilities of the run's own calls; borrowed of the chain */
};

#define auto_plan __attribute__((cleanup(plan_done)))
void plan_done(struct plan *plan);

struct anchor {
	const struct link *link; /* the element that declares it; NULL: none does */
	bool active;
};

/*
 * ground.c: what all plans of one tool stand on: its chain, verified, and what was read beside it. The
 * worker that builds a chain makes it; it is frozen and shared with later calls once ground_keep
 * was called.
 */
struct ground {
	_Atomic unsigned refs;
	struct chain chain;
	bool made; /* what follows is of a plan; else it belongs to the planner that makes one */
	json_t *context, *config, *limits;
	struct anchor anchor;
	struct env env;
	char *lockfile;
	bool lock;
	struct mcp_target *mcp; /* of a tool of an MCP server; or NULL */
	json_t *ids, *detail; /* of the chain, for replies */
	struct marks marks;
	uint64_t trust; /* that the items were verified by */
	uint64_t veil; /* boxes_places, where `mcp` is there */
};

struct grounds *grounds_open(void);
void grounds_close(struct grounds *grounds);
/* Was the tool called `id` one of an MCP server when it was called last? */
bool grounds_have_server(struct grounds *grounds, const char *id);
/* With nothing in it; NULL: out of memory. */
struct ground *ground_new(const struct plan_base *base);
void ground_unref(struct ground *ground);
/* A new reference to that of the tool called `id`, if it would be made the same now; else NULL. */
struct ground *ground_recall(const struct plan_base *base, const char *id);
/* Notes where the elements of its chain were looked for; id: as the tool was asked for. */
void ground_mark_chain(const struct plan_base *base, struct ground *ground, const char *id);
/* The same of one element. */
void ground_mark_item(const struct plan_base *base, struct marks *marks, const struct item_ask *ask,
		      const struct rye_item *found);
/* For later calls, if it can be told whether it still holds. */
void ground_keep(const struct plan_base *base, const char *id, struct ground *ground);

/* The making of one plan. Everything in the second half is made by planner_make. */
struct planner {
	const struct plan_base *base;
	struct ground *ground;
	const struct chain *chain; /* of the ground */
	const struct prim_ops *ops; /* of its primitive */
	json_t *params; /* validated, owned; becomes what the tool gets */
	double timeout; /* the caller's, seconds; 0: none */
	bool own_timeout; /* the tool declares a parameter of that name itself */
	bool kept; /* by a thread: only limits that were set for this tool count, and the longest */
	struct confine limit; /* what the asking run may do itself */
	json_t *trace; /* or NULL; borrowed */
	json_t *warnings; /* array, borrowed */
	const json_t *own_params; /* what the primitive has taken for itself; or NULL; borrowed */

	json_t *context; /* tool_path …: strings */
	json_t *config; /* merged over the chain */
	json_t *limits; /* execution.yaml as the runtimes ask for it, or NULL */
	struct anchor anchor;
	struct env env;
	struct template_seen *seen; /* of the texts of one request while it is made; else NULL */
	bool fresh; /* the ground is this planner's own so far */
	struct marks *marks; /* of the ground, while a part of it is made; else NULL */
	struct rye_buf params_json;
	char *lockfile; /* that the chain was compared with; NULL: there is none */
	bool lock; /* a good run is to write one */
};

#define auto_planner __attribute__((cleanup(planner_done)))
int planner_make(struct planner *planner, struct plan *ret, struct rye_err *err);
void planner_done(struct planner *planner);

/* Locks the chain of a plan whose `lock` is set; its path, or NULL with *err filled. */
char *lockfile_write(const struct planner *planner, struct rye_err *err);

struct interps *interps_open(void);
void interps_close(struct interps *interps);
/*
 * Adds variables that signed configuration of an item of that space asks for by name, as far as there are
 * any. The project's .env, which has no signature, is read for the project's own items alone; NULL: for none.
 */
void envres_give(struct planner *planner, const json_t *names, const struct space *space);
/* The names that its elements ask for are added. */
void envres_asked(const struct chain *chain, json_t *names);
/* The environment that every plan begins with; what was in `planner->env` stays. */
void envres_begin(struct planner *planner);
/*
 * What a tool's signed `requires` lets it do: a present list grants what it names; no list
 * means what the sandbox option says.
 */
struct confine plan_confine(const struct tool_meta *meta, const struct rye_options *opt);
/* No freer than that, but for `calls` and `keys`. */
void confine_within(struct confine *confine, const struct confine *limit);

/* Parameters of a tool: reserved names, schema, action (params.c). */
struct params_check {
	const struct link *tool;
	json_t *params; /* changed in place */
	double timeout; /* the caller's; 0: none */
	bool own_timeout; /* the tool declares `timeout` itself */
	json_t *declared; /* on failure: declared_parameters, owned */
	json_t *warnings; /* array, borrowed */
	const struct prim_ops *ops; /* of its primitive; or NULL */
	json_t *own_params; /* what it has taken for itself; NULL: nothing; owned */
};
int params_check(struct params_check *check, struct rye_err *err);
/* A name of the format's (timeout …), which a tool gets only if it declares it. */
bool params_reserved(const char *name);

/*
 * What one process of a tool is started with. The own part of the plan of each
 * primitive that starts a process begins with it, so warm pools can take any of them.
 */

struct program {
	char *path; /* absolute */
	char **argv; /* NULL at the end */
	struct rye_blob *input; /* standard input; NULL: /dev/null */
	struct rye_blob *source; /* verified bytes for descriptor source_at; NULL: none */
	int source_at;
	char *warm; /* protocol of a warm interpreter; NULL: none */
	char *loader; /* the program text it runs */
	char *params_env; /* the variable that its parameters are in, too; NULL: none */
	json_t *preload; /* modules it has imported before; or NULL */
	bool answers_object; /* any other value is strange, though it counts as success */
	char **end; /* argv of `path` that ends what the program has others run; or NULL */
};

/* Adds what the program gets by its environment to the planner's. */
int program_make(struct planner *planner, struct program *ret, struct rye_err *err);
void program_done(struct program *program);

/* Of a plan whose primitive starts a process. */
static inline const struct program *program_of(const struct plan *plan)
{
	return plan->own;
}

/* http_plan.c: what one request is made of (docs/tools.md, HTTP). */

struct http_plan {
	char *method, *url;
	char **headers; /* "Name: value", NULL at the end */
	struct rye_blob *body; /* NULL: none */
	char *ca_file; /* or NULL */
	bool strange; /* a parameter says which server */
	bool stream;
	unsigned redirects;
	int attempts; /* at most; at least 1 */
	bool linear; /* seconds between them: 1, 1, 1; else 1, 2, 4 */
	bool may_write; /* the tool may, in the project; is given */
	struct sink_plan *sinks; /* of a stream; none: as if it were one of type return */
	size_t n_sinks;
};

int http_plan_make(struct planner *planner, struct http_plan *ret, struct rye_err *err);
void http_plan_done(struct http_plan *plan);

void sink_plans_done(struct http_plan *plan);

/*
 * mcp_plan.c: a server of the Model Context Protocol, as its item describes it; one
 * call of a tool of it (docs/tools.md, MCP).
 */

struct mcp_source {
	struct rye_item *item; /* the signed one; NULL: it is about to be made */
	struct tool_meta meta; /* of which `requires` counts */
	const char *id, *stamp; /* of the item, and what tells it from other versions */
	const struct space *space; /* that it lies in, or is to lie in */
	const json_t *config, *cache;
};
int mcp_source_load(const struct planner *planner, const struct item_ask *ask,
		    struct mcp_source *ret, struct rye_err *err);
void mcp_source_done(struct mcp_source *source);
int mcp_source_spec(struct planner *planner, const struct mcp_source *source, struct mcp_spec *spec,
		    struct rye_err *err);

/* What is the same in all calls of one tool; frozen. */
struct mcp_target {
	_Atomic unsigned refs;
	struct mcp_spec spec; /* of the server's own signed item */
	char *tool, *pin; /* the server's name of it; NULL: its definition is not compared */
	json_t *members, *schema, *output_schema; /* owned; members: of the pin */
	struct confine limit; /* what the run that asked may do itself */
};
void mcp_target_unref(struct mcp_target *target);

struct mcp_plan {
	struct mcp_target *target; /* a reference */
	json_t *arguments; /* owned */
};
int mcp_plan_make(struct planner *planner, struct mcp_plan *ret, struct rye_err *err);
void mcp_plan_done(struct mcp_plan *plan);

#endif
