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

#include "pack/pack.h"

#define PACK_MAGIC "RYEPACK1"
#define PACK_MAGIC_LEN 8
#define PACK_FRAME_ROW 12
#define PACK_BLOB_ROW (SHA_LEN + 12)
#define PACK_TAIL (8 + SHA_LEN)

#endif
