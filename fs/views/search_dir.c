/* SPDX-License-Identifier: MIT */
/*
 * search_dir.c - search/QUERY/.
 *
 * Owns how the results of a query look as a directory. The worker finds them when the directory is
 * listed or a hit is looked up (search_work.c), kept with the node, one version per generation of
 * the items. No lock: results are looked at only once they are made.
 */
#include "views/views.h"

#include "core/enter.h"
#include "core/listing.h"
#include "core/reply.h"
#include "scope.h"
#include "str.h"
#include "views/views_inner.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

bool search_name(size_t rank, enum rye_kind kind, const char *id, char ret[256])
{
	char name[256];

	return str_one_name(id, false, name) &&
	       snprintf(ret, 256, "%02zu-%s:%s", rank, rye_kind_name(kind), name) < 256;
}

static int enter_hit(struct front *front, struct node *dir, const char *name,
		     struct fuse_entry_param *ret)
{
	struct results *results = dir->data;
	struct tree_dir where = { .sort = TREE_RESULTS, .path = dir->text };
	char old[TREE_NAME_MAX + 1];
	struct tree_key key;

	if (tree_step(&where, name, &key))
		return ENOENT;
	snprintf(old, sizeof(old), "%s", name);
	str_one_name_old(old);
	for (size_t i = 0; i < results_count(results); i++)
		if (strcmp(results_name(results, i), name) == 0 ||
		    strcmp(results_name(results, i), old) == 0)
			return enter_node(front,
					  content_make_link(front, &key, results_target(results, i),
							    dir->mtime),
					  0, ret);
	return enter_nothing(ret, 0);
}

/* For READDIRPLUS, whose names are found already. */
static int results_enter(fuse_req_t req, struct node *dir, const char *name,
			 struct fuse_entry_param *ret)
{
	return enter_hit(front_of(req), dir, name, ret);
}

static void answer_listing(const struct search_query_ask *ask)
{
	struct listing_ask want = { ask->req, ask->dir, ask->size, ask->off, ask->plus };
	auto_listing struct listing *listing = listing_new();
	struct results *results = ask->dir->data;

	for (size_t i = 0; listing && i < results_count(results); i++)
		listing_add(listing, results_name(results, i), S_IFLNK, 0);
	if (!listing || !listing_finish(listing))
		reply_errno(ask->req, ENOMEM);
	else
		listing_reply(&want, listing);
}

void search_answer(const struct search_query_ask *ask)
{
	struct fuse_entry_param entry = { 0 };

	if (ask->name)
		enter_reply(ask->req, enter_hit(front_of(ask->req), ask->dir, ask->name, &entry),
			    &entry, NULL);
	else
		answer_listing(ask);
}

static void results_lookup(fuse_req_t req, struct node *dir, const char *name)
{
	const struct search_query_ask ask = { .req = req, .dir = dir, .name = name };
	struct fuse_entry_param entry = { 0 };

	/* hits begin with their place: other names that programs look for cost no search */
	if (name[0] >= '0' && name[0] <= '9')
		results_ask(dir->data, &ask);
	else
		enter_reply(req, enter_nothing(&entry, TIMEOUT_LONG_S), &entry, NULL);
}

static void results_readdir(fuse_req_t req, struct node *node, size_t size, off_t off, bool plus)
{
	const struct search_query_ask ask = { .req = req,
					      .dir = node,
					      .size = size,
					      .off = off,
					      .plus = plus };

	results_ask(node->data, &ask);
}

static const struct node_class results_class = {
	.name = "results",
	.enter = results_enter,
	.lookup = results_lookup,
	.readdir = results_readdir,
	.drop = results_drop,
};

/* A query is a name: it exists. What it finds is asked for later, maybe never. */
int enter_results(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);
	uint64_t version = atomic_load(&front->generation) + 1;
	struct node *node = node_find(front->nodes, key, &results_class, version);
	struct results *results;
	struct node_want want = {
		.key = key,
		.class = &results_class,
		.version = version,
		.mode = S_IFDIR | 0755,
	};

	if (node)
		return enter_node(front, node, 0, ret);
	results = results_new(front->searches, key->text);
	if (!results)
		return ENOMEM;
	want.data = results;
	clock_gettime(CLOCK_REALTIME_COARSE, &want.mtime);
	return enter_node(front, node_make(front->nodes, &want), 0, ret);
}
