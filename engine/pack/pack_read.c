/* SPDX-License-Identifier: MIT */
/*
 * Reads packs, which come from outside: nothing of one is believed before the digest at its end was
 * computed, no number before it was compared with what is there. No lock.
 */
#include "pack/pack_inner.h"

#include "str.h"

#include <endian.h>
#include <zstd.h>

struct pack_index {
	struct rye_span pack;
	const char *frames, *blobs; /* rows */
	uint32_t n_frames, n_blobs;
};

static uint32_t number_at(const char *ptr)
{
	uint32_t be;

	memcpy(&be, ptr, sizeof(be));
	return be32toh(be);
}

static int pack_bad(struct rye_err *err, const char *what)
{
	return rye_fail(err, RYE_IO, "pack: %s", what);
}

static int open_index(struct rye_span pack, struct pack_index *ret, struct digest *ret_name,
		      struct rye_err *err)
{
	const char *end = pack.ptr + pack.len;
	size_t rows;

	if (pack.len < PACK_MAGIC_LEN + PACK_TAIL || pack.len > PACK_MAX ||
	    memcmp(pack.ptr, PACK_MAGIC, PACK_MAGIC_LEN) != 0)
		return pack_bad(err, "that is no pack, or it was cut");
	*ret_name = digest_of((struct rye_span){ pack.ptr, pack.len - SHA_LEN });
	if (memcmp(ret_name->bytes, end - SHA_LEN, SHA_LEN) != 0)
		return pack_bad(err, "it is not what the digest at its end says");
	ret->pack = pack;
	ret->n_frames = number_at(end - PACK_TAIL);
	ret->n_blobs = number_at(end - PACK_TAIL + 4);
	if (ret->n_frames > PACK_BLOBS + 1 || ret->n_blobs > PACK_BLOBS)
		return pack_bad(err, "it has too many blobs");
	rows = (size_t)ret->n_frames * PACK_FRAME_ROW + (size_t)ret->n_blobs * PACK_BLOB_ROW;
	if (rows > pack.len - PACK_MAGIC_LEN - PACK_TAIL)
		return pack_bad(err, "its index does not fit into it");
	ret->frames = end - PACK_TAIL - rows;
	ret->blobs = ret->frames + (size_t)ret->n_frames * PACK_FRAME_ROW;
	return 0;
}

/* The frames fill what is between the magic and the index, and each unpacked is one that may be. */
static int read_frames(const struct pack_index *index, struct pack_place *frames,
		       struct rye_err *err)
{
	uint64_t off = PACK_MAGIC_LEN;
	uint64_t end = (uint64_t)(index->frames - index->pack.ptr);

	for (uint32_t i = 0; i < index->n_frames; i++) {
		const char *row = index->frames + (size_t)i * PACK_FRAME_ROW;
		uint32_t raw = number_at(row + 8);
		struct pack_place frame = { .off = (uint32_t)off,
					    .zlen = number_at(row),
					    .len = number_at(row + 4),
					    .raw = raw == 1 };

		if (frame.zlen > end - off || frame.len > BLOB_MAX || raw > 1 ||
		    (frame.raw && frame.zlen != frame.len))
			return pack_bad(err, "a frame of it does not fit into it");
		off += frame.zlen;
		frames[i] = frame;
	}
	return off == end ? 0 : pack_bad(err, "bytes of it are of no frame");
}

static int read_blobs(const struct pack_index *index, const struct pack_place *frames,
		      struct pack_place *places, struct rye_err *err)
{
	for (uint32_t i = 0; i < index->n_blobs; i++) {
		const char *row = index->blobs + (size_t)i * PACK_BLOB_ROW;
		uint32_t frame = number_at(row + SHA_LEN);

		if (frame >= index->n_frames)
			return pack_bad(err, "a blob of it is in no frame");
		places[i] = frames[frame];
		memcpy(places[i].sha.bytes, row, SHA_LEN);
		places[i].at = number_at(row + SHA_LEN + 4);
		places[i].size = number_at(row + SHA_LEN + 8);
		if (places[i].at > places[i].len || places[i].size > places[i].len - places[i].at)
			return pack_bad(err, "a blob of it does not fit into its frame");
	}
	return 0;
}

int pack_places(struct rye_span pack, struct pack_place **ret, size_t *ret_n,
		struct digest *ret_name, struct rye_err *err)
{
	auto_free struct pack_place *frames = NULL, *places = NULL;
	struct pack_index index = { 0 };
	int r = open_index(pack, &index, ret_name, err);

	if (r)
		return r;
	frames = calloc(index.n_frames + 1, sizeof(*frames));
	places = calloc(index.n_blobs + 1, sizeof(*places));
	if (!frames || !places)
		return pack_bad(err, "out of memory");
	r = read_frames(&index, frames, err);
	if (!r)
		r = read_blobs(&index, frames, places, err);
	if (r)
		return r;
	*ret = steal(&places);
	*ret_n = index.n_blobs;
	return 0;
}

/* The frame's bytes as they were: the frame itself, or in *room. */
int frame_open(struct rye_span frame, const struct pack_place *place, struct rye_buf *room,
	       struct rye_span *ret, struct rye_err *err)
{
	size_t n;

	if (frame.len != place->zlen || place->len > BLOB_MAX)
		return pack_bad(err, "a frame has not the length that is written of it");
	if (place->raw) {
		*ret = frame;
		return frame.len == place->len ? 0 : pack_bad(err, "a frame was cut");
	}
	buf_clear(room);
	if (!buf_reserve(room, place->len))
		return pack_bad(err, "out of memory");
	n = ZSTD_decompress(room->data, place->len, frame.ptr, frame.len);
	if (ZSTD_isError(n) || n != place->len)
		return pack_bad(err, "a frame cannot be unpacked");
	*ret = (struct rye_span){ room->data, n };
	return 0;
}

int frame_blob(struct rye_span raw, const struct pack_place *place, struct rye_span *ret,
	       struct rye_err *err)
{
	struct digest is;
	char hex[SHA_HEX];

	if (place->at > raw.len || place->size > raw.len - place->at)
		return pack_bad(err, "a blob does not fit into its frame");
	*ret = (struct rye_span){ raw.ptr + place->at, place->size };
	is = digest_of(*ret);
	if (digest_is(&is, &place->sha))
		return 0;
	digest_hex(&place->sha, hex);
	return rye_fail(err, RYE_IO, "pack: the bytes of %s are not those of that digest", hex);
}

int pack_unpack(struct rye_span frame, const struct pack_place *place, struct rye_buf *ret,
		struct rye_err *err)
{
	auto_buf struct rye_buf room = RYE_BUF_INIT;
	struct rye_span raw, blob;
	int r = frame_open(frame, place, &room, &raw, err);

	if (!r)
		r = frame_blob(raw, place, &blob, err);
	if (r)
		return r;
	buf_addspan(ret, blob);
	return ret->failed ? pack_bad(err, "out of memory") : 0;
}

int pack_check(struct rye_span pack, const struct pack_place *places, size_t n, struct rye_err *err)
{
	auto_buf struct rye_buf room = RYE_BUF_INIT;
	struct rye_span raw = { "", 0 };
	struct rye_span blob;
	uint32_t open = 0; /* offset of the frame that is unpacked; none begins at 0 */
	int r = 0;

	for (size_t i = 0; !r && i < n; i++) {
		const struct pack_place *p = &places[i];

		/* a frame without bytes shares its offset with the next one */
		if (p->off != open || p->len != raw.len)
			r = frame_open((struct rye_span){ pack.ptr + p->off, p->zlen }, p, &room,
				       &raw, err);
		open = p->off;
		if (!r)
			r = frame_blob(raw, p, &blob, err);
	}
	return r;
}

int pack_verify(struct rye_span pack, struct pack_place **ret, size_t *ret_n,
		struct digest *ret_name, struct rye_err *err)
{
	auto_free struct pack_place *places = NULL;
	size_t n;
	int r = pack_places(pack, &places, &n, ret_name, err);

	if (!r)
		r = pack_check(pack, places, n, err);
	if (r)
		return r;
	*ret = steal(&places);
	*ret_n = n;
	return 0;
}

void pack_name(const struct digest *name, char ret[PACK_NAME_LEN])
{
	char hex[SHA_HEX];

	digest_hex(name, hex);
	snprintf(ret, PACK_NAME_LEN, "packs/%.2s/%s", hex, hex);
}
