/* SPDX-License-Identifier: MIT */
/*
 * runner_inner.h: what the files of runner/ share. All of it is one process, whose main thread
 * carries out one thread's orders.
 */
#ifndef RYE_RUNNER_RUNNER_INNER_H
#define RYE_RUNNER_RUNNER_INNER_H

#include "base/json.h"
#include "thread/thread.h"

#include <rye/rye.h>

#include <signal.h>

/*
 * orders_table.c: which function carries out orders of which type. A type is one file with its
 * function, and one row.
 */

/* Records the thread's end; the process's exit status. */
typedef int (*orders_fn)(const struct orders *orders);

orders_fn orders_find(const char *type); /* NULL: another version's */

int runner_tool(const struct orders *orders); /* runner_tool.c: one execute request */
int runner_graph(const struct orders *orders); /* runner_graph.c: the same, of a state graph */

/* runner_tool.c: status says what the registry's row gets; *wait is over. */
struct runner_wait;
typedef const char *(*runner_status_fn)(const struct runner_wait *wait);
int runner_execute(const struct orders *orders, runner_status_fn status);
int runner_directive(const struct orders *orders); /* runner_directive.c: a model's thread */
int runner_remote(const struct orders *orders); /* runner_remote.c: a run elsewhere */

/*
 * runner_live.c: what comes out while it runs, into the thread's `live` and into spawn.log.
 *
 * No lock: it belongs to one thread at a time, that which tells events, then that which records.
 */

struct live {
	int fd; /* -1: it could not be made */
	size_t len; /* bytes in it */
	bool full; /* and the line that says that more is left out */
	char last; /* character told last; 0: none yet */
};

void live_open(const struct orders *orders, struct live *ret);
void live_put(struct live *live, struct rye_span text);
void live_close(struct live *live);
#define auto_live __attribute__((cleanup(live_close)))

/*
 * runner_wait.c: a call, until it is answered or its runner is told to stop.
 *
 * SIGTERM, SIGINT and SIGHUP cancel it; a second one ends the process at once, which the watching
 * worker records as a cancel, too. So does the file CANCEL_MARK, of which SIGIO tells. A runner that follows what
 * runs elsewhere is ended by a signal, and the other by the mark alone.
 */

struct runner_wait {
	const struct orders *orders;
	struct rye_call *call; /* set before wait_call */
	struct rye_outcome outcome; /* blobs are references of its own */
	sigset_t signals;
	int notices; /* the thread's directory, of which SIGIO tells; or -1 */
	bool leaves; /* it goes on elsewhere, and a signal without the mark ends this process alone */
	bool signalled, cancelled;
	_Atomic bool done; /* the outcome is there */
};

/* Before any thread is started: threads inherit the mask, so wait_call gets every signal. */
void wait_init(struct runner_wait *wait, const struct orders *orders);
/* The next of `signals`; SIGIO: what was made in the directory is to be looked at. */
int wait_signal(const struct runner_wait *wait);
/* A signal was taken from `signals`; SIGIO also without one. True, once: the call is to end. */
bool wait_heard(struct runner_wait *wait, int number);
/* rye_done_fn; arg: the struct runner_wait. From any thread. */
void wait_on_done(void *arg, const struct rye_outcome *outcome);
void wait_call(struct runner_wait *wait);
/* After wait_call. The status that a registry's row gets. */
const char *wait_status(const struct runner_wait *wait);
void wait_done(struct runner_wait *wait);

/*
 * runner_job.c: work that is no call of an engine, on a thread of its own.
 */
struct runner_job {
	const struct orders *orders;
	void (*work)(struct runner_job *job); /* fills in status and outcome */
	struct live *live;
	int stop; /* an eventfd: readable once it is to end */
	char status[32]; /* of the registry's row */
	struct rye_outcome outcome; /* the job's */
	_Atomic bool done;
};
int runner_job(const struct orders *orders, void (*work)(struct runner_job *job));
void runner_job_live(void *arg, struct rye_span text); /* arg: the job's live */

/*
 * runner_end.c: the end of the thread: result.json, then the registry's row; the lock goes with the
 * process.
 */

/* Tries for a while when there is no room. live: NULL: nothing came out. The exit status. */
int runner_end(const struct orders *orders, const char *status, const struct rye_outcome *outcome,
	       const struct live *live);
/* The end of orders that could not be begun. */
int runner_fail(const struct orders *orders, const struct rye_err *err);

#endif
