/* SPDX-License-Identifier: MIT */
/*
 * ring_serve.c - the servers of the rings: threads that have one entry each and do what comes by it.
 *
 * A server may wait for whatever its request waits for. So it has no entry in the kernel's hands while it
 * does one, and never two. Without an entry it waits here until it is given one. They are made by keepers,
 * when none waits, stay on their keeper's processor, and end with the ring. A call of an MCP server is
 * carried out by the server that its WRITE came to: its own rye_carry_out, behind the lane's place, so the
 * answer is handed in where it is known. Such a run may outlive the mount: until the engine has ended, that
 * server is not joined. Lock: ring's.
 */
#include "loop/ring.h"

#include "scope.h"

#include <errno.h>
#include <poll.h>

/* Of a keeper: more than there are places for what may wait (aside.c), so that some never wait. */
#define SERVERS 128
/* … and so many of them may be in runs, whatever those wait for. */
#define CARRIERS 32
/* An entry, and the look at the end. */
#define SERVER_SQES 4

/* ---- without an entry ---- */

/* NULL: the end. */
static struct ring_entry *server_wait(struct ring_server *server)
{
	struct ring *ring = server->thread->ring;

	GUARD(&ring->lock);
	if (server->given)
		return steal(&server->given);
	LIST_INSERT_HEAD(&server->thread->idle, server, idle_link);
	while (!server->given && ring->phase != RING_ENDS)
		pthread_cond_wait(&server->call, &ring->lock);
	if (!server->given)
		LIST_REMOVE(server, idle_link);
	return steal(&server->given);
}

static struct ring_server *server_find(struct ring_thread *thread, struct ring_entry *entry)
{
	struct ring_server *server;

	GUARD(&thread->ring->lock);
	server = LIST_FIRST(&thread->idle);
	if (server) {
		LIST_REMOVE(server, idle_link);
		server->given = entry;
	}
	return server;
}

/* The signal comes when the lock is free: the thread that it wakes would wait for it at once. */
bool ring_give_idle(struct ring_thread *thread, struct ring_entry *entry)
{
	struct ring_server *server = server_find(thread, entry);

	if (server)
		pthread_cond_signal(&server->call);
	return server;
}

/* ---- with one ---- */

static void server_open(struct ring_server *server)
{
	struct io_uring_sqe *sqe;

	ring_stay(server->thread->cpu);
	pthread_setspecific(server->thread->ring->self, server);
	/* without: what it answers is its keeper's to hand in */
	server->rings = uring_open(&server->uring, SERVER_SQES) == 0;
	if (!server->rings)
		return;
	sqe = uring_next_sqe(&server->uring);
	sqe->opcode = IORING_OP_POLL_ADD;
	sqe->fd = server->thread->ring->ends;
	sqe->poll32_events = POLLIN;
}

/* The next request of its entry; NULL: it has none any more. */
static struct ring_entry *server_fetch(struct ring_server *server)
{
	struct ring_entry *entry;
	struct io_uring_cqe cqe;

	for (;;) {
		int r = uring_enter(&server->uring, true);

		/* these two are want of memory: the entry is in the kernel's hands or will be */
		if (r && r != -EAGAIN && r != -EBUSY)
			return NULL;
		if (!uring_take_cqe(&server->uring, &cqe))
			continue;
		entry = (struct ring_entry *)(uintptr_t)cqe.user_data;
		if (!entry && cqe.res < 0)
			continue;
		if (!entry || cqe.res < 0)
			return NULL;
		entry->answered = false;
		return entry;
	}
}

/* Does what the entry is for; its next request, or NULL. */
static struct ring_entry *server_turn(struct ring_server *server, struct ring_entry *entry)
{
	struct ring *ring = server->thread->ring;

	if (!entry->answered) {
		server->answered = false;
		server->entry = entry;
		ring_process(ring, entry);
		server->entry = NULL;
		/* parked, or over already: it is another's */
		if (!server->answered)
			return NULL;
	}
	if (server->rings && ring_entry_commit(entry, &server->uring))
		return server_fetch(server);
	ring_hand_over(ring, entry);
	return NULL;
}

static void *server_main(void *arg)
{
	struct ring_server *server = arg;
	struct ring_entry *entry;

	server_open(server);
	while ((entry = server_wait(server)))
		while (entry)
			entry = server_turn(server, entry);
	if (server->rings)
		uring_close(&server->uring);
	return NULL;
}

/* ---- runs ---- */

/* False: it is not to begin. */
static bool server_carries(struct ring_server *server, bool carries)
{
	struct ring_thread *thread = server->thread;

	GUARD(&thread->ring->lock);
	if (carries && (thread->carriers == CARRIERS || thread->ring->phase == RING_ENDS))
		return false;
	server->carries = carries;
	thread->carriers += carries ? 1 : -1;
	return true;
}

void ring_carry(struct ring *ring, struct rye_call *call)
{
	struct ring_server *self = pthread_getspecific(ring->self);
	const bool here = server_carries(self, true);

	rye_carry_out(call, here);
	if (here)
		server_carries(self, false);
}

/* ---- all of them ---- */

/* The room for one more, which counts as if it were there. */
static bool server_counts(struct ring_thread *thread)
{
	GUARD(&thread->ring->lock);
	if (thread->servers == SERVERS || thread->ring->phase == RING_ENDS)
		return false;
	thread->servers++;
	return true;
}

static bool server_make(struct ring_thread *thread, struct ring_entry *entry)
{
	struct ring_server *server = calloc(1, sizeof(*server));

	/* counted for good: there is no memory */
	if (!server)
		return false;
	*server = (struct ring_server){ .thread = thread, .given = entry };
	pthread_cond_init(&server->call, NULL);
	GUARD(&thread->ring->lock);
	if (pthread_create(&server->id, NULL, server_main, server)) {
		thread->servers--;
		pthread_cond_destroy(&server->call);
		free(server);
		return false;
	}
	LIST_INSERT_HEAD(&thread->ring->servers, server, link);
	return true;
}

bool ring_give(struct ring_thread *thread, struct ring_entry *entry)
{
	return ring_give_idle(thread, entry) ||
	       (server_counts(thread) && server_make(thread, entry));
}

/* Takes one out of the list; NULL: there is none. */
static struct ring_server *server_unlist(struct ring *ring, bool all)
{
	struct ring_server *server;

	GUARD(&ring->lock);
	LIST_FOREACH(server, &ring->servers, link)
		if (all || !server->carries) {
			LIST_REMOVE(server, link);
			return server;
		}
	return NULL;
}

void ring_servers_end(struct ring *ring, bool all)
{
	struct ring_server *server;

	/* no keeper is left that would make one */
	while ((server = server_unlist(ring, all))) {
		pthread_join(server->id, NULL);
		pthread_cond_destroy(&server->call);
		free(server);
	}
}
