/* SPDX-License-Identifier: MIT */
/*
 * stale.c - requests about what a daemon before this one has told the kernel of.
 *
 * Owns no state. Where a daemon goes on with a dead one's connection (mount/kept.c), the kernel still has
 * that one's node ids, which mean nothing here. Each says of which daemon it is. Those of another are
 * answered with ESTALE: then the kernel looks the path up again from the root, which every daemon
 * has, and an open file or a shell inside gets that error. A request that was in the dead daemon's hands
 * has been sent once more and says so; whether a change among them was made is not known, and it is not made
 * twice: EIO. On a thread that reads the device, before libfuse sees the request. No lock.
 */
#include "loop/loop_inner.h"

#include "scope.h"

#include <errno.h>
#include <linux/fuse.h>
#include <string.h>
#include <sys/uio.h>

/* Of `unique`: FUSE_UNIQUE_RESEND of <linux/fuse.h>, from Linux 6.9 on. */
#define STALE_RESENT (UINT64_C(1) << 63)

static bool stale_id(const struct front *front, uint64_t id)
{
	return id && id != FUSE_ROOT_ID && id >> NODE_EPOCH_BIT != front->init.epoch;
}

/* Two operations name a second node, first in what follows the head. */
static uint64_t stale_second(const struct fuse_in_header *head, size_t len)
{
	uint64_t id = 0;

	if ((head->opcode == FUSE_RENAME || head->opcode == FUSE_RENAME2 ||
	     head->opcode == FUSE_LINK) &&
	    len >= sizeof(*head) + sizeof(id))
		memcpy(&id, head + 1, sizeof(id));
	return id;
}

/* Looks, and nothing else: once more is no harm. */
static bool only_looks(uint32_t opcode)
{
	static const uint8_t looks[] = {
		FUSE_LOOKUP,	FUSE_GETATTR, FUSE_READLINK, FUSE_READ,	   FUSE_STATFS,
		FUSE_GETXATTR,	FUSE_OPEN,    FUSE_OPENDIR,  FUSE_READDIR, FUSE_READDIRPLUS,
		FUSE_LISTXATTR, FUSE_ACCESS,  FUSE_POLL,     FUSE_LSEEK,
	};

	for (size_t i = 0; i < ARRAY_SIZE(looks); i++)
		if (looks[i] == opcode)
			return true;
	return false;
}

static void stale_answer(int fd, const struct fuse_in_header *head)
{
	bool again = !(head->unique & STALE_RESENT) || only_looks(head->opcode);
	const struct fuse_out_header out = { .len = sizeof(out),
					     .error = again ? -ESTALE : -EIO,
					     .unique = head->unique };
	ssize_t n = write(fd, &out, sizeof(out));

	/* its caller may have gone */
	(void)n;
}

struct stale_heap {
	struct fuse_in_header head;
	struct fuse_batch_forget_in batch;
	struct fuse_forget_one ones[];
};

/* Takes those of other daemons out of a heap of forgets; its length, 0: none is left. */
static size_t stale_forgets(const struct front *front, struct stale_heap *heap, size_t len)
{
	size_t there = (len - sizeof(*heap)) / sizeof(*heap->ones), n = 0;

	for (size_t i = 0; i < heap->batch.count && i < there; i++)
		if (!stale_id(front, heap->ones[i].nodeid))
			heap->ones[n++] = heap->ones[i];
	heap->batch.count = (uint32_t)n;
	heap->head.len = (uint32_t)(sizeof(*heap) + n * sizeof(*heap->ones));
	return n ? heap->head.len : 0;
}

size_t stale_pass(const struct front *front, int fd, void *buf, size_t len)
{
	const struct fuse_in_header *head = buf;

	if (len < sizeof(*head))
		return len;
	if (head->opcode == FUSE_BATCH_FORGET && len >= sizeof(struct stale_heap))
		return stale_forgets(front, buf, len);
	if (!stale_id(front, head->nodeid) && !stale_id(front, stale_second(head, len)))
		return len;
	if (head->opcode != FUSE_FORGET)
		stale_answer(fd, head);
	return 0;
}
