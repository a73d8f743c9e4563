/* SPDX-License-Identifier: MIT */
/*
 * One cgroup "ryefs" below the one that the first mount was started in, for all mounts there: it
 * limits the processes of all tools together when root mounts, since RLIMIT_NPROC does not limit
 * root. It is left when the mount ends, for the next one. The whole process enters, not each tool:
 * a process that changes its cgroup waits in the kernel for all processors. Nothing here is fatal.
 */
#include "sandbox/sandbox.h"

#include "sandbox/sandbox_inner.h"
#include "bounds.h"
#include "mountinfo.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GROUP "ryefs"
#define GROUP_PATH_MAX 1024
/* Our own threads and runners are in it too. */
#define OWN_PROCESSES 512
#define PROC_TEXT_MAX (256u << 10)

struct pidlimit {
	pthread_mutex_t lock; /* entered */
	pthread_cond_t told;
	pthread_t thread; /* joined by pidlimit_close */
	bool entered; /* or it could not be */
};

static bool lists_pids(const char *list)
{
	for (; list; list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL)
		if (!strncmp(list, "pids", 4) && (!list[4] || list[4] == ','))
			return true;
	return false;
}

/* Is it a mount of cgroup v1 or, with `second`, of v2? */
static bool read_mount(char *line, bool second, struct mountinfo *ret)
{
	return mountinfo_parse(line, ret) && !strcmp(ret->type, second ? "cgroup2" : "cgroup") &&
	       (second || lists_pids(ret->options));
}

/* "NUMBER:CONTROLLERS:PATH"; v2 has number 0 and no controllers. */
static char *read_group(char *line, bool second)
{
	char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;

	if (!path)
		return NULL;
	*path = 0;
	return (second ? !names[1] : lists_pids(names + 1)) ? path + 1 : NULL;
}

static bool find_dir(const char *mounts, const char *cgroups, bool second, char *ret, size_t size)
{
	auto_free char *groups = strdup(cgroups), *table = strdup(mounts);
	char *group = NULL, *save;
	struct mountinfo mount;

	for (char *line = groups ? strtok_r(groups, "\n", &save) : NULL; line && !group;
	     line = strtok_r(NULL, "\n", &save))
		group = read_group(line, second);
	if (!group)
		return false;
	for (char *line = table ? strtok_r(table, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save)) {
		const char *below;

		if (!read_mount(line, second, &mount))
			continue;
		below = path_below(group, mount.root);
		if (below)
			return snprintf(ret, size, "%s%s%s", mount.point, *below ? "/" : "",
					below) < (int)size;
	}
	return false;
}

bool pidlimit_dir(const char *mounts, const char *cgroups, char *ret, size_t size)
{
	return find_dir(mounts, cgroups, false, ret, size) ||
	       find_dir(mounts, cgroups, true, ret, size);
}

static bool pidlimit_put(int dir, const char *name, const char *text)
{
	auto_close int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

static char *pidlimit_slurp(const char *path)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text = malloc(PROC_TEXT_MAX);
	size_t len = 0;
	ssize_t n = 0;

	while (fd >= 0 && text && len + 1 < PROC_TEXT_MAX &&
	       (n = read(fd, text + len, PROC_TEXT_MAX - 1 - len)) > 0)
		len += (size_t)n;
	if (text)
		text[len] = 0;
	return text;
}

/* Started by a mount, or a tool of one: the limit is there already. */
static bool is_own_group(const char *path)
{
	size_t n = strlen(path), own = strlen("/" GROUP);

	return n >= own && !strcmp(path + n - own, "/" GROUP);
}

bool pidlimit_held(void)
{
	auto_free char *mounts = pidlimit_slurp("/proc/self/mountinfo");
	auto_free char *cgroups = pidlimit_slurp("/proc/self/cgroup");
	char path[GROUP_PATH_MAX];

	return mounts && cgroups && pidlimit_dir(mounts, cgroups, path, sizeof(path)) &&
	       is_own_group(path);
}

static void pidlimit_enter(void)
{
	auto_free char *mounts = pidlimit_slurp("/proc/self/mountinfo");
	auto_free char *cgroups = pidlimit_slurp("/proc/self/cgroup");
	auto_close int dir = -1, own = -1;
	char path[GROUP_PATH_MAX], limit[32];

	if (!mounts || !cgroups || !pidlimit_dir(mounts, cgroups, path, sizeof(path)))
		return;
	if (is_own_group(path))
		return;
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || (mkdirat(dir, GROUP, 0755) < 0 && errno != EEXIST))
		return;
	own = openat(dir, GROUP, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (own >= 0 && faccessat(own, "pids.max", W_OK, 0) < 0)
		pidlimit_put(dir, "cgroup.subtree_control", "+pids");
	snprintf(limit, sizeof(limit), "%d", RYE_TOOL_PROCESSES + OWN_PROCESSES);
	if (own < 0 || !pidlimit_put(own, "pids.max", limit) ||
	    !pidlimit_put(own, "cgroup.procs", "0"))
		unlinkat(dir, GROUP, AT_REMOVEDIR);
}

static void *pidlimit_thread(void *arg)
{
	struct pidlimit *limit = arg;

	pidlimit_enter();
	GUARD(&limit->lock);
	limit->entered = true;
	pthread_cond_broadcast(&limit->told);
	return NULL;
}

static void pidlimit_free(struct pidlimit *limit)
{
	pthread_cond_destroy(&limit->told);
	pthread_mutex_destroy(&limit->lock);
	free(limit);
}

struct pidlimit *pidlimit_start(void)
{
	struct pidlimit *limit = geteuid() ? NULL : calloc(1, sizeof(*limit));
	int r;

	if (!limit)
		return NULL;
	pthread_mutex_init(&limit->lock, NULL);
	pthread_cond_init(&limit->told, NULL);
	{
		HOLD_SIGNALS();
		r = pthread_create(&limit->thread, NULL, pidlimit_thread, limit);
	}
	if (!r)
		return limit;
	pidlimit_free(limit);
	return NULL;
}

void pidlimit_wait(struct pidlimit *limit)
{
	if (!limit)
		return;
	GUARD(&limit->lock);
	while (!limit->entered)
		pthread_cond_wait(&limit->told, &limit->lock);
}

void pidlimit_close(struct pidlimit *limit)
{
	if (!limit)
		return;
	pthread_join(limit->thread, NULL);
	pidlimit_free(limit);
}
