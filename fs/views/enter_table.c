/* SPDX-License-Identifier: MIT */
/*
 * enter_table.c - from a name to a node, for the generated part of the mount.
 *
 * Owns the tables from sorts of keys, and from control files, to the functions that know them. Nothing
 * here has a side effect: looking something up runs, writes and creates nothing.
 */
#include "core/enter.h"

#include "views/views.h"
#include "views/views_inner.h"

#include <errno.h>

typedef int (*enter_fn)(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret);

/* The nodes of sorts that are not here are made by the classes of their directories (pass/,
 * views/search_dir.c). */
static const enter_fn by_sort[TREE_SORT__MAX] = {
	[TREE_README] = enter_readme,	  [TREE_MERGED] = enter_merged,
	[TREE_CTL] = enter_ctl,		  [TREE_WHY] = enter_fixed,
	[TREE_SPACES] = enter_fixed,	  [TREE_BUNDLES] = enter_fixed,
	[TREE_SPACE] = enter_space,	  [TREE_PRIMITIVE] = enter_primitive,
	[TREE_COVERED] = enter_covered,	  [TREE_SEARCH] = enter_fixed,
	[TREE_RESULTS] = enter_results,	  [TREE_STATE] = enter_fixed,
	[TREE_THREADS] = threads_enter,	  [TREE_DOT] = enter_fixed,
	[TREE_DOT_FILE] = enter_dot_file, [TREE_SKILLS] = enter_skills,
	[TREE_SKILL] = enter_skill,	  [TREE_NEW] = enter_skeleton,
	[TREE_REMOTES] = remotes_enter,
};

/* Those that never wait; of the others it is not known yet, or they are not here. */
static const enter_fn now_by_sort[TREE_SORT__MAX] = {
	[TREE_MERGED] = enter_known,  [TREE_WHY] = enter_fixed,	   [TREE_SPACES] = enter_fixed,
	[TREE_BUNDLES] = enter_fixed, [TREE_SEARCH] = enter_fixed, [TREE_RESULTS] = enter_results,
	[TREE_STATE] = enter_fixed,   [TREE_DOT] = enter_fixed,	   [TREE_DOT_FILE] = enter_dot_now,
	[TREE_SKILLS] = enter_skills,
};

static int enter_by(const enter_fn *table, struct node *dir, const char *name, fuse_req_t req,
		    struct fuse_entry_param *ret)
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
	return table[key.sort] ? table[key.sort](req, &key, ret) : ENTER_ASIDE;
}

int enter_now(fuse_req_t req, struct node *dir, const char *name, struct fuse_entry_param *ret)
{
	return enter_by(now_by_sort, dir, name, req, ret);
}

int enter_name(fuse_req_t req, struct node *dir, const char *name, struct fuse_entry_param *ret)
{
	int sys = enter_by(by_sort, dir, name, req, ret);

	return sys == ENTER_ASIDE ? ENOENT : sys;
}

#define DOES_VERB(verb_, ...) [RYE_##verb_] = { ctl_enter_talk, NULL },
#define DOES_ENTER(function, ...) { function, NULL },
#define DOES_VIEW(...) { ctl_enter_view, NULL },
#define DOES_OWN(function, ...) { ctl_enter_own, function },

/* In the order of the rows (core/ctl_rows.c). */
static const struct ctl_functions ctl_aside[] = { RYE_VERBS(
	DOES_VERB) CTL_FILES(DOES_ENTER, DOES_VIEW, DOES_OWN) };

const struct ctl_functions *ctl_functions(const struct ctl *ctl)
{
	size_t n;

	return &ctl_aside[ctl - ctl_rows(&n)];
}
