/* SPDX-License-Identifier: MIT */
/*
 * Temporary directories of engines that were killed. An engine holds the lock of `.lock` in its own
 * (sandbox.c), so one whose lock is free is of no use any more; what has no such file is not ours.
 * Called by a mount and by doctor; no lock but that one.
 */
#include "sandbox/sandbox.h"

#include "scope.h"
#include "str.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

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
		if (lock < 0)
			continue;
		n++;
		if (fn)
			fn(arg, path);
		if (drop)
			tmpdir_remove(path);
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
