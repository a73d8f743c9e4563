/* SPDX-License-Identifier: MIT */
/*
 * A stage without its first file was decided: that file is written first and moved first, so
 * the others in it belong to what is in place. Anything else in a stage was never used. The
 * lock is flock(2) of the directory, held alone by the process that makes or settles a stage
 * and shared by those that read.
 */
#include "trust/trust_inner.h"

#include "base/io.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>

#define STAGE ".rye-new"
/* What earlier versions wrote beside the files; it may hold a private key. */
#define TEMPORARY ".rye-"

static const char *const followers[] = { "public_key.pem", "box_key.pem", "box_pub.pem" };

static void take_lock(int dir, int how)
{
	while (flock(dir, how) < 0 && errno == EINTR)
		;
}

static int open_stage(int dir)
{
	return openat(dir, STAGE, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

static void remove_stage(int dir, int stage)
{
	unlinkat(stage, KEYSTAGE_FIRST, 0);
	for (size_t i = 0; i < ARRAY_SIZE(followers); i++)
		unlinkat(stage, followers[i], 0);
	unlinkat(dir, STAGE, AT_REMOVEDIR);
}

/* What was decided is put in place; 0 when nothing of it is left. */
static int follow_stage(int dir, int stage)
{
	for (size_t i = 0; i < ARRAY_SIZE(followers); i++)
		if (renameat(stage, followers[i], dir, followers[i]) < 0 && errno != ENOENT)
			return -errno;
	if (unlinkat(dir, STAGE, AT_REMOVEDIR) < 0)
		return -errno;
	return fsync(dir) < 0 && errno != EINVAL ? -errno : 0;
}

static int write_file(int stage, const struct keystage_file *file)
{
	auto_close int fd = openat(stage, file->name,
				   O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	int r = fd < 0 ? -errno : io_write_all(fd, file->text, strlen(file->text));

	if (!r && (fchmod(fd, file->mode) < 0 || fsync(fd) < 0))
		r = -errno;
	/* Its name first of all: a stage that has only others after a crash was decided. */
	if (!r && !strcmp(file->name, KEYSTAGE_FIRST) && fsync(stage) < 0 && errno != EINVAL)
		r = -errno;
	return r;
}

static int keystage_fill(int stage, const struct keystage_file *files, size_t n,
			 const char **ret_name)
{
	int r = 0;

	for (size_t i = 0; i < n && !r; i++) {
		*ret_name = files[i].name;
		r = write_file(stage, &files[i]);
	}
	if (!r && fsync(stage) < 0 && errno != EINVAL)
		r = -errno;
	return r;
}

int keystage_put(int dir, const struct keystage_file *files, size_t n, struct rye_err *err)
{
	const char *name = files[0].name;
	auto_close int stage = -1;
	int r = mkdirat(dir, STAGE, 0700) < 0 ? -errno : 0;

	if (!r)
		stage = open_stage(dir);
	if (!r && stage < 0)
		r = -errno;
	if (!r)
		r = keystage_fill(stage, files, n, &name);
	if (!r && renameat(stage, KEYSTAGE_FIRST, dir, KEYSTAGE_FIRST) < 0)
		r = -errno;
	if (r && stage >= 0)
		remove_stage(dir, stage);
	if (r)
		return rye_fail_sys(err, -r, "cannot write %s", name);
	r = follow_stage(dir, stage);
	return r ? rye_fail_sys(err, -r, "the new %s is in place, the files beside it are not yet",
				KEYSTAGE_FIRST) :
		   0;
}

/* A listing of its own: the caller's directory keeps its place. */
static bool has_leftovers(int dir, bool clean)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_dir DIR *list = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	bool found = false;

	while (list && (entry = readdir(list))) {
		if (strncmp(entry->d_name, TEMPORARY, strlen(TEMPORARY)))
			continue;
		found = true;
		if (clean && str_ends(entry->d_name, ".tmp"))
			unlinkat(dir, entry->d_name, 0);
	}
	return found;
}

/* With the lock. */
static void keystage_settle(int dir)
{
	auto_close int stage = -1;

	if (!has_leftovers(dir, true))
		return;
	stage = open_stage(dir);
	if (stage < 0)
		return;
	if (faccessat(stage, KEYSTAGE_FIRST, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
		follow_stage(dir, stage);
	else
		remove_stage(dir, stage);
}

void keystage_share(int dir)
{
	if (has_leftovers(dir, false)) {
		take_lock(dir, LOCK_EX);
		keystage_settle(dir);
	}
	take_lock(dir, LOCK_SH);
}

void keystage_lock(int dir)
{
	take_lock(dir, LOCK_EX);
	keystage_settle(dir);
}
