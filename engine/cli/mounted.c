/* SPDX-License-Identifier: MIT */
/*
 * Which mounts are ours, and unmounting them. Never accesses a path inside a mount: if its daemon
 * hangs, the call would hang too.
 */
#include "cli/cli.h"

#include "mountinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>

struct each {
	int (*fn)(void *arg, const char *path);
	void *arg;
};

static int tell_ours(void *arg, const struct mountinfo *mount)
{
	const struct each *each = arg;

	return mountinfo_is_ours(mount) ? each->fn(each->arg, mount->point) : 0;
}

int mounts_each(int (*fn)(void *arg, const char *path), void *arg)
{
	struct each each = { fn, arg };
	int r = mountinfo_each(tell_ours, &each);

	return r < 0 ? 0 : r;
}

static int is_same_path(void *arg, const char *path)
{
	return !strcmp(arg, path);
}

bool mounts_has(const char *path)
{
	return mounts_each(is_same_path, (void *)path) != 0;
}

/* fusermount3 with one option; 0: unmounted. */
static int run_fusermount(const char *option, const char *path)
{
	const char *args[] = { "fusermount3", option, "--", path, NULL };
	const char *bare[] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL };
	posix_spawn_file_actions_t files;
	int status = -1;
	pid_t pid;

	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	if (posix_spawnp(&pid, "fusermount3", &files, NULL, (char *const *)args,
			 (char *const *)bare) == 0)
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	posix_spawn_file_actions_destroy(&files);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool mounts_detach(const char *path, bool lazy)
{
	if (run_fusermount(lazy ? "-uz" : "-u", path) == 0)
		return true;
	return geteuid() == 0 && umount2(path, lazy ? MNT_DETACH : 0) == 0;
}
