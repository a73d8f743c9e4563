/* SPDX-License-Identifier: MIT */
/*
 * loop_inner.h: what the files of loop/ share.
 */
#ifndef RYE_FS_LOOP_LOOP_INNER_H
#define RYE_FS_LOOP_LOOP_INNER_H

#include "loop/loop.h"

#include <sys/queue.h>

/* ---- device.c, stale.c ---- */

/* A request that was read, in memory of malloc; its length by now, 0: it is of another daemon, and answered or
 * passed on. */
size_t stale_pass(const struct front *front, int fd, void *buf, size_t len);

/* ---- relay.c ---- */

/* From where the calling thread is to read next: fd, the device's, or the next daemon's socket. */
int relay_arrive(struct relay *relay, int fd);
/* What it has read is its own, or was passed on. */
void relay_leave(struct relay *relay, int from, int fd);
/* Instead of read(2), from the next daemon's socket. */
ssize_t relay_receive(struct relay *relay, void *buf, size_t len);

/* A request is in this daemon's hand; it was answered. */
void relay_put(struct relay *relay, const void *request);
void relay_take_out(struct relay *relay, uint64_t unique);

/* Does the daemon of that epoch live? */
bool relay_has(const struct front *front, uint16_t epoch);
/* To that one. False: it does not live, or takes nothing. */
bool relay_tell(const struct front *front, uint16_t epoch, const void *request, size_t len);
/* To each of them: what says of no node whose it is. */
void relay_tell_all(const struct front *front, const void *request, size_t len);

/* ---- aside.c ---- */

struct aside_task;
struct aside_class {
	void (*run)(struct aside_task
			    *task); /* no lock is held; may free the task, if `answer` is NULL */
	/* What is left of it when its place is given back and the thread counts as one at the device: it
	 * sends what `run` has found. NULL: nothing. Must not wait. */
	void (*answer)(struct aside_task *task);
	/* There is no place: a copy that lives until its `run`, NULL: answered, it is not wanted. */
	struct aside_task *(*keep)(const struct aside_task *task);
};

/* The first member of what is to be done. */
struct aside_task {
	const struct aside_class *class;
	struct aside_lane lane;
	/* the lock's: */
	TAILQ_ENTRY(aside_task) link;
	bool queued;
};

enum aside_thread {
	ASIDE_READS, /* calls aside_serve */
	ASIDE_HELPS, /* calls aside_help */
};
/* spawn: makes one more thread. False: there can be none. Before the first request. */
typedef bool (*aside_spawn_fn)(void *arg, enum aside_thread what);
void asides_spawn(struct asides *asides, aside_spawn_fn spawn, void *arg);
void asides_end(struct asides *asides); /* every aside_serve returns false from now on */

/* At most so many threads: every place taken, and two that read the device. */
#define ASIDE_LOOPS 96
/* … and so many that run what was kept of a ring's requests: every place taken. */
#define ASIDE_HELPERS 96

/* One of the first threads is made; those that `spawn` makes are counted already. */
void aside_arrive(struct asides *asides);
/* The calling thread is about to read the device; waits while enough others do. False: the end. */
bool aside_serve(struct asides *asides);
/* On a FUSE thread: runs the task on it, or keeps it. The calling thread may also run tasks that
 * were kept. */
void aside_run(struct asides *asides, struct aside_task *task);

/*
 * On a thread of a ring (ring.h), which is none of those at the device: runs the task on it, or keeps it.
 * What was kept and has its place then is another thread's, for this one has an answer to hand in.
 */
void aside_run_here(struct asides *asides, struct aside_task *task);
/* On the thread made for that: waits for a task that has a place; NULL: the end. */
struct aside_task *aside_help(struct asides *asides);
/* Runs it, and those for which it makes place. */
void aside_finish(struct asides *asides, struct aside_task *task);

/* True: it was kept and will not be run any more. */
bool aside_drop(struct asides *asides, struct aside_task *task);

/*
 * work.c: one request as data: what the kernel asked, of which node; done by the thread that has it,
 * or by that thread after it has stepped aside.
 */
enum work_type {
	WORK_LOOKUP,
	WORK_READLINK,
	WORK_GETATTR,
	WORK_SETATTR,
	WORK_STATFS,
	WORK_READ,
	WORK_WRITE,
	WORK_READDIR,
	WORK_FSYNC,
	WORK_LSEEK,
	WORK_MAKE,
	WORK_CREATE,
	WORK_LINK,
	WORK_REMOVE,
	WORK_RENAME,
	WORK_FALLOCATE,
	WORK_COPY,
	WORK_GETXATTR,
	WORK_LISTXATTR,
	WORK_SETXATTR,
	WORK_REMOVEXATTR,
	WORK_TYPE__MAX
};

struct work_left;

/* Which members mean something is said by the type; the rest is zero. Texts are borrowed. */
struct work {
	struct aside_task task;
	/* work.c's: whose function is called; where its answer is put instead of being sent, or NULL */
	const struct node_class *aside;
	struct work_left *left;
	fuse_req_t req;
	enum work_type type;
	struct node *node; /* the directory of a name, the target of a copy */
	struct node *other; /* a rename's new directory, what a link is of, a copy's source */
	const char *name, *new_name; /* new_name: a symlink's target, too */
	struct rye_span bytes; /* of a write, of an attribute */
	struct stat st; /* SETATTR; mode and rdev of what is made */
	struct fuse_file_info fi;
	size_t size;
	off_t off, from_off;
	unsigned flags; /* also: attributes to set, a file's holes, where to seek from */
	bool flag; /* by handle, READDIRPLUS, a directory is removed, only the data is synced */
};

/* Answers the request, now or later: by the functions of its node's class, or as a read-only tree
 * does where the class has none. */
void work_begin(struct work *work);

#endif
