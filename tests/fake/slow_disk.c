/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into ryefs by tests/e2e/slow_disk.sh and others: while there is the file that SLOW_DISK names, each
 * look at a file or a list of a directory named "project" takes a second, as on a disk that sleeps; with SLOW_PART
 * a look at what has that in its path. With SLOW_PATH such a look takes until that file is gone.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void slow_look(int fd)
{
	const char *on = getenv("SLOW_DISK"), *part = getenv("SLOW_PART");
	const char *held = getenv("SLOW_PATH");
	char proc[64], path[512];
	ssize_t n;

	if (!on || access(on, F_OK))
		return;
	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
	n = readlink(proc, path, sizeof(path) - 1);
	if (n < 0)
		return;
	path[n] = 0;
	if (!held && strstr(path, part ? part : "/project/.ai"))
		sleep(1);
	while (held && strstr(path, held) && !access(on, F_OK))
		usleep(20000);
}

/* With 64-bit offsets these are pread64 and fstatat64. */
__attribute__((visibility("default"))) ssize_t pread(int fd, void *bytes, size_t n, off_t off)
{
	ssize_t (*real)(int, void *, size_t, off_t) = dlsym(RTLD_NEXT, "pread64");

	slow_look(fd);
	return real(fd, bytes, n, off);
}

__attribute__((visibility("default"))) int fstatat(int fd, const char *path, struct stat *ret,
						   int flags)
{
	int (*real)(int, const char *, struct stat *, int) = dlsym(RTLD_NEXT, "fstatat64");

	slow_look(fd);
	return real(fd, path, ret, flags);
}

__attribute__((visibility("default"))) DIR *fdopendir(int fd)
{
	DIR *(*real)(int) = dlsym(RTLD_NEXT, "fdopendir");

	slow_look(fd);
	return real(fd);
}
