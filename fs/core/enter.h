/* SPDX-License-Identifier: MIT */
/*
 * enter.h: from a key to a node. Each part of the tree has a function that fills *ret with an entry
 * whose node has one more kernel reference (ino 0: a negative entry that may be cached for
 * ret->entry_timeout, in seconds) and returns 0, or a positive errno.
 */
#ifndef RYE_FS_CORE_ENTER_H
#define RYE_FS_CORE_ENTER_H

#include "core/front.h"

#include <errno.h>

/* tree_step, then the function of the key's sort: the `enter` of every generated directory, of its
 * aside. */
int enter_name(fuse_req_t req, struct node *dir, const char *name, struct fuse_entry_param *ret);
/* The same where the answer is in memory, else ENTER_ASIDE: the `enter` of its class. */
int enter_now(fuse_req_t req, struct node *dir, const char *name, struct fuse_entry_param *ret);

int enter_merged(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret);
/* What the index and the table of nodes know, else ENTER_ASIDE. */
int enter_known(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret);
/* For a listing: a file's bytes are not fetched before a READ asks for them. */
int enter_listed(fuse_req_t req, struct node *dir, const char *name, struct fuse_entry_param *ret);
int enter_ctl(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret);
int enter_primitive(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret);
int enter_covered(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret);
int enter_fixed(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret);
int enter_skeleton(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret);
int enter_readme(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret);
int enter_skills(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret);
int enter_skill(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret);
int enter_space(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret);
int enter_results(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret);
int enter_dot_file(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret);
int enter_dot_now(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret);

/* A negative entry. */
static inline int enter_nothing(struct fuse_entry_param *ret, double timeout_s)
{
	*ret = (struct fuse_entry_param){ .entry_timeout = timeout_s };
	return 0;
}

/* The entry of a node that node_find or node_make gave; NULL: ENOMEM. */
static inline int enter_node(const struct front *front, struct node *node, double timeout_s,
			     struct fuse_entry_param *ret)
{
	if (!node)
		return ENOMEM;
	node_entry(front, node, timeout_s, ret);
	return 0;
}

/*
 * Answers a LOOKUP (create: a CREATE of it) with the entry, or with sys when that is not 0. The
 * node of an entry that the kernel did not take is forgotten; it may be gone when this returns.
 */
void enter_reply(fuse_req_t req, int sys, const struct fuse_entry_param *entry,
		 const struct fuse_file_info *create);

#endif
