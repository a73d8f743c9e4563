/* SPDX-License-Identifier: MIT */
/*
 * Temporary directories of engines that were killed. An engine holds the lock of `.lock` in its own
 * (sandbox.c), so one whose lock is free is of no use any more; what has no such file is not ours. It is
 * removed last: a sweep that is killed half-way leaves what the next one knows again (e2e watchdog).
 * Called by a mount and by doctor; no lock but that one.
 */
#include "sandbox/sandbox.h"

#include "base/io.h"
#include "scope.h"
#include "str.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Longer than a process takes from making one to locking it. */
#define EMPTY_S 60

static bool is_named(const char *name)
{
	return !strncmp(name, "ryefs-", 6) && strlen(name) == strlen("ryefs-XXXXXX");
}

int tmpdir_lock(const char *path, bool make)
{
	auto_close int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	auto_close int fd = -1;
	struct stat st;

	if (dir < 0 || fstat(dir, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 077))
		return -1;
	fd = openat(dir, ".lock", O_RDWR | (make ? O_CREAT : 0) | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &st) < 0 || !st.st_nlink)
		return -1;
	return steal_fd(&fd);
}

/* A sweep of another process may come between the making and the lock, and then takes it for left behind. */
#define MAKE_TRIES 16

char *tmpdir_make(const char *place, int *ret_lock)
{
	*ret_lock = -1;
	for (int i = 0; i < MAKE_TRIES; i++) {
		auto_free char *path = NULL;
		struct stat st;

		if (asprintf(&path, "%s/ryefs-XXXXXX", place) < 0 || !mkdtemp(path))
			return NULL;
		*ret_lock = tmpdir_lock(path, true);
		/* without room for the file it does without the lock */
		if ((*ret_lock >= 0 || i == MAKE_TRIES - 1) && lstat(path, &st) == 0)
			return steal(&path);
		if (*ret_lock >= 0)
			close(steal_fd(ret_lock));
		rmdir(path);
	}
	return NULL;
}

void tmpdir_drop(const char *path)
{
	auto_dir DIR *dir = NULL;
	struct dirent *entry;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	dir = fd < 0 ? NULL : fdopendir(fd);
	while (dir && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
		    strcmp(entry->d_name, ".lock") != 0)
			io_remove_tree(fd, entry->d_name, TMPDIR_DEPTH);
	if (dir)
		unlinkat(fd, ".lock", 0);
	rmdir(path);
}

/* Between the file's end and the directory's, or its making and the file's, nothing is in it. */
static bool is_empty_rest(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & 077) && st.st_nlink == 2 && time(NULL) - st.st_mtime > EMPTY_S;
}

static size_t sweep_place(const char *place, bool drop, rye_name_fn fn, void *arg)
{
	auto_dir DIR *dir = opendir(place);
	struct dirent *entry;
	size_t n = 0;

	while (dir && (entry = readdir(dir))) {
		auto_close int lock = -1;
		char path[4096 + 300];

		if (!is_named(entry->d_name))
			continue;
		snprintf(path, sizeof(path), "%s/%s", place, entry->d_name);
		lock = tmpdir_lock(path, false);
		if (lock < 0 && drop && is_empty_rest(path))
			rmdir(path);
		if (lock < 0)
			continue;
		n++;
		if (fn)
			fn(arg, path);
		if (drop)
			tmpdir_drop(path);
	}
	return n;
}

size_t tmpdir_sweep(bool drop, rye_name_fn fn, void *arg)
{
	const char *const places[] = { getenv("TMPDIR"), "/tmp", "/dev/shm" };
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (places[i] && *places[i] == '/' &&
		    (!i || !places[0] || strcmp(places[0], places[i])))
			n += sweep_place(places[i], drop, fn, arg);
	return n;
}
