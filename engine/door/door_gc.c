/* SPDX-License-Identifier: MIT */
/*
 * GC, and what a node's owner asks for: what was pushed and is not needed any more goes. What is needed the board
 * knows; how long is node.toml's to say. A principal touches its own. On the door's thread, or the
 * command's; it may take minutes.
 */
#include "door/door_inner.h"

#include "memory.h"
#include "pack/pack.h"
#include "scope.h"
#include "str.h"

struct gc {
	const struct node_dir *node;
	struct board *board;
	struct depot *depot;
	struct depot_gc ask;
	struct depot_freed freed;
	struct rye_buf names; /* of principals, lines */
};

static int gc_roots(void *arg, const char *principal, rye_name_fn fn, void *fn_arg,
		    struct rye_err *err)
{
	const struct gc *gc = arg;

	return board_roots(gc->board, principal, gc->node->keep_runs * 1000, fn, fn_arg, err);
}

static void gc_begin(struct gc *gc, const struct node_dir *node, bool dry)
{
	gc->node = node;
	gc->ask = (struct depot_gc){ .new_s = node->keep_new,
				     .gone_s = node->keep_gone,
				     .dry = dry,
				     .roots = gc_roots,
				     .arg = gc };
}

static json_t *gc_doc(const struct gc *gc)
{
	const struct depot_freed *freed = &gc->freed;

	return json_pack("{s:b, s:I, s:I, s:I, s:I, s:I, s:I}", "dry_run", gc->ask.dry, "freed",
			 (json_int_t)freed->bytes, "packs", (json_int_t)freed->packs, "rewritten",
			 (json_int_t)freed->rewritten, "blobs", (json_int_t)freed->blobs,
			 "manifests", (json_int_t)freed->manifests, "objects",
			 (json_int_t)freed->objects);
}

static int gc_name(void *arg, const char *principal)
{
	struct rye_buf *names = arg;

	buf_addf(names, "%s\n", principal);
	return names->failed;
}

static int gc_all(struct gc *gc, struct rye_err *err)
{
	char *at, *end;
	int r = depot_principals(gc->depot, gc_name, &gc->names, err);

	if (!r && gc->names.failed)
		r = memory_fail(err);
	for (at = gc->names.data; !r && at && (end = strchr(at, '\n')); at = end + 1) {
		*end = '\0';
		r = depot_gc(gc->depot, at, &gc->ask, &gc->freed, err);
		if (r)
			return rye_wrap(err, "what %s has pushed", at);
	}
	return r ? r : depot_gc_rest(gc->depot, &gc->ask, &gc->freed, err);
}

int node_gc(const struct node_dir *node, const char *fp, bool dry, json_t **ret,
	    struct rye_err *err)
{
	auto_board struct board *board = NULL;
	auto_depot struct depot *depot = NULL;
	struct gc gc = { .node = node };
	int r = node_board(node, &board, err);

	if (!r)
		r = node_depot(node, &depot, err);
	if (r)
		return r;
	gc_begin(&gc, node, dry);
	gc.board = board;
	gc.depot = depot;
	r = fp ? depot_gc(depot, fp, &gc.ask, &gc.freed, err) : gc_all(&gc, err);
	buf_done(&gc.names);
	if (r)
		return r;
	*ret = gc_doc(&gc);
	return *ret ? 0 : memory_fail(err);
}

int principal_leave(const struct node_dir *node, const char *fp, struct rye_err *err)
{
	auto_board struct board *board = NULL;
	int r = node_board(node, &board, err);

	if (!r)
		r = board_leave(board, fp, err);
	return r ? rye_wrap(err, "%s is not known any more, but what it has pushed stays", fp) : 0;
}

/* {dry_run}; what is used afterwards, and how much may be, stand in the answer. */
int door_gc(struct door_session *session, const struct conn_frame *frame, struct rye_err *err)
{
	auto_json json_t *doc = frame_json(frame, err), *reply = NULL;
	const char *fp = session->who.key.fp;
	struct gc gc = { .node = session->node };
	struct depot_used used;
	int r = doc ? session_depot(session, &gc.depot, err) : -(int)err->code;

	if (r)
		return r;
	gc_begin(&gc, session->node, json_is_true(json_object_get(doc, "dry_run")));
	gc.board = session->board;
	r = depot_gc(gc.depot, fp, &gc.ask, &gc.freed, err);
	if (!r)
		r = depot_used(gc.depot, fp, &used, err);
	if (r)
		return r;
	reply = gc_doc(&gc);
	json_set(reply, "used", json_integer((json_int_t)used.bytes));
	json_set(reply, "limit", json_integer((json_int_t)session->who.bytes));
	return reply ? session_reply(session, frame->stream, reply, err) : memory_fail(err);
}
