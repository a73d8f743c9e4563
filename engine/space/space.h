/* SPDX-License-Identifier: MIT */
/*
 * space.h: the three layers of `.ai`: where an id lies, the index of all ids, and the thread
 * that watches for changes. Nothing here knows what a file says.
 */
#ifndef RYE_SPACE_SPACE_H
#define RYE_SPACE_SPACE_H

#include "base/io.h"
#include "base/log.h"
#include "base/sha.h"
#include "err.h"

/* space.c (docs/items.md): frozen after rye_open, but for a space whose .ai did not exist yet. */

struct space {
	enum rye_space type;
	int index; /* place in struct spaces: precedence, 0 is the project */
	const char *label; /* "project", "user", "system" */
	char *full; /* "project", "user", "system:<bundle>" */
	char *bundle; /* system only */
	char *root; /* absolute path of the parent of .ai */
	_Atomic int fd; /* O_PATH of .ai; -1: it does not exist */
};

struct spaces {
	size_t n;
	struct stems *stems; /* what was seen in directories: space_stems.c; has a lock of its own */
	char *key_dir, *secret_dir; /* of the signing pair, the secrets; NULL: no user space */
	struct space v[]; /* project, user, then bundles by name */
};

/*
 * user_base NULL: $USER_SPACE, else the home directory. system_roots NULL: as base/self.h says,
 * sorted by bundle name. A root whose .ai does not exist is kept and looked at again.
 */
int spaces_open(const struct rye_options *opt, struct spaces **ret, struct rye_err *err);
void spaces_close(struct spaces *spaces);
/* Is a space's root the project's, or in it: where tools may write? Looks at the disk. */
bool spaces_nested(const struct spaces *spaces, const struct space *space);
/* O_PATH descriptor of the space's .ai, opened again if it has appeared since; -1: none. */
int space_fd(const struct space *space);
/* marks_add of what lies below .ai, or that there is none. */
void space_mark(const struct space *space, const char *path, bool follow, struct marks *ret);
/* .ai was replaced or removed: the same descriptor stands for what is there now. True: it was. */
bool space_renew(const struct space *space);
/* The same directory as a space before it: a project that is the home, a bundle that is named twice. */
bool space_again(const struct spaces *spaces, size_t at);

struct located {
	const struct space *space;
	const char *ext; /* borrowed from the kind table */
	char id[1024]; /* canonical: a directory tool's alias is resolved */
	char path[1024]; /* below .ai */
	int fd; /* open for reading, owned by the caller (auto_close); -1: `st` is wanted alone */
	struct stat st; /* the file's */
	bool ambiguous; /* the same id exists with another extension in that space */
	bool unsigned_ok; /* struct path_ask's; space_locate leaves it false */
	const unsigned char *known; /* as well; NULL */
};
/* Opens the regular file at->path of at->space for reading. 1: at->fd and at->st are its; 0: no such
 * file; negative: an error that names what it is instead (a FIFO, a link out of the space). */
int space_open_file(struct located *at, struct rye_err *err);

/* The same without opening it: 1: a regular file, at->st is its; 0: none; negative: to be opened to tell. */
int space_stat_file(struct located *at);

/*
 * An error when the directory that would have the id's file is a link out of the space: then
 * what a lower space has of that name is refused, too. The index does not see such links.
 */
int space_barred(const struct space *space, enum rye_kind kind, const char *id,
		 struct rye_err *err);

/* space_unread.c: told directories of items that may not be read; of .ai, no other. glob: what is looked for, or NULL. */
void space_unread(const struct space *space, unsigned kinds, const char *glob, rye_verdict_fn fn,
		  void *arg);

struct item_ask {
	enum rye_kind kind;
	const char *id; /* canonical id, or a directory-tool alias */
	const struct space *from; /* chain rule: search from this space downwards; NULL: all */
	const struct space *only; /* this space alone; NULL: all */
	bool unopened; /* a regular file need not be opened: its stat will do */
	bool *ret_ambiguous; /* rye_load's: another file of that id lies beside it; or NULL */
};

/*
 * Space by space, extension by extension; then the directory-tool alias. An id that is not
 * canonical is RYE_INVALID; a link out of its space, a FIFO or a device in the way is an error and
 * never a reason to look further down.
 */
int space_locate(const struct spaces *spaces, const struct item_ask *ask, struct located *ret,
		 struct rye_err *err);

/* Directories between the kind's and the file: the category an id must carry; its last segment, borrowed. */
struct rye_span space_category(const char *id);
const char *space_stem(const char *id);
/* "<root>/.ai/<path>"; free it; NULL: out of memory. */
char *space_abspath(const struct space *space, const char *path);

/* Writes a file atomically, or makes directories; .ai, too. mode: of a new file. -errno. */
int space_write(const struct space *space, const char *path, struct rye_span bytes, mode_t mode);
int space_mkdirs(const struct space *space, const char *path);

/*
 * index.c: the merged view of all spaces in memory: which items exist, which space wins, which
 * directories there are, and what the last verification of each said.
 *
 * An item is a (kind, id); its sources are the files with that id in all spaces, the best first
 * (space, then the kind's order of extensions). A merged directory is shown while an item lies
 * at or beneath it. Names beginning with a dot, __pycache__ and node_modules are not looked at,
 * nor tool files .json and .toml without a signature line: they are data beside the items.
 *
 * Locks: `lock` guards the tree and is held for microseconds only; every space has an update
 * lock that orders walks and single-file updates of that space and is held during their I/O.
 * Update lock first, then `lock`.
 */

struct index;

/* Adds a watch for an open directory: wd ≥ 0, or -errno. */
typedef int (*index_watch_fn)(void *arg, int dirfd);
typedef void (*index_unwatch_fn)(void *arg, int wd);

struct index_env {
	const struct spaces *spaces;
	const struct log *log;
	const char *avoid; /* absolute path never walked into, or NULL */
	index_watch_fn watch; /* NULL: nothing is watched, every lookup checks */
	index_unwatch_fn unwatch;
	void *arg;
};

int index_open(const struct index_env *env, struct index **ret, struct rye_err *err);
void index_close(struct index *index);

/* The last verification's outcome; a copy, release with index_state_done. */
struct index_state {
	bool known;
	enum rye_code code;
	uint64_t size, version;
	int64_t mtime_ns;
	unsigned char sha[SHA_LEN]; /* of the file's bytes; zeros: it is not the only one */
	struct rye_blob *reason; /* one line, or NULL */
	struct rye_text *text; /* of one item: what is served, once it was read; else NULL */
};

void index_state_done(struct index_state *state);

/* A copy of what is known of one item. */
struct index_item {
	enum rye_kind kind;
	int space; /* of the winner */
	const char *ext; /* of the winner */
	uint64_t gen; /* changes whenever a source does */
	uint64_t shadows; /* bit per space (the first 64) of the other sources */
	bool ambiguous; /* the winning space has the id twice */
	char id[1024];
	struct index_state state;
};

struct index_found {
	bool is_dir, is_item_dir, is_file;
	struct index_item item; /* when is_item_dir or is_file */
};

/* False: nothing of that name. */
bool index_find(struct index *index, enum rye_kind kind, const char *path, struct index_found *ret);
/* By id or directory-tool alias. */
bool index_item(struct index *index, enum rye_kind kind, const char *id, struct index_item *ret);

struct index_source {
	int space;
	const char *ext;
};
/* All sources of an item, the best first; *ret_n of at most `max`. */
size_t index_sources(struct index *index, enum rye_kind kind, const char *id,
		     struct index_source *ret, size_t max);

/* What a verification found; ignored when the item has changed since `gen`. */
struct index_outcome {
	enum rye_code code;
	uint64_t size, version;
	int64_t mtime_ns; /* of the source */
	const unsigned char *sha; /* of its bytes; NULL: there are several, or it is refused */
	bool linked; /* a file of it has more than one name: a write may come by another */
	const char *reason;
};
bool index_publish(struct index *index, const struct index_item *item,
		   const struct index_outcome *outcome);
/* What is served of exactly this version (a new reference is taken); until the item changes. */
void index_keep_text(struct index *index, const struct index_item *item, uint64_t version,
		     struct rye_text *text);

struct index_name {
	const char *name; /* in the list's memory */
	bool is_dir;
	struct index_state state;
};

struct index_list {
	size_t n;
	struct index_name *v;
	char *names;
};

/* Sorted bytewise; false: no such directory, or out of memory. */
bool index_list(struct index *index, enum rye_kind kind, const char *dir, struct index_list *ret);
void index_list_done(struct index_list *list);

/* ---- going over everything ---- */

struct index_totals {
	size_t items, known; /* key files among them */
	size_t by_code[RYE_CODE__MAX]; /* without key files */
};
void index_totals(struct index *index, struct index_totals *ret);
bool index_lacks(const struct index *index); /* for want of memory or descriptors: scan again */

struct index_ref {
	enum rye_kind kind;
	char id[1024];
};
/* Some items of no known verdict, at most `max` (≥ 16), from *cursor on: 0 at first, and when the
 * round is over. Those added meanwhile may be missed. */
size_t index_unknown(struct index *index, size_t *cursor, struct index_ref *ret, size_t max);

/* index_docs.c: all sources, with what searching keeps of each (search/document.c). One source: */
struct index_doc {
	struct rye_blob *doc; /* a reference, or NULL: not made yet */
	char *id; /* when doc is NULL, or ids are wanted; owned */
	uint64_t gen, others; /* others: bit per space (the first 64) of the item's other sources */
	const char *ext;
	uint16_t space, winner; /* winner: the space that has the item */
	uint8_t kind;
	bool best; /* this one is the winner */
};

struct index_docs {
	struct index_doc *v;
	size_t n, size;
};
struct index_want {
	unsigned kinds; /* bit per enum rye_kind */
	const char *prefix; /* of ids */
	bool ids; /* always */
};

/* In no order; false: out of memory. */
bool index_docs(struct index *index, const struct index_want *want, struct index_docs *ret);
void index_docs_done(struct index_docs *docs);
/* Keeps a document made for `of` (a new reference is taken) unless the item has changed. */
void index_keep_doc(struct index *index, const struct index_doc *of, struct rye_blob *doc);
/* The SHA-256 of its bytes, when they were verified and nothing has changed since; id: of's. */
bool index_doc_known(struct index *index, const struct index_doc *of, const char *id,
		     unsigned char ret[SHA_LEN]);
size_t index_doc_bytes(struct index *index); /* of all that are kept */
void index_drop_docs(struct index *index);

/*
 * index_update.c: how the index learns of changes. Called by the watch's thread, by the
 * threads that write files of a space themselves, and, for layers without watches, by lookups.
 */
struct index_change { /* filled by the updating functions, told by the watcher */
	int space;
	enum rye_kind kind; /* RYE_KIND__MAX: no item's file */
	char *path; /* below .ai */
	char *id; /* of the item or merged directory; NULL when kind is none */
};

struct index_changes {
	struct index_change *v;
	size_t n, size;
	bool all; /* too many changes, or memory was short: everything may have changed */
	bool keys; /* something below config/keys: trust has to be read again */
};

void index_changes_done(struct index_changes *changes);

/* Walks every space with up to `threads` threads. `forget`: no remembered verdict survives. */
void index_scan(struct index *index, int threads, bool forget);
/* An event of the watched directory: something happened to `name`, which is not "". */
void index_event(struct index *index, int wd, const char *name, struct index_changes *out);
/* The same by place: path below the space's .ai. */
void index_touch(struct index *index, int space, const char *path, struct index_changes *out);
bool index_doubt(struct index *index, const char *path); /* rye_doubt */
/* Unwatched layers only: looks at the directories on the way to path and its file; is there any? */
void index_check(struct index *index, enum rye_kind kind, const char *path,
		 struct index_changes *out);
bool index_unwatched(struct index *index, enum rye_kind kind, const char *path);
void index_late(struct index *index, bool on); /* rye_late */
/* Looks for spaces whose directory did not exist or is another now; called by one thread. */
void index_poll(struct index *index, struct index_changes *out);
/* Forgets every verdict (trust has changed). */
void index_forget(struct index *index);

/* space_watch.c: the thread that reads inotify (one watch per directory): it brings the index up to
 * date first, then calls the listener, holding no lock. */

struct watch;
typedef void (*watch_fn)(void *arg, const struct index_changes *changes); /* on its thread */

int watch_open(const struct log *log, struct watch **ret, struct rye_err *err);
/* Events from now on; those since watch_add are not lost. */
int watch_start(struct watch *watch, struct index *index, watch_fn fn, void *arg,
		struct rye_err *err);
void watch_stop(struct watch *watch); /* joins the thread; NULL is fine */
void watch_close(struct watch *watch); /* the same, and frees */

/* For struct index_env: arg is the watch. */
int watch_add(void *arg, int dirfd);
void watch_del(void *arg, int wd);

/* Hands changes that another thread found to the watch's thread to tell; empties *changes. */
void watch_tell(struct watch *watch, struct index_changes *changes);
/* Returns when the listener knows what the index has by now; not on the watch's own thread. */
void watch_wait_told(struct watch *watch);

#endif
