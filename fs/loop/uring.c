/* SPDX-License-Identifier: MIT */
/*
 * uring.c - io_uring_setup, io_uring_enter and the two queues that are shared with the kernel.
 *
 * Owns the mappings of one ring. It knows nothing of FUSE (ring.c). No lock: one thread.
 */
#include "loop/uring.h"

#include "scope.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define SQE_SIZE 128 /* IORING_SETUP_SQE128: FUSE's command is 24 bytes, of 80 for commands */
#define COMPLETIONS \
	4 /* room for them, in times of what can be handed in; more are kept by the kernel */

static bool uring_map(struct uring *uring, const struct io_uring_params *p)
{
	size_t sq = p->sq_off.array + p->sq_entries * sizeof(uint32_t);
	size_t cq = p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe);

	/* IORING_FEAT_SINGLE_MMAP, since Linux 5.4: both queues lie in one mapping */
	uring->rings_len = sq > cq ? sq : cq;
	uring->sqes_len = (size_t)p->sq_entries * SQE_SIZE;
	uring->rings = mmap(NULL, uring->rings_len, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_POPULATE, uring->fd, IORING_OFF_SQ_RING);
	if (uring->rings == MAP_FAILED)
		return false;
	uring->sqes = mmap(NULL, uring->sqes_len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
			   uring->fd, IORING_OFF_SQES);
	if (uring->sqes != MAP_FAILED)
		return true;
	munmap(uring->rings, uring->rings_len);
	return false;
}

int uring_open(struct uring *uring, unsigned size)
{
	struct io_uring_params p = {
		.flags = IORING_SETUP_SQE128 | IORING_SETUP_SINGLE_ISSUER |
			 IORING_SETUP_COOP_TASKRUN | IORING_SETUP_CQSIZE,
		.cq_entries = size * COMPLETIONS,
	};
	char *base;
	uint32_t *array;

	*uring = (struct uring){ .fd = (int)syscall(SYS_io_uring_setup, size, &p) };
	if (uring->fd < 0)
		return -errno;
	if (!(p.features & IORING_FEAT_SINGLE_MMAP) || !uring_map(uring, &p)) {
		close(uring->fd);
		return -ENOMEM;
	}
	base = uring->rings;
	uring->sq_head = (uint32_t *)(base + p.sq_off.head);
	uring->sq_tail = (uint32_t *)(base + p.sq_off.tail);
	uring->cq_head = (uint32_t *)(base + p.cq_off.head);
	uring->cq_tail = (uint32_t *)(base + p.cq_off.tail);
	uring->cqes = (struct io_uring_cqe *)(base + p.cq_off.cqes);
	uring->sq_size = p.sq_entries;
	uring->sq_mask = p.sq_entries - 1;
	uring->cq_mask = p.cq_entries - 1;
	array = (uint32_t *)(base + p.sq_off.array);
	for (uint32_t i = 0; i < p.sq_entries; i++)
		array[i] = i;
	return 0;
}

void uring_close(struct uring *uring)
{
	munmap(uring->sqes, uring->sqes_len);
	munmap(uring->rings, uring->rings_len);
	close(uring->fd);
}

static uint32_t uring_filled(const struct uring *uring)
{
	return uring->tail - __atomic_load_n(uring->sq_head, __ATOMIC_ACQUIRE);
}

struct io_uring_sqe *uring_next_sqe(struct uring *uring)
{
	struct io_uring_sqe *sqe;

	if (uring_filled(uring) == uring->sq_size)
		uring_enter(uring, false);
	if (uring_filled(uring) == uring->sq_size)
		return NULL;
	sqe = (struct io_uring_sqe *)(uring->sqes +
				      (size_t)(uring->tail & uring->sq_mask) * SQE_SIZE);
	uring->tail++;
	return memset(sqe, 0, SQE_SIZE);
}

int uring_enter(struct uring *uring, bool wait)
{
	long r;

	__atomic_store_n(uring->sq_tail, uring->tail, __ATOMIC_RELEASE);
	do
		r = syscall(SYS_io_uring_enter, uring->fd, uring_filled(uring), wait ? 1 : 0,
			    IORING_ENTER_GETEVENTS, NULL, 0);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : 0;
}

bool uring_take_cqe(struct uring *uring, struct io_uring_cqe *ret)
{
	uint32_t head = *uring->cq_head; /* only this thread moves it */

	if (head == __atomic_load_n(uring->cq_tail, __ATOMIC_ACQUIRE))
		return false;
	*ret = uring->cqes[head & uring->cq_mask];
	__atomic_store_n(uring->cq_head, head + 1, __ATOMIC_RELEASE);
	return true;
}
