/* SPDX-License-Identifier: MIT */
/*
 * board_heads.c: which manifest a project's name stands for, moved on by one at a time; and what a principal
 * has used in a month. No lock, no state.
 */
#include "board/board_inner.h"

#include "scope.h"

#include <errno.h>
#include <string.h>

static int head_row(void *arg, const struct board_cells *cells)
{
	struct board_head *head = arg;

	head->number = cell_int(cells, 0);
	cell_copy(cells, 1, head->manifest, sizeof(head->manifest));
	cell_copy(cells, 2, head->by, sizeof(head->by));
	head->at = cell_int(cells, 3);
	return 1;
}

#define HEAD_SELECT \
	"SELECT number, manifest, principal, at FROM head WHERE principal = ?1 AND project = ?2"

int board_head(struct board *board, const char *principal, const char *project,
	       struct board_head *ret, struct rye_err *err)
{
	memset(ret, 0, sizeof(*ret));
	return board_ask(
		board, BOARD_ROWS(head_row, ret, HEAD_SELECT, DB_TEXT(principal), DB_TEXT(project)),
		NULL, err);
}

struct advancing {
	const struct board_advance *what;
	struct board_head *ret;
	bool moved;
};

static int advance_in(void *arg, struct board *board, struct rye_err *err)
{
	struct advancing *to = arg;
	const struct board_advance *what = to->what;
	int changes = 0, r;

	r = board_step(
		board,
		what->expected ?
			BOARD_QUERY("UPDATE head SET manifest = ?3, number = number + 1, "
				    "at = {now} WHERE principal = ?1 AND project = ?2 AND "
				    "number = ?4",
				    DB_TEXT(what->principal), DB_TEXT(what->project),
				    DB_TEXT(what->manifest), DB_INT(what->expected)) :
			BOARD_QUERY("INSERT INTO head (principal, project, number, manifest, "
				    "at) VALUES (?1, ?2, 1, ?3, {now}) "
				    "ON CONFLICT (principal, project) DO NOTHING",
				    DB_TEXT(what->principal), DB_TEXT(what->project),
				    DB_TEXT(what->manifest)),
		&changes, err);
	to->moved = changes > 0;
	memset(to->ret, 0, sizeof(*to->ret));
	if (!r && to->moved)
		r = board_past(board, what, err);
	if (!r)
		r = board_step(board,
			       BOARD_ROWS(head_row, to->ret, HEAD_SELECT, DB_TEXT(what->principal),
					  DB_TEXT(what->project)),
			       NULL, err);
	return r;
}

int board_advance(struct board *board, const struct board_advance *what, struct board_head *ret,
		  struct rye_err *err)
{
	struct advancing to = { what, ret, false };
	int r = board_transaction(board, advance_in, &to, err);

	if (r || to.moved)
		return r;
	rye_fail(err, RYE_STATE, "%s is at number %lld, not %lld", what->project,
		 (long long)ret->number, (long long)what->expected);
	if (err)
		err->sys = ESTALE;
	return -(int)RYE_STATE;
}

static int used_row(void *arg, const struct board_cells *cells)
{
	struct board_used *used = arg;

	used->spend = cell_real(cells, 0);
	used->seconds = cell_real(cells, 1);
	used->bytes = cell_int(cells, 2);
	return 1;
}

#define USED_SELECT "SELECT spend, seconds, bytes FROM account WHERE principal = ?1 AND month = "

int board_account(struct board *board, const char *principal, const char *month,
		  struct board_used *ret, struct rye_err *err)
{
	memset(ret, 0, sizeof(*ret));
	return board_ask(board,
			 month ? BOARD_ROWS(used_row, ret, USED_SELECT "?2", DB_TEXT(principal),
					    DB_TEXT(month)) :
				 BOARD_ROWS(used_row, ret, USED_SELECT "{month}",
					    DB_TEXT(principal)),
			 NULL, err);
}

struct spending {
	const char *principal;
	const struct board_used *more;
	double cap;
};

static int spend_in(void *arg, struct board *board, struct rye_err *err)
{
	const struct spending *what = arg;
	struct board_used used = { 0 };
	int r = board_step(
		board,
		BOARD_QUERY("INSERT INTO account (principal, month, spend, seconds, bytes) "
			    "VALUES (?1, {month}, ?2, ?3, ?4) ON CONFLICT (principal, month) "
			    "DO UPDATE SET spend = account.spend + ?2, "
			    "seconds = account.seconds + ?3, bytes = account.bytes + ?4",
			    DB_TEXT(what->principal), DB_REAL(what->more->spend),
			    DB_REAL(what->more->seconds), DB_INT(what->more->bytes)),
		NULL, err);

	if (!r)
		r = board_step(board,
			       BOARD_ROWS(used_row, &used, USED_SELECT "{month}",
					  DB_TEXT(what->principal)),
			       NULL, err);
	/* with the row locked: two that are both within the cap alone are not both taken */
	if (!r && what->cap >= 0 && what->more->spend > 0 && used.spend > what->cap + 1e-9)
		return rye_fail(err, RYE_BUDGET,
				"%.2f of %.2f dollars of this month are used, %.2f more are wanted",
				used.spend - what->more->spend, what->cap, what->more->spend);
	return r;
}

int board_count(struct board *board, const char *principal, const struct board_used *more,
		double cap, struct rye_err *err)
{
	struct spending what = { principal, more, cap };

	return spend_in(&what, board, err);
}

int board_spend(struct board *board, const char *principal, const struct board_used *more,
		double cap, struct rye_err *err)
{
	struct spending what = { principal, more, cap };

	return board_transaction(board, spend_in, &what, err);
}
