/* SPDX-License-Identifier: MIT */
/*
 * talk.h: a control node's conversation. One node = one LOOKUP of `run`, `sign` … = one
 * caller; its content is the transcript (message, reply, message …), so a reader on the same
 * descriptor finds the reply at its own offset. See interface 3 and no-open 3.
 *
 * Lock: each talk has its own; never held across rye_start, a reply or a notification.
 * A write is parked until its run ends; FUSE threads never wait.
 */
#ifndef RYE_FS_TALK_H
#define RYE_FS_TALK_H

#include <rye/rye.h>

#include <fuse_lowlevel.h>
#include <sys/stat.h>

struct talks; /* the factory: engine, callers, options, invalidation, timers */
struct talk;
struct caller; /* caller.h */

struct talk_target {
	enum rye_verb verb;
	enum rye_kind kind;
	const char *id; /* copied; "" for execute, fetch, sign at the root */
};

struct talks_env {
	struct rye *rye;
	struct callers *callers;
	int wait_s; /* 0: until it ends */
	/* notify_inval_inode(ino, from offset), done on the conversations' notify thread; `done`
	 * is called when the kernel has answered or after 20 ms (no-open 3, page cache trap). */
	void (*invalidate)(void *arg, fuse_ino_t ino, off_t from, void (*done)(void *),
			   void *done_arg);
	void *arg;
};

int talks_open(const struct talks_env *env, struct talks **ret);
void talks_close(struct talks *talks); /* cancels what runs, answers what is parked */

/* A fresh conversation whose first content is the caller's last reply, or the usage text. */
struct talk *talk_new(struct talks *talks, const struct talk_target *target, struct caller *who);
void talk_bind(struct talk *talk, fuse_ino_t ino); /* once, before the entry is told */
void talk_forget(struct talk *talk); /* the kernel's last reference is gone */

size_t talk_size(struct talk *talk); /* exact st_size now */
mode_t talk_mode(struct talk *talk); /* 0600, or 0000 for a refused caller */
bool talk_busy(struct talk *talk); /* a run is in flight: attribute timeout 0 */

/* Each answers req exactly once, now or later. */
void talk_getattr(struct talk *talk, fuse_req_t req, bool by_handle, const struct stat *base);
void talk_read(struct talk *talk, fuse_req_t req, size_t size, off_t off);
void talk_write(struct talk *talk, fuse_req_t req, struct rye_span bytes, off_t off);
void talk_truncate(struct talk *talk, off_t size);

#endif
