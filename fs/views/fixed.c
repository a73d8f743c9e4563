/* SPDX-License-Identifier: MIT */
/*
 * fixed.c - the root, .why, spaces, spaces/system, search, new, state, .ryefs.
 *
 * Owns what these directories list. No lock, no state.
 */
#include "views/views.h"

#include "core/enter.h"
#include "core/listing.h"
#include "core/reply.h"
#include "hash.h"
#include "scope.h"
#include "views/views_inner.h"

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

/* listing NULL: no memory for one. */
static void listing_end(const struct listing_ask *ask, struct listing *listing)
{
	if (!listing || !listing_finish(listing))
		reply_errno(ask->req, ENOMEM);
	else
		listing_reply(ask, listing);
}

static bool lists_kinds(const struct node *node)
{
	return node->sort == TREE_NEW && !*node->text;
}

static void fixed_readdir(fuse_req_t req, struct node *node, size_t size, off_t off, bool plus)
{
	struct listing_ask ask = { req, node, size, off, plus };
	auto_listing struct listing *listing = listing_new();

	for (const char *const *name = names_of(node->sort); listing && *name; name++)
		if (node->sort != TREE_SPACES || has_space(front_of(req), *name))
			listing_add(listing, *name, 0, fixed_ino_of(node, *name));
	if (listing && node->sort == TREE_ROOT)
		tree_root_names(false, &(struct root_list){ node, listing }, add_root_name);
	if (listing && node->sort == TREE_ROOT && remotes_are(front_of(req)))
		listing_add(listing, "remotes", S_IFDIR, 0);
	for (size_t i = 0; listing && node->sort == TREE_DOT && dot_name(i); i++)
		listing_add(listing, dot_name(i), 0, 0);
	/* the kinds, and nothing below them: any name is there */
	for (size_t i = 0; listing && lists_kinds(node) && rye_skeleton_kind(i); i++)
		listing_add(listing, rye_skeleton_kind(i), S_IFDIR, 0);
	if (listing && node->sort == TREE_BUNDLES)
		list_bundles(front_of(req), listing);
	listing_end(&ask, listing);
}

/* ---- .why ---- */

/* The text of a link up to and with this node. */
static const char *reason_text(const struct node *node)
{
	return node->text_len > node->path_len ? node->text + node->path_len + 1 : "";
}

/* Linux checks capabilities against the owner (capable_wrt_inode_uidgid): over a file whose owner no
 * user namespace maps no process has any, so what its mode forbids root cannot do either. */
static void fixed_disown(struct stat *st)
{
	st->st_uid = (uid_t)-1;
	st->st_gid = (gid_t)-1;
}

/*
 * The kernel was told the attributes for an hour and asks for them again only before it says EACCES
 * (fuse_permission): the caller of this request is being refused, and may read why.
 */
static void reason_getattr(fuse_req_t req, struct node *node, bool by_handle)
{
	char name[TREE_TEXT_MAX + 32];
	struct stat st;

	(void)by_handle;
	snprintf(name, sizeof(name), "%s%s%s",
		 node->kind < RYE_KIND__MAX ? rye_kind_dir(node->kind) : "new",
		 *node->text ? "/" : "", node->text);
	content_complain(req, name, reason_text(node));
	node_stat(front_of(req), node, &st);
	fixed_disown(&st);
	reply_attr(req, &st, TIMEOUT_LONG_S);
}

static void reason_read(fuse_req_t req, struct node *node, size_t size, off_t off)
{
	(void)node;
	(void)size;
	(void)off;
	reply_errno(req, EACCES);
}

static const struct node_class reason_class = {
	.name = "reason",
	.getattr = reason_getattr,
	.read = reason_read,
};

/* A size of 0 would let programs take it for an empty file. tests/e2e/refused.sh tries them. */
static int enter_reason(struct front *front, const struct tree_key *key,
			struct fuse_entry_param *ret)
{
	struct node_want want = {
		.key = key,
		.class = &reason_class,
		.version = 1,
		.size = 1,
		.mtime = front->started,
		.mode = S_IFREG,
	};
	int sys = enter_node(front, node_make(front->nodes, &want), TIMEOUT_LONG_S, ret);

	fixed_disown(&ret->attr);
	return sys;
}

/* A link to its reason that the kernel follows comes by here, one part of its text at a time. */
static int why_enter(fuse_req_t req, struct node *dir, const char *name,
		     struct fuse_entry_param *ret)
{
	const struct tree_dir where = { .kind = dir->kind, .path = dir->text };
	struct tree_key key;
	int r = tree_why_step(&where, reason_text(dir), name, &key);

	if (r)
		return r == -ENOENT ? enter_nothing(ret, TIMEOUT_LONG_S) : -r;
	return key.sort == TREE_WHY ? enter_fixed(req, &key, ret) :
				      enter_reason(front_of(req), &key, ret);
}

/* ---- what sandboxes mount on ---- */

static void covered_getattr(fuse_req_t req, struct node *node, bool by_handle)
{
	struct stat st;

	(void)by_handle;
	node_stat(front_of(req), node, &st);
	fixed_disown(&st);
	reply_attr(req, &st, TIMEOUT_LONG_S);
}

/* There is nothing in it, and nothing can be made. */
static int covered_enter(fuse_req_t req, struct node *dir, const char *name,
			 struct fuse_entry_param *ret)
{
	(void)req;
	(void)dir;
	(void)name;
	return enter_nothing(ret, TIMEOUT_LONG_S);
}

static void covered_readdir(fuse_req_t req, struct node *node, size_t size, off_t off, bool plus)
{
	struct listing_ask ask = { req, node, size, off, plus };
	auto_listing struct listing *listing = listing_new();

	listing_end(&ask, listing);
}

static const struct node_class covered_class = {
	.name = "covered",
	.enter = covered_enter,
	.getattr = covered_getattr,
	.readdir = covered_readdir,
};

/* A directory that could be written to would have a sandbox look for mount points below it. */
int enter_covered(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);
	const char *text = tree_covered(key->text);
	struct node_want want = {
		.key = key,
		.class = &covered_class,
		.version = 1,
		.mtime = front->started,
		.mode = S_IFDIR | 0555,
	};
	struct content_file file = { .key = key, .mode = 0444, .mtime = front->started };
	int sys;

	if (text) {
		file.blob = rye_blob_new(text, strlen(text));
		return file.blob ?
			       enter_node(front, content_make(front, &file), TIMEOUT_LONG_S, ret) :
			       ENOMEM;
	}
	sys = enter_node(front, node_make(front->nodes, &want), TIMEOUT_LONG_S, ret);
	fixed_disown(&ret->attr);
	return sys;
}

/* What is at its end is a file with the skeleton's text, what may go on to one is a directory; what
 * would be one by another name is refused, as items are. */
int enter_skeleton(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);
	struct content_file file = { .key = key, .mode = 0444, .mtime = front->started };
	const struct rye_stat st = { .mtime = front->started };
	struct rye_err err;
	int r;

	if (!*key->text)
		return enter_fixed(req, key, ret);
	r = rye_skeleton(key->text, &file.blob, &err);
	if (r == -(int)RYE_INVALID)
		return enter_node(front, content_refuse(front, key, &st, err.code, err.msg),
				  TIMEOUT_LONG_S, ret);
	if (r)
		return err.code == RYE_NOT_FOUND ? enter_nothing(ret, TIMEOUT_LONG_S) : ENOMEM;
	if (!file.blob)
		return enter_fixed(req, key, ret);
	return enter_node(front, content_make(front, &file), TIMEOUT_LONG_S, ret);
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

/* One file waits for no other. */
static struct aside_lane fixed_lane(struct front *front, const struct node *node,
				    struct rye_span what)
{
	return (struct aside_lane){ ASIDE_OWN,
				    hash_bytes(HASH_BASIS + node->sort, what.ptr, what.len) };
}

static const struct node_class root_aside = {
	.lane = fixed_lane,
	.lookup = root_lookup,
	.enter = enter_name,
	.readdir = fixed_readdir,
};

static const struct node_class fixed_aside = {
	.lane = fixed_lane,
	.enter = enter_name,
	.readdir = fixed_readdir,
};

static const struct node_class root_class = {
	.name = "root",
	.aside = &root_aside,
	.enter = enter_now,
};

static const struct node_class fixed_class = {
	.name = "fixed",
	.aside = &fixed_aside,
	.enter = enter_now,
};

static const struct node_class why_aside = { .lane = fixed_lane, .readdir = fixed_readdir };

static const struct node_class why_class = {
	.name = "why",
	.aside = &why_aside,
	.enter = why_enter,
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

	if (key->sort == TREE_SPACES && front->opt->spaces == SPACES_NONE)
		return enter_nothing(ret, TIMEOUT_LONG_S);
	return enter_node(front, fixed_make(front, key), TIMEOUT_LONG_S, ret);
}

struct node *fixed_root(struct front *front)
{
	struct tree_key key;

	tree_root(&key);
	return fixed_make(front, &key);
}
