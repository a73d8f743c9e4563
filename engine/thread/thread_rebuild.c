/* SPDX-License-Identifier: MIT */
/*
 * The registry, made anew from the log of its changes and from what lies in the threads' directories,
 * when it is gone or cannot be read. The new one is made beside the old one and put in its place as a
 * whole; the old one is kept. A lock on a file beside it: one process at a time does this, and those
 * that come after it find it done.
 */
#include "thread/thread_inner.h"

#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#define REBUILD_LOCK ".registry.lock"
#define REBUILD_NEW ".registry.new"
#define REBUILD_OLD "registry.db.damaged"
/* Components of an id; each makes two directories at most, one that is open here. */
#define REBUILD_DEPTH 32

struct rebuild {
	int root;
	json_t *rows; /* as registry_fill takes them */
};

static void rebuild_take(const struct rebuild *rebuild, int dir, const char *id)
{
	auto_thread_read struct thread_read read;
	json_t *row = json_object_get(rebuild->rows, id);

	thread_read(dir, id, THREAD_DOCS, &read);
	if (!thread_is_begun(dir, &read))
		return;
	if (!row) {
		row = json_object();
		json_set(rebuild->rows, id, row);
	}
	thread_row(dir, &read, row);
}

/* Takes dir over; id: of what is below it with a slash behind it, or "". */
static void rebuild_walk(const struct rebuild *rebuild, int dir, const char *id, int depth)
{
	auto_dir DIR *list = dir < 0 ? NULL : fdopendir(dir);
	struct dirent *entry;

	if (!list && dir >= 0)
		close(dir);
	while (list && depth < REBUILD_DEPTH && (entry = readdir(list))) {
		auto_buf struct rye_buf below = RYE_BUF_INIT;
		auto_close int fd = -1;

		if (*entry->d_name == '.' ||
		    (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN))
			continue;
		buf_addf(&below, "%s%s", id, entry->d_name);
		fd = below.failed ? -1 : thread_dir(rebuild->root, below.data, false, NULL);
		if (fd < 0)
			continue;
		rebuild_take(rebuild, fd, below.data);
		buf_addc(&below, '/');
		if (!below.failed)
			rebuild_walk(rebuild, steal_fd(&fd), below.data, depth + 1);
	}
}

json_t *thread_rebuild_rows(int root)
{
	const struct rebuild rebuild = { root, json_object() };

	registry_replay(root, rebuild.rows);
	rebuild_walk(&rebuild, openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "", 0);
	return rebuild.rows;
}

/* ---- the file ---- */

static void rebuild_drop(int root, const char *name)
{
	static const char *const parts[] = { "-wal", "-shm" };
	char part[64];

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		snprintf(part, sizeof(part), "%s%s", name, parts[i]);
		unlinkat(root, part, 0);
	}
}

/* Closing the only connection leaves all of it in one file. */
static int rebuild_make(int root, json_t *rows, struct rye_err *err)
{
	char path[THREADS_PATH_MAX];
	struct db *db = NULL;
	int r = thread_path(root, REBUILD_NEW, path);

	if (r < 0)
		return rye_fail_sys(err, -r, "state/threads");
	unlinkat(root, REBUILD_NEW, 0);
	rebuild_drop(root, REBUILD_NEW);
	r = registry_open(path, &db, err);
	if (!r)
		r = registry_fill(db, rows, err);
	db_close(db);
	return r;
}

/* What was written to the old one's log must not be taken for the new one's. */
static int rebuild_swap(int root, struct rye_err *err)
{
	if (renameat(root, "registry.db", root, REBUILD_OLD) < 0 && errno != ENOENT)
		return rye_fail_sys(err, errno, "registry.db");
	rebuild_drop(root, "registry.db");
	if (renameat(root, REBUILD_NEW, root, "registry.db") < 0)
		return rye_fail_sys(err, errno, "registry.db");
	return 0;
}

int thread_rebuild(int root, const struct registry_ask *ask, struct rye_err *err)
{
	auto_close int lock =
		openat(root, REBUILD_LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	auto_json json_t *rows = NULL;
	struct db *db = NULL;
	int r;

	if (lock < 0)
		return rye_fail_sys(err, errno, "registry.db cannot be made anew");
	while (flock(lock, LOCK_EX) < 0 && errno == EINTR)
		;
	if (thread_registry_read(root, ask, &db, NULL) == 0) {
		db_close(db);
		return 0;
	}
	rows = thread_rebuild_rows(root);
	r = rebuild_make(root, rows, err);
	if (!r)
		r = rebuild_swap(root, err);
	if (!r && ask->log)
		log_line(ask->log, RYE_LOG_ERR, "threads",
			 "registry.db could not be read and was made anew, of %zu threads that "
			 "left something behind; what was there is " REBUILD_OLD,
			 json_object_size(rows));
	return r;
}
