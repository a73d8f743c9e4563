/* SPDX-License-Identifier: MIT */
/*
 * Cuts big files where their content says, so that what is put into the middle of one changes the pieces
 * around it alone: FastCDC, a rolling sum of the last 64 bytes, with a harder condition below the
 * wanted size than above it. Two machines need not cut alike. Pure, but for piece_file.
 */
#include "base/io.h"
#include "snapshot/snapshot_inner.h"

#include <errno.h>
#include <unistd.h>

#define PIECE_MIN (512u << 10)
#define PIECE_WANTED (1u << 20)
/* 2 bits more and 2 bits less than the 20 of the wanted size; the high ones have seen the most bytes */
#define MASK_HARD (UINT64_MAX << 42)
#define MASK_EASY (UINT64_MAX << 46)

void piece_cutter_init(struct piece_cutter *cutter)
{
	uint64_t state = 0x9e3779b97f4a7c15u;

	for (size_t i = 0; i < 256; i++) {
		uint64_t z = state += 0x9e3779b97f4a7c15u;

		z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
		z = (z ^ z >> 27) * 0x94d049bb133111ebu;
		cutter->gear[i] = z ^ z >> 31;
	}
}

size_t piece_cut(const struct piece_cutter *cutter, struct rye_span bytes)
{
	size_t most = MIN_OF(bytes.len, BLOB_MAX);
	size_t at = PIECE_MIN;
	uint64_t sum = 0;

	for (; at < MIN_OF(most, PIECE_WANTED); at++) {
		sum = (sum << 1) + cutter->gear[(unsigned char)bytes.ptr[at]];
		if (!(sum & MASK_HARD))
			return at + 1;
	}
	for (; at < most; at++) {
		sum = (sum << 1) + cutter->gear[(unsigned char)bytes.ptr[at]];
		if (!(sum & MASK_EASY))
			return at + 1;
	}
	return most;
}

static int piece_fill(int fd, struct rye_buf *room, size_t most, struct rye_err *err)
{
	while (room->len < most) {
		ssize_t n = read(fd, room->data + room->len, most - room->len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return rye_fail_sys(err, errno, "reading");
		if (!n)
			break;
		room->len += (size_t)n;
	}
	return 0;
}

/* One piece off the front of the room, which is read full before. 1: done; 0: nothing is left. */
static int next_piece(int fd, const struct piece_cutter *cutter, struct rye_buf *room,
		      struct rye_span *ret, struct rye_err *err)
{
	int r = piece_fill(fd, room, BLOB_MAX, err);

	if (r)
		return r;
	*ret = (struct rye_span){ room->data, piece_cut(cutter, buf_span(room)) };
	return room->len > 0;
}

int piece_file(int fd, uint64_t size, piece_fn fn, void *arg, struct rye_err *err)
{
	auto_buf struct rye_buf room = RYE_BUF_INIT;
	struct piece_cutter cutter;
	struct rye_span bytes;
	uint64_t sum = 0;
	int r;

	piece_cutter_init(&cutter);
	if (!buf_reserve(&room, BLOB_MAX))
		return rye_fail(err, RYE_IO, "out of memory");
	while ((r = next_piece(fd, &cutter, &room, &bytes, err)) > 0) {
		struct piece piece = { digest_of(bytes), (uint32_t)bytes.len };

		sum += bytes.len;
		r = fn(arg, &piece, bytes, err);
		if (r)
			return r;
		memmove(room.data, room.data + bytes.len, room.len - bytes.len);
		room.len -= bytes.len;
	}
	if (!r && sum != size)
		return rye_fail(err, RYE_BUSY, "it has changed while it was read");
	return r;
}
