/* SPDX-License-Identifier: MIT */
/*
 * pack_inner.h: the form of a pack. All numbers are big-endian.
 *
 *	"RYEPACK1"
 *	frames, one behind the other
 *	index:	for each frame: length in the pack, length unpacked, 1 if raw, else 0 (u32 each)
 *		for each blob: SHA-256, number of its frame, place in it, size (u32 each)
 *	u32 frames, u32 blobs
 *	SHA-256 of all before
 */
#ifndef RYE_PACK_INNER_H
#define RYE_PACK_INNER_H

#include "board/board.h"
#include "pack/pack.h"
#include "store/store.h"

#define PACK_MAGIC "RYEPACK1"
#define PACK_MAGIC_LEN 8
#define PACK_FRAME_ROW 12
#define PACK_BLOB_ROW (SHA_LEN + 12)
#define PACK_TAIL (8 + SHA_LEN)

/* pack_read.c: the two halves of pack_unpack, for readers of many blobs of one frame. Spans are borrowed. */
int frame_open(struct rye_span frame, const struct pack_place *place, struct rye_buf *room,
	       struct rye_span *ret, struct rye_err *err);
int frame_blob(struct rye_span raw, const struct pack_place *place, struct rye_span *ret,
	       struct rye_err *err);

struct depot {
	struct store *store;
	struct board *index;
	const _Atomic bool *stop; /* NULL: none */
	/* the frame that was unpacked last: files of a directory lie in one */
	char pack[SHA_HEX]; /* of which pack; "": none */
	uint32_t off;
	struct rye_buf room;
	struct rye_span frame;
};

/* Seconds, by the clock of the index. */
#define DEPOT_NOW "({now} / 1000)"
#define MANIFEST_NAME_LEN (sizeof("manifests/ab/") + SHA_HEX)
void manifest_object(const char *hex, char ret[MANIFEST_NAME_LEN]); /* "manifests/ab/DIGEST" */

/*
 * In a transaction, to its end: no other one writes rows of this principal; deletes, or is about to write, the
 * object of this name.
 */
int depot_hold(struct board *index, const char *name, struct rye_err *err);
int row_number(void *arg, const struct board_cells *row); /* a row of one number, into an int64_t */

/* depot.c: the columns from the second on of a row of `blob`. */
#define PLACE_COLUMNS "off, zlen, len, raw, at, size"
void place_read(const struct board_cells *row, struct pack_place *ret);
/* [sha, off, zlen, len, raw, at, size], of a JSON list whose end is the caller's. */
void place_row_add(struct rye_buf *rows, const struct pack_place *place);

/* depot_manifest.c */
bool line_in_pieces(const struct manifest_line *line);
int depot_pieces(struct depot *depot, const char *principal, const struct manifest_line *line,
		 struct piece **ret, size_t *ret_n, struct rye_err *err);
int depot_has_manifest(struct depot *depot, const char *principal, const char *hex, bool *ret,
		       struct rye_err *err);

/*
 * depot_drop.c: objects whose rows have gone. In a transaction that holds the principal: a pack without
 * blobs goes, its object is to go later; *ret (may be NULL): its bytes, 0: it has blobs.
 */
int depot_drop_pack(struct board *index, const char *principal, const char *pack, int64_t *ret,
		    struct rye_err *err);
int depot_drop(struct board *index, const char *principal, const char *object, struct rye_err *err);
/* Holds the object's name; it is wanted again. */
int depot_undrop(struct board *index, const char *object, struct rye_err *err);

/*
 * depot_lose.c: a blob of that pack is not what it was: it and all others there that are not are no longer
 * said to be there, so that one push sends them anew.
 */
void depot_lose(struct depot *depot, const char *principal, const struct digest *sha,
		const char *pack);

/* depot_mark.c: what a principal needs. */
struct depot_mark {
	struct depot *depot;
	const char *principal;
	const struct depot_gc *ask;
	int64_t now; /* when it began: DEPOT_NOW */
	struct digest_set blobs, lists, manifests;
	struct rye_buf waiting;
	bool roots; /* those that wait are roots */
};
int depot_mark(struct depot_mark *mark, struct rye_err *err);
/* And those manifests that were kept since then. */
int depot_mark_new(struct depot_mark *mark, int64_t since, struct rye_err *err);
/* In a transaction that holds the principal: was no other one kept since it began? Then what is not marked may go. */
int depot_mark_fresh(const struct depot_mark *mark, struct board *index, bool *ret,
		     struct rye_err *err);
void depot_mark_done(struct depot_mark *mark);

/* depot_sweep.c: packs, by what is marked. */
int depot_sweep(struct depot_mark *mark, struct depot_freed *freed, struct rye_err *err);
/*
 * fn, whose first member is a struct sweep, in a transaction that holds the principal, nothing being needed that is not
 * marked; what was kept meanwhile is marked first.
 */
struct sweep {
	struct depot_mark *mark;
	bool again; /* fn is not to be called: something is to be marked */
	board_work_fn fn;
};
int depot_swept(struct sweep *sweep, struct rye_err *err);

#endif
