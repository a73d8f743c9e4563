/* SPDX-License-Identifier: MIT */
/*
 * uring.h: one io_uring of one thread, by the bare system calls.
 *
 * Made, used and closed by the same thread (IORING_SETUP_SINGLE_ISSUER): the kernel runs what it has to
 * do for this ring when that thread is in the kernel anyway, and when it ends (IORING_SETUP_COOP_TASKRUN, not
 * DEFER_TASKRUN: docs/kernel.md). No lock.
 */
#ifndef RYE_FS_LOOP_URING_H
#define RYE_FS_LOOP_URING_H

#include <linux/io_uring.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct uring {
	int fd;
	/* shared with the kernel */
	uint32_t *sq_head, *sq_tail, *cq_head, *cq_tail;
	uint32_t sq_size, sq_mask, cq_mask;
	struct io_uring_cqe *cqes;
	char *sqes; /* of 128 bytes each */
	void *rings;
	size_t rings_len, sqes_len;
	uint32_t tail; /* ours: what was filled */
};

/* 0 or -errno: EPERM, ENOSYS where io_uring is not allowed. Of a failed one nothing is left. */
int uring_open(struct uring *uring, unsigned size);
void uring_close(struct uring *uring);
/* A zeroed one to be filled, which the next uring_enter hands in; NULL: the kernel takes no more. */
struct io_uring_sqe *uring_next_sqe(struct uring *uring);
/* Hands in what was filled; `wait`: returns when there is a completion. 0 or -errno. */
int uring_enter(struct uring *uring, bool wait);
/* Takes one completion; false: there is none. */
bool uring_take_cqe(struct uring *uring, struct io_uring_cqe *ret);

#endif
