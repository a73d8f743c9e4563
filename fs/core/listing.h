/* SPDX-License-Identifier: MIT */
/*
 * listing.h: names of a directory and how READDIR and READDIRPLUS tell them. There is no
 * OPENDIR, so no handle remembers where a reader is: an entry's offset is a hash of its name,
 * and entries come in the order of their offsets. A reader resumes at any offset, in any
 * listing, and meets every name that stayed exactly once.
 */
#ifndef RYE_FS_CORE_LISTING_H
#define RYE_FS_CORE_LISTING_H

#include "core/front.h"

struct listing;

struct listing *listing_new(void); /* NULL: out of memory */
void listing_free(struct listing *listing);
DEFINE_AUTO(auto_listing_, struct listing *, listing_free)
#define auto_listing __attribute__((cleanup(auto_listing_)))

/* type: S_IFREG, S_IFDIR … or 0, unknown. ino 0: READDIRPLUS makes a node of the name and tells
 * that node's number; else only the name is told and the kernel sends a LOOKUP when a program stats
 * it. A second entry of a name is ignored. The name is copied. */
void listing_add(struct listing *listing, const char *name, mode_t type, uint64_t ino);
/* Sorts; nothing may be added afterwards. False: some listing_add ran out of memory. */
bool listing_finish(struct listing *listing);

/* One READDIR or READDIRPLUS. */
struct listing_ask {
	fuse_req_t req;
	struct node *dir; /* its class's `enter` makes the nodes */
	size_t size;
	off_t off;
	bool plus;
};

/* Answers with as many of the entries from ask->off on as fit into ask->size bytes. True: that was
 * all. */
bool listing_reply(const struct listing_ask *ask, const struct listing *listing);

/* Listings that readers have not finished, so that a big directory is not made anew for every piece
 * of it. The shelf has few places and drops the oldest; a missing listing is made again. shelf_put
 * takes the listing over, shelf_take gives it to the caller. */
struct shelf;

int shelf_open(struct shelf **ret); /* 0 or -errno */
void shelf_close(struct shelf *shelf);
struct listing *shelf_take(struct shelf *shelf, const struct node *dir); /* NULL: none */
void shelf_put(struct shelf *shelf, struct node *dir, struct listing *listing);

#endif
