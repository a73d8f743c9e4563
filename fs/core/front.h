/* SPDX-License-Identifier: MIT */
/*
 * front.h: what one mount is made of; the userdata of every request. Filled by session.c
 * before the first request and constant from then on; the parts have locks of their own.
 */
#ifndef RYE_FS_CORE_FRONT_H
#define RYE_FS_CORE_FRONT_H

#include "core/node.h"
#include "core/options.h"

#include <fuse_lowlevel.h>
#include <stdatomic.h>

/*
 * How many requests of each sort the kernel sent, as .ryefs/stats.json tells them: tests measure
 * requests, not time. Atomic, no lock.
 */
enum stat_op {
	STAT_LOOKUP,
	STAT_FORGET,
	STAT_GETATTR,
	STAT_SETATTR,
	STAT_READLINK,
	STAT_OPEN,
	STAT_OPENDIR,
	STAT_FLUSH,
	STAT_RELEASE,
	STAT_READ,
	STAT_WRITE,
	STAT_READDIR,
	STAT_READDIRPLUS,
	STAT_CREATE,
	STAT_MAKE, /* mknod, mkdir, symlink, link */
	STAT_REMOVE, /* unlink, rmdir */
	STAT_RENAME,
	STAT_XATTR,
	STAT_OTHER,
	STAT_INVAL, /* notifications that the notify threads sent */
	STAT_LATE, /* changes that were answered before their lane had told of them (notify_after) */
	STAT__MAX
};

struct stats {
	_Atomic uint64_t n[STAT__MAX];
};

static inline void stats_count(struct stats *stats, enum stat_op op)
{
	atomic_fetch_add_explicit(&stats->n[op], 1, memory_order_relaxed);
}

/* Seconds: the notify threads tell the kernel of every change, so what it caches may live long. */
#define TIMEOUT_LONG_S 3600.0

/* FUSE over io_uring (loop/ring.h), and why it is not used. */
enum front_uring {
	URING_OFF, /* not asked for */
	URING_NONE, /* the kernel does not offer it */
	URING_SHUT, /* … and could: root has not said so */
	URING_OFFERED, /* … does; until it is on */
	URING_ON,
	URING_DENIED, /* this process may have no ring at all */
	URING_FAILED,
	URING__MAX
};

struct asides;
struct callers;
struct catalogues;
struct journal;
struct named;
struct notify;
struct parking;
struct pass;
struct relay;
struct ring;
struct searches;
struct shelf;
struct talks;

/* Since when a fact of state/threads has had its bytes (threads_since). */
struct front_since {
	_Atomic uint64_t of; /* a hash of its name and bytes */
	_Atomic int64_t ns;
};
#define SINCE_PLACES 256 /* a power of two; of facts that share one the newest is known */

struct front {
	const struct options *opt;
	struct rye *rye;
	struct rye_offers *offers; /* what skills/ shows */
	struct callers *callers;
	struct talks *talks;
	struct named *named; /* calls by name */
	struct nodes *nodes;
	struct notify *notify;
	struct parking *parking; /* requests that wait */
	struct asides *asides; /* what may wait while a request is answered */
	struct searches *searches;
	struct catalogues *catalogues;
	struct pass *pass;
	struct shelf *shelf; /* unfinished directory listings */
	struct journal *journal; /* .ryefs/log */
	struct journal *changes; /* .ryefs/changes */
	struct fuse_session *session;
	struct relay *relay; /* NULL: no other daemon can go on with this connection */
	struct ring *_Atomic ring; /* NULL: all requests come from /dev/fuse */
	_Atomic enum front_uring uring; /* constant from the answer to INIT on */
	struct node *root;
	struct stats stats;
	uid_t uid; /* the mount's owner */
	gid_t gid;
	struct timespec started;
	int mount_id; /* as mountinfo has it; 0: not mounted */
	bool reloads; /* SIGUSR2 makes another daemon take over */
	struct front_init init; /* constant from the answer to INIT on */
	struct rye_death death; /* of daemons of this mount before this one; times 0: none died */
	_Atomic uint64_t asked; /* the times told for unwatched directories (content_mtime) */
	_Atomic uint64_t generation; /* grows with every change of any item */
	/* grows with every name looked up and every listing in the merged trees and searches: what the
	 * kernel was told to forget is not there again as long as it stays */
	_Atomic uint64_t looks;
	struct front_since since[SINCE_PLACES];
	int ready_fd; /* eventfd: INIT was answered, or the loop has ended */
	bool answer_open; /* this kernel cannot do without OPEN */
	bool stopped; /* main thread's: parked requests were answered, their runs cancelled */
	bool expires; /* this kernel can expire an entry without dropping it */
	bool parallel_lookups; /* it can look names of one directory up side by side */
	_Atomic bool
		skills_told[2]; /* that skills/, that its folders, too, are listed anew is queued */
	_Atomic bool passed; /* another daemon goes on: this one serves those that are inside */
	_Atomic bool inited;
	_Atomic bool init_told,
		init_done; /* INIT is being answered; it was, and what that settles stands */
	_Atomic uint64_t answers; /* on the connection of a daemon before this one (loop/device.c) */
	_Atomic bool lookups_alone; /* and the kernel could not be told of parallel_lookups */
};

static inline struct front *front_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

static inline struct node *front_node(struct front *front, fuse_ino_t ino)
{
	return ino == FUSE_ROOT_ID ? front->root : node_of(ino);
}

#endif
