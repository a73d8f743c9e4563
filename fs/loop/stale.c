/* SPDX-License-Identifier: MIT */
/*
 * stale.c - requests about what a daemon before this one has told the kernel of.
 *
 * Owns no state. Where a daemon goes on with another's connection (mount/kept.c, relay.c), the kernel still has
 * that one's node ids, which mean nothing here. Each says of which daemon it is. Those of one that lives are
 * passed on to it, and what is about nodes of two is EXDEV, as between two mounts. Those of a dead one are
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

/* The root is every daemon's, and 0 no node. */
static uint16_t stale_epoch(const struct front *front, uint64_t id)
{
	return id && id != FUSE_ROOT_ID ? (uint16_t)(id >> NODE_EPOCH_BIT) : front->init.epoch;
}

static bool stale_id(const struct front *front, uint64_t id)
{
	return stale_epoch(front, id) != front->init.epoch;
}

/* The second node that an operation names, in what follows the head; else the first. */
static uint64_t stale_second(const struct fuse_in_header *head, size_t len)
{
	uint64_t id = head->nodeid;
	size_t at;

	switch (head->opcode) {
	case FUSE_RENAME:
	case FUSE_RENAME2:
	case FUSE_LINK:
		at = 0;
		break;
	case FUSE_COPY_FILE_RANGE:
		at = offsetof(struct fuse_copy_file_range_in, nodeid_out);
		break;
	default:
		return id;
	}
	if (len >= sizeof(*head) + at + sizeof(id))
		memcpy(&id, (const char *)(head + 1) + at, sizeof(id));
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

/* sys: EXDEV; 0: its daemon is dead. */
static void stale_answer(int fd, const struct fuse_in_header *head, int sys)
{
	bool again = !(head->unique & STALE_RESENT) || only_looks(head->opcode);
	const struct fuse_out_header out = { .len = sizeof(out),
					     .error = sys   ? -sys :
						      again ? -ESTALE :
							      -EIO,
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

/* About nodes of other daemons, or of another and this one. */
static void stale_other(const struct front *front, int fd, const void *buf, size_t len)
{
	const struct fuse_in_header *head = buf;
	uint16_t one = stale_epoch(front, head->nodeid);
	uint16_t two = stale_epoch(front, stale_second(head, len));
	bool mixed = one != two && (relay_has(front, one) || relay_has(front, two));

	if (mixed)
		stale_answer(fd, head, EXDEV);
	else if ((one != two || !relay_tell(front, one, buf, len)) && head->opcode != FUSE_FORGET)
		stale_answer(fd, head, 0);
}

size_t stale_pass(const struct front *front, int fd, void *buf, size_t len)
{
	const struct fuse_in_header *head = buf;

	if (len < sizeof(*head))
		return len;
	if (head->opcode == FUSE_BATCH_FORGET && len >= sizeof(struct stale_heap)) {
		relay_tell_all(front, buf, len);
		return stale_forgets(front, buf, len);
	}
	/* it says of no node whose it is */
	if (head->opcode == FUSE_INTERRUPT)
		relay_tell_all(front, buf, len);
	if (!stale_id(front, head->nodeid) && !stale_id(front, stale_second(head, len)))
		return len;
	stale_other(front, fd, buf, len);
	return 0;
}
