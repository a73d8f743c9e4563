/* SPDX-License-Identifier: MIT */
/* calls.h: second part of rye.h (included by it; threads.h is the third): runs, search, keys, signing … */
#ifndef RYE_CALLS_H
#define RYE_CALLS_H

#include <rye/rye.h>

/* ---- runs ---- */

/*
 * Events: what a run tells while it goes on, to the listener of its request.
 * Thread: one of this call alone; events of one call come one at a time, several calls' side by
 * side. Ownership: everything in an event is borrowed for the callback. Order: events come as
 * they happened, each stream's text complete and in order; the rye_done_fn is called last, on
 * the same thread. Bounds: at most 64 KiB of text an event; of each stream as much as its reply
 * keeps (10 MiB, or what the tool's configuration says), then only progress. A listener should
 * not block: nothing waits for it but the end of its own call and rye_close, and what it has not
 * taken yet is kept in memory. It may cancel the call, but not close the engine.
 */
enum rye_stream { RYE_STDOUT, RYE_STDERR, RYE_STREAM__MAX };
enum rye_event_state {
	RYE_STATE_STARTED, /* the program runs */
	RYE_STATE_ENDING, /* it was asked to end: cancelled, or its time is over */
};
struct rye_event {
	enum { RYE_EVENT_OUTPUT, RYE_EVENT_PROGRESS, RYE_EVENT_STATE } type;
	uint64_t number; /* 1, 2, 3 … of this call */
	enum rye_stream stream; /* OUTPUT */
	struct rye_span bytes; /* OUTPUT: whole characters, U+FFFD for none; STATE: a thread's id */
	uint64_t done; /* PROGRESS, once a second at most: bytes printed so far */
	enum rye_event_state state; /* STATE */
};
typedef void (*rye_event_fn)(void *arg, const struct rye_event *event);
struct rye_event_listener {
	rye_event_fn fn; /* NULL: no listener */
	void *arg;
};

/* An object; a mapping, names and dates as written; a line, maybe a part; see threads.h. */
enum rye_form { RYE_FORM_JSON, RYE_FORM_YAML, RYE_FORM_LINE, RYE_FORM_THREAD };

struct rye_request {
	enum rye_verb verb;
	enum rye_kind kind;
	/* Copied; authority: what a model's thread hands on, as JSON, or NULL; target: "remote:NAME" */
	const char *id, *authority, *target; /* for an item's own verb, or NULL: here */
	struct rye_span message; /* its raw bytes; copied, but for a blob */
	struct rye_blob *blob; /* message lies in it: kept by reference, not copied; or NULL */
	enum rye_form form;
	uid_t uid;
	uint64_t parent_run; /* the run whose child asks (rye_run_of), or 0 */
	bool keeps; /* a thread's runner: usual limits of time are not meant for it */
	struct rye_event_listener events;
	bool at_once; /* fn may be called inside rye_start if nothing has to be waited for */
	bool *ret_here; /* set: this thread is to carry it out, by rye_carry_out; or NULL: never */
	bool advise; /* `instead` and "did you mean …?" are wanted */
};

/* Blobs are borrowed for the callback's duration: ref them to keep them. */
struct rye_outcome {
	enum rye_code code; /* RYE_OK exactly when reply.status is not "error" */
	struct rye_blob *reply; /* one line of JSON with its newline; never NULL */
	struct rye_blob *output; /* plain text; never NULL */
	struct rye_blob *trace; /* JSON or NULL */
	struct rye_blob *instead; /* a message that would do, one line, where one is known; or NULL */
	const char *message; /* the error's sentence, or "" */
};
typedef void (*rye_done_fn)(void *arg, const struct rye_outcome *outcome);
struct rye_call; /* a running request; refcounted */
typedef int (*rye_name_fn)(void *arg, const char *name); /* nonzero stops */

/*
 * Starts and returns at once; fn is called exactly once, from an engine thread (inside rye_start
 * only with `at_once`, or short of memory; *ret may be NULL then), also after a cancel. A request
 * that cannot even start is an outcome too. The caller gives *ret back with rye_call_unref.
 */
RYE_API void rye_start(struct rye *rye, const struct rye_request *req, rye_done_fn fn, void *arg,
		       struct rye_call **ret);
/* Where ret_here was set: waits, tells its fn; !here: another thread does. Holding nothing. */
RYE_API void rye_carry_out(struct rye_call *call, bool here);
/* code: RYE_INTERRUPTED or RYE_CANCELLED. Kills the run's process group. Idempotent; NULL is fine. */
RYE_API void rye_call_cancel(struct rye_call *call, enum rye_code code);
/* The run goes on as a thread; false: too late or not possible. Its id in thread_id. */
RYE_API bool rye_call_detach(struct rye_call *call, char thread_id[64]);
RYE_API void rye_call_unref(struct rye_call *call);
/*
 * Kills the processes that runs of another process's engine have left behind; how many. engine: its
 * process id; or 0 for all engines that are gone, then only what works in the directory `below`.
 * Threads' runners and their tools are none of them. Needs no engine, starts no thread; only
 * processes of this user and this pid namespace are touched.
 */
RYE_API size_t rye_end_leftovers(pid_t engine, const char *below);
/* Waits; *ret's blobs belong to the caller. */
RYE_API void rye_call_sync(struct rye *rye, const struct rye_request *req, struct rye_outcome *ret);
RYE_API void rye_outcome_done(struct rye_outcome *outcome);

/* Is a process a child of a run of ours? chain: pids from itself upwards. 0: no. */
RYE_API uint64_t rye_run_of(struct rye *rye, const pid_t *chain, size_t n, pid_t session);
/* The process that run was started as: what confines it confines its children. 0: not known. */
RYE_API pid_t rye_run_leader(struct rye *rye, uint64_t run, const pid_t *chain, size_t n);
/* May that run's children use this verb on this item (its signed `requires`)? */
RYE_API bool rye_run_may(struct rye *rye, uint64_t run, enum rye_verb verb, enum rye_kind kind,
			 const char *id);

/* ---- search ---- */

struct rye_hit {
	enum rye_kind kind;
	const char *id, *name, *title, *space; /* name: file name; of a skill below its folder */
	double score;
};
typedef int (*rye_hit_fn)(void *arg, const struct rye_hit *hit);

struct rye_query {
	const char *text;
	size_t limit; /* hits told, the best first */
	rye_hit_fn fn;
	void *arg;
	const _Atomic int *stop; /* not 0: give up (RYE_CANCELLED); NULL: never */
	/* How many items are read, on the thread that asks; NULL: not told. */
	void (*progress)(void *arg, size_t done, size_t total);
};

/* The first one reads and verifies every item: not for a thread that must not wait. */
RYE_API int rye_search(struct rye *rye, const struct rye_query *query, struct rye_err *err);

/* The catalogue, a page and JSON: reference, one line and parameters of each item, or why it is
 * refused. Loads those that are not in `old` (or NULL) as they are now, and may wait for that. */
struct rye_catalogue {
	struct rye_blob *page, *data, *rows; /* rows: what the next one takes over */
};
RYE_API int rye_catalogue(struct rye *rye, const _Atomic int *stop, const struct rye_catalogue *old,
			  struct rye_catalogue *ret, struct rye_err *err);
RYE_API void rye_catalogue_done(struct rye_catalogue *catalogue);

/* ---- verification and signing of many, keys ---- */

struct rye_verdict {
	enum rye_kind kind;
	const char *id, *path, *space; /* absolute path; "project" … */
	enum rye_code code;
	const char *message; /* full text of the refusal, or notices, or "" */
	bool unread, left; /* its metadata cannot be read: see message; another's, so not signed */
};
/* done of total so far; nonzero stops. verdict NULL: progress only. A refusal is told here alone. */
typedef int (*rye_verdict_fn)(void *arg, const struct rye_verdict *verdict, size_t done,
			      size_t total);

struct rye_batch {
	const char *pattern; /* "<kind>:<id or glob>"; verifying also without the kind; NULL: all */
	enum rye_space space; /* signing: RYE_PROJECT or RYE_USER; verifying: all are looked at */
	rye_verdict_fn fn;
	void *arg;
	bool many, dry, again, take; /* signing: see sign/sign.h; no verdict of what stays */
};

RYE_API int rye_verify_all(struct rye *rye, const struct rye_batch *batch, struct rye_err *err);
RYE_API int rye_sign_all(struct rye *rye, const struct rye_batch *batch, struct rye_err *err);
/* An item's text without its header lines; NULL: no item ends in ext, or out of memory. */
RYE_API struct rye_blob *rye_bare(enum rye_kind kind, const char *ext, struct rye_span text);

struct rye_key {
	char fingerprint[17]; /* 16 hexadecimal digits; "": of a signing key that cannot be read */
	const char *owner, *path, *space;
	const char *status, *scope; /* "trusted", "signing", or why not; "A,B", or NULL: all */
};
typedef int (*rye_key_fn)(void *arg, const struct rye_key *key);
/* What changes keys is RYE_DENIED with `no_sign`. */
RYE_API int rye_key_generate(struct rye *rye, enum rye_keygen how, char ret_fp[17],
			     struct rye_err *err);
RYE_API int rye_key_list(struct rye *rye, rye_key_fn fn, void *arg, struct rye_err *err);
/* key: a PEM or trust TOML file, a fingerprint, or "self"; owner, scope ("A,B"), NULL: as it says. */
RYE_API int rye_key_trust(struct rye *rye, const char *key, const char *owner, const char *scope,
			  char ret_fp[17], struct rye_err *err);
RYE_API int rye_key_share(struct rye *rye, char ret_fp[17], struct rye_err *err); /* 1: written */
RYE_API int rye_key_untrust(struct rye *rye, const char *fingerprint, struct rye_err *err);

/* ---- secrets ---- */

struct rye_secret {
	const char *name, *set_at; /* set_at: 2026-01-02T03:04:05Z, or "" */
};
typedef int (*rye_secret_fn)(void *arg, const struct rye_secret *secret);

/* Is it a name that a secret may have? */
RYE_API int rye_secret_check(const char *name, struct rye_err *err);
/* What changes secrets is RYE_DENIED with `no_sign`. No call tells a value. */
RYE_API int rye_secret_set(struct rye *rye, const char *name, struct rye_span value,
			   struct rye_err *err);
RYE_API int rye_secret_list(struct rye *rye, rye_secret_fn fn, void *arg, struct rye_err *err);
RYE_API int rye_secret_remove(struct rye *rye, const char *name, struct rye_err *err);

/* ---- reading ---- */

/* The bytes of one version while they are held: in memory when young, later in a file, maybe longer. */
struct rye_text;
RYE_API struct rye_text *rye_text_new(struct rye *rye, struct rye_blob *taken); /* or NULL */
RYE_API struct rye_text *rye_text_ref(struct rye_text *text);
RYE_API void rye_text_unref(struct rye_text *text); /* NULL is fine */
RYE_API size_t rye_text_len(const struct rye_text *text);
/* All of it, a new reference; fails when it cannot be read back as it was. */
RYE_API int rye_text_get(struct rye_text *text, struct rye_blob **ret, struct rye_err *err);

/*
 * rye_lookup and, of a file that may be served, the bytes: those of exactly this version. fn says
 * whether they are wanted once it is known which they are; NULL: never.
 */
struct rye_want {
	enum rye_kind kind;
	const char *path;
	bool (*fn)(void *arg, const struct rye_stat *st);
	void *arg;
	const char *query; /* inputs that are filled into the bytes (struct rye_ask), or NULL */
};
struct rye_file {
	struct rye_stat st;
	struct rye_text *text; /* NULL: not wanted, or refused by now (st.verdict) */
	bool watched; /* changes are told (rye_unwatched); set for a name that is not there, too */
};
RYE_API int rye_read(struct rye *rye, const struct rye_want *want, struct rye_file *ret,
		     struct rye_err *err);

/*
 * What killed processes have left on disk: temporary files and directories, threads that never began. fn
 * (or NULL) is told each path; drop: they are removed. Never what a living process uses. How many. A
 * mount that may write does it by itself once.
 */
RYE_API size_t rye_left(struct rye *rye, bool drop, rye_name_fn fn, void *arg);

/* ---- counts ---- */

struct rye_counts {
	size_t served, refused; /* items whose verdict is known now */
	size_t by_code[RYE_CODE__MAX];
	bool scanned; /* the first scan is done */
	/* Since start: files verified, signatures among that, times it was not necessary, runs. */
	uint64_t verifications, verifies, hits, runs;
	size_t adopted, texts_memory, texts_file; /* runs that are threads now; bytes of texts */
};
RYE_API void rye_counts(struct rye *rye, struct rye_counts *ret);
enum rye_doubt {
	RYE_DOUBT_ONE_SPACE = 1, /* the user's space is the project's, or lies in the project */
	RYE_DOUBT_NO_VEIL = 2, /* tools can read signing keys and write to trust and state */
	RYE_DOUBT_LEDGER = 4, /* that of the threads' money is damaged */
};
RYE_API unsigned rye_doubts(struct rye *rye); /* bits: what doctor should name */

#include <rye/threads.h>

#endif
