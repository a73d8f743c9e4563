/* SPDX-License-Identifier: MIT */
/*
 * remote_inner.h: what the files of remote/ share.
 */
#ifndef RYE_REMOTE_REMOTE_INNER_H
#define RYE_REMOTE_REMOTE_INNER_H

#include "remote/remote.h"
#include "snapshot/snapshot.h"

#define REMOTES_FILE "remotes/remotes" /* an id of configuration */

/* The person's own space; NULL: there is none. */
const struct space *remote_user_space(const struct item_env *env);
/* What a file of configuration says, of its item; borrowed. */
const json_t *remote_doc(const struct rye_item *item);
/* `remotes` of all spaces; frozen, a new reference, empty where nothing is configured. */
int remote_map(const struct item_env *env, json_t **ret, struct rye_err *err);
/* remote_open.c: how a failure on the way is told: with the remote's name in front. Its -code. */
int remote_told(const char *name, struct rye_err *err);

/*
 * remote_runs.c: the order of a run that was begun elsewhere, into the outbox. *ret: {remote, id, item_id, parameters,
 * thread}. RYE_STATE: there is such a thread here.
 */
int remote_adopt(const struct item_env *env, const struct remote *remote,
		 const struct remote_link *link, const char *id, json_t **ret, struct rye_err *err);

/* ---- a push ---- */

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
int push_heads_read(const json_t *reply, struct push_head *ret, struct rye_err *err);
/* A bit of *ret for each that is there. */
int push_asked(struct conn *conn, const struct snapshot_blobs *blobs, unsigned char *ret,
	       struct rye_err *err);
/* Bytes in as many frames as it takes. */
int push_bytes(struct conn *conn, enum frame_type type, uint32_t stream, struct rye_span bytes,
	       struct rye_err *err);
/* What has been answered meanwhile; of an error its code. Waits for `stream`; 0: for nothing. */
int push_answers(struct conn *conn, uint32_t stream, json_t **ret, struct rye_err *err);

/* ---- a pull ---- */

/* pull_wire.c: a manifest out of the depot of the node, as it differs from base, or whole: NULL. */
int pull_manifest(struct conn *conn, const char *sha, const struct manifest *base,
		  struct manifest **ret, struct rye_err *err);
/* The blobs of the manifest into a depot here, each verified; what is in it already is not asked for. */
int pull_blobs(struct conn *conn, struct depot *depot, const struct manifest *manifest,
	       struct rye_err *err);
/* Whose blobs they are in the depot here. */
#define PULL_OWNER "here"

/* pull_changes.c: lines that are other ones in `after`, and what a person reads of them. */
struct pull_changes {
	struct manifest *changed; /* of `after` */
	json_t *doc; /* {base, manifest, bytes, changed: [{path, sha, size, mode, was}], removed: [{path, was}]} */
	uint64_t bytes;
};
int pull_changes(const struct manifest *before, const struct manifest *after,
		 struct pull_changes *ret, struct rye_err *err);
void pull_changes_done(struct pull_changes *changes);

#endif
