/* SPDX-License-Identifier: MIT */
/*
 * Those of a snapshot's blobs that were not packed while it was made. The bytes are read once more, and their digest
 * has to be what it was: what is sent under a name is what has that name. No lock.
 */
#include "base/io.h"
#include "snapshot/snapshot_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

struct rereading {
	const struct snapshot *snapshot;
	struct rye_buf bytes;
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

static int open_line(struct rereading *again, const struct manifest_line *line)
{
	if (again->line == line)
		return 0;
	if (again->fd >= 0)
		close(again->fd);
	again->line = NULL;
	again->fd = snapshot_open(again->snapshot->root, line->path);
	if (again->fd < 0)
		return again->fd;
	again->line = line;
	return 0;
}

/* Into again->bytes; -errno: it is not there any more, or shorter. */
static int read_blob(struct rereading *again, const struct snapshot_blob *blob)
{
	struct rye_buf *bytes = &again->bytes;
	int r;

	if (blob->from == BLOB_TARGET) {
		ssize_t n;

		buf_clear(bytes);
		if (!buf_reserve(bytes, MANIFEST_PATH + 1))
			return -ENOMEM;
		n = readlinkat(again->snapshot->root, blob->line->path, bytes->data,
			       MANIFEST_PATH + 1);
		bytes->len = n > 0 ? (size_t)n : 0;
		return n < 0 ? -errno : 0;
	}
	if (blob->from == BLOB_LIST) {
		buf_clear(bytes);
		buf_add(bytes, blob->list->data, blob->list->len);
		return bytes->failed ? -ENOMEM : 0;
	}
	r = open_line(again, blob->line);
	return r ? r : pack_read_at(again->fd, blob->off, blob->size, bytes);
}

static int pack_one(struct rereading *again, const struct snapshot_blob *blob,
		    struct packing *packing, struct rye_err *err)
{
	struct digest is;
	int r = packing_has(packing, &blob->sha) ? 1 : read_blob(again, blob);

	if (r == 1)
		return 0;
	if (r == -ENOMEM)
		return rye_fail(err, RYE_IO, "push: out of memory");
	is = digest_of(buf_span(&again->bytes));
	if (r < 0 || !digest_is(&is, &blob->sha))
		return rye_fail(err, RYE_BUSY, "'%s' has changed while it was sent",
				blob->line->path);
	if (sent_is_key(buf_span(&again->bytes)))
		return rye_fail(err, RYE_DENIED, "'%s' has a private key in it", blob->line->path);
	return packing_take(packing, &blob->sha, buf_span(&again->bytes), err);
}

int snapshot_pack(const struct snapshot *snapshot, const struct snapshot_blobs *blobs,
		  const unsigned char *skip, struct packing *packing, struct rye_err *err)
{
	struct rereading again = { .snapshot = snapshot, .fd = -1 };
	int r = 0;

	for (size_t i = 0; !r && i < blobs->n; i++)
		if (!skip || !(skip[i / 8] & 1 << i % 8))
			r = pack_one(&again, &blobs->v[i], packing, err);
	if (again.fd >= 0)
		close(again.fd);
	buf_done(&again.bytes);
	return r ? r : packing_flush(packing, err);
}
