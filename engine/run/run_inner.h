/* SPDX-License-Identifier: MIT */
/*
 * run_inner.h: what the files of run/ share.
 */
#ifndef RYE_RUN_RUN_INNER_H
#define RYE_RUN_RUN_INNER_H

#include "base/id.h"
#include "base/json.h"
#include "policy/policy.h"
#include "plan/plan.h"
#include "process/process.h"
#include "run/run.h"
#include "sandbox/sandbox.h"
#include "warm/warm.h"

/*
 * runs.c: the runs that live: which processes are theirs, what their item may call.
 *
 * Lock: `lock` of struct runs guards the list and every field of its members but `session`,
 * which the child itself writes before exec.
 */

struct living {
	uint64_t number; /* never 0 */
	uint64_t parent; /* the run whose child asked, or 0 */
	unsigned depth; /* of runs above it that were known when it began */
	_Atomic pid_t session; /* of its process; 0: none yet */
	struct rye_call *call; /* NULL once it is over */
	json_t *requires_list; /* of its signed item, owned; NULL: nothing may be called */
	struct confine confine;
	struct living *next;
};

struct exec;
struct runs;

struct runs *runs_open(void);
void runs_close(struct runs *runs);
void runs_cancel_all(struct runs *runs);

/* The run has a number from now on, and holds a reference to call; NULL: no memory. */
struct living *runs_begin(struct runs *runs, struct rye_call *call, uint64_t parent);
/* What its item declares, with whole names (capabilities_whole), before its process starts. */
void runs_item(struct runs *runs, struct living *living, const json_t *requires_list,
	       struct confine confine);
/* Its processes may outlive it: it stays known while its session has members. */
void runs_end(struct runs *runs, struct living *living);

/* Nearest run these ancestors (from the process itself upwards) or this session belong to. */
uint64_t runs_of(struct runs *runs, const pid_t *chain, size_t n, pid_t session);
/* The process it was started as; 0: no such run, or none yet. */
pid_t runs_leader(struct runs *runs, uint64_t run);
/*
 * What holds children of that run, and how it is confined itself; the asker becomes a stranger when it is
 * not known. The item of a run of another process is loaded, without the lock.
 */
void runs_authority(const struct exec *exec, uint64_t run, struct authority *ret,
		    struct confine *ret_limit);

/*
 * exec.c: the parts of an engine that runs things.
 */

struct runq;
struct strays;
struct warm;
struct http;
struct mcp;

struct exec {
	struct exec_env env;
	struct plan_base base;
	struct runs *runs;
	struct strays *strays;
	struct warm *warm;
	struct http *http;
	struct mcp *mcp;
	struct runq *runq;
	struct tellers tellers; /* of calls that have a listener */
	_Atomic uint64_t started; /* runs, for rye_counts */
	_Atomic bool closing; /* a run that begins now is cancelled */
	_Atomic bool attended;
	struct minder *minder; /* of the worker that attended; frozen until exec_close */
	struct rye_outcome lost; /* of a request, or a reply, that there is no memory for */
};

/*
 * Before a process is started by an engine that is no mount's, whose daemon has this from its
 * beginning: its orphans are reaped as they come, and its tools do not outlive it.
 */
void exec_attend(struct exec *exec);

/*
 * What is left to do when a run's answer is known and no caller has to wait for it. Done on the
 * run's worker as soon as the answer is out; fn frees what self lies in.
 */
struct later {
	struct later *next;
	void (*fn)(struct exec *exec, struct later *self);
};

/*
 * run_reply.c: replies as the formats have them, and the plain text of `output` (docs/files.md). A
 * reply is put together by one worker, then frozen into blobs.
 */

struct reply {
	enum rye_code code;
	json_t *doc; /* status first; owned */
	json_t *metadata; /* put last by reply_outcome; owned */
	json_t *warnings; /* array of strings, goes into metadata; owned */
	json_t *trace; /* array or NULL: not asked for; owned */
	char *output; /* plain text; NULL: made from the reply; owned */
	char *line; /* all that is told, when it is no document; NULL: it is; owned */
	struct rye_blob *instead; /* a message that would have done, or NULL; owned */
	char message[960]; /* of an error */
	int64_t start_us; /* clock_us() */
	unsigned long memory; /* memory_failures() when it began */
};

void reply_init(struct reply *reply);
void reply_done(struct reply *reply);

/* status "error"; error_type for integrity; item_id as the caller wrote it (NULL: none). */
void reply_error(struct reply *reply, const struct rye_err *err, const char *item_id);
/* status "success", type, item_id. */
void reply_start(struct reply *reply, const char *status, enum rye_kind kind, const char *item_id);
void reply_warn(struct reply *reply, const json_t *texts);

/* What a reply says that has no room for itself; RYE_IO when there is not even room for that. */
int reply_lost(struct rye_outcome *ret, struct rye_err *err);
/*
 * Freezes it: the blobs in *ret belong to the caller, message to the reply. One of which a part is
 * missing for lack of memory is `lost` instead.
 */
void reply_outcome(struct reply *reply, const struct rye_outcome *lost, struct rye_outcome *ret);

/*
 * request.c: what a caller wrote → a typed request. Outside bytes: fuzzed. Nothing is looked up
 * here; combinations that can never be are refused before any disk.
 */

struct request {
	enum rye_verb verb;
	enum rye_kind kind; /* RYE_KIND__MAX: a bare id, any kind */
	char *spelled; /* item_id as the caller wrote it: echoed; owned */
	const char *id; /* into spelled, behind "kind:" */
	bool by_type; /* seed form: item_type beside a plain id */
	json_t *doc; /* the request of the execute primitive; owned */
	json_t *params; /* object, owned */
	bool dry_run, async, fork, trace;
	char remote[ID_NAME_MAX + 1]; /* where it runs; "": here */
	bool unpushed; /* there: what was sent last will do */
	json_t *order; /* there: the text of what is ordered once; or NULL; owned */
	bool part; /* refused as a part of a message: nothing that would do is known */
	const char *resume; /* a thread's id, into doc; "": none */
	bool no_net, no_write, no_shown; /* a runner asks for a run that was confined to this */
	double timeout; /* the caller's, seconds, once it is taken out of params; 0: none */
	json_t *warnings; /* array of strings, owned */
};

void request_done(struct request *request);

/* Parameters of one call: each may be checked, remarked upon and named in a remedy. */
#define REQUEST_PARAMETERS 10000

/*
 * RYE_EXECUTE: doc is the primitive's request. The other verbs: doc is the item's parameters,
 * kind and id come beside it. Errors are RYE_INVALID with the format's texts; RYE_TOO_BIG with more
 * than REQUEST_PARAMETERS.
 */
int request_read(const struct rye_request *req, const char *project, struct request *ret,
		 struct rye_err *err);
/* Reads ret->doc; fails when the message may be a part of a request, which names its item. */
int request_message(const struct rye_request *req, struct request *ret, struct rye_err *err);
/* Fails when the message may be a part of the item's parameters. */
int request_whole(const struct rye_request *req, struct request *request,
		  const struct rye_item *item, struct rye_err *err);
/* The execution matrix (request.c); for a bare id called again once the kind is known. */
int request_matrix(const struct request *request, enum rye_kind kind, struct rye_err *err);
/* "local", or absent: ""; "remote": "default"; "remote:NAME". RYE_INVALID: it is none of them. */
int target_read(const json_t *value, char ret[ID_NAME_MAX + 1], struct rye_err *err);
/* `push` and `order` of doc, of what runs elsewhere. */
int request_sending(const json_t *doc, struct request *request, struct rye_err *err);
/* Once both are known: is what only a thread obeys asked of a thread? */
int request_launch(const struct request *request, struct rye_err *err);

/* "kind:id" or item_type + item_id of fetch and sign requests; echo form in ret->spelled. */
int request_ref(const json_t *doc, struct request *ret, struct rye_err *err);
/* project_path: absent, or this mount's project. */
int request_project(const json_t *doc, const char *project, struct rye_err *err);

/*
 * run.c: one request while a worker carries it out, down to its primitive. Everything in it belongs to that
 * worker; only the call and the living run are shared.
 */

struct run {
	struct exec *exec;
	struct rye_call *call;
	const struct rye_request *ask; /* as it came, copied by exec_start */
	struct request request;
	struct reply reply;
	struct ground *ground; /* of a tool: the reply shares parts of it; or NULL */
	struct living *living;
	struct authority asker;
	struct confine limit; /* what the asking run is confined to itself */
	struct later *later; /* for when the answer is out */
	const json_t *own_params; /* taken out of the request's by the primitive; or NULL; borrowed */
	const char *stem; /* of a thread's id, see struct exec_detach */
};

/* Its asker and what holds it, once: a child of a run, a runner, a thread's model or a person. */
void run_authorize(struct run *run);
/* May it, with the item of that id? kind RYE_KIND__MAX, id NULL: none is known. RYE_DENIED. */
int run_may(const struct run *run, enum act act, enum rye_kind kind, const char *id,
	    struct rye_err *err);
/* True: the item may not be run, and the reply says why not. */
bool run_refused(struct run *run, enum rye_kind kind, const char *id);
/* Async and fork go to the layer that keeps threads. */
void run_detached(struct run *run, const char *ref);
/* A thread that has ended goes on as a new one. */
void run_resumed(struct run *run);
/*
 * Where it is to run, said beside the parameters of an item's own verb: "remote", "remote:NAME"; of what runs
 * elsewhere `order` and `push`, too. Not what the item has a parameter of that name for.
 */
int run_take_target(struct run *run, const struct rye_item *item, struct rye_err *err);
/* It may go on as a thread from here on (rye_call_detach). */
void run_movable(struct run *run, const char *ref);
/* The same for a call of a tool that no worker has looked at yet. */
void run_movable_early(struct rye_call *call);
/* A file of the space was written: the index hears of it. run: void, as those that write call it. */
void run_touched(void *run, const struct space *space, const char *path);
/* Before the reply: its caller reads at once. */
void run_wait_told(const struct run *run);
void run_fail(struct run *run, const struct rye_err *err);
/* The same with a sentence that needs no more. */
void run_fail_with(struct run *run, enum rye_code code, const char *text);
/* Of a refused request that wants it: the message that would do, and which item was meant. */
void run_advise(struct run *run);
/* A bare id's kind: the only one that has it (RYE_NOT_FOUND, RYE_INVALID when several do). */
int run_find_kind(const struct item_env *env, const char *id, enum rye_kind *ret,
		  struct rye_err *err);

/*
 * exec.c: a call of rye_start: its request, and whether it has become a thread.
 *
 * Lock: that of the call guards state, ref, request and thread_id; hooks are called without it.
 */

struct job {
	struct rye_call call; /* first: the engine's callers know the job by it */
	struct exec *exec;
	struct rye_request ask; /* what it points to is ours; frozen */
	char *id, *authority, *target;
	struct rye_blob *message;
	struct rye_err unfit; /* why the request cannot be carried out; .code RYE_OK: it can */
	void (*prepare)(struct rye_call *call); /* before it may go on as a thread; or NULL */
	pthread_cond_t moved; /* state is no longer JOB_ADOPTING */
	enum { JOB_PLAIN, JOB_MOVABLE, JOB_ADOPTING, JOB_ADOPTED, JOB_OVER } state;
	char *ref; /* of the running item, "tool:a/b" */
	json_t *request; /* that would run it again, for the thread's record */
	char thread_id[64];
};

/* Of a call that job_call made. */
static inline struct job *job_of(struct rye_call *call)
{
	return (struct job *)call;
}

/* The call of a new job; both references as call_init. */
struct rye_call *job_call(struct exec *exec, const struct rye_request *req, rye_done_fn fn,
			  void *arg);
/* From now on it may go on as a thread. Takes request over. */
void job_movable(struct job *job, const char *ref, json_t *request);
/* Records the end of a thread if it has become one, then tells the caller. */
void job_finish(struct rye_call *call, const struct rye_outcome *outcome);

/*
 * queue.c: a bounded pool of threads that carry out calls in the order they came, those of children
 * of runs first. Threads are made when wanted and end when idle. A call that finds the queue full,
 * or that was cancelled while waiting, is answered by one extra thread: the thread that starts a
 * call never waits.
 *
 * Lock: `lock` of struct runq guards everything in it; work is done without it.
 */

/* verdict: RYE_OK: carry it out; else why it must only be answered (RYE_BUSY, a cancel). */
typedef void (*runq_fn)(void *arg, struct rye_call *call, enum rye_code verdict);

int runq_open(int jobs, runq_fn fn, void *arg, struct runq **ret, struct rye_err *err);
/* Takes no more, answers what waits with RYE_CANCELLED, returns when all threads have ended. */
void runq_close(struct runq *runq);

/*
 * Takes over one reference: fn finishes the call. parent: the run whose child asks, 0: none.
 * That run may wait for the call, so it never waits for a place that the run holds. False: there is
 * no thread that would come to it and none could be started; the call is the caller's still.
 */
bool runq_push(struct runq *runq, struct rye_call *call, uint64_t parent);
/*
 * The calling thread is to carry it out: it has a place from now on, and one of these follows. False: none
 * is free.
 */
bool runq_enter(struct runq *runq, struct rye_call *call);
void runq_carry(struct runq *runq, struct rye_call *call); /* which the caller holds */
void runq_leave(struct runq *runq, const struct rye_call *call);
/*
 * The worker that carries out `call` will do nothing more but wait for another process, and answer:
 * its place is free for others. Beyond RYE_ASIDE_MAX of them it keeps it.
 */
void runq_step_aside(struct runq *runq, const struct rye_call *call);
/* A waiting call was cancelled: have it answered now. */
void runq_hurry(struct runq *runq, struct rye_call *call);

/*
 * start.c: the ways to start a planned program, tried in the order of one table: a warm
 * interpreter, a process that waits in its box, a new process. A new way is one row.
 *
 * No lock: a start belongs to the run's worker until its `later` is done.
 */

/* The plan's environment plus what belongs to this very run. Borrowed pointers. */
struct surroundings {
	char **v;
	char mark[48]; /* RYE_RUN=<pid>.<number> */
	char *tmpdir;
};

struct start {
	struct later later; /* gives back what is left when the caller has its answer */
	const struct start_way *way;
	struct run *run; /* until `later` */
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
int start_program(struct run *run, const struct plan *plan, struct start **ret,
		  struct rye_err *err);
/* Fails when it turns out now that the program could not be started. */
int start_end(struct start *start, struct rye_err *err);
/* Hands it to the run's list of what is done later. */
void start_leave(struct start *start);

/*
 * run.c: the verbs of requests (rye/rows.h), and what running an item of a kind is. No state.
 */

struct run; /* run.h */

struct verb {
	void (*carry_out)(struct run *run); /* on the run's worker; leaves a complete reply */
	bool names; /* the message is a request that names its item; else the item's parameters */
	unsigned ways; /* enum rye_way */
};

const struct verb *verb_row(enum rye_verb verb);

#define VERB_DECLARED(verb, name, traits, ways, function, help) void function(struct run *run);
RYE_VERBS(VERB_DECLARED)
#undef VERB_DECLARED

/* The whole way from the verb to a filled reply; exec.c calls it. */
void verbs_run(struct run *run);

/* The same of kinds that start a process, whose text has inputs, that are only read. */
void run_tool(struct run *run);
void run_directive(struct run *run);
void run_knowledge(struct run *run);

#endif
