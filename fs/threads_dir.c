/* SPDX-License-Identifier: MIT */
/*
 * threads_dir.c - state/threads: no threads are shown yet.
 *
 * Owns the directory itself, which is empty: threads run and can be listed with the command,
 * their files are in the project. No lock, no state.
 */
#include "threads_dir.h"

#include "enter.h"
#include "listing.h"
#include "reply.h"

#include <errno.h>

static int nothing(fuse_req_t req, struct node *dir, const char *name, struct fuse_entry_param *ret)
{
	return enter_nothing(ret, 0);
}

static void readdir(fuse_req_t req, struct node *node, size_t size, off_t off, bool plus)
{
	struct listing_ask ask = { req, node, size, off, plus };
	auto_listing struct listing *listing = listing_new();

	if (!listing || !listing_finish(listing))
		reply_errno(req, ENOMEM);
	else
		listing_reply(&ask, listing);
}

static const struct node_class threads_class = {
	.name = "threads",
	.enter = nothing,
	.readdir = readdir,
};

int threads_enter(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);
	struct node_want want = {
		.key = key,
		.class = &threads_class,
		.version = 1,
		.mtime = front->started,
		.mode = S_IFDIR | 0755,
	};

	return enter_node(front, node_make(front->nodes, &want), TIMEOUT_LONG_S, ret);
}

void threads_changed(struct front *front, const char *id)
{
}

void threads_stop(struct front *front)
{
}
