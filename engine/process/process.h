/* SPDX-License-Identifier: MIT */
/*
 * process.h: starting one process and seeing it through; its environment, its result, and what
 * outlives it.
 */
#ifndef RYE_PROCESS_PROCESS_H
#define RYE_PROCESS_PROCESS_H

#include "base/json.h"
#include "buf.h"
#include "sandbox/sandbox.h"

#include <rye/rye.h>

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * events.c: what a call tells while it runs. The worker that runs the call puts events into a
 * queue; a thread of this call alone, the teller, hands them to the listener and tells the end
 * last. So the worker never waits for a listener, however slow that is.
 *
 * Lock: `lock` of struct events guards the queue; it is not held while the listener is called.
 */

/* Texts of one piece, at most: what a listener gets at once. */
#define EVENTS_PIECE (64u << 10)
/*
 * Pieces that wait at most. Behind that a stream's text is added to the stream's last piece:
 * no text is lost, but the order between the two streams is no longer told.
 */
#define EVENTS_WAITING 1024

/* The tellers that live: the engine is not closed under one. */
struct tellers {
	pthread_mutex_t lock; /* of n */
	pthread_cond_t none;
	size_t n;
};
void tellers_init(struct tellers *tellers);
void tellers_done(struct tellers *tellers); /* waits until there are none */

struct events;

/* NULL: no listener, or no memory; every function takes that. */
struct events *events_new(struct tellers *tellers, const struct rye_event_listener *who);
void events_free(struct events *events); /* after its teller, or without one */

/* On the worker of the call. Bytes become text: broken characters U+FFFD, none cut in two. */
void events_output(struct events *events, enum rye_stream stream, struct rye_span bytes);
void events_progress(struct events *events, uint64_t bytes);
void events_state(struct events *events, enum rye_event_state state);
void events_thread(struct events *events, const char *id); /* it has started as this thread */

/*
 * The last event: calls tell(arg, outcome) on the teller, behind all others. False: there is no
 * teller, since nothing was ever told; then nothing is called.
 */
typedef void (*events_end_fn)(void *arg, const struct rye_outcome *outcome);
bool events_end(struct events *events, const struct rye_outcome *outcome, events_end_fn tell,
		void *arg);

/*
 * spawn.c: one process, started the safe way: its own session and process group, no inherited
 * descriptor but the ones named here, default signals, limits, confinement, an absolute path.
 */

struct spawn_ask {
	const char *path; /* absolute */
	char *const *argv;
	char *const *envp;
	const char *cwd;
	int in, out, err; /* become 0, 1, 2; any number */
	int extra, extra_at; /* one more descriptor and its number; -1: none */
	const struct box *box; /* NULL: not confined */
	bool bound; /* the calling thread is, by boxes_bound_thread */
	_Atomic pid_t *session; /* the child writes its session here before exec; or NULL */
};

struct child {
	pid_t pid;
	int pidfd; /* readable when it has ended; owned by the caller */
};

/*
 * RYE_TOOL_FAILED "Failed to spawn: <path>: <why>" when the program cannot be started;
 * nothing is left of it then.
 */
int spawn(const struct spawn_ask *ask, struct child *ret, struct rye_err *err);

/*
 * A process that has done all this but the working directory and the program, and waits for
 * them: what is left costs what exec costs. It ends itself when we are gone.
 */
struct spawn_parked;

/* As spawn, of what ask has but path, argv, envp, cwd, extra and session. `in` is needed. */
int spawn_park(const struct spawn_ask *ask, struct spawn_parked **ret, struct rye_err *err);
pid_t spawn_parked_pid(const struct spawn_parked *parked);
/*
 * Gives it path, argv, envp and cwd, which live on until its end; in < 0: /dev/null takes the
 * place of its input. *ret as spawn's. False: it has died meanwhile.
 */
bool spawn_go(struct spawn_parked *parked, const struct spawn_ask *ask, struct child *ret);
/* For one that has ended: could the program not be started? As spawn's error then. */
int spawn_went(const struct spawn_parked *parked, struct rye_err *err);
/* Frees it; one that still waits is ended before. NULL is fine. */
void spawn_unpark(struct spawn_parked *parked);
/* SIGKILL to the process alone; nothing if there is none. It must not have been reaped. */
void spawn_kill(const struct child *child);

/* Waits for the end of a child of ours and reaps it. Closes pidfd. */
struct ended {
	int code; /* -1 after a signal */
	int signal; /* 0: exited by itself */
};
void spawn_reap(struct child *child, struct ended *ret);

/*
 * capture.c: sees a started process through: feeds its standard input, reads both outputs with a
 * cap, ends its group when time is over or the call was cancelled, and returns when it has ended,
 * not when the last holder of its pipes has. Waits on descriptors only.
 */

struct capture_ask {
	struct child child; /* taken over: reaped, pidfd closed, but behind a "D". pid < 0: none */
	pid_t group; /* process group to end */
	int control; /* of a warm interpreter: "D<code>\n" or "X<status>\n" ends it; -1: none */
	int in, out, err; /* our ends of its pipes, taken over; in may be -1 */
	struct rye_span input;
	int cancel; /* readable once the call is cancelled; -1: it cannot be */
	int64_t timeout_ms; /* 0: none */
	size_t cap; /* of each output */
	struct events *events; /* told of what it prints; NULL: no listener */
};

struct captured {
	struct rye_buf out, err;
	uint64_t out_bytes, err_bytes; /* that were written; more than .len: truncated */
	struct ended ended;
	bool timed_out, cancelled;
	bool background; /* something of it still holds a pipe */
	int64_t ms;
};

/* Blocking pipes of the child's side, non-blocking of ours; all close-on-exec. */
struct pipes {
	int in[2], out[2], err[2]; /* [0] reads, [1] writes; -1: none */
};
int pipes_open(struct pipes *pipes, bool input, struct rye_err *err);
void pipes_close_child(struct pipes *pipes); /* the three ends the child has */
void pipes_close(struct pipes *pipes);

/* Starts what gets the child's ends; ours and the child itself go to *how. Closed and not started otherwise. */
int pipes_spawn(struct pipes *pipes, struct spawn_ask *ask, struct capture_ask *how,
		struct rye_err *err);

/* A sealed file without a name (memfd) that holds this text; -errno. */
int sealed_open(const struct rye_blob *text);

void capture(struct capture_ask *ask, struct captured *ret);
void captured_done(struct captured *captured);

/*
 * environment.c: the environment of a child, a list of "NAME=VALUE" (docs/tools.md). What the
 * engine was started with is not inherited: a child gets the allow-list and what the signed chain
 * asks for by name.
 */

/* Failure (no memory) is sticky: check `failed` once. v ends in NULL whenever it is not NULL. */
/* Where a value comes from; one that is made of several has several. */
enum env_from {
	ENV_SIGNED = 1, /* text that was verified */
	ENV_OWN = 2, /* the person's own environment */
	ENV_STORE = 4, /* the person's secrets */
	ENV_GIVEN = 8, /* a caller's parameter */
	ENV_OTHER = 16, /* the project's .env, and whatever else has no signature */
};

struct env {
	char **v;
	unsigned char *from; /* enum env_from of each */
	size_t n, size;
	bool failed;
};

#define auto_env __attribute__((cleanup(env_done)))

void env_done(struct env *env);
const char *env_get(const struct env *env, const char *name); /* NULL: not set. Borrowed */
void env_put(struct env *env, const char *name, const char *value); /* from: ENV_OTHER */
void env_put_from(struct env *env, const char *name, const char *value, unsigned from);
unsigned env_from(const struct env *env, const char *name); /* 0: not set */
void env_copy(struct env *env, const struct env *from); /* adds all of from */
void env_rows(struct env *env, char *const *rows); /* the same of "NAME=VALUE" rows */

/* Identifier characters, no leading digit. */
bool env_name_ok(const char *name);

/*
 * The allow-list applied to the engine's own environment: HOME PATH LANG LC_* TERM USER
 * LOGNAME SHELL TMPDIR TZ USER_SPACE RYE_* (no keys, no interpreters, no loader variables),
 * and extra, colon-separated names. PATH loses entries that are empty,
 * relative or inside the project.
 */
void env_base(struct env *env, char *const *own, const char *extra, const char *project);

/*
 * The same for runs of a node's principal: none of RYE_* but what an engine starts by, and names, an
 * array of texts.
 */
void env_lend(struct env *env, char *const *own, const json_t *names);

/* May a project's .env give this name a value, if the signed chain asks for it? */
bool env_dotenv_may(const char *name);
/* The file's text: lines NAME=VALUE, '#' comments; "export " lines are skipped. */
void env_dotenv(struct env *env, struct rye_span text);

/*
 * Absolute path of a program: `name` with a slash is taken as it is (relative ones are
 * refused), a bare one is looked for in a cleaned PATH. Free it. NULL: not there.
 */
char *env_which(const char *name, const char *path);

/*
 * result.c: what a process printed and how it ended → what its tool answered (docs/tools.md): any
 * JSON value counts, an error is never empty, NaN becomes null.
 */

struct captured;

struct result {
	enum rye_code code; /* RYE_OK, RYE_TOOL_FAILED, RYE_TIMEOUT, RYE_CANCELLED … */
	json_t *data; /* never NULL after result_of; owned */
	json_t *warnings; /* array of strings, owned */
	char *error; /* "" when code is RYE_OK; owned */
	bool retryable; /* the tool said "retryable": true */
	int exit; /* of a program: its status, −1 by a signal or never started; else 0 */
};

void result_of(const struct captured *got, int64_t timeout_ms, struct result *ret);
/* The process never was: return_code −1, error in stderr. */
void result_unspawned(const struct rye_err *err, struct result *ret);
void result_done(struct result *result);

/*
 * Adds bytes to ret as text: invalid sequences become U+FFFD. How many bytes were used; unless
 * `end`, a character that is cut off at the end is left.
 */
size_t result_mend(struct rye_span bytes, bool end, struct rye_buf *ret);
/* Bytes as text: invalid sequences become U+FFFD, as Python and Rust do; NULs stay. */
json_t *result_text(struct rye_span bytes);

/*
 * strays.c: processes that outlive the run they belong to. Orphans come to this process
 * (subreaper); they carry their run's mark in the environment, or its session.
 *
 * Lock: `lock` of struct strays guards the table of orphans that were seen alive.
 */

struct strays;

struct strays *strays_open(void); /* NULL: no memory */
void strays_close(struct strays *strays);
/*
 * From now on a thread of its own reaps dead orphans as they come, also while no run lives.
 * The first thread has to block SIGCHLD; where it does not, nothing is reaped so. limit: of the
 * processes of all runs together, which it enforces for as long as `held` says that nothing else
 * does; 0: none.
 */
void strays_watch(struct strays *strays, size_t limit, bool (*held)(void));

void strays_mark(uint64_t run, char ret[48]); /* "RYE_RUN=<pid>.<number>" */

/*
 * How many orphans of that run are there? 0 where the kernel cannot tell. Dead orphans of
 * runs are reaped on the way; no other child of this process is touched.
 */
size_t strays_count(struct strays *strays, pid_t session, uint64_t run);
/*
 * After the run's group was killed: its orphans come to us a moment after their parent's end and
 * stay zombies until we look, so look until the group is gone (at most 0.1 s). What had left the
 * group is killed on the way: a run that had to be ended leaves nothing behind.
 */
void strays_settle(struct strays *strays, pid_t session, uint64_t run);

/* census.c: see there. */
struct census {
	size_t limit, least; /* tasks that the machine had at least */
};
void census_look(struct census *census, pid_t engine);
/* More processes of that engine's runs than this: all of them are killed. How many. */
size_t census_enforce(pid_t engine, size_t limit);

/* minder.c: see there. NULL: no process or memory is to be had; minder_end takes that. */
struct minder {
	pid_t pid;
	int pipe;
};
struct minder *minder_start(void);
void minder_end(struct minder *minder); /* the engine ends by itself: nothing is killed */

/*
 * give.c: files of root's for another account, and this process for it. What is not root's is left.
 */
/*
 * The tree beneath, and what is in it, is that account's now. No link is followed, other accounts' files
 * and those with another name elsewhere are left, and so is what lies deeper. 0 or -errno of the tree itself.
 */
int give_tree(int dirfd, const char *name, uid_t uid, int depth);
/* This process, which is root's, is that account's from now on, its groups too. -errno: nothing may go on. */
int give_process(uid_t uid);

#endif
