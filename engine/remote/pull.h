/* SPDX-License-Identifier: MIT */
/* pull.h: what the files of a pull share. */
#ifndef RYE_REMOTE_PULL_H
#define RYE_REMOTE_PULL_H

#include "remote/remote.h"
#include "snapshot/snapshot.h"

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
