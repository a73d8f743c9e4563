/* SPDX-License-Identifier: MIT */
/*
 * Giving files and this process to another account. Any thread; give_process while there is one thread alone. No
 * lock.
 */
#include "process/process.h"

#include "scope.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>

/* By a descriptor of it: no other file can take its place meanwhile. A link is given by its name. */
static int give_one(int dirfd, const char *name, uid_t uid)
{
	auto_close int fd = openat(dirfd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != 0 || (!S_ISDIR(st.st_mode) && st.st_nlink != 1))
		return 0;
	return fchownat(fd, "", uid, uid, AT_EMPTY_PATH) < 0 ? -errno : 0;
}

int give_tree(int dirfd, const char *name, uid_t uid, int depth)
{
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	auto_dir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (fd >= 0 && !dir)
		close(fd);
	while (dir && depth > 0 && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			give_tree(fd, entry->d_name, uid, depth - 1);
	return give_one(dirfd, name, uid);
}

int give_process(uid_t uid)
{
	if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0)
		return -errno;
	/* its own /proc is its own again: a sandbox writes there */
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	return 0;
}
