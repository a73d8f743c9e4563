/* SPDX-License-Identifier: MIT */
/*
 * ring.c - the keepers of the rings: requests in, answers out.
 *
 * Owns struct ring. Each keeper stays on its processor, for the kernel gives a request to the queue of
 * the processor that asks, and a wake-up there costs a fraction of one across. It decodes nothing:
 * libfuse gets each request as one message (on a server's thread, ring_serve.c) and writes the answer
 * through device.c, which brings it here. A keeper never waits but for requests and answers.
 * FORGET, INTERRUPT and notifications stay with /dev/fuse and its readers. Lock: ring->lock, taken
 * last; nothing is handed in, answered or processed under it.
 */
#include "loop/ring.h"

#include "scope.h"

#include <errno.h>

/*
 * Entries of a queue at first: a burst that all parks before its thread is awake must find one. What finds none waits
 * in the kernel until one of its queue is answered: a REGISTER does not look there (fuse_uring_do_register), and
 * readahead then stands behind it (fuse_uring_queue_bq_req), so one whose neighbours all hang on a slow disk would
 * hang with them. Of a processor on which no thread of ours may run: it may ask all the same.
 */
#define DEPTH 128
#define DEPTH_ELSEWHERE 2
#define SPARE_SQES 32

/* ---- the requests that are out ---- */

static struct ring_list *ring_bucket(struct ring *ring, uint64_t unique)
{
	/* the kernel counts in steps of two: FUSE_REQ_ID_STEP */
	return &ring->out[unique / 2 % RING_BUCKETS];
}

static void ring_put_out(struct ring *ring, struct ring_entry *entry)
{
	GUARD(&ring->lock);
	TAILQ_INSERT_TAIL(ring_bucket(ring, entry->unique), entry, link);
}

/* NULL: it came from /dev/fuse. */
static struct ring_entry *ring_take_out(struct ring *ring, uint64_t unique)
{
	struct ring_list *bucket = ring_bucket(ring, unique);
	struct ring_entry *entry;

	GUARD(&ring->lock);
	TAILQ_FOREACH(entry, bucket, link)
		if (entry->unique == unique) {
			TAILQ_REMOVE(bucket, entry, link);
			return entry;
		}
	return NULL;
}

/* ---- answers ---- */

/* True: its keeper has to be woken. */
static bool list_answered(struct ring *ring, struct ring_entry *entry)
{
	struct ring_list *answered = &entry->thread->answered;
	bool first = false;

	GUARD(&ring->lock);
	first = TAILQ_EMPTY(answered);
	TAILQ_INSERT_TAIL(answered, entry, link);
	return first;
}

void ring_hand_over(struct ring *ring, struct ring_entry *entry)
{
	int wake = entry->thread->wake;

	/* from here on the entry may be another request's */
	if (list_answered(ring, entry))
		eventfd_write(wake, 1);
}

static void ring_send(struct ring *ring, struct ring_entry *entry)
{
	if (!ring_give_idle(entry->thread, entry))
		ring_hand_over(ring, entry);
}

static struct ring_server *ring_self(const struct ring *ring)
{
	return pthread_getspecific(ring->self);
}

bool ring_answer(struct ring *ring, const struct iovec *iov, int count)
{
	const struct fuse_out_header *out = iov[0].iov_base;
	struct ring_entry *entry = ring_take_out(ring, out->unique);
	struct ring_server *self = ring_self(ring);

	if (!entry)
		return false;
	ring_entry_fill(entry, ring->payload, iov, count);
	if (self && self->entry == entry)
		self->answered = true;
	else
		ring_send(ring, entry);
	return true;
}

/* The kernel stands between the two, which no lock of ours and no tool knows. */
void ring_meet(struct ring *ring)
{
	GUARD(&ring->lock);
}

bool ring_serves(const struct ring *ring)
{
	return ring_self(ring) != NULL;
}

void ring_back(const struct ring *ring)
{
	ring_stay(ring_self(ring)->thread->cpu);
}

/* Not by the server itself: with its entry in the kernel's hands it must not wait for anything else. */
void ring_flush(struct ring *ring)
{
	struct ring_server *self = ring_self(ring);

	if (!self || !self->answered)
		return;
	self->answered = false;
	ring_send(ring, steal(&self->entry));
}

/* ---- a thread ---- */

/* What the thread has done for this phase; returns when another one has come, unless it is not to wait. */
static enum ring_phase ring_arrive(struct ring *ring, int sys, bool waits)
{
	enum ring_phase phase;

	GUARD(&ring->lock);
	phase = ring->phase;
	ring->arrived++;
	if (sys)
		ring->sys = sys;
	pthread_cond_broadcast(&ring->turn);
	while (waits && ring->phase == phase)
		pthread_cond_wait(&ring->turn, &ring->lock);
	return ring->phase;
}

static void wake_read(struct ring_thread *thread)
{
	struct io_uring_sqe *sqe = uring_next_sqe(&thread->uring);

	if (!sqe)
		return;
	sqe->opcode = IORING_OP_READ;
	sqe->fd = thread->wake;
	sqe->addr = (uintptr_t)&thread->woken;
	sqe->len = sizeof(thread->woken);
}

static int ring_thread_open(struct ring_thread *thread)
{
	unsigned n = SPARE_SQES;
	struct ring_queue *queue;
	int r;

	ring_stay(thread->cpu);
	/* nothing is handed in before all queues' entries are there: the kernel takes none before INIT */
	LIST_FOREACH(queue, &thread->queues, link)
		n += queue->depth;
	r = uring_open(&thread->uring, n);
	if (r)
		return r;
	wake_read(thread);
	LIST_FOREACH(queue, &thread->queues, link)
		if (!r)
			r = ring_entries_add(thread, queue, queue->depth);
	if (r)
		uring_close(&thread->uring);
	return r;
}

static void ring_refuse(struct ring_entry *entry, uint64_t unique)
{
	struct fuse_out_header out = { .len = sizeof(out), .error = -EIO, .unique = unique };
	struct iovec iov = { &out, sizeof(out) };

	ring_answer(entry->thread->ring, &iov, 1);
}

void ring_process(struct ring *ring, struct ring_entry *entry)
{
	struct fuse_buf buf;
	int r = ring_entry_request(entry, ring->payload, &buf);

	ring_put_out(ring, entry);
	if (r)
		ring_refuse(entry, entry->unique);
	else
		fuse_session_process_buf(ring->front->session, &buf);
}

/* Without an entry the queue would stand still: the kernel looks for what waits there only when one is
 * answered. Where there is no memory it does. */
static void ring_refill(struct ring_thread *thread)
{
	struct ring_queue *queue;
	bool more = false;

	LIST_FOREACH(queue, &thread->queues, link)
		if (queue->held * 2 < queue->depth) {
			ring_entries_add(thread, queue, queue->depth - queue->held);
			more = true;
		}
	if (more)
		uring_enter(&thread->uring, false);
}

/* 0, or why the kernel has no use for an entry: the end of the connection, mostly. */
static int ring_reap(struct ring_thread *thread)
{
	struct ring_list arrived = TAILQ_HEAD_INITIALIZER(arrived);
	struct ring_entry *entry;
	struct io_uring_cqe cqe;
	int r = 0;

	while (uring_take_cqe(&thread->uring, &cqe)) {
		entry = (struct ring_entry *)(uintptr_t)cqe.user_data;
		if (!entry) {
			wake_read(thread);
			continue;
		}
		entry->queue->held--;
		if (cqe.res < 0)
			r = cqe.res;
		else
			TAILQ_INSERT_TAIL(&arrived, entry, link);
	}
	/* before threads are made, which takes longer than the next requests do */
	if (!r)
		ring_refill(thread);
	while ((entry = TAILQ_FIRST(&arrived))) {
		TAILQ_REMOVE(&arrived, entry, link);
		entry->answered = false;
		/* no thread to be had: at worst this processor's requests wait for it */
		if (!ring_give(thread, entry))
			ring_process(thread->ring, entry);
	}
	return r;
}

static int ring_register(struct ring_thread *thread)
{
	int r = uring_enter(&thread->uring, false), reaped = ring_reap(thread);
	struct ring_queue *queue;

	/* of a queue that has one the others were refused for want of memory */
	LIST_FOREACH(queue, &thread->queues, link)
		if (!r && !queue->held)
			r = reaped ? reaped : -EIO;
	return r;
}

/* Hands in what other threads have answered; false: the end. */
static bool ring_take_answered(struct ring_thread *thread)
{
	struct ring_list taken = TAILQ_HEAD_INITIALIZER(taken);
	struct ring *ring = thread->ring;
	struct ring_entry *entry;
	bool ends = false;

	{
		GUARD(&ring->lock);
		TAILQ_CONCAT(&taken, &thread->answered, link);
		ends = ring->phase == RING_ENDS;
	}
	while ((entry = TAILQ_FIRST(&taken))) {
		TAILQ_REMOVE(&taken, entry, link);
		if (ring_entry_commit(entry, &thread->uring))
			entry->queue->held++;
		else
			ring_hand_over(ring, entry);
	}
	return !ends;
}

static void *ring_main(void *arg)
{
	struct ring_thread *thread = arg;
	struct ring *ring = thread->ring;
	int r = ring_thread_open(thread);

	if (ring_arrive(ring, r, true) == RING_REGISTERS && !r) {
		ring_arrive(ring, ring_register(thread), false);
		while (ring_take_answered(thread)) {
			uring_enter(&thread->uring, true);
			ring_reap(thread);
		}
		uring_enter(&thread->uring, false);
	}
	if (!r)
		uring_close(&thread->uring);
	return NULL;
}

/* ---- all of them ---- */

static struct ring *ring_new(struct front *front, size_t payload)
{
	struct ring *ring = calloc(1, sizeof(*ring));

	if (!ring)
		return NULL;
	ring->front = front;
	ring->payload = payload;
	pthread_mutex_init(&ring->lock, NULL);
	pthread_cond_init(&ring->turn, NULL);
	pthread_key_create(&ring->self, NULL);
	ring->ends = -1;
	for (size_t i = 0; i < RING_BUCKETS; i++)
		TAILQ_INIT(&ring->out[i]);
	return ring;
}

static int ring_allocate(struct ring *ring)
{
	struct ring_cpus *cpus = &ring->cpus;
	int r = ring_cpus_look(cpus);

	if (r)
		return r;
	ring->ends = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (ring->ends < 0)
		return -errno;
	ring->threads = calloc(cpus->threads, sizeof(*ring->threads));
	ring->queues = calloc(cpus->possible, sizeof(*ring->queues));
	if (!ring->threads || !ring->queues)
		return -ENOMEM;
	for (unsigned i = 0; i < cpus->threads; i++)
		ring->threads[i].wake = -1;
	for (unsigned i = 0; i < cpus->possible; i++) {
		struct ring_thread *thread = &ring->threads[cpus->thread[i]];

		if (cpus->usable[i])
			thread->cpu = (int)i;
		ring->queues[i].qid = (uint16_t)i;
		ring->queues[i].depth = cpus->usable[i] ? DEPTH : DEPTH_ELSEWHERE;
		LIST_INSERT_HEAD(&thread->queues, &ring->queues[i], link);
	}
	return 0;
}

static int ring_start(struct ring *ring)
{
	for (unsigned i = 0; i < ring->cpus.threads; i++) {
		struct ring_thread *thread = &ring->threads[i];

		thread->ring = ring;
		TAILQ_INIT(&thread->answered);
		/* it blocks: io_uring reads it when there is something */
		thread->wake = eventfd(0, EFD_CLOEXEC);
		if (thread->wake < 0 || pthread_create(&thread->id, NULL, ring_main, thread))
			return -EAGAIN;
		ring->n++;
	}
	return 0;
}

/* Begins a phase, for which all threads have done what it asks when this returns; 0 or -errno. */
static int ring_turn(struct ring *ring, enum ring_phase phase)
{
	GUARD(&ring->lock);
	if (phase != ring->phase) {
		ring->phase = phase;
		ring->arrived = 0;
		pthread_cond_broadcast(&ring->turn);
	}
	while (ring->arrived < ring->n)
		pthread_cond_wait(&ring->turn, &ring->lock);
	return ring->sys;
}

int ring_open(struct front *front, size_t largest, struct ring **ret)
{
	struct ring *ring = ring_new(front, largest);
	int r = ring ? ring_allocate(ring) : -ENOMEM, opened;

	if (!r) {
		r = ring_start(ring);
		opened = ring_turn(ring, RING_OPENING);
		r = r ? r : opened;
	}
	if (!r)
		*ret = ring;
	else
		ring_free(ring);
	return r;
}

int ring_begin(struct ring *ring)
{
	int r = ring_turn(ring, RING_REGISTERS);

	if (r) {
		/* a refused REGISTER is what lets the kernel go on without (fuse_uring_cmd) */
		ring_entries_refuse(ring);
		ring_end(ring);
	}
	return r;
}

static void ring_tell_end(struct ring *ring)
{
	struct ring_server *server;

	GUARD(&ring->lock);
	ring->phase = RING_ENDS;
	pthread_cond_broadcast(&ring->turn);
	LIST_FOREACH(server, &ring->servers, link)
		pthread_cond_signal(&server->call);
}

static void ring_stop(struct ring *ring, bool all)
{
	/* first: an id is another thread's as soon as it is joined */
	unsigned n = atomic_exchange(&ring->n, 0);

	ring_tell_end(ring);
	if (ring->ends >= 0)
		eventfd_write(ring->ends, 1);
	for (unsigned i = 0; i < n; i++)
		eventfd_write(ring->threads[i].wake, 1);
	for (unsigned i = 0; i < n; i++)
		pthread_join(ring->threads[i].id, NULL);
	ring_servers_end(ring, all);
}

/* A run may go on, as a thread, until the engine ends. */
void ring_end(struct ring *ring)
{
	ring_stop(ring, false);
}

void ring_free(struct ring *ring)
{
	if (!ring)
		return;
	ring_stop(ring, true);
	for (unsigned i = 0; ring->threads && i < ring->cpus.threads; i++)
		if (ring->threads[i].wake >= 0)
			close(ring->threads[i].wake);
	ring_entries_free(ring);
	if (ring->ends >= 0)
		close(ring->ends);
	pthread_key_delete(ring->self);
	pthread_cond_destroy(&ring->turn);
	pthread_mutex_destroy(&ring->lock);
	free(ring->threads);
	free(ring->queues);
	free(ring);
}
