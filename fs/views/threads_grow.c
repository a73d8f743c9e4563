/* SPDX-License-Identifier: MIT */
/*
 * threads_grow.c - logs that grow while they are read: `tail -f` follows them.
 *
 * Owns how a longer size becomes known. The page that holds the old end is in the kernel's
 * cache, filled up with zeros; were the new size told first, a follower would read those. So a
 * GETATTR that finds more bytes queues an invalidation from that page on, and the size is told
 * from the moment the kernel has answered. Each lookup has a node of its own, which keeps no
 * text: a GETATTR asks for the size alone, a READ reads its part of the file.
 * Lock: grow->lock for the sizes; nothing is called under it.
 */
#include "views/views_inner.h"

#include "core/enter.h"
#include "core/notify.h"
#include "core/reply.h"
#include "scope.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096

struct grow {
	pthread_mutex_t lock;
	uint64_t size; /* when it was looked at last */
	uint64_t told; /* the size the kernel may know */
	bool queued; /* an invalidation is on its way */
	_Atomic unsigned refs; /* the node's, and a queued invalidation's */
	const char *file;
	char id[];
};

static void threads_grow_put(struct grow *grow)
{
	if (atomic_fetch_sub(&grow->refs, 1) != 1)
		return;
	pthread_mutex_destroy(&grow->lock);
	free(grow);
}

/* The kernel has dropped the old last page: the longer size may be told. */
static void invalidated(void *arg)
{
	struct grow *grow = arg;

	{
		GUARD(&grow->lock);
		grow->told = grow->size;
		grow->queued = false;
	}
	threads_grow_put(grow);
}

static void threads_grow_look(struct front *front, struct node *node)
{
	struct grow *grow = node->data;
	const struct rye_thread_part part = { .id = grow->id, .name = grow->file };
	struct rye_err err;
	uint64_t size;
	off_t from = -1;

	if (rye_thread_read(front->rye, &part, NULL, &size, &err))
		return;
	{
		GUARD(&grow->lock);
		if (!grow->queued && size > grow->told) {
			grow->size = size;
			grow->queued = true;
			from = (off_t)(grow->told / PAGE * PAGE);
		}
	}
	if (from < 0)
		return;
	atomic_fetch_add(&grow->refs, 1);
	if (!notify_inode_then(front->notify, node, from, invalidated, grow))
		invalidated(grow);
}

static void grow_getattr(fuse_req_t req, struct node *node, bool by_handle)
{
	struct front *front = front_of(req);
	struct grow *grow = node->data;
	struct stat st;

	(void)by_handle;
	threads_grow_look(front, node);
	node_stat(front, node, &st);
	{
		GUARD(&grow->lock);
		st.st_size = (off_t)grow->told;
	}
	st.st_blocks = (st.st_size + 511) / 512;
	reply_attr(req, &st, 0);
}

/* No byte behind the size that was told: the kernel would keep a page of zeros behind it. */
static void grow_read(fuse_req_t req, struct node *node, size_t size, off_t off)
{
	struct grow *grow = node->data;
	struct rye_thread_part part = { grow->id, grow->file, (uint64_t)off, size };
	struct rye_blob *blob = NULL;
	struct rye_err err;
	uint64_t told = 0, now;

	{
		GUARD(&grow->lock);
		told = grow->told;
	}
	if (part.off >= told)
		part.len = 0;
	else if (part.len > told - part.off)
		part.len = (size_t)(told - part.off);
	if (rye_thread_read(front_of(req)->rye, &part, &blob, &now, &err)) {
		reply_rye(req, &err);
		return;
	}
	reply_blob(req, blob, 0, part.len);
	rye_blob_unref(blob);
}

static void grow_drop(void *data)
{
	threads_grow_put(data);
}

static const struct node_class grow_aside = {
	.lane = threads_lane,
	.getattr = grow_getattr,
	.read = grow_read,
};

static const struct node_class grow_class = {
	.name = "grow",
	.aside = &grow_aside,
	.drop = grow_drop,
};

int threads_enter_grow(fuse_req_t req, const struct tree_key *key, const struct thread_name *name,
		       const struct rye_thread_entry *entry, struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);
	size_t id = strlen(name->id) + 1, file = strlen(name->file) + 1;
	struct grow *grow = calloc(1, sizeof(*grow) + id + file);
	struct node_want want = {
		.key = key,
		.class = &grow_class,
		.data = grow,
		.version = 1,
		.mode = S_IFREG | 0400,
		.fresh = true,
	};
	const struct rye_thread_part part = { .id = name->id, .name = name->file };
	struct rye_err err;
	struct node *node;

	if (!grow)
		return ENOMEM;
	if (rye_thread_read(front->rye, &part, NULL, &grow->size, &err)) {
		free(grow);
		return err.code == RYE_NOT_FOUND ? enter_nothing(ret, 0) : rye_code_errno(err.code);
	}
	want.mtime = threads_time(front, key, entry, grow->size);
	pthread_mutex_init(&grow->lock, NULL);
	atomic_init(&grow->refs, 1);
	memcpy(grow->id, name->id, id);
	grow->file = memcpy(grow->id + id, name->file, file);
	grow->told = want.size = grow->size;
	node = node_make(front->nodes, &want);
	if (!node)
		return ENOMEM;
	node_entry(front, node, 0, ret);
	ret->attr_timeout = 0;
	return 0;
}
