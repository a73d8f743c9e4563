/* SPDX-License-Identifier: MIT */
/*
 * board_roots.c: which manifests are in use: written down in the transactions that make them so, read by the
 * collection of garbage. No lock, no state.
 */
#include "board/board_inner.h"

#include "scope.h"

int board_pin(struct board *board, const char *run, const char *manifest, struct rye_err *err)
{
	if (!manifest || !*manifest)
		return 0;
	return board_step(board,
			  BOARD_QUERY("INSERT INTO pin (run, manifest, principal) "
				      "SELECT id, ?2, principal FROM run WHERE id = ?1 "
				      "ON CONFLICT (run, manifest) DO NOTHING",
				      DB_TEXT(run), DB_TEXT(manifest)),
			  NULL, err);
}

int board_past(struct board *board, const struct board_advance *what, struct rye_err *err)
{
	int r = board_step(board,
			   BOARD_QUERY("INSERT INTO past (principal, project, number, manifest) "
				       "VALUES (?1, ?2, ?3, ?4)",
				       DB_TEXT(what->principal), DB_TEXT(what->project),
				       DB_INT(what->expected + 1), DB_TEXT(what->manifest)),
			   NULL, err);

	return r ? r :
		   board_step(board,
			      BOARD_QUERY("DELETE FROM past WHERE principal = ?1 AND project = ?2 "
					  "AND number <= ?3",
					  DB_TEXT(what->principal), DB_TEXT(what->project),
					  DB_INT(what->expected + 1 - BOARD_PAST)),
			      NULL, err);
}

struct rooting {
	rye_name_fn fn;
	void *arg;
};

static int root_row(void *arg, const struct board_cells *cells)
{
	const struct rooting *rooting = arg;

	return rooting->fn(rooting->arg, cell_text(cells, 0));
}

/* Of before there was a `past`, a head stands alone. */
int board_roots(struct board *board, const char *principal, int64_t keep_ms, rye_name_fn fn,
		void *arg, struct rye_err *err)
{
	struct rooting rooting = { fn, arg };

	return board_ask(
		board,
		BOARD_ROWS(root_row, &rooting,
			   "SELECT manifest FROM head WHERE principal = ?1 "
			   "UNION SELECT manifest FROM past WHERE principal = ?1 "
			   "UNION SELECT pin.manifest FROM pin JOIN run ON run.id = pin.run "
			   "WHERE pin.principal = ?1 AND (run.ended IS NULL OR "
			   "run.ended > {now} - ?2)",
			   DB_TEXT(principal), DB_INT(keep_ms)),
		NULL, err);
}

static int leave_in(void *arg, struct board *board, struct rye_err *err)
{
#define ENDED " IN (SELECT id FROM run WHERE principal = ?1 AND ended IS NOT NULL)"
	static const char *const statements[] = {
		"DELETE FROM head WHERE principal = ?1",
		"DELETE FROM past WHERE principal = ?1",
		"DELETE FROM pin WHERE run" ENDED,
		"DELETE FROM part WHERE run" ENDED,
		"DELETE FROM word WHERE run" ENDED,
		"UPDATE run SET body = '' WHERE principal = ?1 AND ended IS NOT NULL",
	};
#undef ENDED
	const char *principal = arg;
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(statements) && !r; i++)
		r = board_step(board, BOARD_QUERY(statements[i], DB_TEXT(principal)), NULL, err);
	return r;
}

int board_leave(struct board *board, const char *principal, struct rye_err *err)
{
	return board_transaction(board, leave_in, (char *)principal, err);
}
