/* SPDX-License-Identifier: MIT */
/*
 * notify.h: telling the kernel that something it remembers is no longer so. A notification may
 * block on an inode's lock until a request of ours is answered, so it is sent from threads of
 * its own, holding nothing: one lane for content, one for conversations. Everything here only
 * queues and returns at once.
 */
#ifndef RYE_FS_CORE_NOTIFY_H
#define RYE_FS_CORE_NOTIFY_H

#include "core/front.h"

enum notify_lane { LANE_CONTENT, LANE_TALK, LANE__MAX };

/* Called once: when the kernel has answered, or after NOTIFY_PATIENCE_MS. Must not block. */
typedef void (*notify_done_fn)(void *arg);

/* The page to drop may be locked by a writer that waits for our answer (no-open 3). */
#define NOTIFY_PATIENCE_MS 20

int notify_open(struct front *front, struct notify **ret); /* 0 or -errno */
/* Joins the threads; what is queued is dropped, `done` is called. Later calls do the same. */
void notify_end(struct notify *notify);
/* Nobody calls any more. NULL is fine. */
void notify_free(struct notify *notify);

/* The node's pages from `from` on, and its attributes. from < 0: attributes only. */
void notify_inode(struct notify *notify, struct node *node, off_t from);
void notify_inode_then(struct notify *notify, struct node *node, off_t from, notify_done_fn done,
		       void *arg);
/* Pages of a conversation; done(done_arg) when the kernel has dropped them, or soon. */
struct notify_pages {
	fuse_ino_t ino;
	off_t from, len;
	void (*done)(void *done_arg);
	void *done_arg;
};
/* On the conversations' own lane, as talks_env wants it. arg: the front. */
void notify_talk(void *arg, const struct notify_pages *pages);
/*
 * Something to be found out before it is told: runs on the content lane, in turn. One that is
 * queued already, the same in every part, is not queued again. node is referenced meanwhile
 * (or NULL), text copied. May send by itself (below).
 */
typedef void (*notify_task_fn)(struct front *front, struct node *node, int number,
			       const char *text);
struct notify_task {
	notify_task_fn fn;
	struct node *node;
	int number;
	const char *text;
};
void notify_task(struct notify *notify, const struct notify_task *task);
/* Sent at once: in tasks only. */
void notify_send_entry(struct front *front, struct node *dir, const char *name, bool soft);
void notify_send_inode(struct front *front, struct node *node, off_t from);

#endif
