/* SPDX-License-Identifier: MIT */
/*
 * thread.h: runs that outlive their caller: a runner process, a directory, a registry row.
 *
 * Any thread may call these functions. Blobs and references in *ret are the caller's. An id that
 * breaks the rules is RYE_INVALID, one without a thread RYE_NOT_FOUND.
 *
 * Lock: `lock` of struct threads guards its tables; listeners, files and the database without it.
 */
#ifndef RYE_THREAD_THREAD_H
#define RYE_THREAD_THREAD_H

#include "base/json.h"
#include "base/log.h"

struct threads;

struct threads_env {
	const struct rye_options *opt; /* lives as long as the engine */
	const struct log *log;
	rye_change_fn changed; /* RYE_CHANGE_THREAD, from the watching worker; may be NULL */
	void *changed_arg;
};

/* Cheap: the database is opened at first use. */
int threads_open(const struct threads_env *env, struct threads **ret, struct rye_err *err);
void threads_close(struct threads *threads); /* joins the watching worker; runners live on */
/* Looks at every row that is open: watches living runners, records the end of lost ones. */
void threads_recover_all(struct threads *threads);

#define THREAD_ID_MAX 1025 /* of an id, with its NUL */

struct launched {
	char thread_id[THREAD_ID_MAX];
	pid_t pid;
};

/* The types of orders that there are (runner/orders_table.c). */
#define ORDERS_TOOL "tool"
#define ORDERS_GRAPH "graph"

struct launch {
	const char *type; /* of the orders */
	const char *ref; /* "tool:a/b", for the registry */
	const char *stem; /* the id is STEM-SECONDS, finer when that is taken; NULL: a UUID */
	const json_t *request; /* of the execute primitive, without "async" */
};

/* Starts a detached runner. The caller makes the reply from *ret. */
int threads_launch(struct threads *threads, const struct launch *what, struct launched *ret,
		   struct rye_err *err);

/*
 * A run of this process goes on as a thread (its caller stopped waiting): registers it, and
 * later records its end. The process is its own runner.
 */
struct adoption {
	struct rye_call *call;
	const char *ref;
	const json_t *request;
};
int threads_adopt(struct threads *threads, const struct adoption *what, struct launched *ret,
		  struct rye_err *err);
void threads_adopted_end(struct threads *threads, const char *id,
			 const struct rye_outcome *outcome);
/* How many of them have not ended. */
size_t threads_adopted(struct threads *threads);

/* Numbers of threads, as far as they are runs; those of run/runs.c do not have this bit. */
#define THREADS_RUN_BIT (UINT64_C(1) << 63)

/* The thread whose runner is among these ancestors, as a run's number; 0: none. */
uint64_t threads_run_of(struct threads *threads, const pid_t *chain, size_t n);
/* What that thread's runner has started, as the chain shows it; 0: no thread of ours. */
pid_t threads_leader(struct threads *threads, uint64_t number, const pid_t *chain, size_t n);
/*
 * Its item, "tool:a/b", and a new reference to its request. Of threads that this process has
 * started they are remembered, not read back from state. False: it has ended.
 */
bool threads_owner(struct threads *threads, uint64_t number, char ref[1040], json_t **ret_request);

int threads_list(struct threads *threads, rye_name_fn fn, void *arg, struct rye_err *err);
/* Another one whenever threads_list would tell other names than before; 0: no threads yet. */
uint64_t threads_list_number(struct threads *threads);
int threads_names(struct threads *threads, const char *id, rye_name_fn fn, void *arg,
		  struct rye_err *err);
int threads_file(struct threads *threads, const char *id, const char *name, struct rye_blob **ret,
		 struct rye_err *err);
int threads_read(struct threads *threads, const struct rye_thread_part *part, struct rye_blob **ret,
		 uint64_t *ret_size, struct rye_err *err);
int threads_ctl(struct threads *threads, const char *id, struct rye_span verb, struct rye_err *err);

/* who->fn once, with the status word, from the watching worker or before this returns. */
int threads_wait(struct threads *threads, const char *id, const struct rye_listener *who,
		 struct rye_err *err);
/* Tells the listener with that argument RYE_CANCELLED, if it still waits. */
void threads_unwait(struct threads *threads, const void *arg);

/* What the process that carries out a thread knows of it (orders.c; the room runner). */
struct orders {
	json_t *doc; /* type, thread_id, request, and the engine's options */
	int dir; /* the thread's directory */
};
#define ORDERS_INIT ((struct orders){ .dir = -1 })
#define auto_orders __attribute__((cleanup(orders_done)))

/* From the descriptors that it was started with; RYE_INVALID: there are none. Once. */
int orders_take(struct orders *ret, struct rye_err *err);
void orders_done(struct orders *orders);
/*
 * Returns when the launcher watches this process: a tool that wrote to the mount before would be a
 * child of an unknown run there, which may nothing. A launcher that dies lets go of the pipe, too.
 */
int orders_begin(const struct orders *orders, struct rye_err *err);
/* Writes down how the thread ended; that can be tried again. */
int orders_end(const struct orders *orders, const char *status, const struct rye_outcome *outcome);
const char *orders_project(const struct orders *orders);
const char *orders_thread(const struct orders *orders);

/* What killed launchers and runners have left behind (thread_left.c); fn may be NULL. How many. */
size_t threads_left(struct threads *threads, bool drop, rye_name_fn fn, void *arg);

#endif
