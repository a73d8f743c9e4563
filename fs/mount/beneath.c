/* SPDX-License-Identifier: MIT */
/*
 * beneath.c - a mount in the place of a dead one, or of one whose daemon is to be followed by another,
 * with no moment between the two.
 *
 * Owns the system calls: the new mount is put beneath the old one, which is then taken away from
 * above it, so that a path leads to one of the two at any time and never to the bare directory.
 * Linux 6.5, and the right to mount. libfuse can do neither; it gets the open device. Main thread.
 */
#include "mount/mount.h"

#include "connection.h"
#include "err.h"
#include "mountinfo.h"
#include "scope.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mount.h>

#ifndef MOVE_MOUNT_BENEATH
#define MOVE_MOUNT_BENEATH 0x00000200
#endif

int beneath_find(struct options *opt, const struct handover *handover, struct rye_err *err)
{
	auto_close int fd = open(opt->mountpoint, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct handover_mount old = handover_mount(handover);
	enum connection_state wanted = old.lives ? CONNECTION_ANSWERS : CONNECTION_DEAD;
	struct mountinfo mount;
	auto_free char *line = mountinfo_find(opt->mountpoint, &mount);
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0 || !line || mount.id != old.id ||
	    connection_probe(path, CONNECTION_PATIENCE_MS) != wanted)
		return rye_fail(err, RYE_BUSY, "it is not there any more");
	opt->old_fd = steal_fd(&fd);
	return 0;
}

/* Options of the file system, as the kernel spells them. */
static int set_words(int fs, const struct options *opt)
{
	static const char *const flags[] = { "ro", "sync", "dirsync", "allow_other" };
	int r = 0;

	for (int i = 0; i < opt->args.argc && r == 0; i++) {
		const char *word = opt->args.argv[i];

		for (size_t k = 0; k < ARRAY_SIZE(flags) && r == 0; k++)
			if (strcmp(word, flags[k]) == 0)
				r = fsconfig(fs, FSCONFIG_SET_FLAG, word, NULL, 0);
		if (strcmp(word, "allow_root") == 0)
			r = fsconfig(fs, FSCONFIG_SET_FLAG, "allow_other", NULL, 0);
		if (strncmp(word, "max_read=", 9) == 0)
			r = fsconfig(fs, FSCONFIG_SET_STRING, "max_read", word + 9, 0);
	}
	return r;
}

static int set_number(int fs, const char *key, unsigned n, const char *format)
{
	char text[16];

	snprintf(text, sizeof(text), format[0] == 'o' ? "%o" : "%u", n);
	return fsconfig(fs, FSCONFIG_SET_STRING, key, text, 0);
}

/* The same as fuse_session_mount asks for. 0 or -1 with errno. */
static int configure(int fs, const struct options *opt, int device)
{
	if (fsconfig(fs, FSCONFIG_SET_STRING, "source", opt->source, 0) ||
	    fsconfig(fs, FSCONFIG_SET_STRING, "subtype", "ryefs", 0) ||
	    set_number(fs, "fd", (unsigned)device, "u") || set_number(fs, "rootmode", S_IFDIR, "o"))
		return -1;
	if (set_number(fs, "user_id", getuid(), "u") || set_number(fs, "group_id", getgid(), "u") ||
	    fsconfig(fs, FSCONFIG_SET_FLAG, "default_permissions", NULL, 0) || set_words(fs, opt))
		return -1;
	return fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
}

static unsigned attributes(const struct options *opt)
{
	unsigned attr = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

	for (int i = 0; i < opt->args.argc; i++) {
		const char *word = opt->args.argv[i];

		attr |= strcmp(word, "ro") ? 0 : MOUNT_ATTR_RDONLY;
		attr |= strcmp(word, "noatime") ? 0 : MOUNT_ATTR_NOATIME;
		attr |= strcmp(word, "noexec") ? 0 : MOUNT_ATTR_NOEXEC;
	}
	return attr;
}

static int beneath_put(const struct options *opt, int device, struct rye_err *err)
{
	auto_close int fs = fsopen("fuse", FSOPEN_CLOEXEC);
	auto_close int mount = -1;
	char old[32];

	if (fs < 0 || configure(fs, opt, device))
		return rye_fail_sys(err, errno, "the kernel makes no mount");
	mount = fsmount(fs, FSMOUNT_CLOEXEC, attributes(opt));
	if (mount < 0)
		return rye_fail_sys(err, errno, "the kernel makes no mount");
	if (move_mount(mount, "", opt->old_fd, "",
		       MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH | MOVE_MOUNT_BENEATH))
		return rye_fail_sys(err, errno,
				    "the kernel (from 6.5 on it can) does not put it "
				    "beneath the one before");
	snprintf(old, sizeof(old), "/proc/self/fd/%d", opt->old_fd);
	if (umount2(old, MNT_DETACH))
		return rye_fail_sys(err, errno, "the mount before stays");
	return 0;
}

int beneath_mount(struct fuse_session *session, const struct options *opt, struct rye_err *err)
{
	int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char name[32];
	int r = device < 0 ? rye_fail_sys(err, errno, "/dev/fuse") : beneath_put(opt, device, err);

	/* a descriptor of it is one more use of that mount */
	close(opt->old_fd);
	if (r) {
		if (device >= 0)
			close(device);
		return r;
	}
	/* it is the session's from here on, which closes it */
	snprintf(name, sizeof(name), "/dev/fd/%d", device);
	return fuse_session_mount(session, name) ? rye_fail(err, RYE_IO, "libfuse") : 0;
}

/* What polls as a device whose mount has gone: libfuse then unmounts nothing (fuse_kern_unmount). */
static int dead_device(void)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	close(ends[0]);
	return ends[1];
}

/* As fuse_session_unmount does where it has mounted: with an error or a hang-up at the device the mount
 * has gone. What is still asked for gets an error when the device is closed. */
void beneath_unmount(struct fuse_session *session, const struct options *opt, int id)
{
	struct pollfd device = { .fd = fuse_session_fd(session) };
	auto_close int dead = dead_device();
	bool mounted = device.fd >= 0 && poll(&device, 1, 0) == 0;

	/* the number stays the session's, and what libfuse keeps of the mount goes */
	if (device.fd >= 0 && dead >= 0 && dup3(dead, device.fd, O_CLOEXEC) >= 0)
		fuse_session_unmount(session);
	if (mounted && mountpoint_id(opt->mountpoint) == id)
		mountpoint_detach(opt->mountpoint);
}
