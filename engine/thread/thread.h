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
#include "record/record.h"

struct threads;

/* How a thread whose runner is gone will be recorded; a better account may be filled in. */
struct thread_lost {
	const char *id;
	int dir;
	char status[32]; /* "error", "killed" or "cancelled" */
	const char *why;
	json_t *reply; /* NULL: a sentence that says why; a new reference */
	bool later; /* there was no room for its end: the next look at it tries again */
	json_t *again; /* {ref, orders}: no end, another runner with these takes it up; a new reference */
};

struct threads_env {
	const struct rye_options *opt; /* lives as long as the engine */
	const struct log *log;
	rye_change_fn changed; /* RYE_CHANGE_THREAD, from the watching worker; may be NULL */
	void *changed_arg;
	/* A runner ended without a record: on the thread that finds it, before the row says so. */
	void (*lost)(void *arg, struct thread_lost *lost); /* NULL is fine */
	/* One was deleted: what other rooms keep of it may go as well; NULL is fine. */
	void (*deleted)(void *arg, const char *id);
	void *lost_arg; /* of both */
	/*
	 * What is recorded here is kept elsewhere before it counts, and is gone with the machine's power: of what the
	 * launcher writes nothing is synced, and no file of the project says that it stays out of a repository.
	 */
	bool passing;
	uid_t uid; /* runners, which root starts, become this account's; 0: they do not */
	char *const *
		lent; /* the environment of runners, as long as these threads; NULL: this process's own */
};

/* Cheap: the database is opened at first use. */
int threads_open(const struct threads_env *env, struct threads **ret, struct rye_err *err);
void threads_close(struct threads *threads); /* joins the watching worker; runners live on */
/* Looks at every row that is open: watches living runners, records the end of lost ones. */
void threads_recover_all(struct threads *threads); /* that have a directory */
void threads_recover(struct threads *threads, const char *id);
/* Those that it would record, told instead; fn may be NULL. How many. */
size_t threads_lost(struct threads *threads, rye_name_fn fn, void *arg);
/*
 * For a mount: watches the living ones, and records the ends of lost ones as far as it can at once; the
 * watching worker, which it starts, does what is left. 0 or -errno.
 */
int threads_begin(struct threads *threads);

#define THREAD_ID_MAX 1025 /* of an id, with its NUL */

struct launched {
	char thread_id[THREAD_ID_MAX];
	pid_t pid;
};

/* The types of orders that there are (runner/orders_table.c). */
#define ORDERS_TOOL "tool"
#define ORDERS_GRAPH "graph"
#define ORDERS_DIRECTIVE "directive"
#define ORDERS_REMOTE "remote"

struct launch {
	const char *type; /* of the orders */
	const char *ref; /* "tool:a/b", for the registry */
	const char *id; /* that one, and RYE_BUSY where there is such a thread; NULL: a new one */
	const char *stem; /* the id is STEM-SECONDS, finer when that is taken; NULL: a UUID */
	const json_t *request; /* of the execute primitive, without "async" */
	const json_t *more; /* members that only this type of orders has, or NULL */
	const char *
		grows; /* a file of its runner's, whose first follower may come before that; or NULL */
	const char *parent_id, *previous_id; /* threads, or NULL */
	/* When it has its id; may add to `more`, which it is told as. NULL is fine. */
	void (*named)(void *arg, const char *thread_id);
	void *named_arg;
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
/*
 * A run of this process that has a row but no directory, and whose caller waits for it: a graph's.
 * It cannot be ended by its row. RYE_BUSY: there is a row of that name.
 */
struct enrolment {
	const char *id, *ref;
	const char *parent_id; /* the thread that has called it, or NULL */
};
int threads_enrol(struct threads *threads, const struct enrolment *what, struct rye_err *err);
void threads_discharge(struct threads *threads, const char *id, const char *status,
		       const char *result);
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
int threads_rows(struct threads *threads, rye_thread_row_fn fn, void *arg, struct rye_err *err);
/* Another one whenever threads_list would tell other names than before; 0: no threads yet. */
uint64_t threads_list_number(struct threads *threads);
struct runner {
	pid_t pid;
	uint64_t start; /* ticks since boot, field 22 of /proc/pid/stat */
	bool here; /* same host, boot and pid namespace: may be signalled */
};

/* The files of a thread. */
enum thread_has {
	HAS_LOCK = 1 << 0,
	HAS_ROW = 1 << 1, /* what its row tells, line by line */
	HAS_REQUEST = 1 << 2,
	HAS_RUNNER = 1 << 3, /* runner.json */
	HAS_ADOPTED = 1 << 4,
	HAS_CANCELLED = 1 << 5, /* the marks of what was asked */
	HAS_KILLED = 1 << 6,
	HAS_RECORD = 1 << 7, /* thread.json */
	HAS_STORY = 1 << 8, /* transcript.jsonl */
	HAS_OFFER = 1 << 9, /* capabilities.md */
	HAS_RESULT = 1 << 10,
	HAS_OUTPUT = 1 << 11,
	HAS_LIVE = 1 << 12,
	HAS_LOG = 1 << 13, /* spawn.log */
	HAS_PARAMS = 1 << 14, /* spawn_params.json: another implementation's request */
	HAS_DIAGNOSTICS = 1 << 15,
	HAS_RECEIPT = 1 << 16, /* of a run elsewhere */
	HAS_REMOTE = 1 << 17, /* how it stands there */
	HAS_CHANGES = 1 << 18, /* what it has changed there */
	HAS_LATE = 1 << 19, /* the receipt of one that was lost */
};
/* What a thread's directory says of it (thread_read.c): the truth, which its row repeats. */
struct thread_read {
	unsigned has; /* enum thread_has */
	/* as they are, unverified; NULL: none, or not asked for */
	json_t *record, *request, *result, *told;
	struct rye_blob *result_text;
	struct runner runner;
	bool named; /* its runner is */
	bool scarce; /* one could not be read for want of descriptors or memory: it may say anything */
};
/* Those of which there is more than that they are there. */
#define THREAD_DOCS (HAS_ROW | HAS_REQUEST | HAS_RUNNER | HAS_RECORD | HAS_RESULT)
#define auto_thread_read __attribute__((cleanup(thread_read_done)))
/* docs: of THREAD_DOCS, those to be read. dir < 0: nothing. */
void thread_read(int dir, const char *id, unsigned docs, struct thread_read *ret);
void thread_read_done(struct thread_read *read);

/* What one look at a thread tells: its row, its family and its directory. */
struct threads_look {
	int dir; /* -1: it has none */
	struct thread_read read;
	struct db *db; /* borrowed */
	struct registry_row row;
	struct registry_links links; /* nothing in it where there is no row */
};
#define THREADS_LOOK_INIT ((struct threads_look){ .dir = -1 })
int threads_look(struct threads *threads, const char *id, unsigned docs, struct threads_look *ret,
		 struct rye_err *err);
void threads_look_done(struct threads_look *look);
int threads_names(struct threads *threads, const struct threads_look *look, rye_name_fn fn,
		  void *arg, struct rye_err *err);
int threads_file(struct threads *threads, const char *id, const char *name, struct rye_blob **ret,
		 struct rye_err *err);
int threads_read(struct threads *threads, const struct rye_thread_part *part, struct rye_blob **ret,
		 uint64_t *ret_size, struct rye_err *err);
/* Is it a word that a runner is told (rye_thread_told)? */
bool threads_is_told(struct rye_span text);
int threads_ctl(struct threads *threads, const char *id, struct rye_span verb, struct rye_err *err);
/* Says that the text is none of these verbs. */
int threads_no_verb(struct rye_span text, const char *known, struct rye_err *err);

/* who->fn once, with the status word, from the watching worker or before this returns. */
int threads_wait(struct threads *threads, const char *id, const struct rye_listener *who,
		 struct rye_err *err);
/* Tells the listener with that argument RYE_CANCELLED, if it still waits. */
void threads_unwait(struct threads *threads, const void *arg);
/*
 * Waits for a thread's end on the calling thread. RYE_INTERRUPTED when `wake` is readable first, RYE_TIMEOUT
 * after wait_ms (negative: never); the thread then goes on.
 */
/* What a person watches is new within this time; inotify would tell it at once, and take 12 ms to be closed. */
#define THREADS_LOOK_MS 25
struct thread_patience {
	int wake; /* or -1 */
	int wait_ms;
	void (*fn)(void *arg); /* meanwhile, every THREADS_LOOK_MS; or NULL */
	void *arg;
};
int threads_await(struct threads *threads, const char *id, const struct thread_patience *patience,
		  struct rye_err *err);

/* A directory of this person's processes alone, gone with the session; no slash at the end. */
#define THREADS_RUNTIME_MAX 64
int threads_runtime_dir(char ret[THREADS_RUNTIME_MAX], struct rye_err *err);
/*
 * What is said to a running thread (thread_socket.c). The runner's listening socket, of packets that
 * are answered with "ok" or a sentence; the path is its to unlink.
 */
int threads_hear(const char *project, const char *id, char ret_path[108], struct rye_err *err);

/* The last of a chain of threads that handed over to each other; its own id when there is none. */
int threads_last(struct threads *threads, const char *id, char ret[THREAD_ID_MAX]);
/* Its directory, the caller's descriptor; -1 with *err, which may be NULL: RYE_NOT_FOUND when there is none. */
/* Has no row, and no launcher that would enter one: it died, or could not. */
bool threads_unborn(struct threads *threads, const char *id);
int threads_dir(struct threads *threads, const char *id, struct rye_err *err);
/* When the row of a thread that has ended was written last; false: it has not ended. */
bool threads_row_time(const struct registry_row *row, struct timespec *ret);
bool threads_end_time(struct threads *threads, const char *id, struct timespec *ret);
int threads_children(struct threads *threads, const char *id, rye_name_fn fn, void *arg,
		     struct rye_err *err);
/* The registry, opened once, borrowed; RYE_NOT_FOUND when it does not exist and `create` is false. */
int threads_registry(struct threads *threads, bool create, struct db **ret, struct rye_err *err);
/*
 * A project's registry; RYE_NOT_FOUND when there are no threads and `create` is false. One that cannot
 * be read, or is gone from beside its threads, is made anew; log, or NULL, is told.
 */
struct registry_ask {
	const char *project;
	bool create;
	bool passing; /* of struct threads_env */
	uint64_t damaged; /* inode of one that was found damaged behind its first page; 0: of none */
	const struct log *log;
};
int registry_of(const struct registry_ask *ask, struct db **ret, struct rye_err *err);
/* Relative path of 1..n clean components, at most 1024 bytes: RYE_INVALID otherwise. */
int thread_id_check(const char *id, struct rye_err *err);

/* The path of a file of .ai/state/threads, which is there: databases want one. */
#define THREADS_PATH_MAX 4200
int threads_path(const char *project, const char *name, char ret[THREADS_PATH_MAX],
		 struct rye_err *err);

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
/* It was asked to end: should it be killed before it has, its end is a cancel all the same. */
void orders_stopping(const struct orders *orders);
/*
 * In a thread's directory: it is to be cancelled. Any program may put it there; the runner, or the
 * mount that carries the thread out, notices it. Gone when the end is recorded.
 */
#define CANCEL_MARK ".cancel_requested"
#define REMOTE_FILE "remote" /* of a run elsewhere: how it stands there */
/* Writes down how the thread ended; that can be tried again. */
int orders_end(const struct orders *orders, const char *status, const struct rye_outcome *outcome);
/* The thread's directory was removed: no later try finds a place for its end. */
bool orders_gone(const struct orders *orders);
const char *orders_project(const struct orders *orders);
const char *orders_thread(const struct orders *orders);

/* No new threads of this project, as long as this process lives; and again. */
int threads_drain(struct threads *threads, struct rye_err *err);
void threads_accept(struct threads *threads);
/* RYE_BUSY: no thread may begin but what a running one starts. */
int threads_may_start(struct threads *threads, struct rye_err *err);

/* What killed launchers and runners have left behind (thread_left.c); fn may be NULL. How many. */
size_t threads_left(struct threads *threads, bool drop, rye_name_fn fn, void *arg);

#endif
