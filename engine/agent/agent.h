/* SPDX-License-Identifier: MIT */
/*
 * agent.h: directives that a model works through. The launcher starts a runner for one (fork.c); the
 * runner asks the model, runs the tools that it calls and hears its answer, until there is a result
 * or a limit ends it (agent.c and what it calls).
 */
#ifndef RYE_AGENT_AGENT_H
#define RYE_AGENT_AGENT_H

#include "base/json.h"
#include "item/item.h"
#include "thread/thread.h"

/*
 * fork.c: on the side of the one that asks: a worker of the pool, or the runner of a parent.
 */
struct fork_ask {
	const char *ref; /* "directive:a/b", its inputs are checked */
	const json_t *request; /* of the execute primitive, without "async" */
	bool async; /* not waited for */
	int wake; /* readable once it is no longer waited for; or -1 */
	const char *parent_id, *previous_id; /* threads, or NULL */
	const char *message; /* what the user says to go on with; NULL: nothing */
	int chain; /* threads before it that handed over */
	const json_t
		*before; /* what they have cost: turns, tokens and time are the chain's; or NULL */
	/*
	 * From a parent: {capabilities: [list …] of it and those above it, limits}; what it may
	 * hand on, which no file can widen; without limits: lists of runs. NULL: a person asks.
	 */
	const json_t *authority;
	/*
	 * Reserves its money under its id, before its runner begins: RYE_BUDGET ends the thread with
	 * that sentence, after another failure the runner asks itself. NULL: it asks itself.
	 */
	int (*fund)(void *arg, const char *thread_id, struct rye_err *err);
	void *fund_arg;
	int wait_ms; /* not longer: RYE_TIMEOUT, and it goes on; 0: until it ends */
	/* On the calling thread: once it has begun, then text of the model as it comes; or NULL. */
	void (*begun)(void *arg, const char *id);
	void (*live)(void *arg, struct rye_span text);
	void *live_arg; /* of both */
};
/*
 * Starts a thread; unless async, waits for its end. *ret: the members of a reply, also after a
 * failure when a thread has begun (else NULL). RYE_INTERRUPTED: it goes on.
 */
int agent_fork(struct threads *threads, const struct fork_ask *ask, json_t **ret,
	       struct rye_err *err);

/* The same for a caller that may be a run: the lists of `within` in the request hold the thread. */
int agent_fork_from(struct threads *threads, const struct fork_ask *ask, json_t **ret,
		    struct rye_err *err);
/*
 * The same for a run that a thread's model has asked for, a graph: the new thread is a child of that
 * one. authority: as above with thread_id and project, as text.
 */
int agent_fork_below(struct threads *threads, const char *authority, const struct fork_ask *ask,
		     json_t **ret, struct rye_err *err);

/* The waiting alone, for a reply that was made with async. */
int agent_await(struct threads *threads, const struct fork_ask *ask, json_t *reply,
		struct rye_err *err);

/*
 * agent_open.c: "MODEL of PROVIDER", which a directive is given to that does not say itself; or why
 * there is none, as a fork fails then. Looks at items and keys, and whether a server listens at an
 * address that is no vendor's.
 */
int agent_model(const struct item_env *items, char ret[RYE_MODEL_MAX], struct rye_err *err);

/*
 * recover.c: the end of a thread whose runner ended without one.
 */
struct agent_recovery {
	struct threads *threads;
	const struct item_env *items;
	const char *project;
};
/*
 * What a runner would have left; not its row. Of a thread whose end was told before it could be
 * recorded, lost becomes that end. Nothing for a tool's thread.
 */
void agent_recover(const struct agent_recovery *where, struct thread_lost *lost);
/* Can the ledger of the project's threads not be read? */
bool agent_ledger_damaged(const char *project);
/* A thread that has ended was deleted: so is its row of the ledger. */
void agent_forget(const struct agent_recovery *where, const char *id);
/* What the thread holds in the ledger, if it does, goes back. */
int agent_settle(const char *project, const char *id, const char *status, struct rye_err *err);

/*
 * resumption.c: a person goes on with a thread that has ended, as a new one.
 */
struct agent_resumption {
	const char *thread_id, *message;
	/* {item_id, parameters, model, limit_overrides}: what is there counts, the rest is as recorded; or NULL */
	const json_t *given;
	bool async;
	int wake; /* as fork_ask's */
};
/* *ret as agent_fork's. RYE_STATE: it has not ended, or another call goes on with it at this moment. */
int agent_resume(const struct agent_recovery *where, const struct agent_resumption *what,
		 json_t **ret, struct rye_err *err);

/*
 * agent.c: the whole life of one thread, in its runner.
 */
struct agent_ask {
	const json_t *doc; /* the orders: thread_id, request, options, authority */
	int dir; /* the thread's directory */
	int stop; /* an eventfd: readable once it is to end. Never read here */
	void (*live)(void *arg, struct rye_span text); /* text of the model as it comes */
	void *live_arg;
};

struct agent_end {
	struct rye_outcome outcome; /* the reply and its plain text, the caller's */
	char status[32]; /* of the registry's row, which the caller writes last */
};
/* Returns when everything but result.json and the row is written. */
void agent_run(const struct agent_ask *ask, struct agent_end *ret);

#endif
