/* SPDX-License-Identifier: MIT */
/*
 * start.h: the ways to start a planned program, tried in the order of one table: a warm
 * interpreter, a process that waits in its box, a new process. A new way is one row.
 *
 * No lock: a start belongs to the run's worker until its `later` is done.
 */
#ifndef RYE_RUN_START_H
#define RYE_RUN_START_H

#include "process/capture.h"
#include "run/run_inner.h"
#include "warm/warm.h"

/* The plan's environment plus what belongs to this very run. Borrowed pointers. */
struct surroundings {
	char **v;
	char mark[48]; /* RYE_RUN=<pid>.<number> */
	char *tmpdir;
};

struct start {
	struct later later; /* gives back what is left when the caller has its answer */
	const struct start_way *way;
	const struct prim_run *run; /* until `later` */
	const struct plan *plan; /* the same */
	struct capture_ask how; /* of the process: its pipes, its group, how its end is told */
	struct surroundings env; /* a process made ahead reads it when it becomes the program */
	bool busy; /* something of the run goes on living */
	struct warm_worker worker; /* .pool NULL: none */
	struct spare spare; /* .process NULL: none */
	struct box *box; /* NULL: none */
};

enum start_verdict {
	START_UP,
	START_OTHERWISE, /* not this way, not now; nothing is left of the attempt */
	START_FAILED,
};

struct start_way {
	bool warm; /* what was started before it was wanted, for the trace */
	enum start_verdict (*begin)(struct start *start, struct rye_err *err);
	/* The process has ended, the caller is not answered yet. May be NULL. */
	int (*end)(struct start *start, struct rye_err *err);
	/* Perhaps long work on a disk: the caller has its answer. */
	void (*give_back)(struct exec *exec, struct start *start);
};

/*
 * *ret is to be freed by start_leave, after a failure too; NULL: no memory. `err` is filled
 * when nothing was started.
 */
int start_program(const struct prim_run *run, const struct plan *plan, struct start **ret,
		  struct rye_err *err);
/* Fails when it turns out now that the program could not be started. */
int start_end(struct start *start, struct rye_err *err);
/* Hands it to the run's list of what is done later. */
void start_leave(struct start *start);

#endif
