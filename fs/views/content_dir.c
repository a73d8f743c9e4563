/* SPDX-License-Identifier: MIT */
/*
 * content_dir.c - directories of the merged trees and items' own directories.
 *
 * Owns what they list: one name per item, nothing else; a directory that is an item's own also its
 * control and derived files, whose names win over the names in the sources. No lock: a listing
 * belongs to one request, or to the shelf between two.
 */
#include "views/views_inner.h"

#include "core/ctl.h"
#include "core/enter.h"
#include "core/listing.h"
#include "core/reply.h"
#include "scope.h"

#include <errno.h>
#include <string.h>

struct fill {
	struct front *front;
	struct listing *listing;
};

static int content_dir_on_entry(void *arg, const struct rye_entry *entry)
{
	struct fill *fill = arg;
	const char *dot = strrchr(entry->name, '.');
	char stem[TREE_NAME_MAX + 1];
	mode_t type = 0;

	if (entry->is_dir)
		type = S_IFDIR;
	else if (entry->has_verdict)
		type = entry->verdict == RYE_OK ? S_IFREG : S_IFLNK;
	listing_add(fill->listing, entry->name, type, 0);
	if (fill->front->opt->list_all && !entry->is_dir && dot && dot > entry->name &&
	    (size_t)(dot - entry->name) < sizeof(stem)) {
		memcpy(stem, entry->name, dot - entry->name);
		stem[dot - entry->name] = 0;
		listing_add(fill->listing, stem, S_IFDIR, 0);
	}
	return 0;
}

static mode_t type_of(const struct ctl *ctl)
{
	return ctl->link ? S_IFLNK : S_IFREG;
}

/* Told without nodes: most of them are made anew at every lookup, and making the derived ones
 * costs more than a listing should. */
static void content_dir_add_ctls(struct listing *listing, const struct node *node)
{
	struct tree_dir where = { TREE_MERGED, node->kind, true, node->text };
	size_t n;
	const struct ctl *rows = ctl_rows(&n);
	struct tree_key key;

	for (size_t i = 0; i < n; i++)
		if (rows[i].listed && rye_kind_has(node->kind, rows[i].of) &&
		    tree_step(&where, rows[i].name, &key) == 0)
			listing_add(listing, rows[i].name, type_of(&rows[i]), tree_ino(&key));
}

static struct listing *content_dir_build(fuse_req_t req, struct node *node, bool plus,
					 struct rye_err *err)
{
	struct fill fill = { front_of(req), listing_new() };
	struct rye_walk walk = { node->kind, node->text, plus, content_dir_on_entry, &fill };

	err->code = RYE_IO;
	err->sys = ENOMEM;
	if (!fill.listing)
		return NULL;
	if (node->item)
		content_dir_add_ctls(fill.listing, node);
	if (rye_list(fill.front->rye, &walk, err) && err->code != RYE_NOT_FOUND) {
		listing_free(fill.listing);
		return NULL;
	}
	if (!listing_finish(fill.listing)) {
		err->code = RYE_IO;
		err->sys = ENOMEM;
		listing_free(fill.listing);
		return NULL;
	}
	return fill.listing;
}

static void dir_readdir(fuse_req_t req, struct node *node, size_t size, off_t off, bool plus)
{
	struct front *front = front_of(req);
	struct listing_ask ask = { req, node, size, off, plus };
	/* the answer may be the last that keeps the node alive */
	auto_node struct node *held = node_ref(node);
	struct listing *listing = off ? shelf_take(front->shelf, node) : NULL;
	struct rye_err err;

	if (!listing)
		listing = content_dir_build(req, node, plus, &err);
	if (!listing)
		reply_rye(req, &err);
	else if (listing_reply(&ask, listing))
		listing_free(listing);
	else
		shelf_put(front->shelf, held, listing);
}

static void dir_getattr(fuse_req_t req, struct node *node, bool by_handle)
{
	struct front *front = front_of(req);
	double timeout_s = content_timeout(front, node->kind, node->text);
	struct rye_stat now;
	struct rye_err err;
	struct stat st;

	node_stat(front, node, &st);
	if (rye_lookup(front->rye, node->kind, node->text, &now, &err) == 0)
		st.st_mtim = st.st_ctim = content_mtime(front, &now, timeout_s > 0);
	reply_attr(req, &st, timeout_s);
}

const struct node_class content_dir = {
	.name = "dir",
	.enter = enter_name,
	.enter_listed = enter_listed,
	.getattr = dir_getattr,
	.readdir = dir_readdir,
};
