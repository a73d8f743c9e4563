/* SPDX-License-Identifier: MIT */
/*
 * talk_states.h: what a conversation and its WRITE can be, what can happen to them, and what is done
 * then. Three tables (talk_states.c), without lock or I/O; tests/unit/test_fs_talk_states.c walks
 * every cell.
 *
 * Each event is brought under the talk's lock, by
 *   a thread at the device     CAME, READ, WRITTEN, EMPTIED, PIECE
 *   the engine's, with a run   ENDS, RECORDED
 *   the parking thread         SIGNAL, DUE, LEFT, COUNTED
 *   any of these, or the one that has dropped pages (core/notify.c), as soon as it may be
 *                              MESSAGE, ANSWER, READERS, TOLD, UNFINISHED, FINISHED
 */
#ifndef RYE_FS_TALK_TALK_STATES_H
#define RYE_FS_TALK_TALK_STATES_H

/* The WRITE in hand. There is one at most: the kernel sends the next when it is answered. */
enum writing_state {
	WRITING_NONE,
	WRITING_IN_HAND, /* a thread looks at its bytes and gives back no lock before that is over */
	WRITING_RUNS, /* the engine has a message of it */
	WRITING_CANCELS, /* the same; its writer is being ended and will not wait for long */
	WRITING_RECORDS, /* the engine has ended the run; its reply is recorded without the lock */
	WRITING_DROPS, /* its answer is there; first the kernel drops pages */
	WRITING_LAST, /* its readers were answered before it, a moment ago */
	WRITING_STATE__MAX
};

enum writing_event {
	WRITING_CAME, /* from the kernel, or the request that completes a call by name */
	WRITING_MESSAGE, /* there is one more for the engine */
	WRITING_ANSWER, /* it can be told what it came to */
	WRITING_ENDS, /* the engine says how its run has ended */
	WRITING_RECORDED, /* … which the caller's next command will find */
	WRITING_SIGNAL, /* one that ends the writer is pending, or the writer is gone */
	WRITING_DUE, /* it has waited for as long as it may */
	WRITING_LEFT, /* it does not wait for its run any longer */
	WRITING_READERS, /* they are answered before it */
	WRITING_TOLD, /* it is answered */
	WRITING_EVENT__MAX
};

enum writing_act {
	WRITING_NEVER, /* cannot happen */
	WRITING_STAY, /* nothing: what it waits for will come */
	WRITING_FEED, /* its bytes, until there is a message or an answer */
	WRITING_AGAIN, /* the new one gets EAGAIN */
	WRITING_START, /* the run */
	WRITING_DROP, /* pages that would hide the reply */
	WRITING_RECORD, /* the reply */
	WRITING_GO_ON, /* feed what is behind the message */
	WRITING_CANCEL, /* the run; one that forks a thread is detached instead */
	WRITING_DETACH, /* the run goes on as a thread */
	WRITING_LEAVE, /* the run goes on until it is cancelled, or as it likes */
	WRITING_FOLLOW, /* in a moment */
	WRITING_REPLY, /* now */
	WRITING_ACT__MAX
};

struct writing_step {
	enum writing_state next;
	enum writing_act act;
};
const struct writing_step *writing_step(enum writing_state state, enum writing_event event);

/* What a reader finds. */
enum shows_state {
	SHOWS_LAST, /* its caller's last reply, or the usage text */
	SHOWS_DISPUTED, /* that reply may not be shown: another thread's competes with it */
	SHOWS_REFUSED, /* the same, and a reader was told so */
	SHOWS_OWN, /* messages written here, and their replies */
	SHOWS_READ, /* the same; a reader has had some since the last write */
	SHOWS_STATE__MAX
};

enum shows_event { SHOWS_WANTED, SHOWS_WRITTEN, SHOWS_EMPTIED, SHOWS_EVENT__MAX };

enum shows_act {
	SHOWS_GIVE, /* what there is */
	SHOWS_REFUSE,
	SHOWS_COMPLAIN, /* refuse, with a line for .ryefs/errors; the kernel asks more than once */
	SHOWS_CUT, /* what was there from the writer's offset on goes */
	SHOWS_ADD, /* as it is */
	SHOWS_AFRESH, /* the same; blank lines belong to no message that was answered before */
	SHOWS_ACT__MAX
};

struct shows_step {
	enum shows_state next;
	enum shows_act act;
};
const struct shows_step *shows_step(enum shows_state state, enum shows_event event);

/* A message that has begun, between two writes. */
enum open_state {
	OPEN_NONE, /* there is none, or a write looks at it */
	OPEN_LISTED, /* its writer will be told if nothing finishes it */
	OPEN_COUNTED, /* its writer was told: it is its last one until more of it comes */
	OPEN_STATE__MAX
};

enum open_event { OPEN_PIECE, OPEN_UNFINISHED, OPEN_FINISHED, OPEN_COUNT, OPEN_EVENT__MAX };

enum open_act { OPEN_STAY, OPEN_LIST, OPEN_UNLIST, OPEN_ACT__MAX };

struct open_step {
	enum open_state next;
	enum open_act act;
};
const struct open_step *open_step(enum open_state state, enum open_event event);

#endif
