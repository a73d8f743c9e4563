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

#include "base/db.h"
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
	struct db *db;
	/* the frame that was unpacked last: files of a directory lie in one */
	char pack[SHA_HEX]; /* of which pack; "": none */
	uint32_t off;
	struct rye_buf room;
	struct rye_span frame;
};

/* depot.c: the columns from the second on of a row of `blob`. */
#define PLACE_COLUMNS "off, zlen, len, raw, at, size"
void place_read(sqlite3_stmt *row, struct pack_place *ret);

/*
 * depot_lose.c: a blob of that pack is not what it was: it and all others there that are not are no longer
 * said to be there, so that one push sends them anew.
 */
void depot_lose(struct depot *depot, const char *principal, const struct digest *sha,
		const char *pack);

#endif
