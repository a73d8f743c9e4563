/* SPDX-License-Identifier: MIT */
/*
 * device.c - what passes between libfuse and /dev/fuse.
 *
 * Owns two bits of the answer to INIT, which is the first that any thread writes. libfuse has a
 * capability for lookups of one directory side by side and never tells the kernel so (3.14): then one
 * lookup that is parked, a search's, holds the directory's lock, and every other lookup in it waits
 * without being sent. And of rings it knows nothing (3.14). The bits are added there, if the answer has
 * the form that is known: what another libfuse writes goes as it is, and the session says so
 * (test_fs_device.c). An answer to a request that a ring has brought goes there. A daemon that goes on with
 * a dead one's connection says INIT to libfuse by itself, and what it answers is kept back. No lock.
 */
#include "core/parking.h"
#include "loop/loop_inner.h"
#include "loop/ring.h"

#include "scope.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>

/* FUSE_DEFAULT_MAX_PAGES_PER_REQ (fs/fuse/fuse_i.h), unless the answer to INIT says more */
#define DEVICE_PAGES 32

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

/* ---- the ring ---- */

/* The kernel could offer rings and is not to: root has not said so (docs/kernel.md). */
static bool ring_is_shut(void)
{
	auto_file FILE *file = fopen("/sys/module/fuse/parameters/enable_uring", "re");

	return file && fgetc(file) == 'N';
}

/* Of INIT: does the kernel offer rings? */
static enum front_uring device_offer(const char *buf, size_t len)
{
	struct fuse_in_header head;
	struct fuse_init_in init;

	if (len < sizeof(head) + sizeof(init))
		return URING_NONE;
	memcpy(&head, buf, sizeof(head));
	memcpy(&init, buf + sizeof(head), sizeof(init));
	if (head.opcode == FUSE_INIT && init.flags & FUSE_INIT_EXT &&
	    init.flags2 & RING_INIT_FLAGS2)
		return URING_OFFERED;
	return ring_is_shut() ? URING_SHUT : URING_NONE;
}

/* fuse_uring_create: the longest of what a message may be, by the answer to INIT. */
static size_t device_largest(const struct fuse_init_out *init)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), largest = FUSE_MIN_READ_BUFFER;
	size_t pages = init->flags & FUSE_MAX_PAGES && init->max_pages > DEVICE_PAGES ?
			       init->max_pages :
			       DEVICE_PAGES;

	if (largest < init->max_write)
		largest = init->max_write;
	if (largest < pages * page)
		largest = pages * page;
	return (largest + page - 1) / page * page;
}

/* NULL: the mount goes on without. */
static struct ring *device_ring(struct front *front, struct fuse_init_out *init)
{
	struct ring *ring = NULL;
	int r;

	if (front->uring != URING_OFFERED)
		return NULL;
	r = ring_open(front, device_largest(init), &ring);
	if (r) {
		front->uring = r == -EPERM || r == -ENOSYS ? URING_DENIED : URING_FAILED;
		return NULL;
	}
	init->flags |= FUSE_INIT_EXT;
	init->flags2 |= RING_INIT_FLAGS2;
	/* answers may come before this function returns */
	atomic_store(&front->ring, ring);
	return ring;
}

/* What the kernel has been told by the daemon before is what this one has to keep to. */
static ssize_t device_again(struct front *front, const char *told, size_t n)
{
	if (n != front->init.told_len || memcmp(told, front->init.told, n) != 0) {
		errno = EPROTO;
		return -1;
	}
	front->init.same = true;
	return (ssize_t)n;
}

static ssize_t device_init(struct front *front, int fd, struct fuse_out_header *head,
			   struct fuse_init_out *init)
{
	struct iovec iov[] = { { head, sizeof(*head) }, { init, sizeof(*init) } };
	struct ring *ring = device_ring(front, init);
	char told[sizeof(*head) + sizeof(*init)];
	ssize_t n;

	if (front->parallel_lookups)
		init->flags |= FUSE_PARALLEL_DIROPS;
	memcpy(told, head, sizeof(*head));
	memcpy(told + sizeof(*head), init, sizeof(*init));
	if (front->init.epoch)
		return device_again(front, told, sizeof(told));
	_Static_assert(sizeof(told) <= sizeof(front->init.told), "an answer has room");
	memcpy(front->init.told, told, sizeof(told));
	front->init.told_len = sizeof(told);
	n = writev(fd, iov, ARRAY_SIZE(iov));
	if (!ring)
		return n;
	/* first: with the last queue's entry requests come by it, and ask */
	front->uring = URING_ON;
	parking_look_once(front->parking);
	if (n <= 0 || ring_begin(ring))
		front->uring = URING_FAILED;
	return n;
}

/* ---- what libfuse calls ---- */

static ssize_t device_writev(int fd, struct iovec *iov, int count, void *userdata)
{
	struct front *front = userdata;
	struct ring *ring = atomic_load(&front->ring);
	struct fuse_init_out init;
	ssize_t n = 0;

	if (front->init.epoch)
		atomic_fetch_add(&front->answers, 1);
	if (is_answer(iov))
		relay_take_out(front->relay, ((struct fuse_out_header *)iov[0].iov_base)->unique);
	/* a notification may come before it */
	if (atomic_load(&front->init_told) || !is_answer(iov)) {
		if (ring && !is_answer(iov))
			ring_flush(ring);
		if (!ring || !is_answer(iov) || !ring_answer(ring, iov, count))
			return writev(fd, iov, count);
		for (int i = 0; i < count; i++)
			n += (ssize_t)iov[i].iov_len;
		return n;
	}
	atomic_store(&front->init_told, true);
	if (is_init(iov, count, &init)) {
		n = device_init(front, fd, iov[0].iov_base, &init);
	} else {
		if (front->parallel_lookups)
			atomic_store(&front->lookups_alone, true);
		n = writev(fd, iov, count);
	}
	/* what INIT has settled may be looked at: wait_for_init */
	atomic_store(&front->init_done, true);
	eventfd_write(front->ready_fd, 1);
	return n;
}

/* The first that is read is INIT. */
static void device_asked(struct front *front, const char *buf, size_t n)
{
	if (front->uring == URING_NONE)
		front->uring = device_offer(buf, n);
	if (n > sizeof(front->init.asked))
		return;
	memcpy(front->init.asked, buf, n);
	front->init.asked_len = (uint16_t)n;
}

/* Of a request that was read, from another daemon or the device; 0: it is of another daemon. */
static ssize_t device_own(struct front *front, int fd, bool other, void *buf, ssize_t n)
{
	if (n > 0 && !atomic_load(&front->init_told))
		device_asked(front, buf, (size_t)n);
	if (n > 0 && (front->init.epoch || other))
		n = (ssize_t)stale_pass(front, fd, buf, (size_t)n);
	return n;
}

static ssize_t device_read(int fd, void *buf, size_t len, void *userdata)
{
	struct front *front = userdata;
	struct ring *ring = atomic_load(&front->ring);
	int from = relay_arrive(front->relay, fd);
	ssize_t n;

	do {
		n = from == fd ? read(fd, buf, len) : relay_receive(front->relay, buf, len);
	} while (n > 0 && !(n = device_own(front, fd, from != fd, buf, n)));
	/* one that came by the other is there already */
	if (n > 0 && from == fd)
		relay_put(front->relay, buf);
	relay_leave(front->relay, from, fd);
	/* What is asked may follow from what was answered by another thread. The kernel stands between the
	 * two, which no tool knows of a device that came through exec. */
	if (front->init.epoch)
		(void)atomic_load(&front->answers);
	if (ring)
		ring_meet(ring);
	return n;
}

int device_say_init(struct front *front)
{
	struct fuse_buf buf = { .mem = front->init.asked, .size = front->init.asked_len };

	fuse_session_process_buf(front->session, &buf);
	return front->init.same ? 0 : -1;
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
