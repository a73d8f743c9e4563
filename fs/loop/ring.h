/* SPDX-License-Identifier: MIT */
/*
 * ring.h: FUSE over io_uring, `-o io_uring`: a thread for each processor, which is handed the requests
 * of that processor and hands back the answers, one system call for both.
 *
 * Of the room alone; others see loop.h. What is asked of the kernel, and what it does, is in
 * docs/kernel.md; numbers and forms are from include/uapi/linux/fuse.h of Linux 6.14, where this came,
 * and stand here because older headers have none of them.
 *
 * Lock: ring->lock, for the threads' state, the requests that are out and the answers that other
 * threads have handed over. Entries are their thread's alone but for that.
 */
#ifndef RYE_FS_LOOP_RING_H
#define RYE_FS_LOOP_RING_H

#include "loop/loop.h"
#include "loop/ring_cpus.h"
#include "loop/uring.h"

#include <linux/fuse.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <sys/uio.h>

/* ---- the kernel's forms ---- */

#define RING_INIT_FLAGS2 (1U << 9) /* FUSE_OVER_IO_URING, bit 41 of the flags: bit 9 of flags2 */

enum { /* enum fuse_uring_cmd */
       RING_REGISTER = 1,
       RING_COMMIT_AND_FETCH = 2,
};

/* struct fuse_uring_cmd_req: in the command area of an SQE */
struct ring_command {
	uint64_t flags;
	uint64_t commit_id; /* of the request that is answered */
	uint16_t qid;
	uint8_t padding[6];
};

/* struct fuse_uring_req_header */
struct ring_head {
	char in_out[128]; /* struct fuse_in_header; struct fuse_out_header */
	char op_in[128]; /* what follows it, up to the first name or byte */
	uint64_t flags;
	uint64_t commit_id;
	uint32_t payload_len;
	uint32_t padding;
	uint64_t reserved;
};

/* ---- ring.c ---- */

struct ring_entry;
TAILQ_HEAD(ring_list, ring_entry);

struct ring_queue {
	uint16_t qid;
	unsigned depth; /* entries at first */
	unsigned entries, out; /* those that live; those whose request is not answered yet */
	LIST_ENTRY(ring_queue) link; /* of its thread's */
};

struct ring_thread {
	struct ring *ring;
	pthread_t id;
	int cpu;
	int wake; /* eventfd: `answered` is no longer empty, or the end */
	eventfd_t woken; /* where its read goes */
	struct uring uring;
	LIST_HEAD(ring_queues, ring_queue) queues;
	struct ring_list answered; /* ring's lock: by other threads, to be handed in */
};

#define RING_BUCKETS 64 /* a power of two */

enum ring_phase {
	RING_OPENING,
	RING_REGISTERS, /* and serves, as soon as the kernel has all */
	RING_ENDS,
};

struct ring {
	struct front *front;
	size_t payload; /* of each entry */
	struct ring_cpus cpus;
	struct ring_thread *threads;
	struct ring_queue *queues;
	_Atomic unsigned n; /* threads that run; 0: the end */
	pthread_mutex_t lock;
	pthread_cond_t turn;
	/* the lock's: */
	enum ring_phase phase;
	unsigned arrived; /* threads that have done what the phase asks */
	int sys; /* why one could not */
	struct ring_list out[RING_BUCKETS]; /* by their request's number */
	struct ring_batch *batches;
};

/* All but the kernel's consent, before INIT is answered: rings and threads, of which each is on its
 * processor. largest: the longest message either way. 0 or -errno. */
int ring_open(struct front *front, size_t largest, struct ring **ret);
/* After that answer: the kernel takes the entries. 0; or -errno, and it goes on with the device. */
int ring_begin(struct ring *ring);
/* Hands in what was answered, joins the threads: after it the connection is /dev/fuse alone. */
void ring_end(struct ring *ring);
/* An answer that libfuse writes: true, it was one to a request of the ring. */
bool ring_answer(struct ring *ring, const struct iovec *iov, int count);
/* Before the calling thread waits for the kernel: what it has answered goes first. */
void ring_flush(struct ring *ring);
/* The processor of the calling thread, if it is one of the ring's; else -1. */
int ring_here(const struct ring *ring);

/* ---- ring_entries.c ---- */

struct ring_entry {
	TAILQ_ENTRY(ring_entry) link; /* of ring->out, of answered */
	struct ring_thread *thread;
	struct ring_queue *queue;
	struct ring_head *head;
	char *payload;
	struct iovec iov[2]; /* the two, for the kernel */
	uint64_t unique; /* of the request */
};

/* So many more entries for a queue, to be handed in. 0 or -ENOMEM. */
int ring_entries_add(struct ring_thread *thread, struct ring_queue *queue, unsigned n);
void ring_entries_free(struct ring *ring);
/* The request that has arrived, as /dev/fuse would have given it; 0 or -EIO. */
int ring_entry_request(struct ring_entry *entry, size_t payload, struct fuse_buf *ret);
/* Puts an answer where the kernel looks for it. */
void ring_entry_fill(struct ring_entry *entry, size_t payload, const struct iovec *iov, int count);
/* To be handed in, for the next request; on its thread. False: the kernel takes nothing now. */
bool ring_entry_commit(struct ring_entry *entry);
/* Makes the kernel go on without a ring, by an entry that it refuses. */
void ring_entries_refuse(struct ring *ring);

#endif
