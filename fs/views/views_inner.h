/* SPDX-License-Identifier: MIT */
/*
 * views_inner.h: what the files of views/ share.
 */
#ifndef RYE_FS_VIEWS_VIEWS_INNER_H
#define RYE_FS_VIEWS_VIEWS_INNER_H

#include "core/ctl.h"
#include "core/front.h"

/*
 * content.c: nodes whose bytes never change: items, derived files, generated pages, and the
 * links that stand where an item is refused. All are read-only.
 */

extern const struct node_class content_file; /* data: struct rye_text */
extern const struct node_xattrs content_xattrs;
extern const struct node_class content_dir; /* a merged directory, an item's directory */

struct content_file {
	const struct tree_key *key;
	struct rye_text *text; /* taken over; or */
	struct rye_blob *blob; /* taken over */
	uint64_t version; /* 0: made from the bytes */
	struct timespec mtime;
	mode_t mode;
	bool fresh;
};

/* A node with these bytes; NULL: out of memory. */
struct node *content_make(struct front *front, const struct content_file *what);
/* A link to .why with the errno's name and the reason. */
struct node *content_refuse(struct front *front, const struct tree_key *key,
			    const struct rye_stat *st, enum rye_code code, const char *reason);
/* A link to `target` (copied). */
struct node *content_make_link(struct front *front, const struct tree_key *key, const char *target,
			       struct timespec mtime);
/* The lane of what has to be asked about an item: the space that has it. */
struct aside_lane content_lane(struct front *front, enum rye_kind kind, const char *path);
/* How long the kernel may remember a name of this kind below path. */
double content_timeout(struct front *front, enum rye_kind kind, const char *path);
struct timespec content_mtime(struct front *front, const struct rye_stat *st, bool watched);
/* A line for the caller's .ryefs/errors: the name of what was refused, and why. */
void content_complain(fuse_req_t req, const char *name, const char *sentence);
/* Of a rendering with inputs. */
void content_tell(fuse_req_t req, enum rye_kind kind, const char *id, const struct rye_err *err);
uint64_t content_hash(const void *bytes, size_t len);

/* enter_table.c: what the row of a control file does; it may wait. */
struct ctl_functions {
	ctl_enter_fn *enter;
	ctl_own_fn *own; /* of an OWN: a fresh node per lookup */
};
const struct ctl_functions *ctl_functions(const struct ctl *ctl);

struct talk_target;
/* content_ctl.c: the entry of a fresh conversation of the caller's. */
int content_enter_talk(fuse_req_t req, const struct tree_key *key, const struct talk_target *target,
		       struct fuse_entry_param *ret);

/*
 * What the files behind state/threads share (threads_dir.c is for the rest).
 */

struct thread_name {
	const char *id; /* of the thread */
	const char *file; /* in its directory */
};

/* threads_wait.c */
#define THREADS_CANCEL ".cancel_requested"
extern const struct node_changes threads_changes; /* of the directories below state/threads */
int threads_enter_cancel(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret);

/* Of what is asked about a thread. */
struct aside_lane threads_lane(struct front *front, const struct node *node, struct rye_span what);
int threads_enter_wait(fuse_req_t req, const struct tree_key *key, const struct thread_name *name,
		       struct fuse_entry_param *ret);
/*
 * The time of a fact that is made anew at each lookup, so that rsync and make find changed what has
 * changed: of a thread that has ended the record's, else that of the first one of these bytes (their
 * hash).
 */
struct timespec threads_time(struct front *front, const struct tree_key *key,
			     const struct rye_thread_entry *entry, uint64_t bytes);
int threads_enter_grow(fuse_req_t req, const struct tree_key *key, const struct thread_name *name,
		       const struct rye_thread_entry *entry, struct fuse_entry_param *ret);

#endif
