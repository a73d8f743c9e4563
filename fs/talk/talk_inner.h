/* SPDX-License-Identifier: MIT */
/*
 * talk_inner.h: what the files of a conversation share.
 */
#ifndef RYE_FS_TALK_TALK_INNER_H
#define RYE_FS_TALK_TALK_INNER_H

#include "caller/caller.h"
#include "core/parking.h"
#include "talk/talk.h"
#include "talk/talk_states.h"

#include <rye/rye.h>

#include <pthread.h>
#include <sys/queue.h>

/*
 * feed.c: when do the bytes written to a control file form one message? A pure incremental
 * scanner without lock or I/O. What the message says is the engine's business.
 *
 * A message is one JSON object, complete with its closing brace however it was cut; or YAML:
 * all the lines from its first to the end of one write, which has to end with a newline; or a
 * write of blank lines alone, which means {}. Blank lines before a message in the same write
 * and right behind one belong to it. One byte order mark before it is dropped.
 */

/* One message; the engine's bound for an item too. */
#define FEED_MAX (16u << 20)
/* Bytes of one that is a verb for a thread: what is said to a model is the longest. */
#define FEED_LINE_MAX 4096
/* Longest pause, in ms, between two pieces of one message before it counts as unfinished. */
#define OPEN_COUNTS_MS 2000
/* Open braces and brackets: the engine's JSON parser stops there as well. */
#define FEED_DEPTH 256

/* A sentence with its place. */
#define FEED_WHY 240

enum feed_verdict {
	FEED_MORE, /* all bytes taken, no message is complete */
	FEED_COMPLETE, /* feed_message() is one */
	FEED_GARBAGE, /* can never become a message: feed->why, feed->sys */
};

struct feed {
	int mode; /* enum mode of feed.c */
	bool quoted, escape; /* inside a string, behind a backslash */
	bool cut; /* set by the caller: the write in hand may be the first part of a longer one */
	bool lines; /* set by the caller, for good: each write that is not blank is a message */
	bool refused; /* feed_refuse */
	enum rye_form form; /* of the message just completed */
	int sys; /* EINVAL or EFBIG, when garbage */
	unsigned depth;
	unsigned mark; /* bytes of a byte order mark before the message; 4: a second one */
	uint8_t square[FEED_DEPTH / 8]; /* per level: opened by [ instead of { */
	struct rye_blob *room; /* what came of the message; NULL before its first byte */
	size_t len;
	char why[FEED_WHY];
};

void feed_init(struct feed *feed);
void feed_done(struct feed *feed); /* frees; usable again */

/*
 * Takes bytes up to the end of the message they complete; *ret_used says how many. They are the
 * rest of one write: call it again with what is left. After GARBAGE all of that write is used
 * and lost, and mostly only a message that begins with { is taken until feed_restart: what
 * follows broken text is likely its tail.
 */
enum feed_verdict feed_step(struct feed *feed, struct rye_span bytes, size_t *ret_used);

/* The bytes of the message just completed, of feed->form, borrowed until the next feed_step. */
struct rye_span feed_message(const struct feed *feed);

/* The same, given away. */
struct rye_blob *feed_take(struct feed *feed);

/* Forgets what is unfinished and broken; an empty line is a message again. */
void feed_restart(struct feed *feed);
/*
 * The single line that was the last message was none: what a program writes behind it, line by line
 * like it, is no message either, until feed_fresh or one that begins with {.
 */
void feed_refuse(struct feed *feed);
/* The reader has taken the reply, or the writer went elsewhere: the blank lines are over. */
void feed_fresh(struct feed *feed);
/* Where it is between two messages; feed_lost goes back there when the writer was told that
 * what it wrote since was not taken, and will write that or something else in its place. */
int feed_mark(const struct feed *feed);
void feed_lost(struct feed *feed, int mark);

bool feed_broken(const struct feed *feed); /* is only a message that begins with { taken? */
bool feed_open(const struct feed *feed); /* has an object begun and not ended? */
/* The same; says what is missing and where, one line. */
bool feed_unfinished(const struct feed *feed, char *why, size_t size);

/*
 * transcript.c: the transcript of a conversation as bytes with offsets. Written bytes go in where
 * the writer's offset points and push what is behind them further back, replies are appended: so a
 * descriptor that wrote n bytes finds the reply at its own offset, and replies that are not read
 * yet keep their order. Pure: no lock, no I/O.
 */

/* Bytes kept for readers; older ones read as empty lines. */
#define TRANSCRIPT_KEEP (64u << 20)
/* Bytes. A write further than this behind the end is refused. */
#define TRANSCRIPT_GAP_MAX (1u << 20)

struct transcript_part {
	char *data;
	size_t begin, end, size;
};

struct transcript {
	struct rye_blob *initial; /* all of the content, until the first change */
	size_t dropped; /* bytes before head that were dropped; offsets count them */
	struct transcript_part head; /* up to the last insertion */
	struct transcript_part tail; /* behind it */
};

void transcript_done(struct transcript *text);
size_t transcript_size(const struct transcript *text);
/* A writer that has this much unread behind it must read before it goes on. */
size_t transcript_unread(const struct transcript *text);

/* Drops everything from off on. */
bool transcript_cut(struct transcript *text, size_t off);
/* Behind the end: the gap reads as empty lines. False: out of memory or too far. */
bool transcript_insert(struct transcript *text, size_t off, struct rye_span bytes);
bool transcript_append(struct transcript *text, struct rye_span bytes);
/* Up to size bytes from off on; how many there were. */
size_t transcript_read(const struct transcript *text, size_t off, char *ret, size_t size);

/*
 * What a conversation and the factory of conversations hold; shared by talk*.c
 * alone. Fields without a remark belong to the talk's lock. Lock order: a talk's, then
 * talks->lock, callers->lock or the parking's. What has to be done without a lock (answers, engine
 * calls, notifications) is collected in an outbox under it and sent afterwards.
 */

/* A request that waits for its answer. */
enum park_type { PARK_GETATTR, PARK_READ, PARK_WRITE, PARK_NAMED };

struct park {
	struct parked parked;
	struct park *next; /* of the talk's readers, or of an outbox */
	struct talk *talk; /* a reference */
	enum park_type type;
	bool held; /* answered at due_ns, not before */
	int64_t due_ns; /* when waiting is over */
	/* the answer */
	int sys;
	size_t count; /* PARK_WRITE */
	struct node_answer *later; /* PARK_WRITE: whose thread sends the answer, or NULL */
	struct stat st; /* PARK_GETATTR */
	size_t size, off; /* PARK_READ: what was asked for */
	char *data; /* PARK_READ: what there is, heap */
	size_t len;
};

/* One message that the engine works on. Its WRITE waits for it while that names it; what was left
 * goes on behind the conversation. */
struct talk_run {
	_Atomic unsigned refs; /* one of the engine's callback, one of each pointer to it */
	struct talk *talk; /* a reference; immutable, like the next two */
	struct caller *writer; /* a reference */
	bool first; /* of its WRITE */
	struct rye_call *call; /* NULL until rye_start has returned */
	enum rye_code cancel; /* a cancel that came before rye_start had returned; else RYE_OK */
};

/* Threads that have an answer of which the next one depends on being applied. */
#define SETTLING_MOST 8
struct talk_settling {
	struct talk_settling_thread {
		pid_t tid;
		uint64_t turns; /* proc_turns before the answer */
	} threads[SETTLING_MOST]; /* of more, the first ones */
	unsigned n;
	int64_t end_ns; /* then they count as ended */
};

/* The WRITE in progress. */
struct writing {
	enum writing_state state;
	struct park *park; /* due: when a state ends that has a time; NULL: none */
	char *bytes; /* heap */
	size_t len;
	size_t fed; /* taken by the feed */
	size_t kept; /* of the messages that ended well: in the text, will not be sent again */
	size_t off;
	int mark; /* the feed's, at kept */
	struct talk_run *run; /* of the message it waits for, a reference */
	struct caller *writer; /* a reference */
	/* the kernel takes no size from a reader's GETATTR before it has this WRITE's answer */
	bool late;
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
	char *refused; /* why it may not write, decided at lookup; NULL: it may */
	struct named_commit *named; /* the call by name that it serves, owned; NULL: a file */
	struct talk_target target; /* its texts lie in names */
	const char *key; /* "tool:a/b", in names */
	uint64_t no; /* among all conversations, from 1 on */
	fuse_ino_t ino;
	_Atomic bool attrs_told; /* by LOOKUP, and not yet taken back */
	pthread_mutex_t lock;
	struct transcript text;
	struct feed feed;
	struct writing w;
	struct failure failure;
	/* The WRITE that a thread is still in, and where that one leaves its answer; park NULL: none. */
	struct {
		const struct park *park; /* borrowed, to compare */
		pthread_t thread;
		struct node_answer *answer;
	} here;
	struct park *readers;
	struct talk_settling settling;
	struct caller *speaker; /* the last writer, a reference, or NULL */
	size_t expect; /* where the writer goes on */
	size_t told; /* size the kernel knows */
	size_t cached; /* page cache may hold what was before this offset, page aligned */
	unsigned invals; /* notifications on their way */
	unsigned behind; /* runs whose WRITE was answered before their end */
	/* the "running" line of such a run that no reader has got yet, or NULL */
	struct rye_blob *note;
	enum shows_state shows;
	uint64_t shown; /* the conversation whose reply that is, or 0 */
	enum open_state open; /* what is unfinished in the feed */
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
	_Atomic size_t n_open; /* read without the lock: are there any? */
	_Atomic uint64_t made;
	unsigned callbacks; /* inside the engine's callback, using env */
	bool closed;
};

/* What a thread collects under the talk's lock and does after it, in this order. A run that ends
 * at once has its answer ready then, and the pages are dropped on this thread. */
struct outbox {
	struct talk_run *start; /* a message to give to the engine, a reference */
	bool invalidate;
	struct notify_pages inval;
	struct rye_blob *broken; /* reply of a message that could not be read */
	struct caller *speaker; /* the caller that it becomes the last reply of, a reference */
	char complaint[256]; /* its sentence */
	struct park *answers, **last;
};

#define TALK_PAGE 4096u /* of the page cache */
static inline size_t page_floor(size_t off)
{
	return off & ~(size_t)(TALK_PAGE - 1);
}

/*
 * What the files of a conversation call of each other, by file. Each remark says
 * whether the talk's lock is held.
 */

/* talk.c */
/* Lock held. The event is brought to the table, what is to be done comes back. */
enum writing_act writing_go(struct writing *w, enum writing_event event);
enum shows_act shows_go(struct talk *talk, enum shows_event event);
/* "tool:a/b", "execute", "thread a/b-1 ctl" */
void talk_key(const struct talk_target *target, char *ret, size_t size);
/* A conversation that no file is of, for one message; commit is taken over. NULL: no memory. */
struct talk *talk_of_call(struct talks *talks, const struct talk_target *target, struct caller *who,
			  struct named_commit *commit);
/* May it write here? False: why is filled. */
bool talk_may(const struct talk *talk, const struct caller *who, char why[CALLER_WHY]);
struct talk *talk_ref(struct talk *talk);
void talk_unref(struct talk *talk);
void outbox_init(struct outbox *out);
/* Lock held. Where the calling thread leaves that WRITE's answer; NULL: it is in no such. */
struct node_answer *talk_here(const struct talk *talk, const struct park *park);
void outbox_answer(struct outbox *out, struct park *park); /* lock held */
void outbox_send(struct talk *talk, struct outbox *out); /* no lock held */
/* Lock held. Size and times as they are now; bytes for a reader. */
void talk_fill_stat(struct talk *talk, struct stat *st);
size_t talk_fill_read(struct talk *talk, size_t off, char *ret, size_t size);
/* As much as that has to say then, to free; NULL: no memory. */
char *talk_read_room(const struct talk *talk, size_t off, size_t size);

/* talk_park.c */
struct park *park_new(struct talk *talk, fuse_req_t req, enum park_type type);
/* No lock held. The request is answered, or left for the caller to answer; park is freed. */
void park_answer(struct park *park);
void park_drop(struct park *park); /* NULL is fine */
/* Lock held. From now on its interrupts are noticed; false: the mount goes, it cannot wait. */
bool park_wait(struct park *park);
bool talk_waits(const struct talk *talk); /* must a reader wait? */
/* answers each reader whose answer is there */
void talk_settle(struct talk *talk, struct outbox *out);

/* talk_run.c */
struct talk_run *run_new(struct talk *talk, struct caller *writer); /* NULL: out of memory */
struct talk_run *run_ref(struct talk_run *run);
void run_unref(struct talk_run *run);
/* No lock held. */
void run_start(struct talk_run *run);
void run_cancel(struct talk_run *run, enum rye_code code);
/* They answer its WRITE with sys, if that still waits for it. The run goes on: as a thread, or
 * (note: what readers are told of it, or NULL) as it is. */
void run_detach(struct talk_run *run, int sys);
void run_leave(struct talk_run *run, int sys, struct rye_blob *note);

/* talk_write.c */
/* No lock held. A complete message is run as if it had been written; feed, park and the reference
 * to writer are taken over. */
void talk_hand_over(struct talk *talk, struct park *park, struct feed *feed, struct caller *writer);
/* lock held */
void talk_go_on(struct talk *talk, struct outbox *out);
void talk_fail_write(struct talk *talk, int sys, int again, struct outbox *out);
void talk_forget_failure(struct talk *talk);
void talk_keep_written(struct talk *talk, size_t upto);
void talk_drop_pages(struct talk *talk, size_t from, struct outbox *out);
void talk_tell_running(struct talk *talk, struct outbox *out); /* to a reader that waits */
void talk_writing_done(struct talk *talk);
/* lists the talk while its message is unfinished, for own_count_open */
void open_go(struct talk *talk, enum open_event event);
/* Forgets what is unfinished. */
void talk_start_over(struct talk *talk);

/* talk_own.c, no lock held */
/* The talk's unfinished message, if it is of that caller (NULL: of any), is its last one from now on. */
void own_count(struct talk *talk, const struct caller *of);
/* The same for those that the reader left at this item and those that are old. NULL: only old. */
void own_count_open(struct talks *talks, const struct caller *reader, const char *key);

/* talk_reply.c */
struct rye_blob *reply_error_line(const char *sentence);
struct rye_blob *reply_running_line(const char *thread_id);
/* Lock held. What a reader of an unfinished message is told, or NULL. */
struct rye_blob *reply_unfinished(const struct talk *talk);
struct rye_blob *reply_initial(struct talk *talk);
/* A reply that no engine made becomes the last one of its caller; what: with reply and age. */
void reply_record(const struct talk *talk, struct caller *who, const char *sentence,
		  const struct last *what);
/* It failed before anything could be asked: that is its last reply, and a line of its errors. */
void reply_attempt(struct talk *talk, struct caller *who, const char *sentence);
int64_t reply_age_ns(struct timespec at); /* since then */
struct text;
/* What a reader is told when SHOWS_DISPUTED. */
extern const char reply_disputed[];
/* What the lines of `.ryefs/errors` begin with. */
void reply_add_time(struct text *out, time_t at);
void reply_add_line(struct text *out, const struct talk *talk, const char *sentence);
struct complaint {
	struct timespec at; /* when it was, if it counts only now: what came after it stays last */
	/* The command that would have done, or NULL, for the caller alone: what the message holds is
	 * not for the terminal or the journal of a daemon. */
	const char *mend;
};
/* A line for `.ryefs/errors` of that caller and for stderr. what: NULL, as all of it may be. No lock
 * held. */
void reply_complain(struct talk *talk, struct caller *who, const char *sentence,
		    const struct complaint *what);
/* The command that writes this message to the conversation's file, to free; NULL: there is none. */
char *reply_mend(const struct talk *talk, const struct rye_blob *message);

/* named_commit.c: the call by name that a conversation without a file serves. */
struct named_commit;
void named_commit_free(struct named_commit *commit); /* NULL is fine */
const char *named_commit_name(const struct named_commit *commit); /* of its call */
/* The run's reply; an answer that its request gets. Called by talk_run.c, talk_park.c. */
void named_record(struct named_commit *commit, const struct last *last);
void named_answer(struct named_commit *commit, fuse_req_t req, int sys);

#endif
