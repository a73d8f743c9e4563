/* SPDX-License-Identifier: MIT */
/*
 * What frames of a session share: their answers, and what belongs to a stream between them. The door's
 * thread alone keeps and drops; answers may be sent from any.
 */
#include "door/door_inner.h"

#include "memory.h"

#include <stdlib.h>

/* Streams with something of their own at a time: followers, and pushes under way. */
#define KEPT_MAX 256

struct session_kept {
	struct session_kept *next;
	uint32_t stream;
	void *own;
	void (*release)(void *own);
};

int session_reply(struct door_session *session, uint32_t stream, const json_t *doc,
		  struct rye_err *err)
{
	return conn_send_json(session->conn, FRAME_REPLY, stream, doc, err);
}

int session_data(struct door_session *session, uint32_t stream, struct rye_span bytes,
		 struct rye_err *err)
{
	return conn_send(session->conn, FRAME_DATA, stream, bytes, err);
}

int session_keep(struct door_session *session, uint32_t stream, void *own,
		 void (*release)(void *own), struct rye_err *err)
{
	struct session_kept *kept;
	size_t n = 0;

	for (kept = session->kept; kept; kept = kept->next, n++)
		if (kept->stream == stream)
			return rye_fail(err, RYE_INVALID, "stream %u is in use", stream);
	if (n >= KEPT_MAX)
		return rye_fail(err, RYE_BUSY, "%d streams are open, no more at a time", KEPT_MAX);
	kept = memory_note(malloc(sizeof(*kept)));
	if (!kept)
		return memory_fail(err);
	*kept = (struct session_kept){ session->kept, stream, own, release };
	session->kept = kept;
	return 0;
}

void *session_find(struct door_session *session, uint32_t stream)
{
	for (const struct session_kept *kept = session->kept; kept; kept = kept->next)
		if (kept->stream == stream)
			return kept->own;
	return NULL;
}

void session_drop(struct door_session *session, uint32_t stream)
{
	struct session_kept **at = &session->kept;

	while (*at && (*at)->stream != stream)
		at = &(*at)->next;
	if (*at) {
		struct session_kept *kept = *at;

		*at = kept->next;
		kept->release(kept->own);
		free(kept);
	}
}

void session_end(struct door_session *session)
{
	door_push_free(steal(&session->push));
	while (session->kept)
		session_drop(session, session->kept->stream);
}
