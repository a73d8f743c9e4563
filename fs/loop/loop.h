/* SPDX-License-Identifier: MIT */
/*
 * loop.h: the threads that read requests from the device, and step aside for what may wait.
 *
 * A FUSE thread takes a table's lock, reads the page of an open descriptor, or parks a request.
 * Whatever else a request needs is a task: the thread that runs it is no FUSE thread for so long,
 * and where it was the last one, another takes its place at the device first. So a task may ask a
 * disk, a database or another process, and costs no handing over where nothing waits.
 *
 * Each task needs a place of its lane (the disk of a space, what is said to a thread …) and of its
 * group. Where there is none it is kept until one is free, in order: what hangs takes the places of
 * its lane, never the threads.
 */
#ifndef RYE_FS_LOOP_LOOP_H
#define RYE_FS_LOOP_LOOP_H

#include "core/front.h"

/* ops.c: the table of operations that session.c gives to libfuse. */
extern const struct fuse_lowlevel_ops ops_table;

/*
 * device.c: what passes between libfuse and the device.
 */

/* Between fuse_session_mount and the loops. 0 or -errno. */
int device_attach(struct fuse_session *session);

/*
 * loops.c: the threads.
 */

struct loops;

/* Returns when INIT was answered; -1: it never came. *ret is set in either case, or NULL. */
int loops_start(struct front *front, struct loops **ret);
/* The device is gone: unmounted, or aborted. front->ready_fd becomes readable then. */
bool loops_ended(struct loops *loops);
/* Makes them end wherever they are, those of a ring too, joins them and frees *loops. */
void loops_end(struct loops *loops);

/* ring.c: FUSE over io_uring (ring.h). After the last answer; NULL is fine. */
struct ring;
void ring_free(struct ring *ring);

/* A signal to each of them: one that waits at the device, or at another daemon's socket, looks about. */
void loops_stir(struct loops *loops);

/*
 * relay.c: another daemon follows this one on the same connection while this one lives. All of it on the main
 * thread.
 */

/* front->relay: before the first request. NULL: there can be none. */
struct relay *relay_open(void);
void relay_free(struct relay *relay); /* NULL is fine */
/* Readable: relay_hear has something to hear. NULL: -1. */
int relay_fd(const struct relay *relay);

/* A socket for the daemon that is to follow; or -errno: EMLINK, there are too many before this one that serve
 * processes. */
int relay_offer(struct front *front);
enum relay_heard {
	RELAY_NOTHING, /* or the end of a daemon before this one, for which it has been answered */
	RELAY_WANTED, /* the next one could begin */
	RELAY_FAILED, /* … has ended without */
};
enum relay_heard relay_hear(struct front *front);
/*
 * Daemons before this one that have ended and whose sockets are open still: a thread of theirs waits in a
 * notification for a lock, whose owner waits for an answer of theirs. They are answered for. Are there any that live?
 */
bool relay_look(struct front *front);
/* No thread reads the device any more; false: one does. */
bool relay_stop(struct relay *relay, struct loops *loops);
/* The next one begins. False: it has ended meanwhile. */
bool relay_pass(struct front *front);
/* Instead: the device is read again. */
void relay_withdraw(struct relay *relay);
/* When it was passed on: nothing is left that only this daemon can answer. Has the kernel forget what is not in
 * use, which it can from Linux 6.18 on; before, it does when it wants the memory. */
bool relay_over(const struct front *front);

/* In the next one: takes over that socket, and what the daemon before has to say; its device, or -1. */
int relay_follow(struct front *front, int socket);
/* The daemon before this one has stopped; false: it goes on. */
bool relay_begin(struct front *front);

/* On the connection of a daemon before this one: to libfuse what the kernel said at first. -1: this one would
 * answer otherwise. */
int device_say_init(struct front *front);

/*
 * aside.c: which of them read the device, whose task has a place. Lock: one, taken last but for
 * parking's; nothing is called under it.
 */

struct asides;
int asides_open(struct asides **ret); /* 0 or -errno */
void asides_free(struct asides *asides); /* NULL is fine */

#endif
