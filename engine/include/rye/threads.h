/* SPDX-License-Identifier: MIT */
/*
 * threads.h: third part of rye.h (included by calls.h): what is below state/threads, and two smaller
 * things. Same conventions.
 */
#ifndef RYE_THREADS_H
#define RYE_THREADS_H

#include <rye/rye.h>

/*
 * RYE_FORM_THREAD: the message of a RYE_EXECUTE is one line, REF, "REF {inputs}", or the request's
 * object. It starts a thread, and the reply is its id and a newline.
 *
 * An id is a relative path of at most 1024 bytes. A verb that the thread's state does not allow is
 * RYE_BUSY.
 */
/* Records the end of threads whose runner is lost. The mount does so by itself, now and then. id NULL:
 * of all that have a directory; what else is in the registry is looked at when it is asked for. */
RYE_API void rye_thread_recover(struct rye *rye, const char *id);
RYE_API size_t rye_thread_lost(struct rye *rye, rye_name_fn fn, void *arg); /* those, only told */
RYE_API int rye_thread_list(struct rye *rye, rye_name_fn fn, void *arg, struct rye_err *err);
/* The same threads with what their rows say, in one go; texts are borrowed. */
struct rye_thread_row {
	const char *id, *status, *directive, *created, *completed;
	bool ended; /* the status is one that no thread leaves */
};
typedef int (*rye_thread_row_fn)(void *arg, const struct rye_thread_row *row);
RYE_API int rye_thread_rows(struct rye *rye, rye_thread_row_fn fn, void *arg, struct rye_err *err);
/* Another number whenever rye_thread_list would tell other names; 0: no threads yet. */
RYE_API uint64_t rye_thread_list_number(struct rye *rye);
/* What a name in a thread's directory, below it, or beside the threads is. */
enum rye_thread_sort {
	RYE_THREAD_FILE,
	RYE_THREAD_DIR,
	RYE_THREAD_LINK, /* its bytes are the target, relative */
	RYE_THREAD_GROWS, /* a file for rye_thread_read */
};
typedef int (*rye_thread_fn)(void *arg, const char *name, enum rye_thread_sort sort);
/* id "": beside the threads, whose own directories are not told. path "": the directory itself. */
struct rye_thread_at {
	const char *id, *path;
	/* Of rye_thread_entry: are the bytes of that version there already? NULL: none are. */
	bool (*has)(void *arg, uint64_t version);
	void *arg;
};
/* What exists now in a thread's directory, or in one below it. */
RYE_API int rye_thread_entries(struct rye *rye, const struct rye_thread_at *at, rye_thread_fn fn,
			       void *arg, struct rye_err *err);
/* What a name is, by one look at its thread. */
struct rye_thread_entry {
	enum rye_thread_sort sort;
	struct rye_blob *blob; /* the bytes of a file or link, the caller's; NULL: `has` said so */
	uint64_t version; /* of a file of which `has` was asked; else 0 */
	/* Of a directory: another one whenever rye_thread_entries would tell other names. What it costs
	 * grows neither with the threads nor with the turns of one. */
	uint64_t number;
	/* It has been as it is since then: of a thread that has ended, of a link to one, of events. */
	bool ended;
	struct timespec since;
};
/* path "": the thread's directory itself. */
RYE_API int rye_thread_entry(struct rye *rye, const struct rye_thread_at *at,
			     struct rye_thread_entry *ret, struct rye_err *err);
/* Names of one thread's directory that exist now. */
RYE_API int rye_thread_names(struct rye *rye, const char *id, rye_name_fn fn, void *arg,
			     struct rye_err *err);
/* The bytes of a file of a thread, of those that grow too; name: a path below its directory. */
RYE_API int rye_thread_file(struct rye *rye, const char *id, const char *name,
			    struct rye_blob **ret, struct rye_err *err);
/* A part of a file that grows: `len` bytes from `off`, or as many as there are. */
struct rye_thread_part {
	const char *id, *name; /* id "": beside the threads */
	uint64_t off;
	size_t len; /* 0: only the size is wanted */
};
/* ret: NULL, or as rye_thread_file; *ret_size: of the whole file, as far as it is shown. */
RYE_API int rye_thread_read(struct rye *rye, const struct rye_thread_part *part,
			    struct rye_blob **ret, uint64_t *ret_size, struct rye_err *err);
#define RYE_THREAD_VERBS "apply, cancel, delete, forget, handoff, kill, limit, resume, say, verify"
#define RYE_THREADS_VERBS "accept, cancel-all, drain, gc, recover, reload" /* of all: id "" */
/* Is it one that a runner is told and answers? Such words are heard in the order in which they come. */
RYE_API bool rye_thread_told(struct rye_span verb);
/* *ret: a line that answers, the caller's; ret may be NULL. */
RYE_API int rye_thread_ctl(struct rye *rye, const char *id, struct rye_span verb,
			   struct rye_blob **ret, struct rye_err *err);
/* The thread that the last of its hand-offs went to; its own id when there was none. */
#define RYE_THREAD_ID_ROOM 1025
RYE_API int rye_thread_last(struct rye *rye, const char *id, char ret[RYE_THREAD_ID_ROOM]);
/*
 * fn is called once with the terminal status word as reply and output, RYE_OK; or, after a
 * cancel, RYE_CANCELLED. Maybe at once, inside rye_thread_wait. *ret as that of rye_start.
 */
struct rye_listener {
	rye_done_fn fn;
	void *arg;
};
RYE_API int rye_thread_wait(struct rye *rye, const char *id, const struct rye_listener *who,
			    struct rye_call **ret, struct rye_err *err);

/*
 * Which model a directive would be given to that names none: "MODEL of PROVIDER"; or why a fork fails.
 * A server that is no vendor's is asked whether it listens, for a second at most; no key is sent.
 */
#define RYE_MODEL_MAX 300
RYE_API int rye_model(struct rye *rye, char ret[RYE_MODEL_MAX], struct rye_err *err);

/* ---- for a thread that must not wait ---- */

/*
 * What of an item's names is in memory, and is told of when it changes. True: *ret is as
 * rye_read's, with all of ret->st false where nothing has that name, and the text if that is kept.
 */
struct rye_file;
RYE_API bool rye_known(struct rye *rye, enum rye_kind kind, const char *path, struct rye_file *ret);
/* The index of the space that an item or its file lies in; -1: it is not known. */
RYE_API int rye_space_of(struct rye *rye, enum rye_kind kind, const char *path);

/* What .ai/.gitignore lacks, so that a commit would take it along. lines NULL: it is added. 1: something
 * lacked; 0: nothing. */
RYE_API int rye_uncommitted(struct rye *rye, struct rye_blob **lines, struct rye_err *err);

/* ---- what tools do not see ---- */

/* Would a file of that path be hidden from the tools of this user? */
RYE_API bool rye_hides(struct rye *rye, const char *path);
/* A directory for such files, that of the secrets, which is made; NULL: there is no user space. */
RYE_API const char *rye_hidden_place(struct rye *rye);

/* The main of a runner process: descriptor 3 is its orders, 4 the lock of its directory. */
RYE_API int rye_thread_runner(void);
/* The main of the process that ends what the engine of this number leaves behind when it is killed. */
RYE_API int rye_minder(const char *engine);
/* The main of a node's worker: until SIGTERM, or nothing was to do for so long (0: never). 0 or -code. */
RYE_API int rye_worker(const char *node, int64_t idle_ms, struct rye_err *err);

#include <rye/deaths.h>
#include <rye/remotes.h>
#include <rye/write.h>

#endif
