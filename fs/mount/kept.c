/* SPDX-License-Identifier: MIT */
/*
 * kept.c - a daemon that goes on with the connection of one that has died: the same mount, with no moment
 * in which its place is another's, and without root.
 *
 * Owns the decision whether that can be. The watchdog keeps the device open, so the kernel does not end the
 * connection with its daemon; what that one had read and not answered is sent once more
 * (FUSE_NOTIFY_RESEND); the next daemon says to libfuse what the kernel said at first (loop/device.c), for
 * the kernel says it once. Node ids of the dead one are known (loop/stale.c). A ring's requests are
 * not sent again: such a mount is not kept. No lock: the main thread, and the watchdog's.
 */
#include "mount/mount.h"

#include "err.h"
#include "scope.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <string.h>
#include <sys/utsname.h>

/* Of <linux/fuse.h>, from Linux 6.9 on: FUSE_HAS_RESEND is bit 39 of the flags, bit 7 of flags2. */
#define KEPT_RESEND_FLAG (1U << 7)
#define KEPT_RESEND 7

/*
 * CVE-2026-64265: a use after free in the kernel, when a request with an unread INTERRUPT is sent again and
 * its caller is killed. The release does not tell what a distribution has mended: survive=on is for those.
 */
bool kept_kernel_is_mended(const char *release)
{
	unsigned major = 0, minor = 0, patch = 0;

	if (sscanf(release, "%u.%u.%u", &major, &minor, &patch) < 2)
		return false;
	if (major > 7 || (major == 7 && minor > 1))
		return true;
	return (major == 7 && minor == 1 && patch >= 4) ||
	       (major == 6 && minor == 18 && patch >= 39) ||
	       (major == 6 && minor == 12 && patch >= 96);
}

bool kept_known(const struct front *front)
{
	const struct front_init *init = &front->init;

	return front->uring != URING_ON && init->epoch < UINT16_MAX && init->told_len &&
	       init->asked_len >= sizeof(struct fuse_in_header) + sizeof(struct fuse_init_in);
}

bool kept_can(const struct options *opt, const struct front *front)
{
	const struct front_init *init = &front->init;
	struct fuse_init_in in;
	struct utsname name;

	if (opt->survive == SURVIVE_OFF || !kept_known(front))
		return false;
	memcpy(&in, init->asked + sizeof(struct fuse_in_header), sizeof(in));
	if (!(in.flags & FUSE_INIT_EXT) || !(in.flags2 & KEPT_RESEND_FLAG))
		return false;
	return opt->survive == SURVIVE_ON ||
	       (uname(&name) == 0 && kept_kernel_is_mended(name.release));
}

int kept_resend(int device)
{
	const struct fuse_out_header again = { .len = sizeof(again), .error = KEPT_RESEND };

	return write(device, &again, sizeof(again)) == sizeof(again) ? 0 : -errno;
}

int kept_find(const struct options *opt, const struct handover *handover, struct rye_err *err)
{
	struct handover_mount old = handover_mount(handover);

	if (!old.id || mountpoint_id(opt->mountpoint) != old.id)
		return rye_fail(err, RYE_BUSY, "it is not there any more");
	return 0;
}

int kept_mount(struct fuse_session *session, const struct handover *handover, struct rye_err *err)
{
	int device = handover_mount(handover).device;
	char name[32];

	/* it came through exec */
	fcntl(device, F_SETFD, FD_CLOEXEC);
	/* it is the session's from here on, which closes it */
	snprintf(name, sizeof(name), "/dev/fd/%d", device);
	return fuse_session_mount(session, name) ? rye_fail(err, RYE_IO, "libfuse") : 0;
}
