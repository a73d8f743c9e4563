/* SPDX-License-Identifier: MIT */
/*
 * Makes a pack in memory: small blobs are gathered until they fill a frame, a bigger one is a frame of
 * its own; each frame is compressed unless that gains less than a twentieth. No lock.
 */
#include "pack/pack_inner.h"

#include <endian.h>
#include <zstd.h>

/* 3 makes packs that are 3 % (words) to 7 % (sources) smaller and takes half as long again. */
#define PACK_LEVEL 1

struct packer {
	ZSTD_CCtx *zstd;
	struct rye_buf pack; /* the magic and the frames so far */
	struct rye_buf frame; /* what is gathered for the next one */
	struct rye_buf frames, blobs; /* rows of the index */
	size_t n_frames, n_blobs;
};

struct packer *packer_new(void)
{
	struct packer *packer = calloc(1, sizeof(*packer));

	if (!packer)
		return NULL;
	packer->zstd = ZSTD_createCCtx();
	if (!packer->zstd) {
		free(packer);
		return NULL;
	}
	ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_compressionLevel, PACK_LEVEL);
	return packer;
}

static void packer_clear(struct packer *packer)
{
	buf_clear(&packer->pack);
	buf_clear(&packer->frame);
	buf_clear(&packer->frames);
	buf_clear(&packer->blobs);
	packer->n_frames = packer->n_blobs = 0;
}

void packer_free(struct packer *packer)
{
	if (!packer)
		return;
	ZSTD_freeCCtx(packer->zstd);
	buf_done(&packer->pack);
	buf_done(&packer->frame);
	buf_done(&packer->frames);
	buf_done(&packer->blobs);
	free(packer);
}

size_t packer_count(const struct packer *packer)
{
	return packer->n_blobs;
}

bool packer_has_room(const struct packer *packer, size_t len)
{
	size_t rows = packer->frames.len + packer->blobs.len + 2 * PACK_FRAME_ROW + PACK_BLOB_ROW;

	return packer->n_blobs < PACK_BLOBS &&
	       PACK_MAGIC_LEN + packer->pack.len + packer->frame.len + len + rows + PACK_TAIL <=
		       PACK_MAX;
}

static void packer_number(struct rye_buf *buf, size_t number)
{
	uint32_t be = htobe32((uint32_t)number);

	buf_add(buf, (const char *)&be, sizeof(be));
}

/* The compressed bytes behind what is there; false: they are hardly fewer, or it did not work. */
static bool packer_press(struct packer *packer)
{
	struct rye_buf *pack = &packer->pack;
	size_t len = packer->frame.len;
	size_t n;

	if (!len || !buf_reserve(pack, ZSTD_compressBound(len)))
		return false;
	n = ZSTD_compress2(packer->zstd, pack->data + pack->len, ZSTD_compressBound(len),
			   packer->frame.data, len);
	if (ZSTD_isError(n) || n > len - len / 20)
		return false;
	pack->len += n;
	return true;
}

static void end_frame(struct packer *packer)
{
	size_t before;
	bool raw;

	if (!packer->pack.len)
		buf_add(&packer->pack, PACK_MAGIC, PACK_MAGIC_LEN);
	before = packer->pack.len;
	raw = !packer_press(packer);
	if (raw)
		buf_addspan(&packer->pack, buf_span(&packer->frame));
	packer_number(&packer->frames, packer->pack.len - before);
	packer_number(&packer->frames, packer->frame.len);
	packer_number(&packer->frames, raw);
	packer->n_frames++;
	buf_clear(&packer->frame);
}

static bool packer_failed(const struct packer *packer)
{
	return packer->pack.failed || packer->frame.failed || packer->frames.failed ||
	       packer->blobs.failed;
}

int packer_add(struct packer *packer, const struct digest *sha, struct rye_span bytes,
	       struct rye_err *err)
{
	if (bytes.len > BLOB_MAX || !packer_has_room(packer, bytes.len))
		return rye_fail(err, RYE_TOO_BIG, "pack: no room for %zu bytes more", bytes.len);
	if (packer->frame.len && packer->frame.len + bytes.len > PACK_FRAME_MAX)
		end_frame(packer);
	buf_add(&packer->blobs, (const char *)sha->bytes, SHA_LEN);
	packer_number(&packer->blobs, packer->n_frames);
	packer_number(&packer->blobs, packer->frame.len);
	packer_number(&packer->blobs, bytes.len);
	packer->n_blobs++;
	buf_addspan(&packer->frame, bytes);
	if (packer->frame.len >= PACK_FRAME_MAX)
		end_frame(packer);
	return packer_failed(packer) ? rye_fail(err, RYE_IO, "pack: out of memory") : 0;
}

int packer_end(struct packer *packer, struct rye_buf *ret, struct digest *ret_name,
	       struct rye_err *err)
{
	struct rye_buf *pack = &packer->pack;

	/* what is gathered, which may be blobs without a byte */
	end_frame(packer);
	buf_addspan(pack, buf_span(&packer->frames));
	buf_addspan(pack, buf_span(&packer->blobs));
	packer_number(pack, packer->n_frames);
	packer_number(pack, packer->n_blobs);
	*ret_name = digest_of(buf_span(pack));
	buf_add(pack, (const char *)ret_name->bytes, SHA_LEN);
	if (packer_failed(packer))
		return rye_fail(err, RYE_IO, "pack: out of memory");
	buf_done(ret);
	*ret = *pack;
	*pack = RYE_BUF_INIT;
	packer_clear(packer);
	return 0;
}
