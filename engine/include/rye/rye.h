/* SPDX-License-Identifier: MIT */
/*
 * rye.h: the engine's public header (calls.h is its second half, ryefs.h is for main alone). The
 * engine turns signed `.ai` spaces into verified views and runs; it knows nothing of FUSE, inodes
 * or mountpoints.
 *
 * Conventions. A function whose last parameter is `struct rye_err *err` returns 0, or -code with
 * *err filled; `ret` parameters are set only on success. A blob in *ret is the caller's, to unref.
 * Texts and spans are borrowed: those handed in for the call, those of a callback for its duration.
 * Callbacks run on the calling thread where nothing else is said. Everything but rye_open and
 * rye_close may be called from any thread. Kinds and ids are those of the item formats
 * (docs/items.md): an id that breaks their rules is RYE_INVALID, one that nothing has is
 * RYE_NOT_FOUND.
 */
#ifndef RYE_RYE_H
#define RYE_RYE_H

#include <rye/rows.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define RYE_API __attribute__((visibility("default")))

/* One row each in common/err.c: wire name, errno, retryable, what to do (docs/errors.md). */
enum rye_code {
	RYE_OK,
	RYE_UNSIGNED, /* ENODATA */
	RYE_BAD_LINE, /* EBADMSG: signature line malformed (strict) */
	RYE_MODIFIED, /* EBADMSG: content changed since signing */
	RYE_UNTRUSTED, /* ENOKEY */
	RYE_BAD_SIGNATURE, /* EKEYREJECTED: Ed25519 says no */
	RYE_UNCOVERED, /* EKEYREJECTED: bytes or place not covered by a signature */
	RYE_MOVED, /* EKEYREJECTED: moved, renamed or relabelled */
	RYE_UNPARSABLE, /* EUCLEAN */
	RYE_NO_KEY, /* ENOKEY: there is no key to sign with */
	RYE_NOT_FOUND, /* ENOENT */
	RYE_INVALID, /* EINVAL */
	RYE_DENIED, /* EACCES */
	RYE_NO_EXECUTOR, /* ENOEXEC */
	RYE_CHAIN_LOOP, /* ELOOP */
	RYE_TOOL_FAILED, /* EREMOTEIO */
	RYE_TIMEOUT, /* ETIMEDOUT */
	RYE_INTERRUPTED, /* EINTR: by the writer */
	RYE_CANCELLED, /* ECANCELED: not by the writer */
	RYE_RUNNING, /* EINPROGRESS */
	RYE_BUDGET, /* EDQUOT */
	RYE_BUSY, /* EAGAIN */
	RYE_STATE, /* EBUSY: the thread is not in a state for that */
	RYE_TOO_BIG, /* EFBIG */
	RYE_NO_SPACE, /* ENOSPC */
	RYE_READ_ONLY, /* EROFS */
	RYE_UNSUPPORTED, /* EOPNOTSUPP: not available in this build or yet */
	RYE_UNREACHABLE, /* EHOSTUNREACH; this and the next are of remotes (docs/errors.md) */
	RYE_KEY_CHANGED,
	RYE_STALE,
	RYE_EXISTS,
	RYE_LOST,
	RYE_IO, /* EIO, or err->sys */
	RYE_CODE__MAX
};

/* Lives on the caller's stack; never allocated. */
struct rye_err {
	enum rye_code code;
	int sys; /* errno of the failing system call, or 0 */
	char msg[960]; /* UTF-8, usually one line; format texts may have several */
};

RYE_API int rye_code_errno(enum rye_code code);
RYE_API const char *rye_code_name(enum rye_code code); /* wire name, "not_found" */
RYE_API const char *rye_code_remedy(enum rye_code code); /* what to do, one sentence */
RYE_API bool rye_code_integrity(enum rye_code code); /* error_type "integrity" */

struct rye_span {
	const char *ptr; /* borrowed, not NUL-terminated */
	size_t len;
};

/* Immutable bytes with a reference count; data[len] is NUL. */
struct rye_blob {
	_Atomic unsigned refs;
	size_t len;
	char data[];
};

RYE_API struct rye_blob *rye_blob_new(const char *ptr, size_t len); /* NULL: out of memory */
RYE_API struct rye_blob *rye_blob_ref(struct rye_blob *blob);
RYE_API void rye_blob_unref(struct rye_blob *blob); /* NULL is fine */

enum rye_space { RYE_PROJECT, RYE_USER, RYE_SYSTEM, RYE_SPACE__MAX };
enum rye_level { RYE_LOG_ERR, RYE_LOG_WARN, RYE_LOG_INFO, RYE_LOG_DEBUG };

RYE_API const char *rye_kind_name(enum rye_kind kind); /* "directive" */
RYE_API const char *rye_kind_dir(enum rye_kind kind); /* "directives" */
/* One of these enum rye_trait; no kind has none. */
RYE_API bool rye_kind_has(enum rye_kind kind, unsigned traits);

/* From any thread, several at a time; line has no newline. */
typedef void (*rye_log_fn)(void *arg, enum rye_level level, const char *module, const char *line);

struct rye_options {
	const char *project; /* parent of .ai; required, absolute */
	const char *user_base; /* NULL: $USER_SPACE, else $HOME */
	const char *system_roots; /* colon-separated parents of .ai; NULL: the installed bundle */
	const char *env_names; /* colon-separated names directives may read and tools may get */
	bool compat; /* coverage=compat */
	bool dev_mode;
	bool venv;
	bool no_sign; /* refuse sign, trust and copies */
	bool no_run;
	bool scan; /* scan and prefetch verdicts in the background, watch for changes */
	int jobs; /* runs at once; 0: default */
	mode_t umask; /* what runs begin with; rye_open fills in the process's own */
	enum { RYE_SANDBOX_AUTO, RYE_SANDBOX_STRICT, RYE_SANDBOX_OFF } sandbox;
	const char *mountpoint; /* hidden from sandboxed tools, never walked into; or NULL */
	rye_log_fn log;
	void *log_arg;
};

struct rye; /* the engine */
/* opt and its texts are copied; log_arg has to live until rye_close has returned. */
RYE_API int rye_open(const struct rye_options *opt, struct rye **ret, struct rye_err *err);
/* Cancels runs and joins threads: no other call may be under way. Detached threads live on. */
RYE_API void rye_close(struct rye *rye);

/* ---- names: the merged view ---- */
/* What one path of a merged tree is. `path` below the kind's directory; "" is the root. */
struct rye_stat {
	bool is_dir; /* a merged directory exists here */
	bool is_item_dir; /* path is an item's id (or directory-tool alias) */
	bool is_file; /* path is the winning item's file name */
	enum rye_code verdict; /* of the file; RYE_OK: its bytes may be served */
	uint64_t size; /* bytes of the rendered view */
	uint64_t version; /* changes whenever served bytes or verdict do; never 0 */
	struct timespec mtime;
	char id[1024]; /* canonical id of the item, without extension */
	char name[256]; /* its file name */
	char reason[256]; /* of a refusal, one line, with the command that mends it */
};

/* A refused item is found all the same: `verdict` says so, not the return value. */
RYE_API int rye_lookup(struct rye *rye, enum rye_kind kind, const char *path, struct rye_stat *ret,
		       struct rye_err *err);

/* Called per name, sorted bytewise; verdicts are loaded first when `plus`. */
struct rye_entry {
	const char *name;
	bool is_dir;
	bool has_verdict; /* what follows is known */
	enum rye_code verdict;
	uint64_t size, version;
	struct timespec mtime;
	const char *reason;
};
typedef int (*rye_entry_fn)(void *arg, const struct rye_entry *entry); /* nonzero stops */

struct rye_walk {
	enum rye_kind kind;
	const char *dir; /* "" is the root */
	bool plus; /* verdicts and sizes are wanted */
	rye_entry_fn fn;
	void *arg;
};

/* What was told before an error is not all of it. */
RYE_API int rye_list(struct rye *rye, const struct rye_walk *walk, struct rye_err *err);

#define RYE_REF_MAX 1100 /* a kind, a colon and an id */
/* The item whose reference is most like a word that names none: "tool:a/b". False: none is. */
RYE_API bool rye_near(struct rye *rye, const char *word, char ret[RYE_REF_MAX]);

/* ---- views ---- */
enum rye_view {
	RYE_VIEW_RENDERED, /* directive and knowledge rendered, tool byte for byte, config merged */
	RYE_VIEW_SOURCE, /* the file's exact bytes, verified */
	RYE_VIEW_SCHEMA,
	RYE_VIEW_CHAIN,
	RYE_VIEW_PROMPT,
	RYE_VIEW_DATA,
	RYE_VIEW_INFO, /* readable for refused items too */
	RYE_VIEW_VERIFY, /* the same */
	RYE_VIEW_USAGE, /* what `run` tells when it has nothing else to tell */
	RYE_VIEW__MAX
};

struct rye_ask {
	enum rye_kind kind;
	const char *id;
	enum rye_view view;
	const char *query; /* "a=b&c=d", percent-encoded inputs, or NULL */
};

/* Of a refused item only INFO, VERIFY and USAGE exist; others fail with its verdict's code. */
RYE_API int rye_view(struct rye *rye, const struct rye_ask *ask, struct rye_blob **ret,
		     struct rye_err *err);

/* Where the winning file lies: space index and path below that space's .ai. */
struct rye_place {
	int space;
	char path[1024];
};

RYE_API int rye_source(struct rye *rye, enum rye_kind kind, const char *id, struct rye_place *ret,
		       struct rye_err *err);

/* ---- spaces, for the pass-through ---- */
struct rye_space_info {
	enum rye_space type;
	const char *bundle; /* system only; the texts live as long as the engine */
	const char *root; /* parent of .ai */
	int fd; /* O_PATH of .ai, owned by the engine; -1: does not exist */
};

/* Fixed at rye_open, the strongest first; an index out of range is the caller's fault. */
RYE_API int rye_space_count(struct rye *rye);
RYE_API void rye_space_get(struct rye *rye, int index, struct rye_space_info *ret);

/* ---- changes ---- */
struct rye_change {
	/* WAIT: nothing changed; fn returns when what it was told before shows (on a worker) */
	enum { RYE_CHANGE_PATH, RYE_CHANGE_ALL, RYE_CHANGE_THREAD, RYE_CHANGE_WAIT } type;
	int space; /* PATH: which space's file or directory … */
	const char *path; /* … below .ai; THREAD: the thread id */
	enum rye_kind kind; /* of the item concerned; RYE_KIND__MAX: none */
	const char *id; /* its id without extension */
};
typedef void (*rye_change_fn)(void *arg, const struct rye_change *change);

/* fn runs on an engine thread, or in rye_touched, holding no lock. One watcher. */
RYE_API void rye_watch(struct rye *rye, rye_change_fn fn, void *arg);
/* Nothing tells us of changes below this path: check at every lookup (entry timeout 0). */
RYE_API bool rye_unwatched(struct rye *rye, enum rye_kind kind, const char *path);
/* A write was made through us: looks at the disk; when it returns, the watcher was told. */
RYE_API void rye_touched(struct rye *rye, int space, const char *path);
/* The same at once, without a look: no verdict of before will be told of the item at this path.
 * False: no item and no directory of items is there or can be. rye_touched must follow. */
RYE_API bool rye_doubt(struct rye *rye, int space, const char *path);
/* From on to off, which nest: nothing is told to be watched, every lookup looks at the disk. */
RYE_API void rye_late(struct rye *rye, bool on);
/* Grows whenever a file is about to be read whose verdict may be told from then on. */
RYE_API uint64_t rye_loads(const struct rye *rye);
RYE_API bool rye_names_item(const char *name); /* a plain file's name, of any kind */

#include <rye/calls.h>

#endif
