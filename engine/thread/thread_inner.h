/* SPDX-License-Identifier: MIT */
/*
 * thread_inner.h: what the files of thread/ share. A watched runner is a row of the table below with
 * a pidfd in the worker's epoll set; its waiters hang on it.
 */
#ifndef RYE_THREAD_THREAD_INNER_H
#define RYE_THREAD_THREAD_INNER_H

#include "thread/registry.h"
#include "thread/thread_dir.h"
#include "thread/thread_states.h"
#include "thread/thread.h"

#include <pthread.h>

struct thread_waiter {
	rye_done_fn fn;
	void *arg;
	struct thread_waiter *next;
	char id[1025];
};

struct adopted; /* adopted.c */

struct watched {
	char id[1025];
	pid_t pid;
	int pidfd;
	uint64_t number; /* as a run whose children may ask for runs */
	char *ref; /* NULL: not started by us, the registry and request.json say it */
	json_t *request;
	struct watched *next;
};

/* By what a change of the list of threads is noticed. */
struct list_state {
	int64_t version[2]; /* of the registry */
	uint64_t ino; /* of the directory */
	int64_t ctime_ns;
	int64_t until_ms; /* monotonic: after that it is read again anyway; 0: each time */
};

struct threads {
	struct threads_env env;
	pthread_mutex_t lock; /* watched, waiters, adopted, registry pointer, list*, stopping */
	struct watched *watched;
	struct thread_waiter *waiters;
	struct adopted *adopted;
	struct db *registry; /* opened at first use */
	struct rye_blob *list; /* ids, each with its NUL; NULL: not read yet */
	struct list_state list_state;
	uint64_t list_number;
	pthread_t worker;
	int epoll, wake; /* wake: eventfd, written to stop or to look again */
	_Atomic int inotify; /* of the adopted ones' directories; -1: none yet */
	uint64_t last_number;
	bool started, stopping;
};

#define ORDERS_FD 3 /* the runner's descriptors, see rye_thread_runner() */
#define LOCK_FD 4

/* In the directory of a thread that is being killed: whoever records its end says so. */
#define KILLED_MARK ".killed"
#define KILLED_WHY "Killed by request"
/* In that of one that is carried out by a mount, or whose runner has no name yet. */
#define CANCEL_MARK ".cancel"
/* In that of one that is carried out by a mount. */
#define ADOPTED_MARK ".adopted"
bool thread_marked(int dir, const char *mark);

/* Types of orders, see the table in runner.c. */
#define ORDERS_TOOL "tool"
/* A memfd with type, request and the engine's options. */
int runner_orders(const struct threads *threads, const char *id, const json_t *request,
		  struct rye_err *err);
/* 0 or a positive errno. */
int runner_spawn(int dir, int order, int lock, pid_t *ret_pid);

/* A project's registry; RYE_NOT_FOUND when it does not exist and `create` is false. */
int registry_of(const char *project, bool create, struct db **ret, struct rye_err *err);
/* The same, opened once: the engine's own. */
int threads_registry(struct threads *threads, bool create, struct db **ret, struct rye_err *err);
struct watch_ask {
	const char *id;
	pid_t pid;
	int pidfd; /* taken */
	const char *ref; /* NULL: not started by us */
	const json_t *request;
};
/* Puts a runner under watch. Twice is fine. */
void threads_watch(struct threads *threads, const struct watch_ask *ask);
void watched_free(struct watched *watched);

/* One thread, opened (thread_view.c). */
struct thread_view {
	int dir; /* negative: there is none */
	int lock; /* ours, when it was free; -1 */
	int pidfd; /* of its living runner; -1 */
	struct db *db; /* borrowed */
	struct registry_row row;
	struct runner runner; /* filled in by thread_view_state */
};
#define THREAD_VIEW_INIT ((struct thread_view){ .dir = -1, .lock = -1, .pidfd = -1 })
#define auto_thread_view __attribute__((cleanup(thread_view_close)))
void thread_view_close(struct thread_view *view);
/* The row, and the directory if it can be opened. */
int thread_view_row(struct threads *threads, const char *id, struct thread_view *ret,
		    struct rye_err *err);
/* Both, or RYE_NOT_FOUND. */
int thread_view_open(struct threads *threads, const char *id, struct thread_view *ret,
		     struct rye_err *err);
/* Once for each view. */
enum thread_state thread_view_state(struct thread_view *view);

/* Does what the table says (thread_control.c). exit_status: of a runner that was waited for, or -1. */
struct thread_control {
	const char *id;
	enum thread_event event;
	int exit_status;
};
int threads_apply(struct threads *threads, const struct thread_control *what, struct rye_err *err);
/* Tells the change function that a thread has begun or changed. */
void threads_notify(struct threads *threads, const char *id);
/* Tells waiters and the change function that a thread has a terminal status. */
void threads_ended(struct threads *threads, const char *id);
/* A run of this process is a thread now; takes a reference to call. 0 or -errno. */
int adopted_add(struct threads *threads, const char *id, struct rye_call *call, int dir);
void adopted_drop(struct threads *threads, const char *id);
/* Something was put into the directory of one: looks for marks. */
void adopted_look(struct threads *threads);
int threads_worker_start(struct threads *threads);
void threads_worker_stop(struct threads *threads);

/* result.json, then the registry: the row is what says that it is over. */
int threads_record_end(struct db *registry, int dir, const char *id, const char *status,
		       const struct rye_outcome *outcome);
/* An outcome that only says what became of a thread. */
int threads_record_loss(struct db *registry, int dir, const char *id, const char *status,
			const char *why);
/*
 * The end of a runner that left no row: its result if there is one, else what happened to it.
 * Ends what is left of its processes.
 */
void threads_record_lost(const struct thread_view *view, int exit_status, bool killed);

#endif
