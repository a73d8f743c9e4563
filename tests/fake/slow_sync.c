/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into ryefs by tests/e2e/fork_unfinished.sh: while there is the file that SLOW_SYNC names,
 * what is to be on the disk before a call returns takes a twentieth of a second, as on a busy disk.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static void slow_sync(void)
{
	const char *on = getenv("SLOW_SYNC");

	if (on && !access(on, F_OK))
		usleep(50000); /* what is slow here */
}

__attribute__((visibility("default"))) int fsync(int fd)
{
	int (*real)(int) = dlsym(RTLD_NEXT, "fsync");

	slow_sync();
	return real(fd);
}

__attribute__((visibility("default"))) int fdatasync(int fd)
{
	int (*real)(int) = dlsym(RTLD_NEXT, "fdatasync");

	slow_sync();
	return real(fd);
}
