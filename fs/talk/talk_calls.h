/* SPDX-License-Identifier: MIT */
/*
 * talk_calls.h: what the files of a conversation call of each other, by file. Each remark says
 * whether the talk's lock is held.
 */
#ifndef RYE_FS_TALK_TALK_CALLS_H
#define RYE_FS_TALK_TALK_CALLS_H

#include "talk/talk_state.h"

/* talk.c */
struct talk *talk_ref(struct talk *talk);
void talk_unref(struct talk *talk);
void outbox_init(struct outbox *out);
void outbox_answer(struct outbox *out, struct park *park); /* lock held */
void outbox_send(struct talk *talk, struct outbox *out); /* no lock held */
/* Lock held. Size and times as they are now; bytes for a reader. */
void talk_fill_stat(struct talk *talk, struct stat *st);
size_t talk_fill_read(struct talk *talk, size_t off, char *ret, size_t size);

/* talk_park.c */
struct park *park_new(struct talk *talk, fuse_req_t req, enum park_type type);
/* No lock held. The request is answered, or left for the caller to answer; park is freed. */
void park_answer(struct park *park);
void park_drop(struct park *park); /* NULL is fine */
/* Lock held. From now on its interrupts are noticed; false: the mount goes, it cannot wait. */
bool park_wait(struct park *park);
bool talk_waits(const struct talk *talk); /* must a reader wait? */
void talk_settle(struct talk *talk, struct outbox *out); /* answers whoever can be answered */

/* talk_run.c */
struct talk_run *run_new(struct talk *talk, struct caller *writer); /* NULL: out of memory */
struct talk_run *run_ref(struct talk_run *run);
void run_unref(struct talk_run *run);
/* No lock held. */
void run_start(struct talk_run *run);
void run_cancel(struct talk_run *run, enum rye_code code);
void run_detach(struct talk_run *run, int sys); /* answers its WRITE with sys, the run goes on */
void run_leave(struct talk_run *run, int sys, struct rye_blob *note);

/* talk_write.c, lock held */
void talk_go_on(struct talk *talk, struct outbox *out);
void talk_fail_write(struct talk *talk, int sys, int again);
void talk_forget_failure(struct talk *talk);
void talk_keep_written(struct talk *talk, size_t upto);
void talk_drop_pages(struct talk *talk, size_t from, struct outbox *out);
void talk_tell_running(struct talk *talk, struct outbox *out); /* to a reader who waited */
void talk_writing_done(struct talk *talk);
void talk_list_open(struct talk *talk); /* is its message unfinished? others may ask */

/* talk_own.c, no lock held */
/* The talk's unfinished message is the last one of its writer from now on. */
void own_count(struct talk *talk, struct caller *speaker);
/* The same for those that the reader left at this item and those that are old. NULL: only old. */
void own_count_open(struct talks *talks, const struct caller *reader, const char *key);

/* talk_reply.c */
struct rye_blob *reply_error_line(const char *sentence);
struct rye_blob *reply_running_line(const char *thread_id);
/* Lock held. What a reader of an unfinished message is told, or NULL. */
struct rye_blob *reply_unfinished(const struct talk *talk);
struct rye_blob *reply_initial(struct talk *talk);
/* A reply that no engine made becomes the last one of its caller. */
void reply_record(struct talk *talk, struct caller *who, struct rye_blob *line,
		  const char *sentence);
struct text;
void reply_add_line(struct text *out, const struct talk *talk, const char *sentence);
/* A line for `.ryefs/errors` of that caller and for stderr. No lock held. */
void reply_complain(struct talk *talk, struct caller *who, const char *sentence);

#endif
