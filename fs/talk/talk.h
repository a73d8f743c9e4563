/* SPDX-License-Identifier: MIT */
/*
 * talk.h: conversations: a control node, its transcript and its messages.
 */
#ifndef RYE_FS_TALK_TALK_H
#define RYE_FS_TALK_TALK_H

#include "core/class.h"
#include "core/notify.h"

#include <rye/rye.h>

#include <fuse_lowlevel.h>

#include <sys/stat.h>

struct talks; /* the factory: engine, callers, options, invalidation, timers */
struct talk;
struct caller; /* caller.h */
struct callers;
struct parking;

/* Ms after which the WRITE of a cancelled run is answered, even if the run has not ended. */
#define TALK_CANCEL_MS 120

/* The kernel applies an answer, and the size in it, on the thread that asked: after this long, once that
 * thread has had a processor, for which a busy machine has it wait. */
#define TALK_SETTLE_MS 5
#define TALK_SETTLE_MOST_MS 1000

struct talk_target {
	enum rye_verb verb;
	enum rye_kind kind;
	const char *id; /* copied; "" for execute, fetch, sign at the root */
	bool starts; /* RYE_EXECUTE: each line starts a thread (RYE_FORM_THREAD) */
	/* Each write is a verb for this thread, "" for all of them; copied; NULL: it is none. */
	const char *thread;
	const char *target; /* where the item is to run (struct rye_request); copied; NULL: here */
	bool lines; /* each write is a word, with its newline or without */
};

struct talks_env {
	struct rye *rye;
	struct callers *callers;
	struct parking *parking; /* closed before talks_close */
	const char *mountpoint; /* absolute, for sentences; or NULL */
	int wait_s; /* seconds that a WRITE waits for its run; 0: until it ends */
	/*
	 * Queues a fuse_lowlevel_notify_inval_inode(ino, from, len) for the notify thread of
	 * conversations. `done` is called exactly once, on a thread that holds no lock: when the
	 * kernel has answered, or has begun and waits since NOTIFY_PATIENCE_MS: the page may be
	 * locked by the write that waits for us. NULL: never needed (tests).
	 */
	void (*invalidate)(void *arg, const struct notify_pages *inval);
	void *arg;
	/* One line per refused message, for stderr of a foreground daemon; or NULL. */
	void (*complain)(void *arg, const char *line);
};

int talks_open(const struct talks_env *env, struct talks **ret); /* 0 or -errno */
/* When nothing is parked any more; then every talk may be forgotten. */
void talks_close(struct talks *talks);
/* Frees it; the talks that still live keep what they need. */
void talks_free(struct talks *talks);
/* Messages that nothing has finished for two seconds are their callers' last; on the parking thread. When
 * it has to be called again; 0: in its own time. */
int64_t talks_count_old(struct talks *talks);
/* What it tried at that item (a key) failed before anything could be asked: that is its last reply
 * now. */
void talks_attempt(struct talks *talks, struct caller *who, const char *key, const char *sentence);
/* A line for this caller's .ryefs/errors that no conversation brought about. */
void talks_complain(struct talks *talks, struct caller *who, const char *name,
		    const char *sentence);

/*
 * A fresh conversation whose first content is the caller's last reply, or the usage text. Takes a
 * reference of its own to `who`. NULL: out of memory.
 */
struct talk *talk_new(struct talks *talks, const struct talk_target *target, struct caller *who);
void talk_bind(struct talk *talk, fuse_ino_t ino); /* once, before the entry is told */
void talk_forget(struct talk *talk); /* the kernel's last reference is gone */

struct front;
struct named; /* calls by name */
/* After conversations; 0 or -errno. */
int named_start(struct front *front, struct named **ret);
void named_sweep(struct named *named); /* drops drafts that are too old */
void named_free(struct named *named); /* after the nodes and the conversations; NULL is fine */

mode_t talk_mode(struct talk *talk); /* permission bits: 0600, or 0 for a refused caller */

/* ino and owner are base's; size, mode and times are filled. GETATTR tells no timeout. */
void talk_stat(struct talk *talk, struct stat *st);
/* Seconds. What LOOKUP tells is true until the first write, and open(2) asks for the permissions
 * right behind it. */
#define TALK_ATTR_S 0.001
/* So long; as long as the kernel keeps them for a process that may not use the file. */
double talk_attr_s(const struct talk *talk);
/* True once, for the first write: the kernel may still hold the attributes that LOOKUP told. */
bool talk_attrs_over(struct talk *talk);

/* A write as the kernel sent it. */
struct talk_write {
	struct rye_span bytes;
	off_t off;
	bool append; /* fi->flags & O_APPEND */
	bool paged; /* fi->writepage: from mmap, never parsed */
	struct node_answer *answer; /* node_write's; NULL: the request is answered here */
};

/* Each answers req exactly once, now or later. by_handle: GETATTR came with fi. */
void talk_getattr(struct talk *talk, fuse_req_t req, bool by_handle, const struct stat *base);
void talk_read(struct talk *talk, fuse_req_t req, size_t size, off_t off);
void talk_write(struct talk *talk, fuse_req_t req, const struct talk_write *write);
/*
 * The lane of a write with these bytes. What a runner is told stands in one row for each thread, so
 * that it comes in order and one that does not answer is waited for by one alone; any other word for
 * a thread waits for the same word only: kill does not stand behind what a dead runner is told.
 */
struct aside_lane talk_lane(const struct talk *talk, struct rye_span bytes);
struct aside_lane talk_item_lane(const struct talks *talks, enum rye_kind kind, const char *id);
/* So long a word for a thread waits for its turn; no other write does. */
#define TALK_LATE_MS 10000
void talk_late(struct talk *talk, fuse_req_t req);
/* Size 0 empties the conversation, any other size changes nothing; never fails. */
void talk_truncate(struct talk *talk, off_t size);

#endif
