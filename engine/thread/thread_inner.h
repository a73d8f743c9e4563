/* SPDX-License-Identifier: MIT */
/*
 * thread_inner.h: what the files of thread/ share.
 */
#ifndef RYE_THREAD_THREAD_INNER_H
#define RYE_THREAD_THREAD_INNER_H

#include "base/json.h"
#include "err.h"
#include "record/record.h"
#include "thread/thread.h"

#include <rye/rye.h>

#include <pthread.h>
#include <sys/types.h>

/*
 * thread_dir.c: a thread's directory: where it is, its lock, its identity file. The lock (an
 * open-file-description lock on `.lock`, inherited by the runner) says whether a runner lives; pid
 * and start time are only for signals.
 */

/* STEM-SECONDS; each further try another one, in milliseconds. */
void thread_id_at(const char *stem, int64_t now_us, int try, char ret[THREAD_ID_MAX]);

/* Conversations and state are named in .ai/.gitignore; where that fails, doctor tells of it. */
void thread_keep_uncommitted(const char *project);
/* .ai/state/threads of the project, made when `create`; an O_RDONLY directory descriptor. */
int thread_root(const char *project, bool create, struct rye_err *err);
/* The path of a file in it, by where that directory is just now; 0 or -errno. */
int thread_path(int root, const char *name, char ret[THREADS_PATH_MAX]);
/*
 * The registry lies where it was opened: after `rm -r .ai/state` the open one still has its rows, but
 * only a directory makes a thread then.
 */
bool thread_registry_there(int root);
/*
 * A graph whose caller waits has a row and, beside the threads, a run of that name, whose transcript
 * the process that walks it has locked.
 */
bool thread_is_run(int root, const char *id);
/*
 * Of many ids, most may have no directory (a registry that came with a clone): the names beside one
 * another in state/threads and in state/graphs, read once behind the ids. NULL: they cannot be read,
 * and each id may be there. Owned by the caller.
 */
json_t *thread_names(int root);
bool thread_may_be(const json_t *names, const char *id);
/* Is it walked? -errno: that cannot be told; -ENOENT: there is no such run. */
int thread_run_walked(int root, const char *id);
int thread_dir(int root, const char *id, bool create, struct rye_err *err);

/* The directory with its files, as far as that is possible. */
void thread_remove(int root, const char *id);

/*
 * Takes `.lock`; the descriptor is the lock. -EAGAIN: a runner, a launcher or the process that records
 * an end has it. -EBUSY: only readers have it; theirs is the one lock that a tool in its box can take
 * here, and it says nothing.
 */
int thread_lock(int dir);

/* runner.json names the runner, a process of this machine; false: none, or unreadable. */
int runner_write(int dir, pid_t pid, struct rye_err *err);
bool runner_read(int dir, struct runner *ret);
/* A pidfd of the living runner; -ESRCH: gone, or not ours to signal; proc_is_short: not known for now. */
int runner_pidfd(const struct runner *runner);

/* Ends every process whose environment says that it belongs to the thread. */
void thread_kill_strays(const char *id);

struct zombies {
	pid_t pid[64]; /* more are a later look's */
	size_t n;
};
/*
 * Reaps the dead children that were dead at the last look already: the thread that waits for one of
 * them has had its time. Looks should be a second apart. How many are left for the next one.
 */
size_t zombies_sweep(struct zombies *seen);

int thread_write(int dir, const char *name, struct rye_span bytes, struct rye_err *err);
int thread_remember(int dir, const char *name, struct rye_span bytes,
		    struct rye_err *err); /* not synced */

/*
 * thread_states.c: what a thread's row, its directory and the processes come to, and what each event
 * does then. Pure: the facts are gathered by thread_view.c, the acts carried out by thread_control.c.
 */

enum thread_state {
	THREAD_STARTING, /* a launcher holds its lock and has not named the runner yet */
	THREAD_RUNNING, /* its runner lives, and may be signalled */
	THREAD_CARRIED, /* by a mount, which reads marks: a signal would end the mount */
	THREAD_ELSEWHERE, /* its runner is of another host, boot or pid namespace */
	THREAD_FOREIGN, /* another implementation's, and its process lives */
	THREAD_LOST, /* its row is open and no process works on it */
	THREAD_ENDED, /* its row says so */
	THREAD_STATE__MAX
};

struct thread_facts {
	bool terminal; /* the row's status */
	bool named; /* runner.json is there */
	bool here; /* named: of this host, boot and pid namespace */
	bool alive; /* named: that process lives */
	bool carried; /* named: it is a mount */
	bool locked; /* another process holds `.lock`, to write */
	bool pid_alive; /* the row's pid is a process that lives here */
};
enum thread_state thread_state_of(const struct thread_facts *facts);

enum thread_event {
	THREAD_LOOK, /* a scan, a waiter, or the end of a watched process */
	THREAD_CANCEL,
	THREAD_KILL,
	THREAD_DELETE,
	THREAD_EVENT__MAX
};

enum thread_act {
	THREAD_LATER, /* nothing now; another look may find more */
	THREAD_WATCH, /* the end of its process will wake the watching worker */
	THREAD_TELL, /* the waiters, that it has ended */
	THREAD_SIGNAL, /* SIGTERM: the runner cancels */
	THREAD_SHOOT, /* SIGKILL to runner and tools, then its end is recorded as killed */
	THREAD_MARK, /* leave the event's mark in the directory; then look once more */
	THREAD_RECORD, /* how it ended; then the event again, in that state */
	THREAD_BURY, /* record that it was killed: there is no process left to signal */
	THREAD_REMOVE, /* directory and row */
	THREAD_REFUSE, /* with code and sentence */
};

struct thread_step {
	enum thread_act act;
	enum rye_code code; /* of a refusal */
	const char *sentence; /* follows "thread ID" */
};
const struct thread_step *thread_step(enum thread_state state, enum thread_event event);

/*
 * What the files of thread/ share. A watched runner is a row of the table below with
 * a pidfd in the worker's epoll set; its waiters hang on it.
 */

struct thread_waiter {
	rye_done_fn fn;
	void *arg;
	struct thread_waiter *next;
	struct rye_blob *line; /* of WAITER_LINE bytes, until it is told: then the status, one line */
	char id[1025];
};
#define WAITER_LINE 64

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
	pthread_mutex_t
		lock; /* watched, waiters, adopted, registry pointer, list*, stopping, behind */
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
	bool behind; /* the worker is to begin with a scan */
};

#define ORDERS_FD 3 /* the runner's descriptors, see orders_take() */
#define LOCK_FD 4
#define GO_FD 5 /* a pipe: end of file once the launcher knows the runner as its own */

#define THREAD_RESULT_FILE "result.json"
#define THREAD_STORY_FILE "transcript.jsonl"
/* In the directory of a thread that is being killed: the process that records its end says so. */
#define KILLED_MARK ".killed"
#define KILLED_WHY "Killed by request"
#define CANCEL_WHY "Cancelled"
/* In that of one that is carried out by a mount. */
#define ADOPTED_MARK ".adopted"
bool thread_marked(int dir, const char *mark);

/* What cannot be read may have one (thread_left.c). */
bool thread_has_row(struct threads *threads, const char *id);

/* thread_read.c */
struct thread_file {
	const char *name;
	unsigned bit; /* of enum thread_has */
	bool shown; /* in a mount, as it is */
};
extern const struct thread_file thread_files[]; /* ends with one without a name */
/* NULL: no file of a thread's. */
const struct thread_file *thread_file(const char *name);
/* What a launcher puts there before there is a row. */
#define THREAD_LAUNCHED (HAS_LOCK | HAS_ROW | HAS_ADOPTED | HAS_REQUEST | HAS_RUNNER)
/* Is it one that runs or has run, not one that a launcher has left or is at? Tries its lock. */
bool thread_is_begun(int dir, const struct thread_read *read);

/* A memfd with type, request and the engine's options. */
int runner_orders(const struct threads *threads, const char *id, const struct launch *what,
		  struct rye_err *err);
#define RUNNER_DIGEST 65
/* Of what a thread was asked, for its runner's arguments; "": short of memory. */
void runner_digest(const char *id, const json_t *request, char ret[RUNNER_DIGEST]);
/* Was this process started as the runner of that digest? */
bool runner_has(pid_t pid, const char digest[RUNNER_DIGEST]);
/* The descriptors that it is started with; the caller closes them. */
struct runner_start {
	int dir, order, lock;
	int go; /* the reading end of a pipe */
	char *digest; /* of runner_digest */
	const char *grows; /* of struct launch */
	char *const *lent; /* of struct threads_env */
	bool again; /* its files are there: more is written behind what is in them */
};
/* 0 or a positive errno. */
int runner_spawn(const struct runner_start *start, pid_t *ret_pid);

/* The file as it is; RYE_NOT_FOUND: there is none, or it is empty. RYE_UNPARSABLE: the damaged one. */
int thread_registry_read(int root, const struct registry_ask *ask, struct db **ret,
			 struct rye_err *err);

/* thread_row.c */
/* Its row by its columns, over what the log of all threads tells. */
void thread_row(int dir, const struct thread_read *read, json_t *row);
/* Brings the row of a thread into line with its directory. */
int thread_align(struct db *db, int dir, const char *id, struct rye_err *err);

/* thread_rebuild.c */
int thread_rebuild(int root, const struct registry_ask *ask, struct rye_err *err);
/* What it would be made of; a new reference. */
json_t *thread_rebuild_rows(int root);
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

/* Tells a running thread something; RYE_BUSY: it does not listen (thread_socket.c). */
int thread_tell(const char *project, const char *id, struct rye_span words, struct rye_err *err);
/* Removes the socket of a runner that was killed. */
void thread_unhear(const char *project, const char *id);

/* One thread, opened (thread_view.c). */
struct thread_view {
	int dir; /* negative: there is none */
	bool there; /* a directory, or a row in the registry on disk */
	bool walked; /* the run of a graph, which goes on */
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
/* The same of a thread that is listed, else RYE_NOT_FOUND. */
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
/* The watching worker, which any living thread starts. 0 or -errno. */
int threads_worker_start(struct threads *threads);
void threads_worker_stop(struct threads *threads);

/* Into the directory, then the registry. dir < 0: that alone. */
int threads_record_end(struct db *registry, int dir, const char *id, const char *status,
		       const struct rye_outcome *outcome, bool passing);
/* An outcome that only says what became of a thread. */
int threads_record_loss(struct db *registry, int dir, const char *id, const char *status,
			const char *why);
/*
 * The end of a runner that left no row: its result if there is one, else what happened to it.
 * Ends what is left of its processes.
 */
enum thread_loss {
	THREAD_LOSS_NO_ROOM, /* it is open still */
	THREAD_LOSS_RECORDED,
	THREAD_LOSS_TAKEN_UP, /* another runner goes on with it */
};
enum thread_loss threads_record_lost(struct threads *threads, const struct thread_view *view,
				     int exit_status, bool killed);
/* thread.c: a runner in the place of one that is gone, with the directory, the lock and the row of the view. */
int threads_take_up(struct threads *threads, const struct thread_view *view,
		    const struct launch *what, struct rye_err *err);

#endif
