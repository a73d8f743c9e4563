/* SPDX-License-Identifier: MIT */
/*
 * errand_tree.c: what a run finds as its project, and what it leaves there. An order that names a manifest gets
 * a directory of its own, written out of the depot, each file by its digest; two runs of one manifest never meet.
 * What it has made or changed goes into the depot with a manifest that its receipt names. An order that names
 * none runs in the node's own directory of the project. What is as long as the tree is big: beside the worker's thread.
 */
#include "worker/worker_inner.h"

#include "base/io.h"
#include "memory.h"
#include "pack/pack.h"
#include "scope.h"
#include "snapshot/snapshot.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define RUNS "work/runs"
/* Levels of a tree that is removed: a walk for a push goes no deeper. */
#define TREE_DEPTH 128

static int tree_depot(const struct errand *errand, struct depot **ret, struct rye_err *err)
{
	return node_depot(errand->worker->node, ret, err);
}

bool errand_has_tree(const struct errand *errand)
{
	return *errand->order.manifest;
}

/* The run's own directory, and what is above it. */
static void tree_name(const struct errand *errand, char ret[256], bool above)
{
	const struct order *order = &errand->order;

	if (!*order->manifest)
		snprintf(ret, 256, "work/projects/%s/%s", order->asker, order->project);
	else if (above)
		snprintf(ret, 256, RUNS "/%s", errand->claim.id);
	else
		snprintf(ret, 256, RUNS "/%s/%s", errand->claim.id, order->project);
}

static int tree_manifest(const struct errand *errand, struct depot *depot, struct manifest **ret,
			 struct rye_err *err)
{
	struct digest name;

	if (!digest_parse(span_of(errand->order.manifest), &name))
		return rye_fail(err, RYE_INVALID, "the order names no manifest");
	return depot_manifest(depot, errand->order.asker, &name, ret, err);
}

static int tree_check_out(const struct errand *errand, const char *name, struct rye_err *err)
{
	const struct node_dir *node = errand->worker->node;
	auto_manifest struct manifest *manifest = NULL;
	auto_depot struct depot *depot = NULL;
	auto_close int dir = io_open_beneath(node->dir, name, O_RDONLY | O_DIRECTORY);
	int r = dir < 0 ? rye_fail_sys(err, -dir, "%s", errand->project) :
			  tree_depot(errand, &depot, err);

	if (!r)
		r = tree_manifest(errand, depot, &manifest, err);
	if (r)
		return r;
	depot_until(depot, &errand->stop);
	return checkout(depot, errand->order.asker, manifest, dir, err);
}

int errand_tree(struct errand *errand, bool begun, struct rye_err *err)
{
	const struct node_dir *node = errand->worker->node;
	bool own = *errand->order.manifest;
	char name[256], above[256], ai[264];
	int r;

	tree_name(errand, name, false);
	tree_name(errand, above, true);
	snprintf(ai, sizeof(ai), "%s/.ai", name);
	if (snprintf(errand->project, sizeof(errand->project), "%s/%s", node->path, name) >=
	    (int)sizeof(errand->project))
		return rye_fail(err, RYE_INVALID, "the node's path is too long");
	if (begun)
		return faccessat(node->dir, ai, F_OK, 0) ?
			       rye_fail_sys(err, errno, "%s", errand->project) :
			       0;
	if (own)
		io_remove_tree(node->dir, above, TREE_DEPTH);
	r = io_mkdirs_at(node->dir, ai, 0700);
	if (r < 0)
		return rye_fail_sys(err, -r, "%s", errand->project);
	return own ? tree_check_out(errand, name, err) : 0;
}

/* ---- what is left ---- */

struct leaving {
	struct depot *depot;
	const char *principal;
	int64_t limit;
};

static int leave_pack(void *arg, struct rye_span pack, struct rye_err *err)
{
	const struct leaving *leaving = arg;

	return depot_take(leaving->depot, leaving->principal, pack, leaving->limit, err);
}

/* Blobs that the pushed manifest has not, then the manifest. */
static int leave_all(const struct errand *errand, const struct snapshot *snapshot,
		     struct rye_err *err)
{
	auto_snapshot_blobs struct snapshot_blobs blobs = { 0 };
	auto_principal struct principal who = { 0 };
	auto_manifest struct manifest *base = NULL;
	auto_depot struct depot *depot = NULL;
	struct leaving leaving = { .principal = errand->order.asker };
	auto_packing struct packing *packing = memory_note(packing_new(NULL, leave_pack, &leaving));
	int r = packing ? principal_load(errand->worker->node, errand->order.asker, &who, err) :
			  memory_fail(err);

	if (!r)
		r = tree_depot(errand, &depot, err);
	if (!r)
		r = tree_manifest(errand, depot, &base, err);
	if (r)
		return r;
	leaving.depot = depot;
	leaving.limit = who.bytes;
	r = snapshot_blobs(snapshot, base, &blobs, err);
	if (!r)
		r = snapshot_pack(snapshot, &blobs, NULL, packing, err);
	return r ? r : depot_keep(depot, errand->order.asker, snapshot->manifest, base, err);
}

static int leave_tree(struct errand *errand, json_t *doc, struct rye_err *err)
{
	auto_json json_t *rules = json_pack("[s]", ".");
	auto_snapshot struct snapshot *snapshot = NULL;
	const struct snapshot_ask ask = { errand->project, rules, -1, NULL };
	int r = rules ? snapshot_make(&ask, &snapshot, err) : memory_fail(err);

	if (r)
		return r;
	digest_hex(&snapshot->manifest->name, errand->left);
	/* nothing was changed: the manifest that it began with is kept as long as the run is */
	if (strcmp(errand->left, errand->order.manifest) != 0)
		r = leave_all(errand, snapshot, err);
	if (r) {
		*errand->left = '\0';
		return r;
	}
	json_sets(doc, "manifest", errand->left);
	json_object_set(doc, "refused", snapshot->refused);
	return 0;
}

void errand_leave(struct errand *errand)
{
	auto_close int dir = threads_dir(errand->threads, errand->order.id, NULL);
	auto_json json_t *doc = json_object();
	auto_blob struct rye_blob *text = NULL;
	struct rye_err err = { 0 };
	char why[512];

	if (!*errand->order.manifest || dir < 0)
		return;
	*errand->left = '\0';
	if (leave_tree(errand, doc, &err)) {
		rye_err_line(&err, why, sizeof(why));
		json_sets(doc, "error", why);
	}
	text = json_blob(doc, false);
	/* a worker that takes the run up looks at its tree again */
	if (text)
		io_remember_at(dir, ERRAND_LEFT, (struct rye_span){ text->data, text->len }, 0600);
}

void errand_tree_done(const struct errand *errand)
{
	char above[256];

	/* a thread that a model works through can be gone on with: its directory lies there */
	if (!*errand->order.manifest || (errand->order.fork && errand->threads))
		return;
	tree_name(errand, above, true);
	io_remove_tree(errand->worker->node->dir, above, TREE_DEPTH);
}
