/* SPDX-License-Identifier: MIT */
/*
 * space_inner.h: what the files of space/ share: the tree of the index and the walk that fills it.
 */
#ifndef RYE_SPACE_SPACE_INNER_H
#define RYE_SPACE_SPACE_INNER_H

#include "bounds.h"
#include "scope.h"
#include "space/space.h"

#include <sys/stat.h>

/*
 * index_tree.c: private parts of the index, shared by index_*.c: index.c asks, index_walk.c,
 * index_update.c and index_check.c fill. Every function here wants index->lock held unless it
 * says otherwise.
 */

/* One source of an item. */
struct file {
	struct file *next; /* of lower precedence */
	struct rye_blob *doc; /* what a search looks at (search/document.c), or NULL */
	uint64_t stamp; /* digest of its stat; 0: not known */
	uint16_t space;
	uint8_t ext; /* index in kind_extensions */
	bool linked; /* a symbolic link, or a file of several names: writes may go unseen */
};

/* An item. */
struct index_node {
	struct index_node *chain; /* of the hash table */
	struct dir *dir;
	struct file *files; /* never NULL outside the tree's own operations */
	struct rye_blob *reason; /* of the last known verdict */
	struct rye_text *text; /* what is served now, when it was read; or NULL */
	uint64_t gen, version, size;
	int64_t mtime_ns;
	unsigned char sha[SHA_LEN]; /* of the bytes that had this verdict */
	int8_t code; /* of the last known verdict; -1: there never was one */
	bool known; /* code … mtime_ns still hold */
	uint32_t place; /* in its directory's nodes */
	char stem[];
};

/* A real directory of one space that takes part in a merged one. */
struct place {
	struct place *next; /* of the same merged directory */
	struct place *wd_chain; /* of the table of watches */
	struct dir *dir;
	uint64_t stamp; /* of the directory's stat at the last walk; 0: do not trust it */
	uint64_t dev, ino; /* to recognise a link to one of its own parents */
	int wd; /* -1: not watched */
	uint16_t space;
	bool linked; /* reached through a symbolic link */
};

/* A merged directory; exists while it has a place, an item or a directory in it. */
struct dir {
	struct dir *chain, *parent;
	struct index_node **nodes;
	struct dir **dirs;
	struct place *places;
	uint32_t n_nodes, size_nodes, n_dirs, size_dirs;
	uint32_t total; /* items at and beneath: shown while > 0 */
	uint32_t place; /* in its parent's dirs */
	uint16_t leaf; /* offset of its own name in path */
	uint8_t kind;
	bool sorted;
	char path[]; /* below the kind's directory; "" is the kind's root */
};

/* What is not below a kind's directory: .ai itself and its parent, watched for arrivals. */
struct top {
	pthread_mutex_t update; /* orders walks and updates of this space; held during I/O */
	/* What follows is guarded by index->lock. */
	int wd_ai, wd_root;
	uint32_t unwatched; /* places without a watch */
	uint32_t links; /* places reached through links (RYE_LINK_DIRS) */
	bool blind; /* no watch would tell of a new kind's directory, or of .ai itself */
	bool lost; /* not even the parent of .ai exists: index_poll looks for it */
};

#define INDEX_WD_SLOTS 4096

struct index {
	struct index_env env;
	pthread_mutex_t lock;
	struct dir *roots[RYE_KIND__MAX];
	struct dir **dirs;
	struct index_node **nodes;
	struct place **wds; /* INDEX_WD_SLOTS chains */
	size_t n_dirs, dir_slots, n_nodes, node_slots; /* slots are powers of two */
	uint64_t gen;
	size_t known, by_code[RYE_CODE__MAX];
	size_t doc_bytes; /* of all files' doc */
	bool no_watches; /* the log was told once that there are none left */
	_Atomic unsigned late; /* index_late: no watch is relied on while it is above 0 */
	_Atomic bool lacking; /* something that is there could not be entered: scan again */
	struct top tops[];
};

/* Both NULL when there is none. */
struct dir *tree_dir(struct index *index, enum rye_kind kind, struct rye_span path);
struct index_node *tree_node(struct index *index, const struct dir *dir, struct rye_span stem);
/* Makes parents too; NULL: out of memory. */
struct dir *tree_dir_make(struct index *index, enum rye_kind kind, struct rye_span path);

struct tree_file {
	struct rye_span stem;
	int space, ext;
	bool linked;
};
/* The file is there; `force`: its bytes may have changed. Changes are noted in out (or NULL). */
void tree_put(struct index *index, struct dir *dir, const struct tree_file *file, bool force,
	      struct index_changes *out);
/* Its stat, as index_check found it. */
void tree_stamp(struct index *index, const struct dir *dir, const struct tree_file *file,
		uint64_t stamp);
/* Does it count as an item for people? Key files do not. */
bool tree_counts(const struct index_node *node);
void tree_drop_docs(struct index *index, struct index_node *node);
/* The verdict of before holds no longer. */
void tree_forget(struct index *index, struct index_node *node);
/* Of all items in it and beneath; no deeper than RYE_DEPTH_MAX. */
void tree_forget_below(struct index *index, struct dir *dir, struct index_changes *out);
void tree_drop(struct index *index, struct dir *dir, const struct tree_file *file,
	       struct index_changes *out);

/* Frees it and its parents as far as nothing is in them any more. */
void tree_prune(struct index *index, struct dir *dir);

/* index_place.c */
struct place *tree_place(const struct dir *dir, int space); /* NULL: none */
struct place *tree_place_make(struct index *index, struct dir *dir, int space);
void tree_place_watch(struct index *index, struct place *place, int wd);
/* Takes the space's part away from here downwards: files, places, empty directories. */
void tree_place_drop(struct index *index, struct dir *dir, int space, struct index_changes *out);

bool tree_resize(struct index *index);
void tree_free(struct index *index);
void tree_sort(struct dir *dir);
const char *tree_ext(const struct index_node *node); /* of the winner */

/* index_note.c; out NULL: nothing is noted */
/* "tools/a/b" + "/" + name (may be ""); false: too long. No lock needed. */
bool tree_path(const struct dir *dir, const char *name, char *ret, size_t size);
void tree_note(struct index_changes *out, int space, enum rye_kind kind, const char *path,
	       const char *id);
void tree_note_dir(struct index_changes *out, const struct dir *dir, int space);
void tree_note_file(struct index_changes *out, const struct index_node *node, int space, int ext);

/*
 * index_walk.c: reading directories into the index. Private to index_*.c. The caller holds the
 * space's update lock and not index->lock, except where said.
 */

enum walk_what {
	WALK_NOTHING, /* not there, or nothing the index looks at */
	WALK_ITEM,
	WALK_DIR,
};

/* What one directory entry is. */
struct walk_entry {
	const char *name;
	enum walk_what what;
	int ext; /* of an item */
	bool linked;
};

struct walk_opt {
	int space;
	int threads;
	bool deep; /* known directories below are walked again, too */
	bool forget; /* every file found counts as changed */
	struct index_changes *out; /* NULL: nothing is noted; else the walk uses one thread */
};

/* Makes the index equal to the directory (path below the kind's) and what is new beneath. */
void walk_dir(struct index *index, enum rye_kind kind, const char *path,
	      const struct walk_opt *opt);
/* All kinds of a space, and the watches of .ai and its parent. */
void walk_space(struct index *index, const struct walk_opt *opt);

/*
 * The disk could not tell what is in the directory (EIO): what is known of it stays, its verdicts are
 * forgotten, and it has no watch, so that each lookup below it looks again until one succeeds. `wd`:
 * a watch it has just got; -1: none. Takes index->lock.
 */
void walk_doubt(struct index *index, enum rye_kind kind, const char *path, int wd,
		const struct walk_opt *opt);

/* ---- one directory (index_walk_dir.c) ---- */

/* An open directory of a space. */
struct walk_at {
	int space_fd, fd;
	enum rye_kind kind;
	char path[RYE_ID_MAX + 64]; /* below .ai: "tools/a/b" */
};
/* Opens the kind's directory or one below it. 0 or -errno; the caller closes at->fd. */
int walk_open(struct index *index, int space, enum rye_kind kind, const char *path,
	      struct walk_at *ret);
/* What is `name` there? -EIO: the disk cannot tell. */
int walk_probe(const struct walk_at *at, const char *name, struct walk_entry *ret);
/* Index in kind_extensions of the name's extension; -1: none of them. */
int walk_ext(enum rye_kind kind, const char *name);
/* What of its entries concerns the index, sorted by name; owns the names. */
struct walk_batch {
	struct walk_entry *v;
	size_t n, size;
};

/* Fills an empty batch; 0, or -errno: not all could be read. Done with it in either case. */
int walk_read(const struct walk_at *at, struct walk_batch *batch);
const struct walk_entry *walk_batch_find(const struct walk_batch *batch, const char *name);
void walk_batch_done(struct walk_batch *batch);
bool walk_is_secret(enum rye_kind kind,
		    const char *path); /* below the kind's: it is not looked into */
/* Digest of a stat for "is it the same?"; 0 when the change may be too fresh to be told apart. */
uint64_t walk_stamp(const struct stat *st);

/* ---- space_stems.c ---- */

struct stems *stems_open(void); /* NULL: out of memory */
void stems_close(struct stems *stems); /* NULL is fine */
/* Of one stem: bit i is the i-th name of kind_extensions. */
struct stem_names {
	unsigned seen; /* the directory has it, as a link perhaps */
	unsigned untold; /* it could not be looked at */
};
/* dir may be O_PATH */
struct stem_names stem_present(struct stems *stems, int dir, enum rye_kind kind, const char *stem);

#endif
