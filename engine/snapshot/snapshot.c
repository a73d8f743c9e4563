/* SPDX-License-Identifier: MIT */
/*
 * The manifest of a project as it is now: each file's digest, computed or remembered. No lock.
 */
#include "base/io.h"
#include "snapshot/snapshot_inner.h"

#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

struct snapping {
	int root;
	struct snapshot *snapshot;
	struct stat_cache *cache;
	struct sent sent; /* whose paths the lines have */
	struct manifest_line *lines;
	size_t n;
};

int snapshot_open(int root, const char *path)
{
	const struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW,
				      .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };

	return io_resolve(root, path, &how);
}

static void snap_refuse(struct snapping *snap, const char *path, const char *reason)
{
	sent_refuse(&snap->sent, path, reason);
}

static void add_line(struct snapping *snap, const char *path, const struct stat *st,
		     const struct digest *sha)
{
	bool big = st->st_size > BLOB_MAX;
	bool exec = st->st_mode & 0100;

	snap->lines[snap->n++] = (struct manifest_line){
		.mode = big ? (exec ? MANIFEST_PIECES_EXEC : MANIFEST_PIECES) :
			      (exec ? MANIFEST_EXEC : MANIFEST_FILE),
		.sha = *sha,
		.size = (uint64_t)st->st_size,
		.path = path,
	};
	snap->snapshot->bytes += (uint64_t)st->st_size;
}

static int snap_link(struct snapping *snap, const char *path)
{
	char target[MANIFEST_PATH + 1];
	ssize_t n = readlinkat(snap->root, path, target, sizeof(target));
	struct rye_err why;

	if (n < 0)
		return 0;
	if (n == sizeof(target)) {
		snap_refuse(snap, path, "its target is too long");
		return 0;
	}
	target[n] = '\0';
	if (checkout_link_check(path, target, &why)) {
		snap_refuse(snap, path, why.msg);
		return 0;
	}
	snap->lines[snap->n++] = (struct manifest_line){
		.mode = MANIFEST_LINK,
		.sha = digest_of((struct rye_span){ target, (size_t)n }),
		.size = (uint64_t)n,
		.path = path,
	};
	return 0;
}

struct piece_list {
	struct rye_buf text;
	bool key;
};

static int list_piece(void *arg, const struct piece *piece, struct rye_span bytes,
		      struct rye_err *err)
{
	struct piece_list *listing = arg;

	listing->key = listing->key || sent_is_key(bytes);
	pieces_add(&listing->text, piece);
	return listing->text.failed ? rye_fail(err, RYE_IO, "out of memory") : 0;
}

static int hash_big(int fd, const struct stat *st, struct digest *ret, bool *ret_key,
		    struct rye_err *err)
{
	struct piece_list listing = { .text = { .cap = BLOB_MAX } };
	int r = piece_file(fd, (uint64_t)st->st_size, list_piece, &listing, err);

	if (!r)
		*ret = digest_of(buf_span(&listing.text));
	*ret_key = listing.key;
	buf_done(&listing.text);
	return r;
}

/* *st: as it was read. */
static int hash_file(int fd, struct stat *st, struct digest *ret, bool *ret_key,
		     struct rye_err *err)
{
	auto_blob struct rye_blob *bytes = NULL;
	int r;

	if (fstat(fd, st) < 0)
		return rye_fail_sys(err, errno, "reading");
	if (st->st_size > BLOB_MAX)
		return hash_big(fd, st, ret, ret_key, err);
	r = io_read_fd(fd, BLOB_MAX, &bytes, st);
	if (r == -EAGAIN || r == -EFBIG)
		return rye_fail(err, RYE_BUSY, "it has changed while it was read");
	if (r < 0)
		return rye_fail_sys(err, -r, "reading");
	*ret = digest_of((struct rye_span){ bytes->data, bytes->len });
	*ret_key = sent_is_key((struct rye_span){ bytes->data, bytes->len });
	return 0;
}

static int snap_file(struct snapping *snap, const char *path, struct stat *st, struct rye_err *err)
{
	const struct stat_row *row = stat_cache_find(snap->cache, path, st);
	struct digest sha = { { 0 } };
	bool key = false;

	if (row) {
		sha = row->sha;
		key = row->key;
	} else {
		auto_close int fd = snapshot_open(snap->root, path);
		int r;

		if (fd < 0) {
			snap_refuse(snap, path,
				    fd == -ELOOP || fd == -EXDEV ? "it lies behind a link" :
								   "it cannot be read");
			return 0;
		}
		r = hash_file(fd, st, &sha, &key, err);
		if (r)
			return rye_wrap(err, "'%s'", path);
		snap->snapshot->hashed++;
	}
	stat_cache_put(snap->cache, path, st, &sha, key);
	if (key)
		snap_refuse(snap, path, "private keys are never sent");
	else
		add_line(snap, path, st, &sha);
	return 0;
}

static int snap_path(struct snapping *snap, const char *path, struct rye_err *err)
{
	struct stat st;

	/* one that has gone since it was listed is not a part of what is there now */
	if (fstatat(snap->root, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (S_ISLNK(st.st_mode))
		return snap_link(snap, path);
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > CHUNKED_MAX) {
		snap_refuse(snap, path, "that is no file of at most 16 GiB");
		return 0;
	}
	return snap_file(snap, path, &st, err);
}

int snapshot_line(int root, const char *path, struct manifest_line *ret, struct rye_err *err)
{
	struct snapshot room = { .root = root };
	auto_stat_cache struct stat_cache *cache = stat_cache_open(-1, NULL);
	struct snapping snap = { .root = root, .snapshot = &room, .cache = cache, .lines = ret };
	int r;

	snap.sent.refused = json_array();
	r = cache ? snap_path(&snap, path, err) : rye_fail(err, RYE_IO, "snapshot: out of memory");
	json_decref(snap.sent.refused);
	return r ? r : (int)snap.n;
}

static int snap_all(struct snapping *snap, struct rye_err *err)
{
	struct snapshot *snapshot = snap->snapshot;
	int r = 0;

	snap->lines = calloc(snap->sent.n + 1, sizeof(*snap->lines));
	if (!snap->lines || !snap->cache)
		return rye_fail(err, RYE_IO, "snapshot: out of memory");
	for (size_t i = 0; !r && i < snap->sent.n; i++)
		r = snap_path(snap, snap->sent.paths[i], err);
	if (!r)
		r = manifest_make(snap->lines, snap->n, &snapshot->manifest, err);
	if (r)
		return r;
	stat_cache_save(snap->cache);
	snapshot->refused = json_incref(snap->sent.refused);
	return snap->sent.failed ? rye_fail(err, RYE_IO, "snapshot: out of memory") : 0;
}

int snapshot_make(const struct snapshot_ask *ask, struct snapshot **ret, struct rye_err *err)
{
	auto_snapshot struct snapshot *snapshot = calloc(1, sizeof(*snapshot));
	struct snapping snap = { .snapshot = snapshot };
	int r;

	if (!snapshot)
		return rye_fail(err, RYE_IO, "snapshot: out of memory");
	snapshot->root = snap.root = open(ask->project, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (snap.root < 0)
		return rye_fail_sys(err, errno, "%s", ask->project);
	r = sent_list(ask, &snap.sent, err);
	if (r)
		return r;
	snap.cache = stat_cache_open(ask->cache_dir, ask->cache);
	r = snap_all(&snap, err);
	stat_cache_free(snap.cache);
	free(snap.lines);
	sent_done(&snap.sent);
	if (!r)
		*ret = steal(&snapshot);
	return r;
}

void snapshot_free(struct snapshot *snapshot)
{
	if (!snapshot)
		return;
	if (snapshot->root >= 0)
		close(snapshot->root);
	manifest_free(snapshot->manifest);
	json_decref(snapshot->refused);
	free(snapshot);
}
