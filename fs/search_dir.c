/* SPDX-License-Identifier: MIT */
/*
 * search_dir.c - search/QUERY/.
 *
 * Owns the results of the queries that the kernel holds a directory of: made when somebody
 * lists it or names a hit, kept with the node, one version per generation of the items. The
 * lock in each node's results guards their making only.
 */
#include "search_dir.h"

#include "auto.h"
#include "content.h"
#include "enter.h"
#include "listing.h"
#include "reply.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

/* Nobody reads further down; ls stays on a few screens. */
#define HITS_MAX 100

struct hit {
	char *name, *target;
};

struct results {
	pthread_mutex_t lock;
	bool made;
	size_t n;
	struct hit hits[HITS_MAX];
};

bool search_name(size_t rank, enum rye_kind kind, const char *id, char ret[256])
{
	size_t n = (size_t)snprintf(ret, 256, "%02zu-%s:", rank, rye_kind_name(kind));

	for (const char *p = id; *p; p++) {
		if (n + 4 > 256)
			return false;
		if (*p == '/' || *p == '%')
			n += (size_t)snprintf(ret + n, 256 - n, "%%%02X", (unsigned char)*p);
		else
			ret[n++] = *p;
	}
	ret[n] = 0;
	return true;
}

static int on_hit(void *arg, const struct rye_hit *hit)
{
	struct results *results = arg;
	struct hit *mine = &results->hits[results->n];
	const char *slash = strrchr(hit->id, '/');
	char name[256], target[2048];

	if (!search_name(results->n + 1, hit->kind, hit->id, name))
		return 0;
	snprintf(target, sizeof(target), "../../%s/%.*s%s", rye_kind_dir(hit->kind),
		 slash ? (int)(slash + 1 - hit->id) : 0, hit->id, hit->name);
	mine->name = strdup(name);
	mine->target = strdup(target);
	if (!mine->name || !mine->target) {
		free(mine->name);
		free(mine->target);
		return 1;
	}
	results->n++;
	return results->n == HITS_MAX;
}

/* The search itself: 0 or an errno. Lookups of the directory do without. */
static int make(struct front *front, struct node *dir)
{
	struct results *results = dir->data;
	struct rye_query query = { dir->text, HITS_MAX, on_hit, results };
	struct rye_err err;
	int sys = 0;

	WITH_LOCK(&results->lock) {
		if (results->made)
			return 0;
		if (rye_search(front->rye, &query, &err))
			sys = rye_code_errno(err.code);
		results->made = sys == 0;
	}
	return sys;
}

static void drop(void *data)
{
	struct results *results = data;

	for (size_t i = 0; i < results->n; i++) {
		free(results->hits[i].name);
		free(results->hits[i].target);
	}
	pthread_mutex_destroy(&results->lock);
	free(results);
}

static int results_enter(fuse_req_t req, struct node *dir, const char *name,
			 struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);
	struct results *results = dir->data;
	struct tree_dir where = { .sort = TREE_RESULTS, .path = dir->text };
	struct tree_key key;
	int sys;

	/* hits begin with their place: what else programs look for costs no search */
	if (name[0] < '0' || name[0] > '9')
		return enter_nothing(ret, TIMEOUT_LONG_S);
	sys = make(front, dir);
	if (sys || tree_step(&where, name, &key))
		return sys ? sys : ENOENT;
	for (size_t i = 0; i < results->n; i++)
		if (strcmp(results->hits[i].name, name) == 0)
			return enter_node(front,
					  content_make_link(front, &key, results->hits[i].target,
							    dir->mtime),
					  0, ret);
	return enter_nothing(ret, 0);
}

static void results_readdir(fuse_req_t req, struct node *node, size_t size, off_t off, bool plus)
{
	struct listing_ask ask = { req, node, size, off, plus };
	auto_listing struct listing *listing = listing_new();
	struct results *results = node->data;
	int sys = make(front_of(req), node);

	for (size_t i = 0; listing && i < results->n; i++)
		listing_add(listing, results->hits[i].name, S_IFLNK, 0);
	if (sys)
		reply_errno(req, sys);
	else if (!listing || !listing_finish(listing))
		reply_errno(req, ENOMEM);
	else
		listing_reply(&ask, listing);
}

static const struct node_class results_class = {
	.name = "results",
	.enter = results_enter,
	.readdir = results_readdir,
	.drop = drop,
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
	results = calloc(1, sizeof(*results));
	if (!results)
		return ENOMEM;
	pthread_mutex_init(&results->lock, NULL);
	want.data = results;
	clock_gettime(CLOCK_REALTIME_COARSE, &want.mtime);
	return enter_node(front, node_make(front->nodes, &want), 0, ret);
}
