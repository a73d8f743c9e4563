/* SPDX-License-Identifier: MIT */
/*
 * warm_inner.h: what the files of warm/ share.
 */
#ifndef RYE_WARM_WARM_INNER_H
#define RYE_WARM_WARM_INNER_H

#include "base/sha.h"
#include "bounds.h"
#include "process/process.h"
#include "sandbox/sandbox.h"
#include "warm/warm.h"

#include <rye/rye.h>

/*
 * warm_text.c: which tools' texts a warm parent has compiled. A child knows what its parent
 * knew when it was forked, so a call whose child knows the text sends its number only. The
 * lock of the pool it belongs to guards it.
 */

struct warm_text {
	struct rye_blob *source; /* NULL: none */
	char *path; /* under which it is compiled */
	unsigned number; /* 1 …; 0: it cannot be compiled ahead */
};

struct warm_texts {
	struct warm_text known[RYE_WARM_TEXTS]; /* the oldest gives way */
	size_t next;
	struct warm_text wanted; /* by the last call that found its text missing */
};

/* The row of this very text under this name; NULL: then it is wanted from now on. */
const struct warm_text *warm_texts_find(struct warm_texts *texts, struct rye_blob *source,
					const char *path);
/* What is wanted, if anything; the caller's from then on. */
bool warm_texts_take_wanted(struct warm_texts *texts, struct warm_text *ret);
void warm_texts_put(struct warm_texts *texts,
		    struct warm_text *text); /* takes over; its number is set */
void warm_texts_done(struct warm_texts *texts);
/* Does a process that has learnt `taught` texts still know the one of that number? */
bool warm_text_known(unsigned number, unsigned taught);

/*
 * warm_parent.c: one interpreter that has done its imports and forks children on demand
 * (warm_child.py is what it runs). Used by one thread at a time; no lock.
 */

struct warm_parent {
	struct child child; /* .pidfd -1: not started */
	int socket; /* requests out, pids in */
	struct box *box;
	unsigned made; /* children so far: names of their directories */
	unsigned taught; /* texts so far: their numbers */
	/* of a sort whose workers are started one by one: what with; of the pool, and frozen */
	const struct plan_base *base;
	const struct plan *plan;
};

/*
 * How one sort of long-lived child is spoken with. A new sort is one file that defines its row and
 * one line of the table in warm.c; a runtime names it by `warm: NAME` in its signed configuration.
 * All but `send` are called on the pools' own thread, one call at a time, without a lock; each has
 * a bound in time, because the child could hang.
 */
struct warm_protocol {
	const char *name;
	size_t ready; /* so many workers wait for calls */
	int idle_s; /* without a call for so long, the parent and its children end */
	/* Which argument is the loader's text: pools do not tell plans apart by it. 0: no fit. */
	size_t (*loader_at)(const struct plan *plan);
	/* The name under which a worker may know the plan's text already; NULL: it is sent each time. */
	const char *(*text_name)(const struct plan *plan);
	/* What it is started with: the plan's program, flags, loader, modules and environment. */
	int (*start)(const struct plan_base *base, const struct plan *plan, struct warm_parent *ret,
		     struct rye_err *err);
	/*
	 * One more worker, ready for a job; with `rehearse` it answers sooner and is ready later.
	 * False: the parent is of no use any more.
	 */
	bool (*fork)(struct warm_parent *parent, bool rehearse, struct warm_worker *ret);
	/*
	 * Workers made from now on know this text by the number set; 0: it does not compile
	 * without a warning. False: the parent is of no use any more. NULL if text_name never
	 * has a name.
	 */
	bool (*teach)(struct warm_parent *parent, struct warm_text *text);
	/* Hands a job to a worker, on the thread of its call. */
	bool (*send)(struct warm_worker *worker, const struct warm_job *job);
	/*
	 * Ends it once its workers have gone, which their callers have given back already: it is
	 * their parent and reaps them. The box goes back when `busy` is false.
	 */
	void (*stop)(const struct plan_base *base, struct warm_parent *parent, bool busy);
};

/*
 * One for each sort; Python's forks a child for each call (warm_parent.c, warm_child.py), Node's
 * processes are started one by one (warm_node.c, warm_node.js).
 */
extern const struct warm_protocol warm_python, warm_node;

/* Of the pool that a plan's call is for: everything that a child is born with, none of the call's own
 * things. False: no memory, and a part of it would be the key of others, too. */
bool warm_key(const struct boxes *boxes, const struct plan *plan, char ret[SHA_HEX]);
/* Does this row of the plan's environment belong to the call, not to its runtime? */
bool warm_is_of_call(const struct plan *plan, const char *row);
/* Ends a process that waits, if there still is one; gives back what it had. */
void warm_worker_end(const struct plan_base *base, struct warm_worker *worker, bool busy);

/* The program that it runs: warm_child.py, which the build puts into a C file (scripts/embed). */
extern const char warm_child[];
/* What stands before a loader that Node runs: warm_node.js, put in the same way. */
extern const char warm_node_js[];

#endif
