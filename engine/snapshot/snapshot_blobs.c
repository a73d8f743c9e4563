/* SPDX-License-Identifier: MIT */
/*
 * Which blobs a snapshot is made of, each once, and not those that another manifest has too. A
 * file that has moved has the blob that it had. No lock.
 */
#include "base/io.h"
#include "snapshot/snapshot_inner.h"

#include <unistd.h>

struct gathering {
	const struct snapshot *snapshot;
	struct digest_set seen;
	struct snapshot_blobs blobs;
	/* of the file that is read */
	const struct manifest_line *line;
	uint64_t off;
	struct rye_buf list;
};

static int no_memory(struct rye_err *err)
{
	return rye_fail(err, RYE_IO, "push: out of memory");
}

static int gather(struct gathering *all, struct snapshot_blob blob, struct rye_err *err)
{
	struct snapshot_blobs *blobs = &all->blobs;
	int added = digest_set_add(&all->seen, &blob.sha);

	if (added > 0 && blobs->n == blobs->size) {
		size_t size = blobs->size ? 2 * blobs->size : 256;
		struct snapshot_blob *v = reallocarray(blobs->v, size, sizeof(*v));

		if (v) {
			blobs->v = v;
			blobs->size = size;
		}
		added = v ? 1 : -1;
	}
	if (added <= 0) {
		rye_blob_unref(blob.list);
		return added ? no_memory(err) : 0;
	}
	blobs->v[blobs->n++] = blob;
	return 0;
}

static int gather_piece(void *arg, const struct piece *piece, struct rye_span bytes,
			struct rye_err *err)
{
	struct gathering *all = arg;
	const struct snapshot_blob blob = { .sha = piece->sha,
					    .line = all->line,
					    .off = all->off,
					    .size = piece->size,
					    .from = BLOB_PIECE };

	(void)bytes;
	all->off += piece->size;
	all->blobs.pieces = true;
	pieces_add(&all->list, piece);
	return gather(all, blob, err);
}

static int blob_changed(const struct manifest_line *line, struct rye_err *err)
{
	return rye_fail(err, RYE_BUSY, "'%s' has changed while it was sent", line->path);
}

/* By the list that was made when the file was read. */
static int gather_listed(struct gathering *all, const struct rye_blob *text, struct rye_err *err)
{
	auto_free struct piece *pieces = NULL;
	size_t n = 0;
	int r = pieces_parse((struct rye_span){ text->data, text->len }, all->line->size, &pieces,
			     &n, err);

	for (size_t i = 0; !r && i < n; i++)
		r = gather_piece(all, &pieces[i], (struct rye_span){ "", 0 }, err);
	return r;
}

/* One that was not read this time, and is not in base. */
static int gather_read(struct gathering *all, struct rye_err *err)
{
	const struct manifest_line *line = all->line;
	auto_close int fd = snapshot_open(all->snapshot->root, line->path);
	struct digest is;
	int r;

	if (fd < 0)
		return blob_changed(line, err);
	r = piece_file(fd, line->size, gather_piece, all, err);
	if (r)
		return r;
	is = digest_of(buf_span(&all->list));
	return digest_is(&is, &line->sha) ? 0 : blob_changed(line, err);
}

static int gather_big(struct gathering *all, const struct manifest_line *line, struct rye_err *err)
{
	const struct rye_blob *text = snapshot_listed(all->snapshot, &line->sha);
	struct snapshot_blob list = { .sha = line->sha, .line = line, .from = BLOB_LIST };
	int r;

	all->line = line;
	all->off = 0;
	buf_clear(&all->list);
	r = text ? gather_listed(all, text, err) : gather_read(all, err);
	if (r)
		return rye_wrap(err, "'%s'", line->path);
	list.size = (uint32_t)all->list.len;
	list.list = rye_blob_new(buf_span(&all->list).ptr, all->list.len);
	return list.list ? gather(all, list, err) : no_memory(err);
}

static int gather_line(struct gathering *all, const struct manifest_line *line, struct rye_err *err)
{
	const struct snapshot_blob blob = { .sha = line->sha,
					    .line = line,
					    .size = (uint32_t)line->size,
					    .from = line->mode == MANIFEST_LINK ? BLOB_TARGET :
										  BLOB_FILE };

	if (line->mode != MANIFEST_PIECES && line->mode != MANIFEST_PIECES_EXEC)
		return gather(all, blob, err);
	/* the list is among those that base has, or that another file here is */
	if (digest_set_has(&all->seen, &line->sha))
		return 0;
	return gather_big(all, line, err);
}

static int gather_all(struct gathering *all, const struct manifest *base, struct rye_err *err)
{
	const struct manifest *manifest = all->snapshot->manifest;
	int r = 0;

	for (size_t i = 0; base && i < base->n; i++)
		if (digest_set_add(&all->seen, &base->v[i].sha) < 0)
			return no_memory(err);
	for (size_t i = 0; !r && i < manifest->n; i++)
		r = gather_line(all, &manifest->v[i], err);
	return r;
}

int snapshot_blobs(const struct snapshot *snapshot, const struct manifest *base,
		   struct snapshot_blobs *ret, struct rye_err *err)
{
	struct gathering all = { .snapshot = snapshot, .list = { .cap = BLOB_MAX } };
	int r = gather_all(&all, base, err);

	digest_set_done(&all.seen);
	buf_done(&all.list);
	if (r)
		snapshot_blobs_done(&all.blobs);
	else
		*ret = all.blobs;
	return r;
}

void snapshot_blobs_done(struct snapshot_blobs *blobs)
{
	for (size_t i = 0; i < blobs->n; i++)
		rye_blob_unref(blobs->v[i].list);
	free(blobs->v);
	*blobs = (struct snapshot_blobs){ 0 };
}
