/* SPDX-License-Identifier: MIT */
/*
 * mountpoint.c - SOURCE and MOUNTPOINT before the mount, and their end.
 *
 * Owns no state. Runs before there is a thread, and once more at the end. A dead mount answers
 * every system call with ENOTCONN, so its path is resolved up to its directory only.
 */
#include "mount/mount.h"

#include "buf.h"
#include "connection.h"
#include "err.h"
#include "mountinfo.h"
#include "proc.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <limits.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

extern char **environ;

/* realpath of all but the last component: that one may be dead. */
static char *mountpoint_resolve(const char *path)
{
	auto_free char *copy = strdup(path);
	auto_free char *dir = NULL;
	char *whole = realpath(path, NULL), *slash;
	const char *base;
	size_t len;

	if (whole || errno != ENOTCONN || !copy)
		return whole;
	for (len = strlen(copy); len > 1 && copy[len - 1] == '/'; len--)
		copy[len - 1] = 0;
	slash = strrchr(copy, '/');
	base = slash ? slash + 1 : copy;
	if (slash)
		*slash = 0;
	dir = realpath(!slash ? "." : *copy ? copy : "/", NULL);
	if (!dir || asprintf(&whole, "%s/%s", strcmp(dir, "/") ? dir : "", base) < 0)
		return NULL;
	return whole;
}

int mountpoint_id(const char *path)
{
	struct mountinfo mount;
	auto_free char *line = mountinfo_find(path, &mount);

	return line ? mount.id : 0;
}

int mountpoint_detach(const char *path)
{
	const char *const argv[] = { "fusermount3", "-u", "-q", "-z", "--", path, NULL };

	if (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
		return 0;
	if (errno != EPERM)
		return errno;
	return fusermount_run(argv) ? EBUSY : 0;
}

static int fail_taken(const char *path, const char *source, struct rye_err *err)
{
	auto_buf struct rye_buf word = RYE_BUF_INIT;

	buf_shell(&word, path);
	return rye_fail(err, RYE_BUSY,
			"%s is a ryefs mount of %s already\n" MEND_WITH "ryefs umount %s", path,
			source, word.failed ? "MOUNTPOINT" : word.data);
}

/* 0: nothing is in the way any more; else a failure. */
static int mountpoint_clean(const char *path, struct rye_err *err)
{
	struct mountinfo mount;
	auto_free char *line = mountinfo_find(path, &mount);
	enum connection_state state;
	int sys;

	if (!line || !mountinfo_is_fuse(&mount))
		return 0;
	state = connection_probe(path, CONNECTION_PATIENCE_MS);
	if (state == CONNECTION_ANSWERS) {
		if (!mountinfo_is_ours(&mount))
			return 0;
		return fail_taken(path, mount.source, err);
	}
	if (!mountinfo_is_ours(&mount))
		return rye_fail(err, RYE_BUSY, "%s is a dead mount of %s; unmount it first", path,
				mount.type);
	if (state == CONNECTION_SILENT)
		connection_abort(minor(mount.dev), path);
	/* the watchdog of that mount did this, unless it was killed as well */
	rye_end_leftovers(0, mount.source);
	sys = mountpoint_detach(path);
	if (sys)
		return rye_fail_sys(err, sys, "cannot take away the dead ryefs mount at %s", path);
	return 0;
}

/* With the command that makes what is missing. */
static int fail_mountpoint(const char *path, int sys, struct rye_err *err)
{
	auto_buf struct rye_buf word = RYE_BUF_INIT;

	buf_shell(&word, path);
	if (sys == ENOENT && !word.failed)
		return rye_fail(err, RYE_NOT_FOUND,
				"cannot mount at %s: No such file or directory\n" MEND_WITH
				"mkdir -p %s",
				path, word.data);
	return rye_fail_sys(err, sys, "cannot mount at %s", path);
}

/* With the place that would do. */
static int fail_inside(const struct options *opt, const char *why, struct rye_err *err)
{
	auto_buf struct rye_buf at = RYE_BUF_INIT, mend = RYE_BUF_INIT;

	buf_addf(&at, "%s/mnt", opt->source);
	buf_adds(&mend, "mkdir -p ");
	buf_shell(&mend, at.failed ? "mnt" : at.data);
	buf_adds(&mend, " && ryefs ");
	buf_shell(&mend, opt->source);
	buf_addc(&mend, ' ');
	buf_shell(&mend, at.failed ? "mnt" : at.data);
	return rye_fail(err, RYE_INVALID, "cannot mount at %s: %s\n" MEND_WITH "%s",
			opt->mountpoint, why, mend.failed ? "ryefs mount --help" : mend.data);
}

/* What is as it was asked for, but seldom as it was meant. */
static void remark_place(const struct options *opt)
{
	auto_dir DIR *dir = opendir(opt->mountpoint);
	auto_free char *items = NULL;
	auto_buf struct rye_buf word = RYE_BUF_INIT;
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..")) {
			fprintf(stderr,
				"ryefs: %s is not empty; what lies in it is hidden until it "
				"is unmounted\n",
				opt->mountpoint);
			break;
		}
	buf_shell(&word, opt->source);
	if (asprintf(&items, "%s/.ai", opt->source) < 0 || access(items, F_OK) == 0)
		return;
	fprintf(stderr,
		"ryefs: there is no .ai in %s, so only your own items and the bundles' are served\n" MEND_WITH
		"ryefs init %s\n",
		opt->source, word.failed ? "DIR" : word.data);
}

#define FUSE_CONF "/etc/fuse.conf"

static bool others_are_allowed(void)
{
	auto_file FILE *in = fopen(FUSE_CONF, "re");
	auto_free char *line = NULL;
	size_t size = 0;

	while (in && getline(&line, &size, in) >= 0)
		if (strncmp(line, "user_allow_other", 16) == 0)
			return true;
	return false;
}

/* What would hinder this process from mounting there: told before libfuse and fusermount3 print
 * lines of their own. */
static int mountpoint_hindered(const struct options *opt, struct rye_err *err)
{
	const char *point = opt->mountpoint;
	auto_close int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	if (fd < 0 && (errno == EACCES || errno == EPERM))
		return rye_fail(
			err, RYE_DENIED,
			"cannot mount at %s: you may not open /dev/fuse; wanted \"sudo chmod 666 "
			"/dev/fuse\", or mount as root",
			point);
	if (fd < 0)
		return rye_fail_sys(
			err, errno,
			"cannot mount at %s: /dev/fuse is of no use here (\"modprobe fuse\", "
			"or a container's \"--device /dev/fuse\", brings it; the verbs of "
			"ryefs work without)",
			point);
	/* it needs no leave of fusermount3 */
	if (proc_may_mount())
		return 0;
	if (access(point, W_OK) != 0)
		return fail_inside(opt, "a directory is wanted that you may write to", err);
	if (opt->allow_other && geteuid() != 0 && !others_are_allowed())
		return rye_fail(err, RYE_DENIED,
				"cannot mount at %s: " FUSE_CONF
				" does not let users say allow_other\n" MEND_WITH
				"echo user_allow_other | sudo tee -a " FUSE_CONF,
				point);
	return 0;
}

/* Programs that are none of ours read it all the time, this one as well. */
static bool system_needs(const char *path)
{
	struct statfs on;

	if (strcmp(path, "/dev") == 0)
		return true;
	return statfs(path, &on) == 0 &&
	       (on.f_type == PROC_SUPER_MAGIC || on.f_type == SYSFS_MAGIC ||
		on.f_type == CGROUP_SUPER_MAGIC || on.f_type == CGROUP2_SUPER_MAGIC);
}

static bool has_items(const char *dir)
{
	auto_free char *items = NULL;
	struct stat st;

	return asprintf(&items, "%s/.ai", dir) >= 0 && lstat(items, &st) == 0;
}

/* A workspace is seldom meant to be hidden: more often the two words were exchanged. */
static int mountpoint_swapped(const struct options *opt, struct rye_err *err)
{
	auto_buf struct rye_buf mend = RYE_BUF_INIT;

	if (!has_items(opt->mountpoint))
		return 0;
	if (has_items(opt->source))
		return fail_inside(opt, "it has an .ai, which the mount would hide", err);
	buf_adds(&mend, "ryefs ");
	buf_shell(&mend, opt->mountpoint);
	buf_addc(&mend, ' ');
	buf_shell(&mend, opt->source);
	return rye_fail(err, RYE_INVALID, "%s has no .ai, %s has: swapped?\n" MEND_WITH "%s",
			opt->source, opt->mountpoint,
			mend.failed ? "ryefs mount --help" : mend.data);
}

struct mount_above {
	const char *path;
	size_t best;
	bool ours;
	char point[PATH_MAX], source[PATH_MAX];
};

/* The deepest of those that the path lies in, the last one on top; its line in mountinfo, nothing else, is read. */
static int look_above(void *arg, const struct mountinfo *mount)
{
	struct mount_above *above = arg;
	size_t len = strlen(mount->point);

	if (!path_below(above->path, mount->point) || len < above->best)
		return 0;
	above->best = len;
	above->ours = mountinfo_is_ours(mount);
	snprintf(above->point, sizeof(above->point), "%s", mount->point);
	snprintf(above->source, sizeof(above->source), "%s", mount->source);
	return 0;
}

static void mend_mount(struct rye_buf *ret, const char *project, const char *mountpoint)
{
	buf_adds(ret, "ryefs ");
	buf_shell(ret, project);
	buf_addc(ret, ' ');
	buf_shell(ret, mountpoint);
}

/* A daemon that serves what another one of ours shows waits for it, and at a swapped pair for itself. */
static int source_is_mount(const struct options *opt, struct rye_err *err)
{
	struct mount_above above = { .path = opt->source };
	auto_free char *point = NULL;
	auto_buf struct rye_buf mend = RYE_BUF_INIT;

	(void)mountinfo_each(look_above, &above);
	if (!above.ours)
		return 0;
	point = realpath(opt->mountpoint, NULL);
	if (point && path_below(above.source, point))
		buf_adds(&mend, "ryefs umount "), buf_shell(&mend, above.point);
	else
		mend_mount(&mend, above.source, opt->mountpoint);
	return rye_fail(
		err, RYE_INVALID,
		"no project at %s: %s is a ryefs mount of %s; the project itself is wanted\n" MEND_WITH
		"%s",
		opt->source, above.point, above.source, mend.failed ? "ryefs list" : mend.data);
}

/* What lies in a workspace is no project: it would be served without the items that are meant. */
static int source_is_workspace(const struct options *opt, struct rye_err *err)
{
	auto_buf struct rye_buf mend = RYE_BUF_INIT;
	auto_free char *project = NULL, *own = NULL;

	if (!str_ends(opt->source, "/.ai") || asprintf(&own, "%s/.ai", opt->source) < 0 ||
	    access(own, F_OK) == 0)
		return 0;
	project = strndup(opt->source, strlen(opt->source) - strlen("/.ai"));
	mend_mount(&mend, project && *project ? project : "/", opt->mountpoint);
	return rye_fail(err, RYE_INVALID,
			"no project at %s: it is the workspace in one; the project itself is "
			"wanted\n" MEND_WITH "%s",
			opt->source, mend.failed ? "ryefs PROJECT MOUNTPOINT" : mend.data);
}

/* Is it typed outside of the project? Then commands that find it by where they are need its name. */
static bool is_elsewhere(const char *source)
{
	auto_free char *here = getcwd(NULL, 0);

	return here && !path_below(here, source);
}

static int mountpoint_check(const struct options *opt, struct rye_err *err)
{
	auto_free char *items = NULL;
	struct stat st;

	if (stat(opt->mountpoint, &st))
		return fail_mountpoint(opt->mountpoint, errno, err);
	if (!S_ISDIR(st.st_mode))
		return fail_inside(opt, "not a directory", err);
	if (path_below(opt->source, opt->mountpoint))
		return fail_inside(opt, "it would hide the project; wanted a directory in it", err);
	if (system_needs(opt->mountpoint))
		return fail_inside(opt, "it would hide what the whole system needs", err);
	if (asprintf(&items, "%s/.ai", opt->source) < 0)
		return rye_fail(err, RYE_IO, "out of memory");
	if (path_below(opt->mountpoint, items))
		return fail_inside(opt, "it lies in the .ai that it would show", err);
	if (mountpoint_swapped(opt, err))
		return -(int)err->code;
	if (mountpoint_hindered(opt, err))
		return -(int)err->code;
	remark_place(opt);
	return 0;
}

/* The daemon works in /: "a:b" becomes "/here/a:/here/b". NULL stays NULL. */
static int mountpoint_absolute(struct options *opt, const char **list, struct rye_err *err)
{
	auto_free char *here = getcwd(NULL, 0);
	char text[OPTIONS_MAX];
	size_t n = 0;

	for (const char *p = *list; p && here; p = strchr(p, ':') ? strchr(p, ':') + 1 : NULL) {
		int len = (int)strcspn(p, ":");
		bool relative = len && *p != '/';

		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s%s%.*s", n ? ":" : "",
				      relative ? here : "", relative ? "/" : "", len, p);
		if (n >= sizeof(text))
			return rye_fail(err, RYE_INVALID, "the list of directories is too long");
	}
	if (!*list)
		return 0;
	*list = options_keep(opt, text);
	return *list ? 0 : rye_fail(err, RYE_IO, "out of memory");
}

static int fail_source(const char *source, int sys, struct rye_err *err)
{
	auto_buf struct rye_buf word = RYE_BUF_INIT;

	buf_shell(&word, source);
	if (sys != ENOENT || word.failed)
		return rye_fail_sys(err, sys, "no project at %s", source);
	return rye_fail(err, RYE_NOT_FOUND,
			"no project at %s: No such file or directory\n" MEND_WITH "ryefs init %s",
			source, word.data);
}

/* Of system=: bundles that are not there are a slip of the pen. */
static int check_roots(const struct options *opt, struct rye_err *err)
{
	const char *list = opt->engine.system_roots;

	for (const char *p = list; p && *p; p += strcspn(p, ":"), p += *p == ':') {
		char items[PATH_MAX];
		int len = (int)strcspn(p, ":");

		if (!len ||
		    snprintf(items, sizeof(items), "%.*s/.ai", len, p) >= (int)sizeof(items))
			continue;
		if (access(items, F_OK) != 0)
			return rye_fail(err, RYE_NOT_FOUND,
					"system=%.*s: there is no .ai in it\n" MEND_WITH
					"ryefs mount --help",
					len, p);
	}
	return 0;
}

int mountpoint_prepare(struct options *opt, const struct handover *handover, struct rye_err *err)
{
	char *source = realpath(opt->source, NULL);
	const char *user = getenv("USER_SPACE");
	struct stat st;
	int r;

	if (!source || stat(source, &st)) {
		int sys = errno;

		free(source);
		return fail_source(opt->source, sys, err);
	}
	free(opt->source);
	opt->source = source;
	if (!S_ISDIR(st.st_mode))
		return rye_fail(err, RYE_INVALID, "no project at %s: not a directory", source);
	r = source_is_mount(opt, err);
	if (!r)
		r = source_is_workspace(opt, err);
	if (r)
		return r;
	opt->elsewhere = is_elsewhere(source);
	if (!handover) {
		char *point = mountpoint_resolve(opt->mountpoint);

		if (!point)
			return fail_mountpoint(opt->mountpoint, errno, err);
		free(opt->mountpoint);
		opt->mountpoint = point;
	}
	opt->engine.project = opt->source;
	opt->engine.mountpoint = opt->mountpoint;
	/* the engine reads an absolute one itself */
	if (!opt->engine.user_base && user && *user && *user != '/' && *user != '~')
		opt->engine.user_base = user;
	r = mountpoint_absolute(opt, &opt->engine.user_base, err);
	if (r == 0)
		r = mountpoint_absolute(opt, &opt->engine.system_roots, err);
	if (r == 0)
		r = check_roots(opt, err);
	if (r == 0 && handover && handover_mount(handover).device >= 0)
		return kept_find(opt, handover, err);
	if (r == 0 && handover)
		return beneath_find(opt, handover, err);
	if (r == 0)
		r = mountpoint_clean(opt->mountpoint, err);
	return r ? r : mountpoint_check(opt, err);
}

/* ---- .git/info/exclude ---- */

static bool has_line(const char *file, const char *line)
{
	auto_file FILE *in = fopen(file, "re");
	auto_free char *got = NULL;
	size_t size = 0, len = strlen(line);

	while (in && getline(&got, &size, in) >= 0) {
		got[strcspn(got, "\r\n")] = 0;
		/* /mnt, /mnt/, mnt and mnt/ do the same here */
		if (strncmp(got, line, len) == 0 && (!got[len] || strcmp(got + len, "/") == 0))
			return true;
		if (strncmp(got, line + 1, len - 1) == 0 &&
		    (!got[len - 1] || strcmp(got + len - 1, "/") == 0))
			return true;
	}
	return false;
}

char *mountpoint_exclude(const struct options *opt, char **ret_git)
{
	auto_free char *dir = strdup(opt->mountpoint);
	char *slash;

	while (dir && (slash = strrchr(dir, '/'))) {
		auto_free char *git = NULL, *exclude = NULL, *ignore = NULL;
		const char *line = opt->mountpoint + (slash - dir);
		struct stat st;

		*slash = 0;
		if (asprintf(&git, "%s/.git", dir) < 0 || stat(git, &st))
			continue;
		if (asprintf(&exclude, "%s/info/exclude", git) < 0 ||
		    asprintf(&ignore, "%s/.gitignore", dir) < 0 || has_line(exclude, line) ||
		    has_line(ignore, line))
			return NULL;
		*ret_git = steal(&exclude);
		return strdup(line);
	}
	return NULL;
}

int mountpoint_failed(const struct options *opt, struct rye_err *err)
{
	int r = mountpoint_hindered(opt, err);

	return r ? r : rye_fail(err, RYE_IO, "cannot mount at %s", opt->mountpoint);
}
