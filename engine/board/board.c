/* SPDX-License-Identifier: MIT */
/*
 * board.c: the databases that a board may lie in, and what is the same in all: the tables, the words
 * that each spells in its own way, cells. No state but the handle; a database's row has its locks.
 */
#include "board/board_inner.h"

#include "memory.h"
#include "scope.h"
#include "str.h"

static const struct board_engine *const engines[] = {
	&board_sqlite,
	&board_postgres,
};

/*
 * Indexes: the queue by age, leases by their end, a principal's runs by age. A finished run is in none that
 * a claim or a renewal reads.
 */
static const char board_schema[] =
	"CREATE TABLE IF NOT EXISTS run (id TEXT PRIMARY KEY, principal TEXT NOT NULL,"
	" body TEXT NOT NULL, sha TEXT NOT NULL, labels TEXT NOT NULL, again BIGINT NOT NULL,"
	" jobs BIGINT NOT NULL, state TEXT NOT NULL, gen BIGINT NOT NULL DEFAULT 0, worker TEXT,"
	" lease BIGINT, heard BIGINT, cancel BIGINT NOT NULL DEFAULT 0, made BIGINT NOT NULL,"
	" ended BIGINT, sealed TEXT, receipt TEXT, late TEXT);"
	"CREATE INDEX IF NOT EXISTS run_queue ON run(made) WHERE state = 'queued';"
	"CREATE INDEX IF NOT EXISTS run_lease ON run(lease) WHERE state IN ('running', 'silent');"
	"CREATE INDEX IF NOT EXISTS run_open ON run(principal)"
	" WHERE state IN " OPEN_STATES ";"
	"CREATE INDEX IF NOT EXISTS run_age ON run(principal, made);"
	"CREATE TABLE IF NOT EXISTS word (run TEXT NOT NULL, n BIGINT NOT NULL, text TEXT NOT NULL,"
	" PRIMARY KEY (run, n));"
	"CREATE TABLE IF NOT EXISTS part (run TEXT NOT NULL, file TEXT NOT NULL, off BIGINT NOT NULL,"
	" ends BIGINT NOT NULL, bytes {bytes} NOT NULL, PRIMARY KEY (run, file, off));"
	"CREATE TABLE IF NOT EXISTS head (principal TEXT NOT NULL, project TEXT NOT NULL,"
	" number BIGINT NOT NULL, manifest TEXT NOT NULL, at BIGINT NOT NULL,"
	" PRIMARY KEY (principal, project));"
	"CREATE TABLE IF NOT EXISTS account (principal TEXT NOT NULL, month TEXT NOT NULL,"
	" spend DOUBLE PRECISION NOT NULL, seconds DOUBLE PRECISION NOT NULL, bytes BIGINT NOT NULL,"
	" PRIMARY KEY (principal, month));"
	"CREATE TABLE IF NOT EXISTS past (principal TEXT NOT NULL, project TEXT NOT NULL,"
	" number BIGINT NOT NULL, manifest TEXT NOT NULL, PRIMARY KEY (principal, project, number));"
	"CREATE TABLE IF NOT EXISTS pin (run TEXT NOT NULL, manifest TEXT NOT NULL,"
	" principal TEXT NOT NULL, PRIMARY KEY (run, manifest));"
	"CREATE INDEX IF NOT EXISTS pin_of ON pin(principal);";

static const struct board_tables board_own = { board_schema, "pin", false };

int board_open(const char *where, struct board **ret, struct rye_err *err)
{
	return board_open_tables(where, &board_own, ret, err);
}

int board_open_tables(const char *where, const struct board_tables *tables, struct board **ret,
		      struct rye_err *err)
{
	size_t n = strcspn(where, ":");
	struct board *board;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(engines); i++) {
		if (strlen(engines[i]->scheme) != n || strncmp(engines[i]->scheme, where, n) != 0)
			continue;
		board = memory_note(calloc(1, sizeof(*board)));
		if (!board)
			return memory_fail(err);
		board->engine = engines[i];
		r = board->engine->open(board, where + n + !!where[n], tables, err);
		if (r)
			free(board);
		else
			*ret = board;
		return r;
	}
	return rye_fail(err, RYE_UNSUPPORTED,
			"no board can be opened at %.200s: wanted sqlite:PATH or "
			"postgresql://USER@HOST/NAME",
			where);
}

void board_close(struct board *board)
{
	if (!board)
		return;
	board->engine->close(board);
	free(board);
}

static const char *word_of(const struct board_engine *engine, struct rye_span name)
{
	return span_eq(name, "now")	? engine->now :
	       span_eq(name, "skip")	? engine->skip :
	       span_eq(name, "fits")	? engine->fits :
	       span_eq(name, "bytes")	? engine->bytes :
	       span_eq(name, "rows")	? engine->rows :
	       span_eq(name, "rowless") ? engine->rowless :
					  engine->month;
}

void board_spell(const struct board_engine *engine, const char *sql, struct rye_buf *ret)
{
	const char *open, *end;

	while ((open = strchr(sql, '{')) && (end = strchr(open, '}'))) {
		buf_add(ret, sql, (size_t)(open - sql));
		buf_adds(ret,
			 word_of(engine, (struct rye_span){ open + 1, (size_t)(end - open) - 1 }));
		sql = end + 1;
	}
	buf_adds(ret, sql);
}

typedef int (*engine_fn)(struct board *board, const struct board_query *query, int *ret_changes,
			 struct rye_err *err);

static int spell_and(engine_fn fn, struct board *board, const struct board_query *query,
		     int *ret_changes, struct rye_err *err)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	struct board_query spelled = *query;

	board_spell(board->engine, query->sql, &text);
	if (text.failed)
		return memory_fail(err);
	spelled.sql = text.data;
	return fn(board, &spelled, ret_changes, err);
}

int board_ask(struct board *board, const struct board_query *query, int *ret_changes,
	      struct rye_err *err)
{
	return spell_and(board->engine->ask, board, query, ret_changes, err);
}

int board_step(struct board *board, const struct board_query *query, int *ret_changes,
	       struct rye_err *err)
{
	return spell_and(board->engine->step, board, query, ret_changes, err);
}

int board_transaction(struct board *board, board_work_fn fn, void *arg, struct rye_err *err)
{
	return board->engine->transaction(board, fn, arg, err);
}

int board_hold(struct board *board, const char *name, struct rye_err *err)
{
	if (!board->engine->hold)
		return 0;
	return board_step(board, BOARD_QUERY(board->engine->hold, DB_TEXT(name)), NULL, err);
}

void board_wake(struct board *board, enum board_news news, const char *id)
{
	board->engine->wake(board, news, id);
}

unsigned board_wait(struct board *board, int also, unsigned news, int64_t ms)
{
	return board->engine->wait(board, also, news, ms);
}

bool board_is_over(const char *state)
{
	return strcmp(state, "queued") != 0 && strcmp(state, "running") != 0 &&
	       strcmp(state, "silent") != 0;
}

/* ---- cells ---- */

const char *cell_text(const struct board_cells *cells, int column)
{
	size_t len;
	const char *text = cells->engine->text(cells, column, &len);

	return text ? text : "";
}

int64_t cell_int(const struct board_cells *cells, int column)
{
	return strtoll(cell_text(cells, column), NULL, 10);
}

double cell_real(const struct board_cells *cells, int column)
{
	return strtod(cell_text(cells, column), NULL);
}

struct rye_blob *cell_blob(const struct board_cells *cells, int column)
{
	size_t len = 0;
	const char *text = cells->engine->text(cells, column, &len);

	return text ? rye_blob_new(text, len) : NULL;
}

void cell_copy(const struct board_cells *cells, int column, char *ret, size_t size)
{
	snprintf(ret, size, "%s", cell_text(cells, column));
}

void board_run_of(const struct board_cells *cells, struct board_run *ret)
{
	memset(ret, 0, sizeof(*ret));
	cell_copy(cells, 0, ret->id, sizeof(ret->id));
	cell_copy(cells, 1, ret->principal, sizeof(ret->principal));
	cell_copy(cells, 2, ret->sha, sizeof(ret->sha));
	cell_copy(cells, 3, ret->state, sizeof(ret->state));
	cell_copy(cells, 4, ret->worker, sizeof(ret->worker));
	ret->gen = cell_int(cells, 5);
	ret->made = cell_int(cells, 6);
	ret->lease = cell_int(cells, 7);
	ret->heard = cell_int(cells, 8);
	ret->ended = cell_int(cells, 9);
	ret->cancel = cell_int(cells, 10) != 0;
	ret->again = cell_int(cells, 11) != 0;
	ret->now = cell_int(cells, 12);
}

void board_run_done(struct board_run *run)
{
	rye_blob_unref(steal(&run->receipt));
	rye_blob_unref(steal(&run->late));
}

void board_claim_done(struct board_claim *claim)
{
	board_run_done(&claim->run);
	rye_blob_unref(steal(&claim->body));
	rye_blob_unref(steal(&claim->sealed));
}
