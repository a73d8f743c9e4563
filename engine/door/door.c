/* SPDX-License-Identifier: MIT */
/*
 * One connection of a node, on the thread that calls: its principal, then frame after frame until the other
 * end goes. Nothing that a frame says ends the door; what breaks the protocol ends the connection.
 */
#include "door/door_inner.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>

/* The principal's file as it was when its key was looked up: one that is changed counts at once. */
static bool has_changed(const struct door_session *session, struct stat *then)
{
	struct stat now = { 0 };
	char path[64];

	snprintf(path, sizeof(path), "principals/%s.toml", session->who.key.fp);
	if (fstatat(session->node->dir, path, &now, 0) < 0)
		return true;
	if (!then->st_ino)
		*then = now;
	return then->st_ino != now.st_ino || then->st_mtim.tv_sec != now.st_mtim.tv_sec ||
	       then->st_mtim.tv_nsec != now.st_mtim.tv_nsec;
}

static const struct door_row *row_of_type(enum frame_type type)
{
	for (size_t i = 0; i < door_n_rows; i++)
		if (door_rows[i].type == type)
			return &door_rows[i];
	return NULL;
}

static int answer(struct door_session *session, const struct conn_frame *frame, struct rye_err *err)
{
	const struct door_row *row = row_of_type(frame->type);
	int r;

	if (!row)
		return rye_fail(err, RYE_UNSUPPORTED,
				"this node has no answer to frames of type %d", (int)frame->type);
	r = row->fn(session, frame, err);
	/* a person whose order is refused knows nothing of frames */
	return r == -(int)RYE_INVALID || r == -(int)RYE_UNPARSABLE ?
		       rye_wrap(err, "%s", row->name) :
		       r;
}

/* One frame. 0: and the next; else the connection is over. */
static int door_step(struct door_session *session, struct stat *then, struct rye_err *err)
{
	auto_frame struct conn_frame frame = { 0 };
	struct rye_err why = { 0 };
	int r = conn_recv(session->conn, 0, &frame, err);

	if (r < 0)
		return r;
	if (!frame.stream)
		return rye_fail(err, RYE_INVALID, "a frame of type %d asks on stream 0",
				(int)frame.type);
	/* busy: what follows a run connects again by itself */
	if (has_changed(session, then))
		return rye_fail(err, RYE_BUSY,
				"has changed what it knows of your key: connect again");
	if (!answer(session, &frame, &why))
		return 0;
	r = conn_send_fault(session->conn, frame.stream, &why);
	return r < 0 ? rye_fail(err, RYE_UNREACHABLE, "the other end takes no answer") : 0;
}

static int door_serve(struct door_session *session, const char *as, struct rye_err *err)
{
	struct stat then = { 0 };
	int r = door_greet(session, as, err);

	if (!r && has_changed(session, &then))
		r = rye_fail(err, RYE_DENIED, "has changed what it knows of your key");
	while (!r)
		r = door_step(session, &then, err);
	if (r == -(int)RYE_UNREACHABLE)
		return 0;
	conn_send_fault(session->conn, 0, err);
	return r;
}

int node_serve(const struct node_dir *node, int in, int out, const char *as, struct rye_err *err)
{
	struct door_session session = { .node = node };
	struct rye_err own = { 0 };
	int r = conn_over(in, out, &session.conn, err);

	if (r < 0)
		return r;
	/* of a client that has gone it is told by EPIPE */
	signal(SIGPIPE, SIG_IGN);
	r = door_serve(&session, as, err ? err : &own);
	/* their threads may wait for the client */
	conn_stop(session.conn);
	session_end(&session);
	board_close(session.board);
	conn_close(session.conn);
	principal_done(&session.who);
	return r;
}
