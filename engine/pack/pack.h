/* SPDX-License-Identifier: MIT */
/*
 * pack.h: trees of files as objects: a manifest that names each file's digest, blobs (the bytes of a file, or of a
 * piece of one), packs of compressed blobs, which one store holds, and the depot: which blobs each
 * principal has in which pack, and the heads of its projects. The form of a pack is in pack_inner.h.
 *
 * What comes from outside (packs, manifests, differences) is bounded, and verified before it is believed.
 * Structs here belong to one thread at a time, but for the depot, which several processes may have open.
 */
#ifndef RYE_PACK_PACK_H
#define RYE_PACK_PACK_H

#include "base/id.h"
#include "base/sha.h"
#include "buf.h"

#include <string.h>

/* Bigger files are cut by their content, smaller ones never. */
#define BLOB_MAX (4u << 20)
/* As much of small blobs is compressed together. */
#define PACK_FRAME_MAX (256u << 10)
/* Whole, with its index: what is lost when a push is cut, and what a process holds of one. */
#define PACK_MAX (16u << 20)
/* Blobs of a pack: as many empty files as fit would be more than any tree has. */
#define PACK_BLOBS 65536
/* Lines, and bytes of text, of a manifest; of a path, and of a part of it (NAME_MAX of Linux). */
#define MANIFEST_LINES 200000
#define MANIFEST_MAX (48u << 20)
#define MANIFEST_PATH 4095
#define MANIFEST_PART 255
/* A file in pieces: the list of them has to be one blob. */
#define CHUNKED_MAX (16ull << 30)

/* ---- digests ---- */

struct digest {
	unsigned char bytes[SHA_LEN];
};

bool digest_parse(struct rye_span hex,
		  struct digest *ret); /* 64 lower-case digits; false: not so */
void digest_hex(const struct digest *digest, char ret[SHA_HEX]);
struct digest digest_of(struct rye_span bytes);
static inline bool digest_is(const struct digest *a, const struct digest *b)
{
	return !memcmp(a->bytes, b->bytes, SHA_LEN);
}
/* digest_set.c: zeros at first. */
struct digest_set {
	struct digest *v;
	size_t n, room;
};
void digest_set_done(struct digest_set *set);
int digest_set_add(struct digest_set *set,
		   const struct digest *digest); /* 1: it is new; 0: it was there; -1: no memory */
bool digest_set_has(const struct digest_set *set, const struct digest *digest);

/* ---- belts ---- */

/* belt.c: a thread beside the caller's that does fn to each thing in turn and then drops it. */
struct belt;
struct belt_ask {
	int (*fn)(void *arg, void *what, struct rye_err *err); /* what fails is the last one done */
	void (*drop)(void *what);
	void *arg;
	size_t most; /* bytes that may wait, or one thing */
};
struct belt *belt_new(const struct belt_ask *ask); /* NULL: out of memory */
/* Takes it over. How a thing that was put before went: its code and sentence. */
int belt_put(struct belt *belt, void *what, size_t bytes, struct rye_err *err);
/* Until all are done; then what they touched is the caller's. */
int belt_drain(struct belt *belt, struct rye_err *err);
void belt_free(struct belt *belt); /* what waits is dropped; NULL is fine */
DEFINE_AUTO(auto_belt_, struct belt *, belt_free)
#define auto_belt __attribute__((cleanup(auto_belt_)))

/* ---- packs ---- */

/* Where a blob lies: in which frame of a pack, and where in that when it is unpacked. */
struct pack_place {
	struct digest sha;
	uint32_t off, zlen, len; /* of the frame: offset and length in the pack, length unpacked */
	uint32_t at, size; /* of the blob in the unpacked frame */
	bool raw; /* the frame is stored as it is */
};

/* packer.c: makes packs, one after the other. */
struct packer;
struct packer *packer_new(void); /* NULL: out of memory */
void packer_free(struct packer *packer); /* NULL is fine */
/* Has it room for that many bytes more? When not: packer_end, and it is empty. */
bool packer_has_room(const struct packer *packer, size_t len);
/* A blob of at most BLOB_MAX bytes, for which there is room. */
int packer_add(struct packer *packer, const struct digest *sha, struct rye_span bytes,
	       struct rye_err *err);
size_t packer_count(const struct packer *packer); /* blobs in it */
/* The pack and its name; the packer is empty then. */
int packer_end(struct packer *packer, struct rye_buf *ret, struct digest *ret_name,
	       struct rye_err *err);

/* pack_read.c. All of its places; only they are looked at, and the digest, not the frames. */
int pack_places(struct rye_span pack, struct pack_place **ret, size_t *ret_n,
		struct digest *ret_name, struct rye_err *err);
/* Every blob at those places is unpacked, and has its digest. */
int pack_check(struct rye_span pack, const struct pack_place *places, size_t n,
	       struct rye_err *err);
/* Both. */
int pack_verify(struct rye_span pack, struct pack_place **ret, size_t *ret_n,
		struct digest *ret_name, struct rye_err *err);
/* The blob out of the bytes of its frame, added to *ret. RYE_IO: it is not what its digest says. */
int pack_unpack(struct rye_span frame, const struct pack_place *place, struct rye_buf *ret,
		struct rye_err *err);
/* "packs/ab/DIGEST" */
#define PACK_NAME_LEN (sizeof("packs/ab/") + SHA_HEX)
void pack_name(const struct digest *name, char ret[PACK_NAME_LEN]);

/* ---- manifests ---- */

enum manifest_mode {
	MANIFEST_FILE,
	MANIFEST_EXEC,
	MANIFEST_LINK, /* the blob is its target */
	MANIFEST_PIECES, /* the blob lists its pieces: lines of "SHA SIZE" */
	MANIFEST_PIECES_EXEC,
	MANIFEST_MODE__MAX
};

struct manifest_line {
	enum manifest_mode mode;
	struct digest sha;
	uint64_t size; /* of the file */
	const char *path; /* relative, NUL-terminated, the manifest's own */
};

/*
 * Frozen. Lines of "MODE SHA SIZE PATH", in the order of the paths' bytes; its name is the digest of the
 * text. Paths are relative and UTF-8, without empty parts, ".", "..", backslashes and control characters, none
 * twice, and none a directory of another.
 */
struct manifest {
	struct manifest_line *v;
	size_t n;
	struct rye_blob *text;
	struct digest name;
	char *paths; /* what the lines' paths lie in */
};

/* manifest.c. The text is referenced. RYE_INVALID: what is wrong, and in which line. */
int manifest_parse(struct rye_blob *text, struct manifest **ret, struct rye_err *err);
const char *manifest_mode_name(enum manifest_mode mode); /* "644" … */
void manifest_free(struct manifest *manifest); /* NULL is fine */
const struct manifest_line *manifest_find(const struct manifest *manifest, const char *path);
/* Of lines in any order: sorted, written, and read again by manifest_parse. */
int manifest_make(struct manifest_line *lines, size_t n, struct manifest **ret,
		  struct rye_err *err);
int manifest_path_check(const char *path, struct rye_err *err);

/* manifest_diff.c: a manifest as what differs from another one, compressed. base NULL: whole. */
int manifest_shrink(const struct rye_blob *base, const struct rye_blob *text, struct rye_buf *ret,
		    struct rye_err *err);
int manifest_grow(const struct rye_blob *base, struct rye_span bytes, struct rye_blob **ret,
		  struct rye_err *err);

/* ---- the depot: what principals have in a store ---- */

/*
 * depot.c: a directory: packs, manifests and index.db, which says where each blob of each principal lies. A
 * blob of one is not there for another one. Several processes may have it open; of a process one thread
 * at a time may use one struct. Principals are fingerprints.
 */
struct depot;
int depot_open(const char *dir, struct depot **ret, struct rye_err *err);
struct depot_place {
	const char *store; /* store_open's */
	const char *
		index; /* board_open's: a file, or a database that several machines share, as they do the store */
};
int depot_open_at(const struct depot_place *place, struct depot **ret, struct rye_err *err);
void depot_close(struct depot *depot); /* NULL is fine */

/*
 * Verifies a pack, keeps it, and then tells that its blobs are there; again is no error. RYE_BUDGET: with it the
 * principal would have more than `limit` bytes; below 0: none.
 */
int depot_take(struct depot *depot, const char *principal, struct rye_span pack, int64_t limit,
	       struct rye_err *err);
/* A bit for each, the first digest's is the lowest of ret[0]. What is told to be there stays a day. */
int depot_has(struct depot *depot, const char *principal, const struct digest *v, size_t n,
	      unsigned char *ret, struct rye_err *err);
/* As soon as that is set, whichever thread sets it, nothing more is read: RYE_CANCELLED. */
void depot_until(struct depot *depot, const _Atomic bool *stop);
/*
 * Its bytes, added to *ret. RYE_NOT_FOUND: this principal has none of that name. RYE_IO: they are no
 * longer what they were, and from now on it has none, nor any of that pack that is damaged too.
 */
int depot_read(struct depot *depot, const char *principal, const struct digest *sha,
	       struct rye_buf *ret, struct rye_err *err);
struct depot_used {
	int64_t bytes; /* of its packs */
	int64_t holes; /* blobs that were lost and have not come again, of whatever manifest */
};
int depot_used(struct depot *depot, const char *principal, struct depot_used *ret,
	       struct rye_err *err);

/*
 * depot_gc.c: what no manifest needs goes. A manifest is needed when `roots` names it, or when it was kept or
 * touched less than new_s ago. So are blobs that were taken, or told to be there, and packs that were taken, in that
 * time. Rows go at once, in one transaction for each pack; a pack of which less than half is needed is written
 * anew; objects are deleted once their rows have been gone for gone_s. Other processes may use the depot meanwhile.
 */
struct depot_gc {
	int64_t new_s, gone_s;
	bool dry; /* only tells what it would do */
	int (*roots)(void *arg, const char *principal, rye_name_fn fn, void *fn_arg,
		     struct rye_err *err);
	void *arg;
};
struct depot_freed {
	int64_t bytes; /* of the principal's limit */
	int64_t packs, rewritten, blobs, manifests; /* that went; packs that were written anew */
	int64_t objects; /* of the store, that were deleted */
};
/* Adds to *ret. */
int depot_gc(struct depot *depot, const char *principal, const struct depot_gc *ask,
	     struct depot_freed *ret, struct rye_err *err);
/* Objects that no row ever named, of whichever principal, and those of principals that have gone. */
int depot_gc_rest(struct depot *depot, const struct depot_gc *ask, struct depot_freed *ret,
		  struct rye_err *err);
/* All that have something there. */
int depot_principals(struct depot *depot, rye_name_fn fn, void *arg, struct rye_err *err);

/* depot_manifest.c. base: one whose blobs are known to be there, or NULL. RYE_NOT_FOUND: a path's are not. */
int depot_whole(struct depot *depot, const char *principal, const struct manifest *manifest,
		const struct manifest *base, struct rye_err *err);
/* The same, and from now on the manifest is there. */
int depot_keep(struct depot *depot, const char *principal, const struct manifest *manifest,
	       const struct manifest *base, struct rye_err *err);
/* A run is about to need it: it stays as if it were new. One that is not there is no error. */
int depot_touch(struct depot *depot, const char *principal, const char *manifest,
		struct rye_err *err);
int depot_manifest(struct depot *depot, const char *principal, const struct digest *name,
		   struct manifest **ret, struct rye_err *err);
/* The file of a line, its pieces put together; fn is called for each, in order. */
typedef int (*depot_bytes_fn)(void *arg, struct rye_span bytes, struct rye_err *err);
int depot_file(struct depot *depot, const char *principal, const struct manifest_line *line,
	       depot_bytes_fn fn, void *arg, struct rye_err *err);

/*
 * checkout.c: the tree of a manifest in an empty directory. What is written is what the digests say, or an error
 * that names the path; links lead to no place outside.
 */
int checkout(struct depot *depot, const char *principal, const struct manifest *manifest, int dir,
	     struct rye_err *err);
/* May a link at this path have that target? Then it leads to a place in the tree. */
int checkout_link_check(const char *path, const char *target, struct rye_err *err);

/* pieces.c: lines of "SHA SIZE" that a big file is made of. */
struct piece {
	struct digest sha;
	uint32_t size;
};
int pieces_parse(struct rye_span text, uint64_t size, struct piece **ret, size_t *ret_n,
		 struct rye_err *err);
void pieces_add(struct rye_buf *text, const struct piece *piece);

DEFINE_AUTO(auto_depot_, struct depot *, depot_close)
#define auto_depot __attribute__((cleanup(auto_depot_)))
DEFINE_AUTO(auto_packer_, struct packer *, packer_free)
DEFINE_AUTO(auto_manifest_, struct manifest *, manifest_free)
#define auto_packer __attribute__((cleanup(auto_packer_)))
#define auto_manifest __attribute__((cleanup(auto_manifest_)))

#endif
