/* SPDX-License-Identifier: MIT */
/*
 * fixed.c - the root, .why, spaces, spaces/system, search, state, .ryefs.
 *
 * Owns what these directories list. No lock, no state.
 */
#include "views/views.h"

#include "core/enter.h"
#include "core/listing.h"
#include "core/reply.h"
#include "scope.h"

#include <errno.h>
#include <string.h>

static const char *const spaces_lists[] = { "project", "system", "user", NULL };
static const char *const state_lists[] = { "threads", NULL };
static const char *const nothing[] = { NULL };

static const char *const *names_of(enum tree_sort sort)
{
	switch (sort) {
	case TREE_SPACES:
		return spaces_lists;
	case TREE_STATE:
		return state_lists;
	default:
		return nothing;
	}
}

/* READDIRPLUS gives control files no node: each LOOKUP makes a node of its own. */
static uint64_t fixed_ino_of(struct node *dir, const char *name)
{
	struct tree_dir where = { .sort = dir->sort, .path = dir->text };
	struct tree_key key;

	if (tree_step(&where, name, &key) || key.sort != TREE_PRIMITIVE)
		return 0;
	return tree_ino(&key);
}

static void list_bundles(struct front *front, struct listing *listing)
{
	int n = rye_space_count(front->rye);

	for (int i = 0; i < n; i++) {
		struct rye_space_info info;

		rye_space_get(front->rye, i, &info);
		if (info.type == RYE_SYSTEM && info.bundle && info.fd >= 0)
			listing_add(listing, info.bundle, S_IFDIR, 0);
	}
}

/* The project's and the user's come and go; spaces/system is a directory of its own. */
static bool has_space(struct front *front, const char *name)
{
	int n = rye_space_count(front->rye);
	struct rye_space_info info;

	for (int i = 0; i < n; i++) {
		rye_space_get(front->rye, i, &info);
		if (info.fd >= 0 && info.type != RYE_SYSTEM &&
		    strcmp(name, info.type == RYE_USER ? "user" : "project") == 0)
			return true;
	}
	return strcmp(name, "system") == 0;
}

struct root_list {
	struct node *root;
	struct listing *listing;
};

static void add_root_name(void *arg, const char *name)
{
	struct root_list *list = arg;

	listing_add(list->listing, name, 0, fixed_ino_of(list->root, name));
}

static void fixed_readdir(fuse_req_t req, struct node *node, size_t size, off_t off, bool plus)
{
	struct listing_ask ask = { req, node, size, off, plus };
	auto_listing struct listing *listing = listing_new();

	for (const char *const *name = names_of(node->sort); listing && *name; name++)
		if (node->sort != TREE_SPACES || has_space(front_of(req), *name))
			listing_add(listing, *name, 0, fixed_ino_of(node, *name));
	if (listing && node->sort == TREE_ROOT)
		tree_root_names(&(struct root_list){ node, listing }, add_root_name);
	for (size_t i = 0; listing && node->sort == TREE_DOT && dot_name(i); i++)
		listing_add(listing, dot_name(i), 0, 0);
	if (listing && node->sort == TREE_BUNDLES)
		list_bundles(front_of(req), listing);
	if (!listing || !listing_finish(listing))
		reply_errno(req, ENOMEM);
	else
		listing_reply(&ask, listing);
}

/* The component below .why says which error it stands for. */
static int why_enter(fuse_req_t req, struct node *dir, const char *name,
		     struct fuse_entry_param *ret)
{
	int sys = tree_why(name);

	return sys ? sys : enter_nothing(ret, TIMEOUT_LONG_S);
}

/* The index alone has to be waited for. */
static void root_lookup(fuse_req_t req, struct node *root, const char *name)
{
	struct tree_dir where = { .sort = TREE_ROOT, .path = "" };
	struct fuse_entry_param entry = { 0 };
	struct tree_key key;
	int sys;

	if (tree_step(&where, name, &key) == 0 &&
	    (key.sort == TREE_INDEX_MD || key.sort == TREE_INDEX_JSON)) {
		catalogue_lookup(req, key.sort);
		return;
	}
	sys = enter_name(req, root, name, &entry);
	enter_reply(req, sys, &entry, NULL);
}

static const struct node_class root_class = {
	.name = "root",
	.enter = enter_name,
	.lookup = root_lookup,
	.readdir = fixed_readdir,
};

static const struct node_class fixed_class = {
	.name = "fixed",
	.enter = enter_name,
	.readdir = fixed_readdir,
};

static const struct node_class why_class = {
	.name = "why",
	.enter = why_enter,
	.readdir = fixed_readdir,
};

static struct node *fixed_make(struct front *front, const struct tree_key *key)
{
	struct node_want want = {
		.key = key,
		.class = key->sort == TREE_WHY	? &why_class :
			 key->sort == TREE_ROOT ? &root_class :
						  &fixed_class,
		.version = 1,
		.mtime = front->started,
		.mode = S_IFDIR | 0755,
		.ino = key->sort == TREE_ROOT ? FUSE_ROOT_ID : 0,
	};

	return node_make(front->nodes, &want);
}

int enter_fixed(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);

	return enter_node(front, fixed_make(front, key), TIMEOUT_LONG_S, ret);
}

struct node *fixed_root(struct front *front)
{
	struct tree_key key;

	tree_root(&key);
	return fixed_make(front, &key);
}
