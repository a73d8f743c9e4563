/* SPDX-License-Identifier: MIT */
/*
 * errand_space.c: a user space that is one run's alone begins as a copy of that which runs of the same keys share, so
 * that its records count by the same key and others can go on with them; and has the files of the asker's user space that
 * the order carries. They are signed items or they count for nothing: no other place can be named. On the worker's thread.
 */
#include "worker/worker_inner.h"

#include "base/id.h"
#include "base/io.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#define SPACE_FILE_MAX (1u << 20)
/* config, keys, signing, automatic */
#define SPACE_DEPTH 6

static int copy_file(int from, int to, const char *name)
{
	auto_blob struct rye_blob *text = NULL;
	int r = io_read_at(from, name, SPACE_FILE_MAX, &text);

	return r < 0 ? r : io_create_at(to, name, (struct rye_span){ text->data, text->len }, 0600);
}

static int copy_dir(int from, int to, int depth)
{
	auto_dir DIR *dir = fdopendir(dup(from));
	const struct dirent *entry;
	struct stat st;
	int r = dir ? 0 : -errno;

	while (!r && (entry = readdir(dir))) {
		const char *name = entry->d_name;
		auto_close int below = -1, made = -1;

		if (!strcmp(name, ".") || !strcmp(name, "..") ||
		    fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (S_ISREG(st.st_mode))
			r = copy_file(from, to, name);
		if (!S_ISDIR(st.st_mode) || !depth)
			continue;
		r = io_mkdirs_at(to, name, 0700);
		below = io_open_beneath(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
		made = io_open_beneath(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
		if (r >= 0)
			r = below < 0 ? below : made < 0 ? made : copy_dir(below, made, depth - 1);
	}
	return r;
}

int errand_space_copy(const struct errand *errand, const char *shared, const char *made,
		      struct rye_err *err)
{
	const struct node_dir *node = errand->worker->node;
	char from[PATH_MAX], to[PATH_MAX];
	auto_close int source = -1, target = -1;
	int r;

	snprintf(from, sizeof(from), "%s/.ai/config", shared);
	snprintf(to, sizeof(to), "%s/.ai/config", made);
	r = io_mkdirs_at(node->dir, to, 0700);
	if (r >= 0)
		r = source = io_open_beneath(node->dir, from, O_RDONLY | O_DIRECTORY);
	if (r >= 0)
		r = target = io_open_beneath(node->dir, to, O_RDONLY | O_DIRECTORY);
	if (r >= 0)
		r = copy_dir(source, target, SPACE_DEPTH);
	return r < 0 ? rye_fail_sys(err, -r, "%s/%s", node->path, to) : 0;
}

/* "tools/a/b.py": of a kind of items, and a clean path. */
static int item_path_check(const char *path, struct rye_err *err)
{
	const char *slash = strchr(path, '/');
	enum rye_kind kind =
		slash ? kind_from_dir((struct rye_span){ path, (size_t)(slash - path) }) :
			RYE_KIND__MAX;

	if (kind == RYE_KIND__MAX || !rye_kind_has(kind, RYE_KIND_RUNS) ||
	    id_check(span_of(slash + 1), NULL))
		return rye_fail(err, RYE_INVALID, "order: \"items\" names %.200s, where no item is",
				path);
	return 0;
}

int errand_space_items(const struct errand *errand, const char *made, struct rye_err *err)
{
	const struct node_dir *node = errand->worker->node;
	const char *path;
	json_t *text;
	int r = 0;

	json_object_foreach((json_t *)errand->order.items, path, text) {
		auto_buf struct rye_buf name = RYE_BUF_INIT;
		const struct rye_span bytes = { json_string_value(text), json_string_length(text) };
		char *slash;

		r = bytes.ptr ? item_path_check(path, err) :
				rye_fail(err, RYE_INVALID, "order: \"items\" has what is no text");
		buf_addf(&name, "%s/.ai/%s", made, path);
		if (r || name.failed)
			return r ? r : memory_fail(err);
		slash = strrchr(name.data, '/');
		*slash = '\0';
		r = io_mkdirs_at(node->dir, name.data, 0700);
		*slash = '/';
		if (r >= 0)
			r = io_create_at(node->dir, name.data, bytes, 0600);
		if (r < 0)
			return rye_fail_sys(err, -r, "%.300s", path);
		r = 0;
	}
	return r;
}
