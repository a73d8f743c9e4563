/* SPDX-License-Identifier: MIT */
/*
 * fork.h: a directive's thread as others see it than its runner (agent/agent.h): begun, waited for, gone
 * on with when it has ended, its end written down when its runner was lost, the money that it holds.
 *
 * Any thread may call these; they wait. No state, no lock.
 */
#ifndef RYE_FORK_FORK_H
#define RYE_FORK_FORK_H

#include "base/id.h"
#include "base/json.h"
#include "policy/policy.h"
#include "item/item.h"
#include "thread/thread.h"

/* Borrowed; what the engine of this process is made of. */
struct fork_env {
	struct threads *threads;
	const struct item_env *items;
	const char *project;
};

/*
 * Of a thread that was ordered from elsewhere: it hands over by ending, and its asker begins the one that goes on, by an
 * order with money and a receipt of its own. Both know the id by that of the first: fork_next.
 */
#define FORK_CHAIN_ASKER (-1)
void fork_next(const char *id, char ret[ID_UUID_MAX]);
/* Threads of one chain: a model that fills its window in every one would go on for ever. */
#define FORK_CHAIN_MAX 50

/*
 * fork.c: on the side of the one that asks: a worker of the pool, or the runner of a parent.
 */
struct fork_ask {
	const char *ref; /* "directive:a/b", its inputs are checked; elsewhere a tool, too */
	const char *remote; /* where it is carried out; NULL: by a runner here */
	const char *id; /* of the thread, as of struct launch; NULL: one of the directive's name */
	const json_t *request; /* of the execute primitive, without "async" */
	bool async; /* not waited for */
	int wake; /* readable once it is no longer waited for; or -1 */
	const char *parent_id, *previous_id; /* threads, or NULL */
	const char *message; /* what the user says to go on with; NULL: nothing */
	int chain; /* threads before it that handed over; or FORK_CHAIN_ASKER */
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
 * failure when a thread has begun (else NULL). RYE_INTERRUPTED: it goes on, but for a
 * tool's elsewhere, which is told to end.
 */
int fork_start(struct threads *threads, const struct fork_ask *ask, json_t **ret,
	       struct rye_err *err);

/*
 * The same for a caller that may be a run: the lists of `within` in the request hold the thread.
 * authority: of one that a thread's model has asked for, a graph, as above with thread_id and project, as
 * text: the new thread is a child of that one; or NULL.
 */
int fork_start_below(struct threads *threads, const char *authority, const struct fork_ask *ask,
		     json_t **ret, struct rye_err *err);

/* The waiting alone, for a reply that was made with async. */
int fork_await(struct threads *threads, const struct fork_ask *ask, json_t *reply,
	       struct rye_err *err);

/*
 * recover.c: the end of a thread whose runner ended without one.
 */
/*
 * What a runner would have left; not its row. Of a thread whose end was told before it could be
 * recorded, lost becomes that end. Nothing for a tool's thread.
 */
void fork_recover(const struct fork_env *where, struct thread_lost *lost);
/* A thread that has ended was deleted: so is its row of the ledger. */
void fork_forget(const struct fork_env *where, const char *id);

/*
 * resumption.c: a person goes on with a thread that has ended, as a new one.
 */
struct fork_resumption {
	const char *thread_id, *message;
	/* {item_id, parameters, model, limit_overrides}: what is there counts, the rest is as recorded; or NULL */
	const json_t *given;
	bool async;
	int wake; /* as fork_ask's */
};
/* *ret as fork_start's. RYE_STATE: it has not ended, or another call goes on with it at this moment. */
int fork_resume(const struct fork_env *where, const struct fork_resumption *what, json_t **ret,
		struct rye_err *err);

/*
 * ledger.c: the ledger of a project's threads (policy/policy.h).
 */
#define LEDGER_FILE "budget_ledger.db" /* in .ai/state/threads */
struct ledger_ask {
	const char *project, *id; /* of the thread that is to count on it */
	struct db *registry;
};
/*
 * A damaged one is begun anew, of which *ret_anew tells; what was there is LEDGER_FILE.damaged. RYE_BUSY:
 * a living thread counts on it.
 */
int ledger_open(const struct ledger_ask *ask, struct db **ret, bool *ret_anew, struct rye_err *err);
/* One that is there; NULL: there is none, or it cannot be opened. */
struct db *ledger_there(const char *project);
/* Can the ledger of the project's threads not be read? */
bool ledger_damaged(const char *project);
/* What the thread holds in the ledger, if it does, goes back. */
int ledger_settle(const char *project, const char *id, const char *status, struct rye_err *err);
/* The budgets of its children that never began, since their launcher died or found no room, go back. */
int ledger_settle_unborn(struct db *ledger, struct threads *threads, const char *parent,
			 struct rye_err *err);

/* Are the settings from which each thread's model is found signed? Told before a thread is made, which
 * would do no more than fail by it. ref: of the directive; NULL: a thread's that goes on. */
int fork_settled(const struct item_env *items, const char *ref, struct rye_err *err);

#endif
