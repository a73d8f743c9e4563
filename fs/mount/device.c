/* SPDX-License-Identifier: MIT */
/*
 * device.c - what passes between libfuse and /dev/fuse.
 *
 * Owns one bit: libfuse has a capability for lookups of one directory side by side and never
 * tells the kernel so (3.14). Then one lookup that is parked, a search's, holds the directory's
 * lock, and every other lookup in it waits without being sent. The answer to INIT is the first
 * that any thread writes; the bit is added there, if the answer has the form that is known: what
 * another libfuse writes goes as it is, and the session says so (test_fs_device.c). No lock.
 */
#include "mount/mount.h"

#include "scope.h"

#include <linux/fuse.h>
#include <string.h>
#include <sys/uio.h>

static bool is_answer(const struct iovec *iov)
{
	const struct fuse_out_header *head = iov[0].iov_base;

	return head->unique != 0;
}

/* The form in which flags lie where they are looked for; else nothing is known of the bytes. */
static bool is_init(const struct iovec *iov, int count, struct fuse_init_out *ret)
{
	const struct fuse_out_header *head = iov[0].iov_base;

	if (count != 2 || iov[0].iov_len != sizeof(*head) || iov[1].iov_len != sizeof(*ret))
		return false;
	memcpy(ret, iov[1].iov_base, sizeof(*ret));
	return !head->error && ret->major == FUSE_KERNEL_VERSION;
}

static ssize_t device_writev(int fd, struct iovec *iov, int count, void *userdata)
{
	struct front *front = userdata;
	struct fuse_init_out init;
	struct iovec patched[2];

	/* a notification may come before it */
	if (atomic_load(&front->init_told) || !is_answer(iov))
		return writev(fd, iov, count);
	atomic_store(&front->init_told, true);
	if (!front->parallel_lookups)
		return writev(fd, iov, count);
	if (!is_init(iov, count, &init)) {
		atomic_store(&front->lookups_alone, true);
		return writev(fd, iov, count);
	}
	init.flags |= FUSE_PARALLEL_DIROPS;
	patched[0] = iov[0];
	patched[1] = (struct iovec){ &init, sizeof(init) };
	return writev(fd, patched, 2);
}

static ssize_t device_read(int fd, void *buf, size_t len, void *userdata)
{
	return read(fd, buf, len);
}

int device_attach(struct fuse_session *session)
{
	/* without splice: libfuse copies, as it does by default */
	static const struct fuse_custom_io io = {
		.writev = device_writev,
		.read = device_read,
	};

	return fuse_session_custom_io(session, &io, fuse_session_fd(session));
}
