/* SPDX-License-Identifier: MIT */
/*
 * snapshot.h: the files of a project that may leave this machine, as a manifest, and the packs of those
 * whose bytes are missing elsewhere. What is never sent is not among the files that are looked at, whatever
 * the rules say; what is left out otherwise is named.
 *
 * For threads that may wait. One thread at a time uses a snapshot.
 */
#ifndef RYE_SNAPSHOT_SNAPSHOT_H
#define RYE_SNAPSHOT_SNAPSHOT_H

#include "base/json.h"
#include "pack/pack.h"

struct snapshot_ask {
	const char *project; /* absolute: the parent of .ai */
	/*
	 * Texts: "src/", a directory, or a pattern of paths (glob_match). NULL: what git would add, or without git all
	 * but names with a dot and directories of packages. Of .ai the four kinds of items always.
	 */
	const json_t *rules;
	int cache_dir; /* where `cache` is kept; -1: nowhere, every file is read */
	const char *cache; /* a file: what each file's digest was, by inode, size and times */
	struct packing *packing; /* takes what was read, unless it is big; or NULL */
};

/* sent.c, sent_walk.c, sent_git.c: which files. */
struct sent {
	char **paths; /* sorted, each once */
	size_t n, size;
	json_t *refused; /* [{path, reason}] */
	bool failed; /* no memory */
};
int sent_list(const struct snapshot_ask *ask, struct sent *ret, struct rye_err *err);
void sent_done(struct sent *sent);

/* sent_never.c. Why a path is never sent, by its name alone; NULL: it may be. */
const char *sent_never(const char *path);
/* Is that, or is there in it, a private key in the form of PEM? */
bool sent_is_key(struct rye_span bytes);

/* piece_cut.c: where the first piece of these bytes ends: all that follows, or at least BLOB_MAX of it. */
struct piece_cutter {
	uint64_t gear[256];
};
void piece_cutter_init(struct piece_cutter *cutter);
size_t piece_cut(const struct piece_cutter *cutter, struct rye_span bytes);

/* snapshot.c */
struct snapshot {
	int root;
	struct manifest *manifest;
	json_t *refused; /* [{path, reason}] */
	size_t hashed; /* files that were read, the others being as they were */
	uint64_t bytes; /* of all files */
	struct snapshot_list {
		struct digest sha;
		struct rye_blob *text;
	} * lists; /* of pieces of the big files that were read, n of them */
	size_t n_lists;
};
int snapshot_make(const struct snapshot_ask *ask, struct snapshot **ret, struct rye_err *err);
void snapshot_free(struct snapshot *snapshot); /* NULL is fine */

/* One file as a line of a manifest; ret->path is `path`. 1: it is there; 0: there is none, or no file or link. */
int snapshot_line(int root, const char *path, struct manifest_line *ret, struct rye_err *err);

/* snapshot_blobs.c: blobs of a snapshot, each once, in the order of the files. */
struct snapshot_blob {
	struct digest sha;
	const struct manifest_line *line;
	uint64_t off; /* of a piece */
	uint32_t size;
	enum { BLOB_FILE, BLOB_PIECE, BLOB_LIST, BLOB_TARGET } from;
	struct rye_blob *list; /* of LIST: its bytes */
};
struct snapshot_blobs {
	struct snapshot_blob *v;
	size_t n, size;
	bool pieces; /* some are pieces, of which an older version of the file may have had many */
};
void snapshot_blobs_done(struct snapshot_blobs *blobs);
/* Those that are not in base, which may be NULL; pieces always. RYE_BUSY: a file is not what it was. */
int snapshot_blobs(const struct snapshot *snapshot, const struct manifest *base,
		   struct snapshot_blobs *ret, struct rye_err *err);

/*
 * packing.c: blobs become packs beside the thread that reads them: one thread compresses, one gives each pack
 * that is full to fn. What base has, or was taken before, is not taken.
 */
typedef int (*packing_fn)(void *arg, struct rye_span pack, struct rye_err *err);
struct packing;
struct packing *packing_new(const struct manifest *base, packing_fn fn,
			    void *arg); /* NULL: out of memory */
/* The bytes of that digest, of at most BLOB_MAX. What went wrong with one before is told. */
int packing_take(struct packing *packing, const struct digest *sha, struct rye_span bytes,
		 struct rye_err *err);
bool packing_has(const struct packing *packing, const struct digest *sha);
size_t packing_count(const struct packing *packing); /* that were taken */
/* Until fn has had all of it; it is not called then before more is taken. */
int packing_flush(struct packing *packing, struct rye_err *err);
void packing_free(struct packing *packing); /* NULL is fine */
DEFINE_AUTO(auto_packing_, struct packing *, packing_free)
#define auto_packing __attribute__((cleanup(auto_packing_)))

/*
 * snapshot_pack.c: those that `skip` has no bit of; their bytes are read once more. RYE_BUSY: a file is not what it
 * was when the snapshot was made.
 */
int snapshot_pack(const struct snapshot *snapshot, const struct snapshot_blobs *blobs,
		  const unsigned char *skip, struct packing *packing, struct rye_err *err);

DEFINE_AUTO(auto_snapshot_, struct snapshot *, snapshot_free)
#define auto_snapshot __attribute__((cleanup(auto_snapshot_)))
#define auto_snapshot_blobs __attribute__((cleanup(snapshot_blobs_done)))
#define auto_sent __attribute__((cleanup(sent_done)))

#endif
