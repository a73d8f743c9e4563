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

/* Times that a file is read which changes while it is. */
#define READ_ROUNDS 8

struct snapping {
	int root;
	struct snapshot *snapshot;
	struct stat_cache *cache;
	struct sent sent; /* whose paths the lines have */
	struct manifest_line *lines;
	size_t n;
	struct packing *packing; /* or NULL */
	struct rye_buf room; /* bytes of a small file */
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

/* To be packed while it is at hand. */
static int snap_give(struct snapping *snap, const struct digest *sha, struct rye_span bytes,
		     struct rye_err *err)
{
	return snap->packing ? packing_take(snap->packing, sha, bytes, err) : 0;
}

static int snap_link(struct snapping *snap, const char *path, struct rye_err *err)
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
	return snap_give(snap, &snap->lines[snap->n - 1].sha,
			 (struct rye_span){ target, (size_t)n }, err);
}

struct hashed {
	struct digest sha;
	bool key; /* a private key is in it */
};

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

const struct rye_blob *snapshot_listed(const struct snapshot *snapshot, const struct digest *sha)
{
	for (size_t i = 0; i < snapshot->n_lists; i++)
		if (digest_is(&snapshot->lists[i].sha, sha))
			return snapshot->lists[i].text;
	return NULL;
}

/* So that its pieces need not be looked for again. */
static int keep_list(struct snapshot *snapshot, const struct digest *sha, struct rye_span text,
		     struct rye_err *err)
{
	struct snapshot_list *lists =
		reallocarray(snapshot->lists, snapshot->n_lists + 1, sizeof(*lists));

	if (lists) {
		snapshot->lists = lists;
		lists[snapshot->n_lists] =
			(struct snapshot_list){ *sha, rye_blob_new(text.ptr, text.len) };
	}
	if (!lists || !lists[snapshot->n_lists].text)
		return rye_fail(err, RYE_IO, "out of memory");
	snapshot->n_lists++;
	return 0;
}

static int hash_big(struct snapping *snap, int fd, const struct stat *st, struct hashed *ret,
		    struct rye_err *err)
{
	struct piece_list listing = { .text = { .cap = BLOB_MAX } };
	int r = piece_file(fd, (uint64_t)st->st_size, list_piece, &listing, err);

	ret->sha = digest_of(buf_span(&listing.text));
	ret->key = listing.key;
	if (!r && !ret->key)
		r = keep_list(snap->snapshot, &ret->sha, buf_span(&listing.text), err);
	buf_done(&listing.text);
	return r;
}

/* All of a file that has st->st_size bytes, and has not changed meanwhile. */
static int snap_read(struct rye_buf *room, int fd, const struct stat *st, struct rye_err *err)
{
	size_t size = (size_t)st->st_size;
	struct stat after;

	buf_clear(room);
	if (!buf_reserve(room, size + 1))
		return rye_fail(err, RYE_IO, "out of memory");
	while (room->len <= size) {
		ssize_t n = read(fd, room->data + room->len, size + 1 - room->len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return rye_fail_sys(err, errno, "reading");
		room->len += (size_t)n;
		/* of a regular file less than was asked for is its end */
		if (!n || room->len == size)
			break;
	}
	if (room->len != size || fstat(fd, &after) < 0 || !stat_same(st, &after))
		return rye_fail(err, RYE_BUSY, "it has changed while it was read");
	return 0;
}

/* *st: as it was read. */
static int hash_file(struct snapping *snap, int fd, struct stat *st, struct hashed *ret,
		     struct rye_err *err)
{
	int r = -RYE_BUSY;

	/* one that is written to just now is mostly not a moment later */
	for (int i = 0; i < READ_ROUNDS && r == -RYE_BUSY; i++) {
		if (fstat(fd, st) < 0 || lseek(fd, 0, SEEK_SET) < 0)
			return rye_fail_sys(err, errno, "reading");
		r = st->st_size > BLOB_MAX ? hash_big(snap, fd, st, ret, err) :
					     snap_read(&snap->room, fd, st, err);
	}
	if (r || st->st_size > BLOB_MAX)
		return r;
	ret->sha = digest_of(buf_span(&snap->room));
	ret->key = sent_is_key(buf_span(&snap->room));
	return ret->key ? 0 : snap_give(snap, &ret->sha, buf_span(&snap->room), err);
}

static int snap_file(struct snapping *snap, const char *path, struct stat *st, struct rye_err *err)
{
	const struct stat_row *row = stat_cache_find(snap->cache, path, st);
	struct hashed is = { { { 0 } }, false };

	if (row) {
		is = (struct hashed){ row->sha, row->key };
	} else {
		auto_close int fd = snapshot_open(snap->root, path);
		int r;

		if (fd < 0) {
			snap_refuse(snap, path,
				    fd == -ELOOP || fd == -EXDEV ? "it lies behind a link" :
								   "it cannot be read");
			return 0;
		}
		r = hash_file(snap, fd, st, &is, err);
		if (r)
			return rye_wrap(err, "'%s'", path);
		snap->snapshot->hashed++;
	}
	stat_cache_put(snap->cache, path, st, &is.sha, is.key);
	if (is.key)
		snap_refuse(snap, path, "private keys are never sent");
	else
		add_line(snap, path, st, &is.sha);
	return 0;
}

static int snap_path(struct snapping *snap, const char *path, struct rye_err *err)
{
	struct stat st;

	/* one that has gone since it was listed is not a part of what is there now */
	if (fstatat(snap->root, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (S_ISLNK(st.st_mode))
		return snap_link(snap, path, err);
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > CHUNKED_MAX) {
		snap_refuse(snap, path, "that is no file of at most 16 GiB");
		return 0;
	}
	return snap_file(snap, path, &st, err);
}

static void snapshot_lists_done(struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->n_lists; i++)
		rye_blob_unref(snapshot->lists[i].text);
	free(snapshot->lists);
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
	buf_done(&snap.room);
	snapshot_lists_done(&room);
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
	struct snapping snap = { .snapshot = snapshot, .packing = ask->packing };
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
	buf_done(&snap.room);
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
	snapshot_lists_done(snapshot);
	json_decref(snapshot->refused);
	free(snapshot);
}
