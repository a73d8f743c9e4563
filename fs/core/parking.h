/* SPDX-License-Identifier: MIT */
/*
 * parking.h: requests that wait for their answer, and the one thread that wakes them.
 *
 * The kernel says once that a waiting caller got some signal, and not which (a background job's
 * SIGCHLD looks like ^C). So the parking thread looks at an interrupted caller in /proc, at once
 * and every 100 ms, until a signal is pending that would end the caller. It also wakes requests
 * that have waited for as long as they may.
 *
 * Parking never answers. The thread that takes a request (parking_take, parking_take_all: at
 * most one of them gets it), or that finds it in a list of its owner's, answers it once, with
 * no lock held: parked_leave, reply, parked_unref.
 *
 * Lock: one for all that is parked, taken last: below any lock of the front and below libfuse's
 * lock of a request. Nothing is read from /proc, called or freed under it.
 */
#ifndef RYE_FS_CORE_PARKING_H
#define RYE_FS_CORE_PARKING_H

#include <fuse_lowlevel.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#define PARKED_NEVER INT64_MAX

struct parking;
struct parked;

enum parked_why {
	PARKED_ENDED, /* a signal that ends the caller is pending, or the caller is gone */
	PARKED_DUE, /* due_ns is over */
	PARKED_CLOSED, /* the mount goes; the last call for this request */
};

struct parked_class {
	/* On the parking thread, which holds a reference and no lock. The request may have been
	 * answered in the meantime. */
	void (*wake)(struct parked *parked, enum parked_why why);
	/* On the thread that drops the last reference: gives back what the request holds. The
	 * memory itself is parking's. */
	void (*done)(struct parked *parked);
};

/* The first member of what an owner keeps of a request. Constant but for what has a remark. */
struct parked {
	fuse_req_t req;
	void *owner; /* what parking_take_all goes by */
	struct parked *next; /* in the chain of parking_take_all */
	const struct parked_class *class;
	struct parking *parking;
	pid_t tid;
	_Atomic unsigned refs;
	_Atomic bool interrupted; /* the kernel said so; which signal is not known yet */
	_Atomic bool ended; /* it was one that ends the caller; stays */
	/* libfuse has our interrupt function; the owner's: parked_leave clears it
	 * before the answer */
	bool hooked;
	/* parking's lock: */
	TAILQ_ENTRY(parked) link;
	bool there; /* in the list */
	bool unseen; /* it is to be looked for a signal that came before the request */
	bool told; /* that the mount goes */
	int64_t look_ns, due_ns;
};

/* 0 or -errno. */
int parking_open(struct parking **ret);
/* From now on called on the parking thread every 30 s, no lock held. */
void parking_sweep(struct parking *parking, void (*sweep)(void *arg), void *arg);
/* … and at that time, if that is sooner. Any thread, holding no lock of parking's. */
void parking_sweep_by(struct parking *parking, int64_t due_ns);
/*
 * From now on each request that has waited for a moment is looked at once, whatever the kernel says: of
 * a signal that came before the request it says nothing where requests come over io_uring
 * (docs/kernel.md).
 */
void parking_look_once(struct parking *parking);
/* Wakes every request with PARKED_CLOSED and joins the thread; nothing is parked from then on. */
void parking_close(struct parking *parking);
/* After the last request was answered. */
void parking_free(struct parking *parking);

/* size: of the owner's struct; what follows `struct parked` is zero. NULL: out of memory. */
void *parked_new(struct parking *parking, fuse_req_t req, const struct parked_class *class,
		 void *owner, size_t size);
void parked_unref(struct parked *parked); /* holding no lock; NULL is fine */

/*
 * Parks the request until due_ns, or sets another due_ns if it is parked. The owner may hold
 * its lock: what it finds under that lock is then sure to be parked. False: the parking is
 * closed, and the caller of this function answers the request.
 */
bool parking_wait(struct parked *parked, int64_t due_ns);
/* True: it was parked, and the caller of this function answers it. */
bool parking_take(struct parked *parked);
struct parked *parking_take_all(struct parking *parking, const void *owner);
bool parking_waits(struct parking *parking, const void *owner); /* is any of them parked? */

/* The last thing before the reply: it is neither parked nor interrupted any more. */
fuse_req_t parked_leave(struct parked *parked);

#endif
