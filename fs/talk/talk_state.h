/* SPDX-License-Identifier: MIT */
/*
 * talk_state.h: what a conversation and the factory of conversations hold; shared by talk*.c
 * alone. Fields without a remark belong to the talk's lock. Lock order: a talk's, then
 * talks->lock, callers->lock or the parking's. What has to be done without a lock (answers, engine
 * calls, notifications) is collected in an outbox under it and sent afterwards.
 */
#ifndef RYE_FS_TALK_TALK_STATE_H
#define RYE_FS_TALK_TALK_STATE_H

#include "caller/caller.h"
#include "talk/feed.h"
#include "core/parking.h"
#include "talk/talk.h"
#include "talk/transcript.h"

#include <pthread.h>

/* A request that waits for its answer. */
enum park_type { PARK_GETATTR, PARK_READ, PARK_WRITE };

struct park {
	struct parked parked;
	struct park *next; /* of the talk's readers, or of an outbox */
	struct talk *talk; /* a reference */
	enum park_type type;
	bool held; /* until due_ns, whatever ends before */
	int64_t due_ns; /* when waiting is over */
	/* the answer */
	int sys;
	size_t count; /* PARK_WRITE */
	struct stat st; /* PARK_GETATTR */
	size_t size, off; /* PARK_READ: what was asked for */
	char *data; /* PARK_READ: what there is, heap */
	size_t len;
};

/* One message that the engine works on. */
struct talk_run {
	_Atomic unsigned refs; /* the engine's callback, and who holds it here */
	struct talk *talk; /* a reference; immutable, like writer */
	struct caller *writer; /* a reference */
	struct rye_call *call; /* NULL until rye_start has returned */
	enum rye_code cancel; /* asked for before call was there; else RYE_OK */
	bool first; /* of its WRITE; immutable */
	bool ending; /* its outcome is being recorded */
	bool over;
	bool left; /* its WRITE was answered before its end */
};

/* The WRITE in progress: at most one, the kernel sends the next when it is answered. */
struct writing {
	struct park *park; /* NULL: none */
	char *bytes; /* heap */
	size_t len;
	size_t fed; /* taken by the feed */
	size_t kept; /* of the messages that ended well: in the text, will not be sent again */
	size_t off;
	int mark; /* the feed's, at kept */
	struct talk_run *run; /* of the message it waits for, a reference */
	struct caller *writer; /* a reference */
	bool begun; /* its first message: those behind it are never rendered in this thread */
	bool ready; /* the answer is in park */
	bool dropped; /* its pages were looked at */
	bool late; /* the kernel would not take a size before it has the answer */
	int64_t answer_ns; /* a reader's GETATTR was answered, it goes first; 0: none */
	int64_t give_up_ns; /* a cancelled run is not waited for any longer */
};

/* A message that failed: the same bytes at the same place are the same failure. */
struct failure {
	char *bytes; /* heap; NULL: none */
	size_t len, off;
	size_t matched; /* of bytes, by writes that went on from off */
	int sys;
};

struct talk {
	_Atomic unsigned refs;
	struct talks *talks; /* a reference */
	struct caller *who; /* at lookup, a reference; immutable like the next five */
	bool allowed; /* what was decided at lookup */
	enum rye_verb verb;
	enum rye_kind kind;
	const char *id, *key; /* "a/b", "tool:a/b": point into names */
	fuse_ino_t ino;
	pthread_mutex_t lock;
	struct transcript text;
	struct feed feed;
	struct writing w;
	struct failure failure;
	struct park *readers;
	struct caller *speaker; /* the last writer, a reference, or NULL */
	size_t expect; /* where the writer goes on */
	size_t told; /* size the kernel knows */
	size_t cached; /* page cache may hold what was before this offset, page aligned */
	unsigned invals; /* notifications on their way */
	unsigned behind; /* runs whose WRITE was answered before their end */
	struct rye_blob *note; /* the "running" line of such a run that nobody was told, or NULL */
	bool written; /* the old reply it was opened with is gone */
	bool forgotten;
	bool was_read; /* since the last write */
	bool counted; /* its unfinished message is recorded as its writer's last */
	bool listed; /* among those with an unfinished message that is not */
	struct timespec mtime;
	/* talks->lock: */
	struct talk *next_open, **link_open; /* if listed */
	char names[];
};

struct talks {
	struct talks_env env;
	struct timespec since; /* the time of texts that are as old as the mount */
	int64_t bound_ns; /* a request waits no longer; 0: until it ends */
	_Atomic unsigned refs;
	pthread_mutex_t lock;
	pthread_cond_t quiet; /* callbacks fell to 0 */
	struct talk *open;
	_Atomic size_t n_open; /* without the lock: is there any? */
	unsigned callbacks; /* inside the engine's callback, using env */
	bool closed;
};

/* What to do once no lock is held, in this order. */
struct outbox {
	bool invalidate;
	struct notify_pages inval;
	struct talk_run *start; /* a message to give to the engine, a reference */
	struct rye_blob *broken; /* reply of a message that could not be read */
	struct caller *speaker; /* whose reply that is, a reference */
	char complaint[256]; /* its sentence */
	struct park *answers, **last;
};

#define TALK_PAGE 4096u /* of the page cache */
static inline size_t page_floor(size_t off)
{
	return off & ~(size_t)(TALK_PAGE - 1);
}

#endif
