/* SPDX-License-Identifier: MIT */
/*
 * door_inner.h: what the files of door/ share.
 */
#ifndef RYE_DOOR_DOOR_INNER_H
#define RYE_DOOR_DOOR_INNER_H

#include "board/board.h"
#include "door/door.h"

/* A principal's file has some hundred bytes; many signers make it some thousand. */
#define PRINCIPAL_FILE_MAX (64u << 10)

/* The text of its file, signed; NULL: out of memory. */
struct rye_blob *principal_write(const struct node_dir *node, const struct principal *principal);
/* Changes members by their names: {jobs: "4"}; RYE_INVALID names the one that is none. */
int principal_set(struct principal *principal, const json_t *set, struct rye_err *err);
void principal_defaults(struct principal *principal);
/* 16 hexadecimal digits? */
bool principal_is_fp(const char *text);

/* Releases what all streams have kept. */
void session_end(struct door_session *session);

/* principal_file.c: "a,b" as a list, "" as an empty one; a new reference. */
json_t *door_names(const char *text);

/* door_push.c. NULL is fine */
void door_push_free(struct door_push *push);
/* What principals have pushed; opened by the first frame that needs it, the session's. */
int session_depot(struct door_session *session, struct depot **ret, struct rye_err *err);

/* node_settings.c: the members of node.toml, if it is there. */
int node_settings_read(struct node_dir *node, struct rye_err *err);

/* door_hello.c: HELLO and AUTH; the session has its principal then. */
int door_greet(struct door_session *session, const char *as, struct rye_err *err);

/* Rows of door_rows.c. */
int door_ping(struct door_session *session, const struct conn_frame *frame, struct rye_err *err);
int door_info(struct door_session *session, const struct conn_frame *frame, struct rye_err *err);
int door_heads(struct door_session *session, const struct conn_frame *frame, struct rye_err *err);
int door_pack(struct door_session *session, const struct conn_frame *frame, struct rye_err *err);
int door_ask(struct door_session *session, const struct conn_frame *frame, struct rye_err *err);
int door_manifest(struct door_session *session, const struct conn_frame *frame,
		  struct rye_err *err);
int door_get(struct door_session *session, const struct conn_frame *frame, struct rye_err *err);
int door_gc(struct door_session *session, const struct conn_frame *frame, struct rye_err *err);
int door_info_self(struct door_session *session, json_t *into, struct rye_err *err);
int door_info_used(struct door_session *session, json_t *into, struct rye_err *err);

/*
 * door_order.c, door_follow.c: a principal's runs. The board is opened when it is first needed, on the
 * door's thread, and closed behind the last follower.
 */
int session_board(struct door_session *session, struct rye_err *err);
/* How it stands: {id, state, gen, cancel, worker, made, heard, ended, receipt, late}; a new reference. */
json_t *run_json(const struct board_run *run);
/* A body with "run": a run's id. *ret: a new reference. */
int frame_run(const struct conn_frame *frame, json_t **ret, struct rye_err *err);
int door_order(struct door_session *session, const struct conn_frame *frame, struct rye_err *err);
int door_word(struct door_session *session, const struct conn_frame *frame, struct rye_err *err);
int door_cancel(struct door_session *session, const struct conn_frame *frame, struct rye_err *err);
int door_list(struct door_session *session, const struct conn_frame *frame, struct rye_err *err);
int door_follow(struct door_session *session, const struct conn_frame *frame, struct rye_err *err);

/* door_worker.c: starts one where none works. What fails is tried again by the next that asks. */
void door_worker(const struct node_dir *node);

#endif
