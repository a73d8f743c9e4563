/* SPDX-License-Identifier: MIT */
/*
 * The store `dir`: a directory, an object is a file of it by its name. Each is made beside its place,
 * synced and renamed, so what is there is whole. Walks follow no link. No lock.
 */
#include "base/io.h"

#include "store/store_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <string.h>
#include <unistd.h>

/* "packs/ab/NAME": more levels no name of ours has. */
#define LEVELS_MAX 8

struct store_dir_own {
	int fd; /* of the directory */
};

static int dir_open(const char *where, void **ret_own, struct rye_err *err)
{
	auto_free struct store_dir_own *own = calloc(1, sizeof(*own));

	if (!own)
		return rye_fail(err, RYE_IO, "%s: out of memory", where);
	if (*where != '/')
		return rye_fail(err, RYE_INVALID, "store '%s': wanted is an absolute path", where);
	own->fd = io_open_dir("/", where + 1, true);
	if (own->fd < 0)
		return rye_fail_sys(err, -own->fd, "%s", where);
	*ret_own = steal(&own);
	return 0;
}

static void dir_close(void *arg)
{
	struct store_dir_own *own = arg;

	close(own->fd);
	free(own);
}

static int make_parent(int fd, const char *name)
{
	char path[STORE_NAME_MAX + 1];

	if (!strchr(name, '/'))
		return 0;
	snprintf(path, sizeof(path), "%s", name);
	return io_mkdirs_at(fd, dirname(path), 0700);
}

static int dir_put(void *arg, const char *name, struct rye_span bytes, struct rye_err *err)
{
	const struct store_dir_own *own = arg;
	int r = make_parent(own->fd, name);

	if (!r)
		r = io_replace_at(own->fd, name, bytes, 0400);
	return r ? rye_fail_sys(err, -r, "store: %s", name) : 0;
}

static int get_len(int fd, const struct store_range *range, size_t *ret_len, struct rye_err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return rye_fail_sys(err, errno, "store: %s", range->name);
	if (range->off > (uint64_t)st.st_size ||
	    (range->len != STORE_WHOLE && range->len > (uint64_t)st.st_size - range->off))
		return rye_fail(err, RYE_IO, "store: %s has been cut: it has %lld bytes",
				range->name, (long long)st.st_size);
	*ret_len = range->len == STORE_WHOLE ? (size_t)((uint64_t)st.st_size - range->off) :
					       range->len;
	if (*ret_len > STORE_OBJECT_MAX)
		return rye_fail(err, RYE_TOO_BIG, "store: %s has more than %u bytes", range->name,
				STORE_OBJECT_MAX);
	return 0;
}

static int dir_get(void *arg, const struct store_range *range, struct rye_buf *ret,
		   struct rye_err *err)
{
	const struct store_dir_own *own = arg;
	auto_close int fd = io_open_beneath(own->fd, range->name, O_RDONLY | O_NOFOLLOW);
	size_t len = 0, got = 0;
	int r;

	if (fd < 0)
		return rye_fail_sys(err, -fd, "store: %s", range->name);
	r = get_len(fd, range, &len, err);
	if (r)
		return r;
	if (!buf_reserve(ret, len))
		return rye_fail(err, RYE_IO, "store: %s: out of memory", range->name);
	while (got < len) {
		ssize_t n = pread(fd, ret->data + ret->len, len - got, (off_t)(range->off + got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return rye_fail_sys(err, n < 0 ? errno : EIO, "store: %s", range->name);
		ret->len += (size_t)n;
		got += (size_t)n;
	}
	ret->data[ret->len] = '\0';
	return 0;
}

struct dir_walk {
	store_fn fn;
	void *arg;
	char name[STORE_NAME_MAX + 1];
	size_t len; /* of the name so far, with its slash */
};

static int walk_dir(struct dir_walk *walk, int fd, int levels);

static int walk_entry(struct dir_walk *walk, int fd, const char *name, int levels)
{
	size_t before = walk->len;
	size_t len = strlen(name);
	struct stat st;
	int r = 0;

	if (!strcmp(name, ".") || !strcmp(name, "..") || before + len + 1 > STORE_NAME_MAX ||
	    fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	memcpy(walk->name + before, name, len + 1);
	/* of a process that was killed while it wrote an object */
	if (io_is_left(fd, name, true))
		return 0;
	if (S_ISREG(st.st_mode)) {
		const struct store_object object = { walk->name, (uint64_t)st.st_size,
						     st.st_mtim.tv_sec };

		return walk->fn(walk->arg, &object);
	}
	if (S_ISDIR(st.st_mode) && levels) {
		walk->name[before + len] = '/';
		walk->len = before + len + 1;
		r = walk_dir(walk,
			     openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
			     levels - 1);
		walk->len = before;
	}
	return r;
}

/* Takes the descriptor over; a directory that has gone has nothing in it. */
static int walk_dir(struct dir_walk *walk, int fd, int levels)
{
	auto_dir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int r = 0;

	if (fd >= 0 && !dir)
		close(fd);
	while (!r && dir && (entry = readdir(dir)))
		r = walk_entry(walk, dirfd(dir), entry->d_name, levels);
	return r;
}

static int dir_list(void *arg, store_fn fn, void *fn_arg, struct rye_err *err)
{
	const struct store_dir_own *own = arg;
	struct dir_walk walk = { .fn = fn, .arg = fn_arg };
	int fd = openat(own->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return rye_fail_sys(err, errno, "store");
	return walk_dir(&walk, fd, LEVELS_MAX);
}

static int dir_del(void *arg, const char *name, struct rye_err *err)
{
	const struct store_dir_own *own = arg;

	if (unlinkat(own->fd, name, 0) < 0 && errno != ENOENT)
		return rye_fail_sys(err, errno, "store: %s", name);
	return 0;
}

const struct store_ops store_dir = {
	.scheme = "dir",
	.open = dir_open,
	.close = dir_close,
	.put = dir_put,
	.get = dir_get,
	.list = dir_list,
	.del = dir_del,
};
