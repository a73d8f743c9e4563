/* SPDX-License-Identifier: MIT */
/*
 * doctor's view of the machine: what a mount and the bundled runtimes need. Starts nothing and
 * enters no mount but by a look at its own words, where it answers.
 */
#include "cli/doctor/doctor.h"

#include "connection.h"
#include "proc.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/syscall.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif
#define LANDLOCK_VERSION 1 /* flag: answer the ABI's number */

static void check_fuse(struct findings *findings)
{
	auto_close int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		finding_add(findings, FINDING_OK, "/dev/fuse", NULL, "can be opened");
	else if (errno == EACCES || errno == EPERM)
		finding_add(findings, FINDING_BAD, "/dev/fuse", "chmod 666 /dev/fuse, as root",
			    "this user may not open it, so nothing can be mounted");
	else
		finding_add(findings, FINDING_BAD, "/dev/fuse",
			    "modprobe fuse; in a container: --device /dev/fuse --cap-add SYS_ADMIN",
			    "cannot be opened (%s), so nothing can be mounted", strerror(errno));
}

static bool on_path(const char *name)
{
	const char *path = getenv("PATH");
	char full[PATH_MAX];

	while (path && *path) {
		size_t len = strcspn(path, ":");

		if (snprintf(full, sizeof(full), "%.*s/%s", (int)len, path, name) <
			    (int)sizeof(full) &&
		    access(full, X_OK) == 0)
			return true;
		path += len + (path[len] == ':');
	}
	return false;
}

static void check_programs(struct findings *findings)
{
	static const struct {
		const char *name, *package, *lost;
		bool needed;
	} rows[] = {
		{ "fusermount3", "fuse3", "nobody but root can mount or unmount", true },
		{ "bash", "bash", "shell tools cannot run", true },
		{ "python3", "python3", "Python tools and most bundled tools cannot run", true },
		{ "node", "nodejs", "JavaScript and TypeScript tools cannot run", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char mend[64];

		snprintf(mend, sizeof(mend), "apt-get install %s", rows[i].package);
		if (on_path(rows[i].name))
			finding_add(findings, FINDING_OK, rows[i].name, NULL, "is there");
		else
			finding_add(findings, rows[i].needed ? FINDING_BAD : FINDING_REMARK,
				    rows[i].name, mend, "is missing: %s", rows[i].lost);
	}
}

/* fusermount3 allows only what it finds there; a root made by debootstrap has none. */
static void check_mtab(struct findings *findings)
{
	if (access("/etc/mtab", R_OK) != 0 && geteuid() != 0)
		finding_add(findings, FINDING_BAD, "/etc/mtab",
			    "ln -s ../proc/self/mounts /etc/mtab, as root",
			    "cannot be read, so fusermount3 unmounts nothing");
}

static void check_kernel(struct findings *findings)
{
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_DIRECTORY,
				.resolve = RESOLVE_BENEATH };
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_VERSION);
	auto_close int fd = (int)syscall(SYS_openat2, AT_FDCWD, ".", &how, sizeof(how));

	/* a tool's sandbox has none */
	if (fd < 0 && errno != ENOSYS)
		finding_add(findings, FINDING_BAD, "kernel", "a kernel from 5.6 on",
			    "openat2 does not work: %s", strerror(errno));
	if (abi >= 1)
		finding_add(findings, FINDING_OK, "kernel", NULL,
			    "Landlock ABI %ld: tools are confined to the project", abi);
	else
		finding_add(findings, FINDING_REMARK, "kernel",
			    "boot with lsm=landlock,... on a kernel from 5.13 on",
			    "no Landlock: tools may write wherever you may");
}

#define WATCHES_FEW 8192 /* one a directory; a workspace with 10 000 items has some hundreds */

/* errno: none can be had now, for others of the user's programs have them all; 0: one can. */
static int try_watch(void)
{
	auto_close int fd = inotify_init1(IN_CLOEXEC);

	return fd < 0 || inotify_add_watch(fd, "/", IN_CREATE) < 0 ? errno : 0;
}

static void check_watches(struct findings *findings)
{
	long long most = proc_number("/proc/sys/fs/inotify/max_user_watches");
	int sys = try_watch();

	if (sys == ENOSPC || sys == EMFILE)
		finding_add(findings, FINDING_REMARK, "inotify",
			    sys == ENOSPC ? "sysctl fs.inotify.max_user_watches=1048576" :
					    "sysctl fs.inotify.max_user_instances=1024",
			    "this user's programs have taken all %s: new directories are looked at "
			    "with each lookup",
			    sys == ENOSPC ? "watches" : "instances");
	else if (most > 0 && most < WATCHES_FEW)
		finding_add(findings, FINDING_REMARK, "inotify",
			    "sysctl fs.inotify.max_user_watches=65536",
			    "only %lld watches: beyond that many directories every lookup looks at "
			    "the disk",
			    most);
}

static void check_environment(struct findings *findings)
{
	const char *dev = getenv("RYE_DEV_MODE");

	if (dev && !strcmp(dev, "1"))
		finding_add(findings, FINDING_REMARK, "RYE_DEV_MODE", "unset RYE_DEV_MODE",
			    "items of yours are served whatever their signature says");
}

#define DOCTOR_PATIENCE_MS 1000

/* What has happened to mounts of other projects is told when those are looked at. */
static bool is_of_project(const struct cli *cli, const char *mountpoint)
{
	auto_free char *project = realpath(cli->project, NULL), *source = NULL, *below = NULL;

	return project && mounts_holds(mountpoint, &source, &below) && !strcmp(source, project);
}

static int check_mount(void *arg, const char *path)
{
	struct findings *findings = arg;
	auto_json json_t *stats = NULL, *deaths = NULL;
	auto_free char *mend = NULL;
	enum connection_state state;

	if (!is_of_project(findings->cli, path))
		return 0;
	state = connection_probe(path, DOCTOR_PATIENCE_MS);
	if (state == CONNECTION_DEAD) {
		mend = mend_with("ryefs umount %s", path);
		deaths = mounts_deaths(path, NULL);
		finding_add(findings, FINDING_BAD, path, mend, "a mount whose daemon has died%s%s",
			    deaths ? "; it " : "", json_str(deaths, "why"));
		return 0;
	}
	if (state != CONNECTION_ANSWERS)
		return 0;
	stats = mounts_stats(path);
	rings_check(findings, path, stats);
	deaths = stats ? mounts_deaths(path, stats) : NULL;
	if (deaths)
		finding_add(
			findings, FINDING_REMARK, path, NULL,
			"its daemon has died %lld time%s; the last one, at %s, %s; .ryefs/log there "
			"has its last words",
			(long long)json_int(deaths, "times", 0),
			PLURAL(json_int(deaths, "times", 0)), json_str(deaths, "at"),
			json_str(deaths, "why"));
	return 0;
}

void machine_check(struct findings *findings)
{
	check_fuse(findings);
	check_programs(findings);
	check_mtab(findings);
	check_kernel(findings);
	check_watches(findings);
	check_environment(findings);
	mounts_each(check_mount, findings);
}
