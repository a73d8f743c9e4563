/* SPDX-License-Identifier: MIT */
/*
 * worker_inner.h: what the files of worker/ share. A worker is one thread; the watching workers of its
 * runs' threads only set `ended` and wake it.
 */
#ifndef RYE_WORKER_WORKER_INNER_H
#define RYE_WORKER_WORKER_INNER_H

#include "base/db.h"
#include "base/log.h"
#include "board/board.h"
#include "door/door.h"
#include "order/order.h"
#include "process/process.h"
#include "thread/thread.h"
#include "worker/worker.h"

#include <limits.h>

struct node_worker {
	struct worker_ask ask;
	struct node_dir *node;
	struct board *board;
	struct db *executed;
	struct depot *
		held; /* of the directory: doors open and close it, and the last to close it writes its log back */
	struct key_secret key; /* signs receipts; the node's key vouches for it */
	char vouched[KEY_SIG_TEXT];
	char name[BOARD_WORKER_MAX];
	struct rye_buf labels; /* JSON: the seat's */
	struct board_seat seat;
	int place; /* from 1 on, among the workers here */
	int lock; /* of its name */
	int wake; /* eventfd: a run has ended */
	int slots;
	struct log log;
	int64_t expire_at; /* clock_ms */
	struct errand *errands;
	int n_errands;
};

/* errand_aside.c: what is done beside the worker's thread for a run. */
struct errand;
typedef int (*errand_aside_fn)(struct errand *errand, struct rye_err *err); /* on that thread */
typedef void (*errand_then_fn)(struct errand *errand, int r, const struct rye_err *err);
struct errand_aside {
	pthread_t thread;
	bool under_way, lost; /* lost: the board says that it is no longer this worker's */
	errand_aside_fn fn;
	errand_then_fn then;
	_Atomic bool done; /* what follows is the worker's thread's then */
	int r;
	struct rye_err err;
};

/* errand_news.c: what was told of a thread's records. */
struct errand_news {
	struct rye_buf line; /* that is told next */
	int64_t at; /* where it begins in BOARD_NEWS */
	int64_t story, answers; /* so much of these was told when it was looked at last */
	bool begun; /* the records that it began with were told */
	uint64_t limits; /* a hash of them */
	struct thread_cost cost;
};

/* One run, from its claim to its receipt. */
struct errand {
	struct errand *next;
	struct node_worker *worker;
	struct board_run claim;
	struct rye_blob *body, *sealed; /* as the board has them */
	struct order order;
	char project[PATH_MAX], user[PATH_MAX]; /* what it runs in; the user space of its engine */
	struct rye_options opt;
	struct threads *threads; /* NULL: it is not begun */
	struct env lent; /* what its runs have of this process's environment */
	struct rye_buf lent_names; /* those of them that its principal's entry names; of opt */
	_Atomic bool ended;
	bool private; /* the user space is this run's alone: it has secrets */
	bool gone; /* another attempt, or none, is what counts now: nothing is settled */
	bool cancelled;
	struct errand_aside aside;
	_Atomic bool stop; /* what is under way beside is not wanted any more */
	bool has_left; /* its tree was looked at */
	int64_t words; /* how many it was told, by its BOARD_ANSWERS */
	int64_t renew_at, look_at; /* clock_ms */
	int64_t live, story, answers; /* bytes that were told of what grows */
	struct errand_news news;
	double reserved;
	uid_t uid; /* of the run's processes; 0: the worker's */
	char left[SHA_HEX]; /* the manifest of what it has left; "": nothing was kept */
	struct board_end end; /* once it is over; the receipt is the buffer's */
	struct errand_pieces *pieces; /* of `end` */
	struct board_used used; /* of `end`: beyond what was reserved */
	struct rye_buf receipt;
};

/* worker_open.c; what was opened is closed by worker_done, also after a failure. */
int worker_open(struct node_worker *worker, struct rye_err *err);
void worker_done(struct node_worker *worker);
/* Which of the places that share a board this is: the directory's own id and the machine's, of that file. */
#define SEAT_MAX 9
int worker_seat(const struct node_dir *node, const char *machine, char ret[SEAT_MAX],
		struct rye_err *err);
/* Its name, which it had: gives it up; takes it again, RYE_BUSY: another worker has it. */
void worker_leave(struct node_worker *worker);
int worker_enter(struct node_worker *worker, struct rye_err *err);

/*
 * errand_once.c: the ids of orders that were begun on this machine, by any of its workers, before they are. A row
 * of the board that is played again finds its id here.
 */
int executed_open(const char *path, struct db **ret, struct rye_err *err);
/* 1: it is new, and noted on the disk; 0: it was begun before. again: an idempotent one, whose later attempts
 * are new as well. */
int executed_add(struct db *db, const struct order *order, int64_t gen, bool again,
		 struct rye_err *err);
int executed_has(struct db *db, const char *id, bool *ret, struct rye_err *err);
/* Adds to what a principal has used on this machine. With its limits: RYE_BUDGET where it would be above
 * them, and nothing is added; NULL: it is added in any case. */
int executed_spend(struct db *db, const char *fp, const struct board_used *more,
		   const struct principal *who, struct rye_err *err);

/* errand_check.c: may this be run, for this principal, here? The principal is filled in first. begun: it was, and
 * its money is reserved. */
int errand_check(struct errand *errand, bool begun, struct principal *who, struct rye_err *err);
/* One that runs may spend so much in all. */
int errand_reserve_more(struct errand *errand, double most, struct rye_err *err);
/* errand_item.c: the user space that says whose items count, and the item, verified by it. */
int errand_item(struct errand *errand, const struct principal *who, struct rye_err *err);
void errand_item_done(struct errand *errand); /* what is this run's alone goes */

/* errand_space.c: paths below the node's directory. */
int errand_space_copy(const struct errand *errand, const char *shared, const char *made,
		      struct rye_err *err);
int errand_space_items(const struct errand *errand, const char *made, struct rye_err *err);

/*
 * errand_uid.c: where the worker is root and node.toml names a range of accounts: what is in the node's directory is shut
 * to them; the run's project and user space are its principal's; errand->uid is set. Else nothing is done.
 */
bool worker_has_uids(const struct node_worker *worker);
int worker_shut(const struct node_worker *worker, struct rye_err *err);
int errand_give(struct errand *errand, const struct principal *who, struct rye_err *err);

/*
 * errand_tree.c: the project that it runs in: checked out, or begun: as it is there; what it leaves, for its receipt
 * and for ERRAND_LEFT of its thread, {manifest, refused} or {error}; and the end of its own directory.
 */
#define ERRAND_LEFT "left.json"
bool errand_has_tree(const struct errand *errand); /* a directory of its own */
int errand_tree(struct errand *errand, bool begun, struct rye_err *err);
void errand_leave(struct errand *errand);
void errand_tree_done(const struct errand *errand);

/* errand_past.c: the threads that a model goes on with, from the board, into the project that it runs in. */
int errand_past(struct errand *errand, struct rye_err *err);
/* fn on a thread of its own, then `then` on the worker's; nothing else is under way. */
void errand_aside(struct errand *errand, errand_aside_fn fn, errand_then_fn then);
/* While aside.under_way, in place of any other step. */
int errand_aside_step(struct errand *errand, bool woken, struct rye_err *err);
/* Its own directory goes, then it is gone. */
void errand_clear(struct errand *errand);
void errand_aside_end(struct errand *errand); /* waits for it; `then` is not called */

/* errand_begin.c: from a claim to a running thread; or to the receipt of a refusal. */
void errand_begin(struct errand *errand);
/* One that this worker's predecessor had begun. False: it is not known whether it had. */
bool errand_adopt(struct errand *errand);

/*
 * errand_tell.c: what it prints and writes down, as far as it was not told yet; at the end all files, of which those that
 * are short are told with the end itself: errand->pieces, for errand_end.
 */
int errand_tell(struct errand *errand, struct rye_err *err);
int errand_tell_all(struct errand *errand, struct rye_err *err);
void errand_pieces_end(struct errand *errand,
		       struct board_end *end); /* into it; end NULL: they are freed */

/* errand_news.c: the records of a thread that goes on, as they change; and where an earlier worker has come to. */
int errand_news(struct errand *errand, struct rye_err *err);
int errand_news_again(struct errand *errand, struct rye_err *err);

/*
 * errand_words.c: what the board says of a run beside its order: renewed, it is to be cancelled, words. Each word
 * is passed on to the runner once; what that answered is a line of BOARD_ANSWERS, which is told as it grows.
 */
int errand_renew(struct errand *errand, struct board_told *ret, struct rye_err *err);
int errand_hear(struct errand *errand, struct rye_err *err);
void errand_words_again(struct errand *errand); /* those that an earlier worker has passed on */

/* errand_end.c: the receipt. */
int errand_receipt(struct errand *errand, struct rye_err *err); /* of the thread's record */
/* RECEIPT_BEGUN, for errand->receipt: it says by which key the record is signed. */
int errand_receipt_begun(struct errand *errand, const json_t *record, struct rye_err *err);
/* Nothing of it was begun: refused, or cancelled before. */
int errand_refusal(struct errand *errand, const struct rye_err *why, struct rye_err *err);

#endif
