/* SPDX-License-Identifier: MIT */
/*
 * ring.h: FUSE over io_uring, `-o io_uring`: threads for each processor, which are handed the requests
 * of that processor and hand back the answers, one system call for both.
 *
 * A server has one entry. The thread that gets a request does it, whatever it waits for: its entry is out
 * meanwhile, so the kernel has none by which another request would stand behind it. It hands the answer in
 * and waits with the same entry, which the kernel takes first next time: requests one after the other are
 * one thread's, and nothing is handed from thread to thread. Where no server waits the request comes to the
 * processor's keeper, which has many entries and waits for nothing else: it gives request and entry to a
 * server that has none. A request that is parked keeps the entry, its server goes without; the answer goes
 * with the entry to a server without one, to the keeper where there is none.
 *
 * Of the room alone; others see loop.h. What the kernel does is in docs/kernel.md.
 *
 * Lock: ring->lock, for the threads' state, the requests that are out, the servers that have no entry and
 * the answers that other threads have handed over. An entry is its holder's alone but for that.
 */
#ifndef RYE_FS_LOOP_RING_H
#define RYE_FS_LOOP_RING_H

#include "loop/loop.h"
#include "loop/ring_cpus.h"
#include "loop/ring_forms.h"
#include "loop/uring.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <sys/uio.h>

struct ring_entry;
TAILQ_HEAD(ring_list, ring_entry);

struct ring_queue {
	uint16_t qid;
	unsigned depth; /* entries of the keeper at first */
	unsigned held; /* … that wait for a request; the keeper's */
	LIST_ENTRY(ring_queue) link; /* of its keeper's */
};

/* The keeper of a processor. */
struct ring_thread {
	struct ring *ring;
	pthread_t id;
	int cpu;
	int wake; /* eventfd: `answered` is no longer empty, or the end */
	eventfd_t woken; /* where its read goes */
	struct uring uring;
	LIST_HEAD(ring_queues, ring_queue) queues;
	/* ring's lock: */
	struct ring_list answered; /* by other threads, to be handed in */
	LIST_HEAD(ring_idle, ring_server) idle; /* without an entry; the last to come is first */
	unsigned servers;
	unsigned carriers; /* servers in runs */
};

struct ring_server {
	struct ring_thread *thread;
	pthread_t id;
	pthread_cond_t call; /* `given` is there, or the end */
	struct ring_entry *given; /* ring's lock */
	struct ring_entry *entry; /* whose request it does */
	bool answered; /* … by itself: to be handed in when it is back */
	bool rings; /* it has a ring of its own */
	bool carries; /* a run; ring's lock */
	struct uring uring;
	LIST_ENTRY(ring_server) link, idle_link;
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
	_Atomic unsigned n; /* keepers that run; 0: the end */
	pthread_key_t self; /* of a server: itself */
	int ends; /* eventfd: is readable at the end */
	pthread_mutex_t lock;
	pthread_cond_t turn;
	/* the lock's: */
	enum ring_phase phase;
	unsigned arrived; /* threads that have done what the phase asks */
	int sys; /* why one could not */
	struct ring_list out[RING_BUCKETS]; /* by their request's number */
	struct ring_batch *batches;
	LIST_HEAD(ring_servers, ring_server) servers; /* all of them */
};

/* All but the kernel's consent, before INIT. largest: the longest message either way. 0 or -errno. */
int ring_open(struct front *front, size_t largest, struct ring **ret);
/* After that answer: the kernel takes the entries. 0; or -errno, and it goes on with the device. */
int ring_begin(struct ring *ring);
/* Hands in what was answered, joins the threads: after it the connection is /dev/fuse alone. */
void ring_end(struct ring *ring);
/* An answer that libfuse writes: true, it was one to a request of the ring. */
bool ring_answer(struct ring *ring, const struct iovec *iov, int count);
/* Before the calling thread waits for the kernel: what it has answered goes first. */
void ring_flush(struct ring *ring);
/* What was done before an answer is seen by what the device brings after it: its FORGET. */
void ring_meet(struct ring *ring);
bool ring_serves(const struct ring *ring); /* is the calling thread a server? */
void ring_carry(struct ring *ring, struct rye_call *call); /* on a server, whose request began it */
void ring_back(const struct ring *ring); /* it goes back to its processor */
/* What the kernel put into the entry is done by libfuse. */
void ring_process(struct ring *ring, struct ring_entry *entry);
void ring_hand_over(struct ring *ring, struct ring_entry *entry); /* to its keeper */

/* ring_serve.c: a server of that keeper has the entry: its request, or its answer. False: none can be had. */
bool ring_give(struct ring_thread *thread, struct ring_entry *entry);
/* The same of a server that waits; none is made. */
bool ring_give_idle(struct ring_thread *thread, struct ring_entry *entry);
/* Behind the keepers' end: joins and frees all, or those that are in no run. */
void ring_servers_end(struct ring *ring, bool all);

/* ---- ring_entries.c ---- */

struct ring_entry {
	TAILQ_ENTRY(ring_entry) link; /* of ring->out, of answered */
	struct ring_thread *thread;
	struct ring_queue *queue;
	struct ring_head *head;
	char *payload;
	struct iovec iov[2]; /* the two, for the kernel */
	uint64_t unique; /* of the request */
	bool answered; /* holder's: what is there is an answer */
};

/* So many more entries for a queue, to be handed in. 0 or -ENOMEM. */
int ring_entries_add(struct ring_thread *thread, struct ring_queue *queue, unsigned n);
void ring_entries_free(struct ring *ring);
/* The request that has arrived, as /dev/fuse would have given it; 0 or -EIO. */
int ring_entry_request(struct ring_entry *entry, size_t payload, struct fuse_buf *ret);
/* Puts an answer where the kernel looks for it. */
void ring_entry_fill(struct ring_entry *entry, size_t payload, const struct iovec *iov, int count);
/* To be handed in, for the next request, which will come to that ring. False: the kernel takes nothing now. */
bool ring_entry_commit(struct ring_entry *entry, struct uring *uring);
/* Makes the kernel go on without a ring, by an entry that it refuses. */
void ring_entries_refuse(struct ring *ring);

#endif
