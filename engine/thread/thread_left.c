/* SPDX-License-Identifier: MIT */
/*
 * What launchers and runners that were killed have left in state/threads: temporary files, and
 * directories that never got a row. A launcher holds the directory's lock from before its first file
 * until there is a row. Called by a mount's poll and by doctor; nothing here waits.
 */
#include "thread/thread_inner.h"

#include "base/id.h"
#include "base/io.h"
#include "bounds.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct thread_left {
	struct threads *threads;
	int root;
	bool drop;
	rye_name_fn fn;
	void *arg;
	size_t n;
};

/* As thread_id_at makes the last part: "STEM-SECONDS". */
static bool is_stem_id(const char *name)
{
	const char *dash = strrchr(name, '-');

	return dash && dash > name && strlen(dash) > 10 &&
	       strspn(dash + 1, "0123456789") == strlen(dash + 1);
}

/* Is it what a launcher puts into a directory before there is a row? */
static bool is_unborn(const char *name)
{
	const struct thread_file *file = thread_file(name);

	return file ? file->bit & THREAD_LAUNCHED :
		      !strcmp(name, ".") || !strcmp(name, "..") || !strncmp(name, ".rye-", 5);
}

bool thread_has_row(struct threads *threads, const char *id)
{
	struct registry_row row;
	struct rye_err err = { 0 };
	struct db *db;
	int r = threads_registry(threads, false, &db, &err);

	if (!r)
		r = registry_get(db, id, false, &row, &err);
	/* what cannot be read may have one */
	return r != -(int)RYE_NOT_FOUND;
}

static void thread_left_tell(struct thread_left *left, const char *id, const char *name)
{
	auto_buf struct rye_buf path = RYE_BUF_INIT;

	left->n++;
	buf_addf(&path, "%s/.ai/state/threads/%s%s%s", left->threads->env.opt->project, id,
		 *name ? "/" : "", name);
	if (left->fn && !path.failed)
		left->fn(left->arg, path.data);
}

/* Is it held, or was there no launcher that could hold it? */
static bool is_launching(int dir, bool drop)
{
	auto_close int lock = -1;

	if (!drop && !thread_marked(dir, ".lock"))
		return false;
	lock = thread_lock(dir);
	return lock < 0 && lock != -EBUSY;
}

bool threads_unborn(struct threads *threads, const char *id)
{
	struct rye_err err = { 0 };
	auto_close int root = thread_root(threads->env.opt->project, false, &err);
	auto_close int dir = root < 0 ? -1 : thread_dir(root, id, false, &err);

	if (thread_has_row(threads, id) || (dir < 0 && err_scarce(&err)))
		return false;
	/* its row comes before the lock goes */
	return dir < 0 || (!is_launching(dir, true) && !thread_has_row(threads, id));
}

static void look_in(struct thread_left *left, const char *id)
{
	auto_close int dir = thread_dir(left->root, id, false, NULL);
	int copy = dir < 0 ? -1 : openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_dir DIR *list = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;
	bool unborn = true;

	if (!list && copy >= 0)
		close(copy);
	while (list && (entry = readdir(list))) {
		unborn = unborn && is_unborn(entry->d_name);
		if (io_is_left(copy, entry->d_name, left->drop))
			thread_left_tell(left, id, entry->d_name);
	}
	if (!list || !unborn || thread_has_row(left->threads, id) ||
	    is_launching(dir, left->drop) || thread_has_row(left->threads, id))
		return;
	thread_left_tell(left, id, "");
	if (left->drop)
		thread_remove(left->root, id);
}

static void look_below(struct thread_left *left, const char *at, int depth);

/* The id of a directive's thread has directories above it, as that of the directive. */
static void look_at_entry(struct thread_left *left, const char *at, const char *name, int depth)
{
	char id[THREAD_ID_MAX];

	if (snprintf(id, sizeof(id), "%s%s%s", at, *at ? "/" : "", name) >= (int)sizeof(id))
		return;
	if ((!*at && id_is_uuid(name)) || is_stem_id(name))
		look_in(left, id);
	else
		look_below(left, id, depth + 1);
}

static bool is_directory_at(int dir, const struct dirent *entry)
{
	struct stat st;

	return entry->d_type == DT_DIR ||
	       (entry->d_type == DT_UNKNOWN &&
		fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode));
}

/* at: "" for state/threads itself */
static void look_below(struct thread_left *left, const char *at, int depth)
{
	int dir = *at ? thread_dir(left->root, at, false, NULL) :
			openat(left->root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_dir DIR *list = dir < 0 ? NULL : fdopendir(dir);
	struct dirent *entry;

	if (!list && dir >= 0)
		close(dir);
	while (list && depth < RYE_DEPTH_MAX && (entry = readdir(list)))
		if (entry->d_name[0] != '.' && is_directory_at(dir, entry))
			look_at_entry(left, at, entry->d_name, depth);
}

size_t threads_left(struct threads *threads, bool drop, rye_name_fn fn, void *arg)
{
	auto_close int root = thread_root(threads->env.opt->project, false, NULL);
	struct thread_left left = { threads, root, drop, fn, arg, 0 };

	if (root >= 0)
		look_below(&left, "", 0);
	return left.n;
}
