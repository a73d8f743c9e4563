/* SPDX-License-Identifier: MIT */
/*
 * content_dir.c - directories of the merged trees and items' own directories.
 *
 * Owns what they list: one name per item, nothing else; a directory that is an item's own also its
 * control and derived files, whose names win over the names in the sources. No lock: a listing
 * belongs to one request, or to the shelf between two.
 */
#include "views/views_inner.h"

#include "caller/caller.h"
#include "core/ctl.h"
#include "core/enter.h"
#include "core/listing.h"
#include "core/reply.h"
#include "scope.h"
#include "talk/talk.h"

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
static void content_dir_add_ctls(const struct fill *fill, const struct node *node)
{
	struct tree_dir where = { TREE_MERGED, node->kind, true, node->text };
	size_t n;
	const struct ctl *rows = ctl_rows(&n);
	struct tree_key key;

	for (size_t i = 0; i < n; i++)
		if (rows[i].listed && rye_kind_has(node->kind, rows[i].of) &&
		    !(rows[i].link && fill->front->opt->spaces == SPACES_NONE) &&
		    tree_step(&where, rows[i].name, &key) == 0)
			listing_add(fill->listing, rows[i].name, type_of(&rows[i]), tree_ino(&key));
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
		content_dir_add_ctls(&fill, node);
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

struct aside_lane content_lane(struct front *front, enum rye_kind kind, const char *path)
{
	return (struct aside_lane){ ASIDE_ITEMS,
				    (uint64_t)(rye_space_of(front->rye, kind, path) + 1) };
}

/* The disk of what is looked up there, or of the item that the directory is of. */
static struct aside_lane dir_lane(struct front *front, const struct node *node,
				  struct rye_span what)
{
	char path[TREE_TEXT_MAX];

	if (!what.len || node->item)
		return content_lane(front, node->kind, node->text);
	snprintf(path, sizeof(path), "%s%s%.*s", node->text, *node->text ? "/" : "", (int)what.len,
		 what.ptr);
	return content_lane(front, node->kind, path);
}

/* ---- a control file that is none ---- */

#define NAME_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

/* A name that a person or program gives a control file; not what editors put beside a file. */
static bool is_like_control(const struct node *dir, const char *name)
{
	size_t stem = strcspn(name, ".");
	char text[TREE_NAME_MAX + 1];
	const struct ctl *ctl;

	if (name[strspn(name, NAME_BYTES)] == '\0')
		return *name < '0' || *name > '9';
	if (name[stem] != '.')
		return false;
	snprintf(text, sizeof(text), "%.*s", (int)stem, name);
	ctl = ctl_find(dir->kind, text);
	return ctl && ctl->ways;
}

/* Its caller may go on to `output`: what it finds there must not be an earlier reply. */
static void dir_missed(fuse_req_t req, const struct node *dir, const char *name)
{
	struct front *front = front_of(req);
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	struct caller *caller;
	struct rye_stat st;
	struct rye_err err;
	char key[1100], why[400];

	if (!dir->item || !is_like_control(dir, name) ||
	    rye_lookup(front->rye, dir->kind, dir->text, &st, &err))
		return;
	caller = caller_identify(front->callers, ctx->pid, ctx->uid);
	if (!caller)
		return;
	snprintf(key, sizeof(key), "%s:%s", rye_kind_name(dir->kind), st.id);
	snprintf(why, sizeof(why),
		 "%.100s: no such control file, nothing was run; write the message to run", name);
	talks_attempt(front->talks, caller, key, why);
	caller_unref(caller);
}

/* A new item, as it seems: it has its place elsewhere. */
static void dir_no_place(fuse_req_t req, const struct node *dir, const char *name)
{
	char path[TREE_TEXT_MAX + TREE_NAME_MAX + 16], why[sizeof(path) + 80];

	if (dir->item)
		return;
	snprintf(path, sizeof(path), "%s/%s%s%s", rye_kind_dir(dir->kind), dir->text,
		 *dir->text ? "/" : "", name);
	snprintf(
		why, sizeof(why),
		"all spaces are one here, and not written to: write spaces/project/%s, and sign it",
		path);
	content_complain(req, path, why);
}

static void content_dir_create(fuse_req_t req, struct node *dir, const struct node_new *what,
			       const struct fuse_file_info *fi)
{
	dir_missed(req, dir, what->name);
	dir_no_place(req, dir, what->name);
	reply_errno(req, EROFS);
}

static const struct node_changes dir_changes = { .create = content_dir_create };

static const struct node_class dir_aside = {
	.lane = dir_lane,
	.enter = enter_name,
	.enter_listed = enter_listed,
	.getattr = dir_getattr,
	.readdir = dir_readdir,
	.changes = &dir_changes,
};

const struct node_class content_dir = {
	.name = "dir",
	.aside = &dir_aside,
	.enter = enter_now,
};
