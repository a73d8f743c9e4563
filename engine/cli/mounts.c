/* SPDX-License-Identifier: MIT */
/*
 * Reads /proc/self/mountinfo and has mounts undone. Never looks into a mount itself: one whose
 * daemon hangs would hang us with it.
 */
#include "cli/mounts.h"

#include "base/auto.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>

#define LINE_MAX_ (2 * PATH_MAX)

/* Blanks, tabs, line ends and backslashes stand as three octal digits. */
static void unescape(char *text)
{
	char *out = text;

	for (const char *in = text; *in; out++) {
		if (in[0] == '\\' && in[1] >= '0' && in[1] <= '3' && in[2] && in[3]) {
			*out = (char)((in[1] - '0') << 6 | (in[2] - '0') << 3 | (in[3] - '0'));
			in += 4;
		} else {
			*out = *in++;
		}
	}
	*out = 0;
}

/* The mountpoint of a line when the mount is ours; NULL otherwise. Cuts the line up. */
static char *mountpoint(char *line)
{
	char *type = strstr(line, " - fuse.ryefs ");
	char *save = NULL, *field = NULL;

	if (!type)
		return NULL;
	*type = 0;
	for (int i = 0; i < 5; i++)
		field = strtok_r(i ? NULL : line, " ", &save);
	if (field)
		unescape(field);
	return field;
}

int mounts_each(int (*fn)(void *arg, const char *path), void *arg)
{
	auto_file FILE *file = fopen("/proc/self/mountinfo", "re");
	char line[LINE_MAX_];
	int stop = 0;

	while (file && !stop && fgets(line, sizeof(line), file)) {
		char *path = mountpoint(line);

		if (path)
			stop = fn(arg, path);
	}
	return stop;
}

static int same(void *arg, const char *path)
{
	return !strcmp(arg, path);
}

bool mounts_has(const char *path)
{
	return mounts_each(same, (void *)path) != 0;
}

/* fusermount3 with one option; 0: unmounted. */
static int fusermount(const char *option, const char *path)
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
	if (fusermount(lazy ? "-uz" : "-u", path) == 0)
		return true;
	return geteuid() == 0 && umount2(path, lazy ? MNT_DETACH : 0) == 0;
}
