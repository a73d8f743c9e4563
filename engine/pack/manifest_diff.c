/* SPDX-License-Identifier: MIT */
/*
 * A manifest as zstd makes it with an older one for its dictionary: of 20 000 paths of which 200 have
 * changed that is ten kilobytes in place of two megabytes. Both sides have the older text. Pure.
 */
#include "pack/pack.h"

#include <zstd.h>

#define DIFF_LEVEL 3
/* The window reaches from the end of the text to the beginning of the base. */
#define DIFF_WINDOW 27

_Static_assert(2 * MANIFEST_MAX <= 1u << DIFF_WINDOW, "both texts are within the window");

static int diff_fail(struct rye_err *err, const char *what)
{
	return rye_fail(err, RYE_IO, "manifest: %s", what);
}

static unsigned window_of(size_t len)
{
	unsigned window = 10; /* zstd's least */

	while (window < DIFF_WINDOW && (size_t)1 << window < len)
		window++;
	return window;
}

DEFINE_AUTO(auto_cctx_, ZSTD_CCtx *, ZSTD_freeCCtx)
DEFINE_AUTO(auto_dctx_, ZSTD_DCtx *, ZSTD_freeDCtx)

int manifest_shrink(const struct rye_blob *base, const struct rye_blob *text, struct rye_buf *ret,
		    struct rye_err *err)
{
	__attribute__((cleanup(auto_cctx_))) ZSTD_CCtx *zstd = ZSTD_createCCtx();
	/* zstd forgets a base that lies where the text does */
	auto_blob struct rye_blob *copy =
		base && base == text ? rye_blob_new(text->data, text->len) : NULL;
	size_t room = ZSTD_compressBound(text->len);
	size_t n;

	base = copy ? copy : base;
	if (!zstd || !buf_reserve(ret, room))
		return diff_fail(err, "out of memory");
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, DIFF_LEVEL);
	if (base) {
		ZSTD_CCtx_setParameter(zstd, ZSTD_c_windowLog,
				       (int)window_of(base->len + text->len));
		ZSTD_CCtx_setParameter(zstd, ZSTD_c_enableLongDistanceMatching, 1);
		ZSTD_CCtx_refPrefix(zstd, base->data, base->len);
	}
	n = ZSTD_compress2(zstd, ret->data + ret->len, room, text->data, text->len);
	if (ZSTD_isError(n))
		return diff_fail(err, ZSTD_getErrorName(n));
	ret->len += n;
	return 0;
}

int manifest_grow(const struct rye_blob *base, struct rye_span bytes, struct rye_blob **ret,
		  struct rye_err *err)
{
	__attribute__((cleanup(auto_dctx_))) ZSTD_DCtx *zstd = ZSTD_createDCtx();
	unsigned long long len = ZSTD_getFrameContentSize(bytes.ptr, bytes.len);
	auto_buf struct rye_buf text = { .cap = MANIFEST_MAX };
	size_t n;

	if (len == ZSTD_CONTENTSIZE_ERROR || len == ZSTD_CONTENTSIZE_UNKNOWN)
		return diff_fail(err, "that is no text of zstd, or it does not tell its length");
	if (len > MANIFEST_MAX)
		return rye_fail(err, RYE_TOO_BIG, "manifest: it has %llu bytes, at most %u may be",
				len, MANIFEST_MAX);
	if (!zstd || !buf_reserve(&text, (size_t)len))
		return diff_fail(err, "out of memory");
	ZSTD_DCtx_setParameter(zstd, ZSTD_d_windowLogMax, DIFF_WINDOW);
	if (base)
		ZSTD_DCtx_refPrefix(zstd, base->data, base->len);
	n = ZSTD_decompressDCtx(zstd, text.data, (size_t)len, bytes.ptr, bytes.len);
	if (ZSTD_isError(n) || n != len)
		return diff_fail(
			err,
			"it cannot be unpacked: it was cut, or is the difference to another one");
	text.len = n;
	*ret = buf_blob(&text);
	return *ret ? 0 : diff_fail(err, "out of memory");
}
