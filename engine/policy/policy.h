/* SPDX-License-Identifier: MIT */
/*
 * policy.h: what may be done: an asker's authority, a thread's limits, the money of its family, its
 * capabilities and how risky they are. Decisions only; nothing is started or stopped here. Formats:
 * docs/threads.md.
 *
 * authority.c, limits.c, capability.c and risk.c are pure; any thread may call budget.c.
 */
#ifndef RYE_POLICY_POLICY_H
#define RYE_POLICY_POLICY_H

#include "base/db.h"
#include "base/json.h"
#include "item/item.h"

/*
 * "agent/resilience" or "agent/capability_risk" of all spaces, merged; an empty object when there is
 * none. One that is unsigned or changed is an error that names it.
 */
int policy_config(const struct item_env *env, const char *id, json_t **ret, struct rye_err *err);

/*
 * limits.c
 */
enum limit {
	LIMIT_TURNS, /* answers of the model */
	LIMIT_TOKENS, /* input and output, summed over turns */
	LIMIT_SPEND, /* currency units */
	LIMIT_SPAWNS, /* children */
	LIMIT_DEPTH, /* levels below */
	LIMIT_DURATION, /* duration_seconds */
	LIMIT__MAX
};

struct limits {
	double value[LIMIT__MAX];
	bool set[LIMIT__MAX]; /* false: unlimited */
	bool spend_declared; /* by the directive or an override: no default */
	char currency[8];
};

const char *limit_name(enum limit limit); /* "duration_seconds"; of the files */
enum limit limit_of(const char *name); /* LIMIT__MAX: no limit */

struct limits_ask {
	const json_t *defaults; /* `limits.defaults` of agent/resilience, over the built-in ones */
	const json_t *directive; /* metadata `limits` */
	const json_t *overrides; /* limit_overrides */
	const struct limits *parent; /* NULL: none */
	json_t *warnings; /* array of strings, or NULL: max_turns and the like are told there */
};
/*
 * Later ones win, then the parent caps. RYE_INVALID "Unknown limit 'x' in directive <limits>. Valid
 * limits: …"; RYE_BUDGET "Depth limit exhausted (resolved depth=-1)".
 */
int limits_resolve(const struct limits_ask *ask, struct limits *ret, struct rye_err *err);
/* As in thread.json: a new object; and back. */
json_t *limits_json(const struct limits *limits);
int limits_read(const json_t *object, struct limits *ret, struct rye_err *err);
/* One limit of a running thread: lower, or as high as its parent's (NULL: any). */
int limits_change(struct limits *limits, const struct limits *parent, const char *name,
		  double value, struct rye_err *err);

struct limit_use {
	int64_t turns, tokens;
	double spend, elapsed_seconds;
};
struct limit_hit {
	enum limit limit;
	double current, max;
	char code[40]; /* "turns_exceeded" */
	char text[120]; /* "Limit exceeded: turns_exceeded (3/3)" */
};
/* The first of turns, tokens, spend, duration that is reached; true: *ret says which. */
bool limits_hit(const struct limits *limits, const struct limit_use *use, struct limit_hit *ret);

/*
 * budget.c: the ledger, `.ai/state/threads/budget_ledger.db`: same file and table as other
 * implementations of the format. One transaction each; processes that write at the same time wait
 * for each other. An overspend is written down as it is, never dropped.
 */
int budget_open(const char *path, struct db **ret, struct rye_err *err);
/* RYE_UNPARSABLE: it is damaged, and be it behind its first page. Reads all of it. */
int budget_whole(struct db *db, struct rye_err *err);

/* Old families are removed, then the root gets its row: reserved = max. Twice is fine. */
int budget_root(struct db *db, const char *id, double max, struct rye_err *err);

struct budget_ask {
	const char *child, *parent;
	double amount;
	bool half; /* nothing was declared: at most half of what is left */
};
/*
 * Takes the amount from what the parent has left; again for the same child is fine: the launcher asks
 * before the child's runner begins, and the child itself, also when its parent has ended meanwhile.
 * RYE_BUDGET "Insufficient budget: parent=… remaining=… requested=…", RYE_NOT_FOUND, or RYE_BUSY: the
 * parent has ended, and the child had nothing before. ret_amount may be NULL.
 */
int budget_reserve(struct db *db, const struct budget_ask *ask, double *ret_amount,
		   struct rye_err *err);
/* A living thread may spend more, as far as its parent has it left, or less. */
int budget_change(struct db *db, const char *id, double max, struct rye_err *err);
/*
 * Adds to what a living thread has spent. Before a request add an estimate, after it what it cost
 * less the estimate: if the process dies between, the estimate is what is known.
 */
int budget_spend(struct db *db, const char *id, double delta, struct rye_err *err);
/* RYE_BUDGET "Limit exceeded: spend_exceeded (…/…)" when no other turn may start. */
int budget_may_go_on(struct db *db, const char *id, struct rye_err *err);
/*
 * It has ended: what it spent, with all that ended below it, is its parent's cost. Only the first
 * call for a row counts.
 */
int budget_settle(struct db *db, const char *id, const char *status, struct rye_err *err);
/* A thread is forgotten: its row goes, or is settled and stays while it has children's below it. */
int budget_drop(struct db *db, const char *id, struct rye_err *err);

/*
 * It goes on as `next`: settled as continued, and of a child the next one holds what it has left,
 * whatever became of the parent. RYE_BUSY: it has ended.
 */
int budget_pass_on(struct db *db, const char *id, const char *next, struct rye_err *err);

struct budget_row {
	char thread_id[1025], parent_id[1025];
	char status[32];
	double reserved, actual, max;
	double remaining; /* max − actual − what living children hold */
	double tree; /* actual, and what living threads below have spent so far */
};
int budget_get(struct db *db, const char *id, struct budget_row *ret, struct rye_err *err);
typedef int (*budget_fn)(void *arg, const struct budget_row *row);
/* Every row, or the living ones: parents before their children. remaining and tree are not set. */
int budget_each(struct db *db, bool active, budget_fn fn, void *arg, struct rye_err *err);

/*
 * capability.c: "rye.<primary>.<kind>.<id with dots>" and patterns of them.
 */

/* Of a directive's parsed `permissions`: an array of strings. RYE_INVALID: not the parser's. */
int capabilities_of(const json_t *permissions, json_t **ret, struct rye_err *err);
/* Like a shell's pattern over the whole text: * (dots too), ?, [seq], [!seq]. Linear in memory. */
bool capability_match(struct rye_span text, struct rye_span pattern);
/* Is the text covered by one of the array? `rye.sign.` only by what begins so. */
bool capabilities_cover(const json_t *capabilities, const char *required);
/*
 * What a child gets of what it declares; parent NULL: there is none. A broad one is replaced by all
 * of the parent's that it covers. No declaration, or a parent without any: nothing. A new array.
 */
json_t *capabilities_attenuate(const json_t *declared, const json_t *parent);

struct capability_ask {
	/* The thread's own list and those of all above it, own first: each must cover. */
	const json_t *lists;
	const char *primary; /* "execute", "fetch", "sign"; "load" and "search" mean fetch */
	const char *kind; /* "tool"; "" unknown */
	const char *id; /* NULL: a query, which any capability of that kind covers */
	bool writes; /* a fetch with a destination: only a capability that begins with rye.fetch. */
};
/* RYE_DENIED with the format's text. What belongs to hooks is no model's. */
int capability_check(const struct capability_ask *ask, struct rye_err *err);

/* "rye.execute.tool.a.b"; id NULL: "rye.fetch.tool". */
void capability_name(struct rye_buf *out, const char *primary, const char *kind, const char *id);

/*
 * capability_whole.c: tools have a short name beside their id. Both functions look for files.
 */
#define CAPABILITY_ID_MAX 1024
/* True: it is the short name of the tool whose id is put into ret. */
bool capability_id(const struct item_env *env, enum rye_kind kind, const char *id,
		   char ret[CAPABILITY_ID_MAX]);
/* The list with tools that are named without a wildcard named by their ids. A new array; NULL of NULL. */
json_t *capabilities_whole(const struct item_env *env, const json_t *list);

/*
 * authority.c: an asker, and what holds it. Made once for each request, where its asker is known, and
 * carried with it, between processes as text; whether something may be is asked of authority_check
 * alone.
 *
 * A bound is one of two: a list of capabilities in a signed `requires` or a graph's permissions,
 * or {"capabilities": [list …]} of a thread's own list and those of all above it, own first. What is asked
 * has to be within each.
 */
enum asker {
	ASKER_STRANGER, /* a descendant of ours whose run is not known; all zero */
	ASKER_PERSON, /* or a client that acts for one: no bounds */
	ASKER_MODEL, /* of a thread */
	ASKER_RUNNER, /* of a tool or graph that goes on by itself */
	ASKER_GRAPH, /* for one of its calls */
	ASKER_RUN, /* a child of a run, or a graph's call */
	ASKER__MAX
};

enum act {
	ACT_ASK, /* what reads, or asks again when it knows the item */
	ACT_BEGIN, /* the same of what runs something */
	ACT_RUN, /* this item */
	ACT_FORK, /* a model's thread */
	ACT_READ, /* this item; id NULL: a query */
	ACT_COPY, /* this item into a space */
	ACT_SIGN, /* this item, or those of a pattern */
	ACT_RESUME, /* a thread that has ended */
	ACT_KEYS, /* keys and secrets */
	ACT__MAX
};

struct authority {
	enum asker asker;
	bool no_run, no_sign; /* of the engine's options, for every asker */
	json_t *all; /* bounds, of whatever is asked; owned, as the others */
	json_t *running; /* bounds of what is run: children of runs may read */
	json_t *doc; /* what a thread's model has handed on, or NULL */
};

struct authority_ask {
	enum act act;
	const char *kind, *id; /* of the item, by its own id; "" and NULL where there is none */
};

/* RYE_DENIED, with the sentence. */
int authority_check(const struct authority *authority, const struct authority_ask *ask,
		    struct rye_err *err);

/* Without bounds. */
void authority_init(struct authority *authority, enum asker asker);
void authority_done(struct authority *authority);
#define auto_authority __attribute__((cleanup(authority_done)))
/* Of a thread's model; lists: own first. */
void authority_model(struct authority *authority, json_t *lists);
/* Of a graph in the run that the other is of. narrowed: by its caller, or NULL. */
void authority_graph(struct authority *authority, const struct authority *run,
		     const json_t *permissions, const json_t *narrowed);
/* A run above it: what its item declares; NULL: nothing. */
void authority_above(struct authority *authority, const json_t *requires_list);
/* What is above that one, as authority_list has it; NULL: nothing. */
void authority_within(struct authority *authority, const json_t *within);
/* A request's text: {capabilities, limits, thread_id, project, free, within}, each may be missing. One that
 * cannot be read allows nothing. */
void authority_read(struct authority *authority, const char *text);

/* The thread whose model has made the call; "": none has. */
const char *authority_thread(const struct authority *authority);
/* All bounds, for a thread's request (`within`), which a runner adds to the text. A new array. */
json_t *authority_list(const struct authority *authority);
/* The text for a request of a runner, which may be in the buffer; NULL: nothing holds it. */
const char *authority_text(const char *given, json_t *within, struct rye_buf *ret);
/* For a model's thread that is started: the text's members, with `within` as capabilities. A new object. */
json_t *authority_below(const char *given, const json_t *within, struct rye_err *err);
/* "rye.execute.tool.rye.bash.*" against "rye.execute.tool.rye.bash.bash"; '*' crosses dots. */
bool requires_cover(const json_t *list, const char *wanted);

/*
 * risk.c: how risky capabilities are: agent/capability_risk over the built-in table.
 */
struct risk_ask {
	const json_t *config; /* of policy_config; NULL: the built-in table alone */
	const json_t *capabilities;
	const json_t *acknowledged; /* metadata `acknowledged_risks`: [{risk, reason}] */
	bool strict; /* elevated ones need an acknowledgement too */
	json_t *warnings; /* array of strings, or NULL */
};
/*
 * RYE_DENIED "Capability 'c' classified as 'unrestricted' (…). Add <acknowledge …> …"; *ret_risk,
 * when not NULL, then gets {capability, risk, policy, description}.
 */
int risk_check(const struct risk_ask *ask, json_t **ret_risk, struct rye_err *err);

#endif
