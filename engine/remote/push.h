/* SPDX-License-Identifier: MIT */
/* push.h: the files of the project to a remote: what a push is asked to do, and how far it is. */
#ifndef RYE_REMOTE_PUSH_H
#define RYE_REMOTE_PUSH_H

#include "remote/remote.h"
#include "snapshot/snapshot.h"

/* In the state directory of a remote: what each file's digest was. */
#define PUSH_STAT "stat"

/* push_wire.c: frames of a push. */
struct push_head {
	int64_t number; /* 0: nothing was pushed under this name */
	struct digest manifest;
	char by[KEY_FP];
	int64_t holes; /* blobs that were lost there */
};
int push_heads(struct conn *conn, const char *project, struct push_head *ret, struct rye_err *err);
/* A bit of *ret for each that is there. */
int push_asked(struct conn *conn, const struct snapshot_blobs *blobs, unsigned char *ret,
	       struct rye_err *err);
/* Bytes in as many frames as it takes. */
int push_bytes(struct conn *conn, enum frame_type type, uint32_t stream, struct rye_span bytes,
	       struct rye_err *err);
/* What has been answered meanwhile; of an error its code. Waits for `stream`; 0: for nothing. */
int push_answers(struct conn *conn, uint32_t stream, json_t **ret, struct rye_err *err);

#endif
