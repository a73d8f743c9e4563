/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into ryefs by tests/e2e/failing_disk.sh: while there is the file that FAILING_DISK names,
 * what is asked of files and directories below "project/.ai" fails with EIO, as on a disk that is ill;
 * while that file is not empty, only a look at a name does.
 */
#define _FILE_OFFSET_BITS 64
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SEEN __attribute__((visibility("default")))

static bool fails(int fd, bool is_look)
{
	const char *on = getenv("FAILING_DISK");
	char proc[64], path[512];
	struct stat st;
	ssize_t n;

	if (!on || stat(on, &st) || (st.st_size && !is_look))
		return false;
	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
	n = readlink(proc, path, sizeof(path) - 1);
	if (n < 0)
		return false;
	path[n] = 0;
	if (!strstr(path, "/project/.ai"))
		return false;
	errno = EIO;
	return true;
}

ssize_t SEEN pread(int fd, void *bytes, size_t n, off_t off)
{
	ssize_t (*real)(int, void *, size_t, off_t) = dlsym(RTLD_NEXT, "pread64");

	return fails(fd, false) ? -1 : real(fd, bytes, n, off);
}

int SEEN fstatat(int fd, const char *path, struct stat *ret, int flags)
{
	int (*real)(int, const char *, struct stat *, int) = dlsym(RTLD_NEXT, "fstatat64");

	return fails(fd, true) ? -1 : real(fd, path, ret, flags);
}

/* openat2 has no function of its own. */
long SEEN syscall(long number, ...)
{
	long (*real)(long, ...) = dlsym(RTLD_NEXT, "syscall");
	long args[6];
	va_list list;

	va_start(list, number);
	for (size_t i = 0; i < 6; i++)
		args[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_openat2 && fails((int)args[0], false))
		return -1;
	return real(number, args[0], args[1], args[2], args[3], args[4], args[5]);
}
