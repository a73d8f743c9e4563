/* SPDX-License-Identifier: MIT */
/*
 * away_inner.h: what the files of away/ share. All of it belongs to one thread of the runner.
 */
#ifndef RYE_AWAY_AWAY_INNER_H
#define RYE_AWAY_AWAY_INNER_H

#include "away/away.h"
#include "conn/conn.h"
#include "item/item.h"
#include "order/order.h"
#include "record/record.h"
#include "remote/remote.h"

struct away {
	const struct away_ask *ask;
	const char *id; /* of the thread, and of the order */
	const json_t *request;
	struct rye *rye;
	const struct item_env *items;
	struct remote remote;
	struct remote_link link; /* .conn NULL: there is none now */
	struct rye_blob *envelope; /* the order's bytes, as they lie in the outbox */
	struct order order; /* the same, read */
	int64_t live, story; /* bytes of live and transcript.jsonl that are here */
	struct rye_buf news; /* of BOARD_NEWS: a line that is not whole yet */
	int transcript; /* the file; -1: the run has none */
	bool again; /* another process has followed the run before, and the node may have its order */
	bool accepted; /* the node has the order: it may run, whatever becomes of the connection */
	bool cancelled; /* and the node was told so */
	bool faulted; /* the error is one that the node has told */
	bool handed; /* another thread goes on, with its money */
	bool open; /* it was given up here, and may have gone on there */
	struct thread_cost cost; /* by its receipt */
	json_t *limits; /* limit_overrides of the order; or NULL */
	json_t *withheld; /* names of secrets that are asked for and not listed for the remote */
	json_t *stands; /* what the node says of the run; NULL: nothing yet */
	struct away_words *words; /* what is said to the thread here */
};

/* away_open.c */
int away_open(struct away *away, struct rye_err *err);
/* What a process needs that takes this one's place: once the order is in the outbox. */
int away_note(const struct away *away, struct rye_err *err);
void away_close(struct away *away);

/* away.c. Was it asked to end? */
bool away_stopped(const struct away *away);
/* Is the error worth another try? */
bool away_is_cut(const struct away *away, const struct rye_err *err);
/* The line of the file `remote`: how the run stands there. */
void away_tell(const struct away *away, const char *state);

/*
 * away_order.c: the order, and the outbox of the remote, where its bytes lie from before they are sent:
 * after a cut the same ones are sent again.
 */
int away_order(struct away *away, struct rye_err *err);
void away_order_drop(const struct away *away); /* it was never sent: nothing of it is known there */

/*
 * away_money.c: what a model's thread may spend there is held in the ledger here from before it is ordered until its
 * receipt says what it has spent. What is lost stays held, until it is forgotten.
 */
int money_ledger(const struct away *away, struct db **ret, struct rye_err *err);
int money_hold(struct away *away, struct order *order, struct rye_err *err);
int money_change(const struct away *away, double most, struct rye_err *err); /* of one that runs */
/* It has spent so much in all so far, as the node says; the row of the ledger tells as much. */
int money_spent(const struct away *away, struct db *db, double spend, struct rye_err *err);
void money_settle(const struct away *away, const char *status);

/*
 * away_secrets.c: the names that the order lists, and {NAME: value}; away_secrets_done after a failure, too.
 */
struct away_secrets {
	json_t *names, *values;
};
int away_secrets(struct away *away, const struct rye_item *item, struct away_secrets *ret,
		 struct rye_err *err);
void away_secrets_done(struct away_secrets *secrets);

/*
 * away_closure.c: the files of the user space that go along, {path: text}, and the keys that are vouched for, in PEM;
 * away_closure_done after a failure, too.
 */
struct away_closure {
	json_t *items, *signers;
};
int away_closure(const struct away *away, const struct rye_item *item, struct away_closure *ret,
		 struct rye_err *err);
void away_closure_done(struct away_closure *closure);

/*
 * away_wire.c: what is asked of the node over the connection that there is. RYE_UNREACHABLE: it was cut.
 */
int away_send(struct away *away, struct rye_err *err); /* the order; sets accepted, stands */
int away_follow(struct away *away, struct rye_err *err); /* returns when the run is over there */
/* A file of the run's thread there; RYE_NOT_FOUND: it has none. */
int away_fetch(struct away *away, const char *name, struct rye_blob **ret, struct rye_err *err);
/* Is it over, by what the node says? */
bool away_over(const struct away *away);

/* away_news.c: BOARD_NEWS as it comes, from its beginning on with every connection. */
int away_news(void *away, struct rye_span bytes, struct rye_err *err);

/*
 * away_words.c: what is said to the thread here goes there, and the answer comes back to the process that said it. A
 * descriptor is readable while there is something to hear, or once the thread is to end.
 */
int words_open(struct away *away, struct rye_err *err);
void words_close(struct away *away);
int words_ears(const struct away *away);
/* Takes what was said; with a connection it is sent. RYE_UNREACHABLE: that was cut. */
int words_hear(struct away *away, struct rye_err *err);
/* 1: the frame was an answer to it. */
int words_frame(struct away *away, const struct conn_frame *frame, struct rye_err *err);
/* The connection is gone: those that wait are told so. */
void words_cut(struct away *away, const char *why);

/*
 * away_changes.c: pushes the project, and the order names it; what the run has changed there comes back.
 */
int away_push(struct away *away, struct order *order, struct rye_err *err);
int away_changes(struct away *away, const struct receipt *receipt, struct rye_err *err);

/*
 * away_end.c: the files that tell the end, the receipt, and the outcome.
 */
int away_take(struct away *away, struct away_end *ret, struct rye_err *err);
/* The key that has signed the thread's records there, which counts for this thread alone from here on. */
int away_vouch(const struct away *away, const struct receipt *receipt, struct rye_err *err);

/* away_next.c: the thread that goes on where this one has handed over; its money and its place in the chain. */
int away_hand_over(struct away *away, struct rye_err *err);
/* The manifest of what the thread before it has left; "": nothing was kept. */
int away_left(const struct away *away, char ret[SHA_HEX], struct rye_err *err);

#endif
