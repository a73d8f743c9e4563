/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * fuzz_pieces.h - what holds of every reader of streams, whatever the bytes: it tells the same however
 * they are cut. The first byte says where the rest is; whole, cut there and byte by byte are tried.
 */
#include "buf.h"
#include "str.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* How the text is cut: a first piece, which may be empty, and the rest in steps; step 0: in one. */
struct fuzz_cut {
	struct rye_span text;
	size_t first, step;
};

/* The next piece: false, nothing more is wanted. */
typedef bool (*fuzz_feed_fn)(void *reader, struct rye_span piece, struct rye_buf *told);

/* False: the reader has given it up. */
static inline bool fuzz_feed(fuzz_feed_fn feed, void *reader, const struct fuzz_cut *cut,
			     struct rye_buf *told)
{
	struct rye_span text = cut->text;
	size_t n = cut->first < text.len ? cut->first : text.len;
	bool good = feed(reader, (struct rye_span){ text.ptr, n }, told);

	while (good && n < text.len) {
		size_t more = cut->step && cut->step < text.len - n ? cut->step : text.len - n;

		good = feed(reader, (struct rye_span){ text.ptr + n, more }, told);
		n += more;
	}
	return good;
}

typedef void (*fuzz_read_fn)(const struct fuzz_cut *cut, struct rye_buf *told);

static inline bool fuzz_same(const struct rye_buf *a, const struct rye_buf *b)
{
	return a->len == b->len && (!a->len || !memcmp(a->data, b->data, a->len));
}

static inline int fuzz_pieces(fuzz_read_fn read, const uint8_t *data, size_t size)
{
	auto_buf struct rye_buf whole = RYE_BUF_INIT, cut = RYE_BUF_INIT, bytes = RYE_BUF_INIT;
	struct rye_span text = { (const char *)data + 1, size ? size - 1 : 0 };

	if (!size)
		return 0;
	read(&(struct fuzz_cut){ text, text.len, 0 }, &whole);
	read(&(struct fuzz_cut){ text, data[0], 0 }, &cut);
	read(&(struct fuzz_cut){ text, 0, 1 }, &bytes);
	if (!fuzz_same(&whole, &cut) || !fuzz_same(&whole, &bytes))
		abort();
	return 0;
}
