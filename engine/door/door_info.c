/* SPDX-License-Identifier: MIT */
/*
 * PING and INFO: is it there, and what does it offer. Each thing that the node can tell of itself is a
 * function of the table in door_rows.c.
 */
#include "door/door_inner.h"

#include "memory.h"

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

	if (!json_sets(into, "version", RYE_VERSION) || !json_set(into, "limits", limits))
		return memory_fail(err);
	return 0;
}
