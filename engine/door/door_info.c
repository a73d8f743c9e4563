/* SPDX-License-Identifier: MIT */
/*
 * PING and INFO: is it there, and what does it offer. Each thing that the node can tell of itself is a
 * function of the table in door_rows.c.
 */
#include "door/door_inner.h"

#include "memory.h"
#include "pack/pack.h"

#include <limits.h>

/* More is no ping. */
#define PING_MAX 64

int door_ping(struct door_session *session, const struct conn_frame *frame, struct rye_err *err)
{
	auto_json json_t *doc = json_object();

	if (frame->body->len > PING_MAX)
		return rye_fail(err, RYE_INVALID, "PING has at most %d bytes", PING_MAX);
	return session_reply(session, frame->stream, doc, err);
}

int door_info_self(struct door_session *session, json_t *into, struct rye_err *err)
{
	json_t *limits = principal_json(&session->who);

	if (!json_sets(into, "version", RYE_VERSION) || !json_set(into, "limits", limits) ||
	    !json_set(into, "workers", json_integer(door_workers(session->node))))
		return memory_fail(err);
	return 0;
}

static int info_used(struct door_session *session, json_t *into, struct rye_err *err)
{
	auto_depot struct depot *depot = NULL;
	struct depot_used store = { 0 };
	struct board_used month;
	char path[PATH_MAX + 16];
	json_t *used;
	int r = session_board(session, err);

	snprintf(path, sizeof(path), "%s/store", session->node->path);
	if (!r)
		r = board_account(session->board, session->who.key.fp, NULL, &month, err);
	if (!r)
		r = depot_open(path, &depot, err);
	if (!r)
		r = depot_used(depot, session->who.key.fp, &store, err);
	if (r)
		return r;
	used = json_pack("{s:I, s:f, s:f}", "bytes", (json_int_t)store.bytes, "seconds",
			 month.seconds, "spend_month", month.spend);
	return json_set(into, "used", used) ? 0 : memory_fail(err);
}

/* A node whose database is away is there all the same, and says so. */
int door_info_used(struct door_session *session, json_t *into, struct rye_err *err)
{
	struct rye_err why = { 0 };

	if (info_used(session, into, &why) && !json_sets(into, "fault", why.msg))
		return memory_fail(err);
	return 0;
}
