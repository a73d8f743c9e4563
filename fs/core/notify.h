/* SPDX-License-Identifier: MIT */
/*
 * notify.h: telling the kernel that something it remembers is no longer so. The kernel takes the
 * inode's lock for a notification, and a system call may hold that lock while it waits for an
 * answer of ours, so notifications are sent from threads of their own, holding nothing: one lane
 * for the merged trees, one for files that grow and what lies below spaces/, one for conversations.
 * A change below spaces/ may be answered only when the first lane has told of it, while the kernel
 * holds the locks of the directory and the file: so that lane never sends anything about those.
 * Everything here but notify_talk and notify_attr only queues and returns at once.
 */
#ifndef RYE_FS_CORE_NOTIFY_H
#define RYE_FS_CORE_NOTIFY_H

#include "core/front.h"

enum notify_lane { LANE_CONTENT, LANE_FILES, LANE_TALK, LANE__MAX };

/* Called once: when the kernel has answered, or when patience is over. Must not block. */
typedef void (*notify_done_fn)(void *arg);

/* A page to be dropped may be locked by a write that waits for our answer: then the kernel does not
 * answer the notification before we answer the write. So we wait no longer than this, in ms. */
#define NOTIFY_PATIENCE_MS 20
/* A rename between a merged directory and spaces/ has the lock of the one while it waits for that of
 * the other. Nothing else makes the content lane wait for a change that waits for the lane; a busy
 * machine or a slow disk makes it late only. So a change is answered before its lane has told of it
 * when the kernel holds the lane's thread after this long; and, whatever the thread does, after the
 * longer one. In ms. */
#define NOTIFY_AFTER_MS 200
#define NOTIFY_AFTER_MAX_MS 10000

int notify_open(struct front *front, struct notify **ret); /* 0 or -errno */
/* Joins the threads; what is queued is dropped, `done` is called. Later calls do the same. */
void notify_end(struct notify *notify);
/* After notify_end, when no other thread can call any more. NULL is fine. */
void notify_free(struct notify *notify);

/* The node's pages from `from` on, and its attributes. from < 0: attributes only. False: memory is
 * short, nothing is dropped and `done` is not called. */
bool notify_inode(struct notify *notify, struct node *node, off_t from);
bool notify_inode_then(struct notify *notify, struct node *node, off_t from, notify_done_fn done,
		       void *arg);
/* Pages of a conversation; done(done_arg) when the kernel has dropped them, or when it has begun to
 * and waits for a page since NOTIFY_PATIENCE_MS. */
struct notify_pages {
	fuse_ino_t ino;
	off_t from, len;
	/* the WRITE that may have locked them is answered by `done` */
	bool ready;
	void (*done)(void *done_arg);
	void *done_arg;
};
/* As talks_env wants it, arg is the front: if `ready` and no other thread does that, on the calling
 * thread, which holds nothing; else on the conversations' own lane. */
void notify_talk(void *arg, const struct notify_pages *pages);
/* Attributes alone, of a node that a request in hand names: sent on the calling thread, for the
 * kernel waits for no answer then. */
void notify_attr(struct front *front, struct node *node);
/*
 * A function that finds out what to notify: runs on its lane's thread, in turn. One that is
 * queued already, the same in every part, is not queued again. node is referenced meanwhile (or
 * NULL), text copied. It may send by itself (below).
 */
typedef void (*notify_task_fn)(struct front *front, struct node *node, int number,
			       const char *text);
struct notify_task {
	notify_task_fn fn;
	struct node *node;
	int number;
	const char *text;
	enum notify_lane lane;
};
void notify_task(struct notify *notify, const struct notify_task *task);
/* done(arg) when the lane has told of all that is queued now, and of what that finds out. Where that
 * takes too long (above), the kernel is made to ask for every name, each lookup looks at the disk, and
 * no answer is kept, until the lane has told; this is counted (STAT_LATE). */
void notify_after(struct notify *notify, enum notify_lane lane, notify_done_fn done, void *arg);
/* Sent on the calling thread, which may wait in the kernel: in tasks only. */
void notify_send_entry(struct front *front, struct node *dir, const char *name, bool soft);
void notify_send_inode(struct front *front, struct node *node, off_t from);

#endif
