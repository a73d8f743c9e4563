/* SPDX-License-Identifier: MIT */
/*
 * enter.c - from a name to a node, for the generated part of the mount.
 *
 * Owns the switch from sorts of keys to the files that know them. Nothing here has a side
 * effect: looking something up runs, writes and creates nothing.
 */
#include "enter.h"

#include "threads_dir.h"

#include <errno.h>

int enter_node(const struct front *front, struct node *node, double timeout_s,
	       struct fuse_entry_param *ret)
{
	if (!node)
		return ENOMEM;
	node_entry(front, node, timeout_s, ret);
	return 0;
}

static int enter_key(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret)
{
	switch (key->sort) {
	case TREE_README:
		return enter_readme(req, key, ret);
	case TREE_MERGED:
		return enter_merged(req, key, ret);
	case TREE_CTL:
		return enter_ctl(req, key, ret);
	case TREE_PRIMITIVE:
		return enter_primitive(req, key, ret);
	case TREE_WHY:
	case TREE_SPACES:
	case TREE_BUNDLES:
	case TREE_SEARCH:
	case TREE_STATE:
	case TREE_DOT:
		return enter_fixed(req, key, ret);
	case TREE_SPACE:
		return enter_space(req, key, ret);
	case TREE_RESULTS:
		return enter_results(req, key, ret);
	case TREE_THREADS:
		return threads_enter(req, key, ret);
	case TREE_DOT_FILE:
		return enter_dot_file(req, key, ret);
	default:
		return ENOENT;
	}
}

int enter_name(fuse_req_t req, struct node *dir, const char *name, struct fuse_entry_param *ret)
{
	struct tree_dir where = {
		.sort = dir->sort,
		.kind = dir->kind,
		.item = dir->item,
		.path = dir->text,
	};
	struct tree_key key;
	int r = tree_step(&where, name, &key);

	if (r == -ENOENT)
		return enter_nothing(ret, TIMEOUT_LONG_S);
	if (r)
		return -r;
	return enter_key(req, &key, ret);
}
