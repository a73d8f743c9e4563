/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into ryefs by tests/e2e/watchdog.sh: while there is the file that SLOW_FLUSH names, the first FLUSH of
 * the mount, which is the daemon's own, is not answered. It is the third that is answered with ENOSYS, after
 * OPENDIR and OPEN.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct fuse_req;

__attribute__((visibility("default"))) int fuse_reply_err(struct fuse_req *req, int sys);
__attribute__((visibility("default"))) int fuse_reply_err(struct fuse_req *req, int sys)
{
	static _Atomic int answers;
	const struct timespec pause = { 0, 10000000 };
	int (*real)(struct fuse_req * req, int sys) = dlsym(RTLD_NEXT, "fuse_reply_err");
	const char *on = getenv("SLOW_FLUSH");

	if (on && sys == ENOSYS && atomic_fetch_add(&answers, 1) == 2)
		while (!access(on, F_OK))
			nanosleep(&pause, NULL);
	return real(req, sys);
}
