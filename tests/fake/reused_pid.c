/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into `ryefs umount` by tests/e2e/umount.sh: between the look at a daemon's number and the
 * first use of it the daemon ends, and the process that REUSED_PID names has got its number.
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/types.h>
#include <time.h>

#define SEEN __attribute__((visibility("default")))
#define ENDS_LOOKS 500

static pid_t reused(pid_t pid)
{
	int (*real)(pid_t, int) = dlsym(RTLD_NEXT, "kill");
	const struct timespec pause = { 0, 10000000 };
	const char *by = getenv("REUSED_PID");

	if (!by)
		return pid;
	real(pid, SIGKILL);
	for (int i = 0; i < ENDS_LOOKS && !real(pid, 0); i++)
		nanosleep(&pause, NULL);
	return (pid_t)atoi(by);
}

int SEEN pidfd_open(pid_t pid, unsigned flags);
int SEEN pidfd_open(pid_t pid, unsigned flags)
{
	int (*real)(pid_t, unsigned) = dlsym(RTLD_NEXT, "pidfd_open");

	return real(reused(pid), flags);
}

int SEEN kill(pid_t pid, int sig)
{
	int (*real)(pid_t, int) = dlsym(RTLD_NEXT, "kill");

	return real(sig ? reused(pid) : pid, sig);
}
