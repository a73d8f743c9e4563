/* SPDX-License-Identifier: MIT */
/*
 * Packs of a snapshot's blobs. The bytes are read once more, and their digest has to be what it was:
 * what is sent under a name is what has that name. No lock.
 */
#include "base/io.h"
#include "snapshot/snapshot_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

struct packing {
	const struct snapshot_pack *what;
	struct packer *packer;
	struct rye_buf bytes, pack;
	/* the big file that is open, since its pieces follow one another */
	const struct manifest_line *line;
	int fd;
};

static int pack_read_at(int fd, uint64_t off, size_t len, struct rye_buf *ret)
{
	buf_clear(ret);
	if (!buf_reserve(ret, len))
		return -ENOMEM;
	while (ret->len < len) {
		ssize_t n =
			pread(fd, ret->data + ret->len, len - ret->len, (off_t)(off + ret->len));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ESTALE;
		ret->len += (size_t)n;
	}
	return 0;
}

static int open_line(struct packing *packing, const struct manifest_line *line)
{
	if (packing->line == line)
		return 0;
	if (packing->fd >= 0)
		close(packing->fd);
	packing->line = NULL;
	packing->fd = snapshot_open(packing->what->snapshot->root, line->path);
	if (packing->fd < 0)
		return packing->fd;
	packing->line = line;
	return 0;
}

/* Into packing->bytes; -errno: it is not there any more, or shorter. */
static int read_blob(struct packing *packing, const struct snapshot_blob *blob)
{
	struct rye_buf *bytes = &packing->bytes;
	int r;

	if (blob->from == BLOB_TARGET) {
		ssize_t n;

		buf_clear(bytes);
		if (!buf_reserve(bytes, MANIFEST_PATH + 1))
			return -ENOMEM;
		n = readlinkat(packing->what->snapshot->root, blob->line->path, bytes->data,
			       MANIFEST_PATH + 1);
		bytes->len = n > 0 ? (size_t)n : 0;
		return n < 0 ? -errno : 0;
	}
	if (blob->from == BLOB_LIST) {
		buf_clear(bytes);
		buf_add(bytes, blob->list->data, blob->list->len);
		return bytes->failed ? -ENOMEM : 0;
	}
	r = open_line(packing, blob->line);
	return r ? r : pack_read_at(packing->fd, blob->off, blob->size, bytes);
}

static int pack_flush(struct packing *packing, struct rye_err *err)
{
	struct digest name;
	int r;

	buf_clear(&packing->pack);
	r = packer_end(packing->packer, &packing->pack, &name, err);
	return r ? r : packing->what->fn(packing->what->arg, buf_span(&packing->pack), err);
}

static int pack_one(struct packing *packing, const struct snapshot_blob *blob, struct rye_err *err)
{
	struct digest is;
	int r = read_blob(packing, blob);

	if (r == -ENOMEM)
		return rye_fail(err, RYE_IO, "push: out of memory");
	is = digest_of(buf_span(&packing->bytes));
	if (r < 0 || !digest_is(&is, &blob->sha))
		return rye_fail(err, RYE_BUSY, "'%s' has changed while it was sent",
				blob->line->path);
	if (sent_is_key(buf_span(&packing->bytes)))
		return rye_fail(err, RYE_DENIED, "'%s' has a private key in it", blob->line->path);
	if (!packer_has_room(packing->packer, packing->bytes.len)) {
		r = pack_flush(packing, err);
		if (r)
			return r;
	}
	return packer_add(packing->packer, &blob->sha, buf_span(&packing->bytes), err);
}

static int pack_all(struct packing *packing, struct rye_err *err)
{
	const struct snapshot_pack *what = packing->what;
	int r = 0;

	for (size_t i = 0; !r && i < what->blobs->n; i++)
		if (!what->skip || !(what->skip[i / 8] & 1 << i % 8))
			r = pack_one(packing, &what->blobs->v[i], err);
	return !r && packer_count(packing->packer) ? pack_flush(packing, err) : r;
}

int snapshot_pack(const struct snapshot_pack *what, struct rye_err *err)
{
	auto_packer struct packer *packer = packer_new();
	struct packing packing = { .what = what, .packer = packer, .fd = -1 };
	int r = packer ? pack_all(&packing, err) : rye_fail(err, RYE_IO, "push: out of memory");

	if (packing.fd >= 0)
		close(packing.fd);
	buf_done(&packing.bytes);
	buf_done(&packing.pack);
	return r;
}
