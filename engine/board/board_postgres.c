/* SPDX-License-Identifier: MIT */
/*
 * board_postgres.c: a board in PostgreSQL, for doors and workers on several machines. Of a process one
 * connection asks, and one listens for what others did. One that is gone is made anew by the next question;
 * what was under way then may have been done or not, as board.h says.
 *
 * Locks: `lock` guards the connection that asks; a transaction holds it from BEGIN to its end. `hearing` guards
 * the one that listens; a thread that sleeps on its socket holds neither.
 */
#include "board/board_inner.h"
#include "board/board_pq.h"
#include "board/lots.h"

#include "clock.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Values of a statement. */
#define VALUES_MAX 16
/* A transaction that stood in another one's way was taken back whole: so often it is begun again. */
#define AGAIN_MAX 5
/* Without a connection that listens: how long what others did may go unnoticed. */
#define UNHEARD_MS 200
#define CHANNEL "ryefs_board"
/* Any number that no other program takes: held while the tables are made. */
#define SCHEMA_LOCK "7263541890"

/* Of pg_type.h, which clients are not given; they never change. */
enum pg_oid { PG_BYTEA = 17, PG_INT8 = 20, PG_TEXT = 25, PG_FLOAT8 = 701 };

struct postgres_board {
	struct pq_table pq;
	char *where;
	pthread_mutex_t lock;
	PGconn *conn; /* NULL: none yet */
	pthread_mutex_t hearing;
	PGconn *ear;
	struct lots lots; /* of the one thread that waits for orders; what it hears: hearing's */
};

/* A row that is being read: the bytes of its column that was asked for last. */
struct postgres_row {
	const struct pq_table *pq;
	PGresult *result;
	unsigned char *bytes;
};

static void no_notice(void *arg, const char *text)
{
	(void)arg;
	(void)text;
}

/* ---- connecting ---- */

static PGconn *postgres_connect(const struct postgres_board *own)
{
	/* what stands in the address counts before these: it is the last one */
	static const char *const names[] = { "connect_timeout",
					     "client_encoding",
					     "application_name",
					     "tcp_user_timeout",
					     "options",
					     "dbname",
					     NULL };
	const char *const values[] = {
		"10",
		"UTF8",
		"ryefs",
		"20000",
		"-c client_min_messages=warning -c statement_timeout=30000 -c lock_timeout=10000 "
		"-c idle_in_transaction_session_timeout=30000 -c synchronous_commit=on",
		own->where,
		NULL
	};
	PGconn *conn = own->pq.connectdbParams(names, values, 1);

	if (conn)
		own->pq.setNoticeProcessor(conn, no_notice, NULL);
	return conn;
}

/* The first line of what the database says. */
static int postgres_fail(const char *text, enum rye_code code, struct rye_err *err)
{
	struct rye_span line =
		span_trim((struct rye_span){ text ? text : "", text ? strcspn(text, "\n") : 0 });

	return rye_fail(err, code, "the board's database: %.*s", (int)MIN_OF(line.len, (size_t)400),
			line.ptr);
}

static int unreachable(const struct postgres_board *own, const PGconn *conn, struct rye_err *err)
{
	return postgres_fail(conn ? own->pq.errorMessage(conn) : "out of memory", RYE_IO, err);
}

/* With the lock. */
static int postgres_ready(struct postgres_board *own, struct rye_err *err)
{
	if (own->conn && own->pq.status(own->conn) == CONNECTION_OK)
		return 0;
	if (own->conn)
		own->pq.finish(own->conn);
	own->conn = postgres_connect(own);
	return own->conn && own->pq.status(own->conn) == CONNECTION_OK ?
		       0 :
		       unreachable(own, own->conn, err);
}

/* ---- statements ---- */

/* ?1 is $1 here. */
static void postgres_marks(const char *sql, struct rye_buf *ret)
{
	for (; *sql; sql++)
		buf_addc(ret, *sql == '?' ? '$' : *sql);
}

struct postgres_values {
	Oid types[VALUES_MAX];
	const char *values[VALUES_MAX];
	int lengths[VALUES_MAX], formats[VALUES_MAX];
	char texts[VALUES_MAX][40];
};

static void postgres_value(const struct db_value *value, struct postgres_values *ret, size_t i)
{
	ret->values[i] = value->text;
	switch (value->type) {
	case DB_INT:
		ret->types[i] = PG_INT8;
		ret->values[i] = ret->texts[i];
		snprintf(ret->texts[i], sizeof(ret->texts[i]), "%lld", (long long)value->number);
		break;
	case DB_REAL:
		ret->types[i] = PG_FLOAT8;
		ret->values[i] = ret->texts[i];
		snprintf(ret->texts[i], sizeof(ret->texts[i]), "%.17g", value->real);
		break;
	case DB_BLOB:
		ret->types[i] = PG_BYTEA;
		ret->formats[i] = 1;
		ret->lengths[i] = (int)value->len;
		if (!value->text)
			ret->values[i] = "";
		break;
	default:
		ret->types[i] = PG_TEXT;
		break;
	}
}

/* What stood in each other's way may be asked again, and was taken back. */
static int answer_fail(const struct postgres_board *own, const PGresult *result,
		       struct rye_err *err)
{
	const char *state = result ? own->pq.resultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
	bool crossed = state && !strncmp(state, "40", 2);
	bool locked = state && (!strcmp(state, "55P03") || !strcmp(state, "57014"));
	bool twice = state && !strcmp(state, "23505");
	int r = postgres_fail(own->pq.errorMessage(own->conn),
			      crossed || locked || twice ? RYE_BUSY : RYE_IO, err);

	if (err && r == -(int)RYE_BUSY)
		err->sys = twice ? EEXIST : crossed ? EDEADLK : EBUSY;
	return r;
}

static bool has_answer(const struct postgres_board *own, const PGresult *result)
{
	ExecStatusType status = result ? own->pq.resultStatus(result) : PGRES_FATAL_ERROR;

	return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;
}

/* With the lock, connected. *ret: to be cleared. */
static int postgres_exec(struct postgres_board *own, const struct board_query *query,
			 PGresult **ret, struct rye_err *err)
{
	auto_buf struct rye_buf sql = RYE_BUF_INIT;
	struct postgres_values values = { .types = { 0 } };

	*ret = NULL;
	if (query->n > VALUES_MAX)
		return rye_fail(err, RYE_INVALID, "board: %zu values", query->n);
	postgres_marks(query->sql, &sql);
	if (sql.failed)
		return memory_fail(err);
	for (size_t i = 0; i < query->n; i++)
		postgres_value(&query->values[i], &values, i);
	*ret = own->pq.execParams(own->conn, sql.data, (int)query->n, values.types, values.values,
				  values.lengths, values.formats, 0);
	if (has_answer(own, *ret))
		return 0;
	answer_fail(own, *ret, err);
	if (*ret)
		own->pq.clear(steal(ret));
	return -(int)(err ? err->code : RYE_IO);
}

/* What the answer has is given on; needs no lock. */
static int answer_take(struct board *board, const struct board_query *query, PGresult *result,
		       int *ret_changes)
{
	struct postgres_board *own = board->handle;
	struct postgres_row row = { &own->pq, result, NULL };
	struct board_cells cells = { board->engine, &row, 0 };
	int r = 0;

	if (ret_changes)
		*ret_changes = (int)strtol(own->pq.cmdTuples(result), NULL, 10);
	for (int n = own->pq.ntuples(result); query->fn && !r && cells.at < n; cells.at++)
		r = query->fn(query->arg, &cells);
	own->pq.freemem(row.bytes);
	own->pq.clear(result);
	return 0;
}

static int postgres_step(struct board *board, const struct board_query *query, int *ret_changes,
			 struct rye_err *err)
{
	struct rye_err why = { 0 };
	PGresult *result;
	int r = postgres_exec(board->handle, query, &result, err ? err : &why);

	return r ? r : answer_take(board, query, result, ret_changes);
}

static int postgres_alone(struct postgres_board *own, const struct board_query *query,
			  PGresult **ret, struct rye_err *err)
{
	GUARD(&own->lock);
	int r = postgres_ready(own, err);

	return r ? r : postgres_exec(own, query, ret, err);
}

static int postgres_ask(struct board *board, const struct board_query *query, int *ret_changes,
			struct rye_err *err)
{
	struct postgres_board *own = board->handle;
	struct rye_err why = { 0 };
	PGresult *result = NULL;
	int r = postgres_alone(own, query, &result, err ? err : &why);

	return r ? r : answer_take(board, query, result, ret_changes);
}

static const char *postgres_text(const struct board_cells *cells, int column, size_t *ret_len)
{
	struct postgres_row *row = cells->row;
	const char *text = row->pq->getvalue(row->result, cells->at, column);

	if (row->pq->getisnull(row->result, cells->at, column))
		return NULL;
	if (row->pq->ftype(row->result, column) != PG_BYTEA) {
		*ret_len = (size_t)row->pq->getlength(row->result, cells->at, column);
		return text;
	}
	row->pq->freemem(row->bytes);
	row->bytes = row->pq->unescapeBytea((const unsigned char *)text, ret_len);
	return (const char *)row->bytes;
}

/* ---- transactions ---- */

static int postgres_word(struct board *board, const char *word, struct rye_err *err)
{
	return postgres_step(board, &(struct board_query){ .sql = word }, NULL, err);
}

static int transaction_once(struct board *board, board_work_fn fn, void *arg, struct rye_err *err)
{
	int r = postgres_ready(board->handle, err);

	if (!r)
		r = postgres_word(board, "BEGIN", err);
	if (r)
		return r;
	r = fn(arg, board, err);
	if (!r)
		return postgres_word(board, "COMMIT", err);
	postgres_word(board, "ROLLBACK", NULL);
	return r;
}

static int postgres_transaction(struct board *board, board_work_fn fn, void *arg,
				struct rye_err *err)
{
	struct postgres_board *own = board->handle;
	struct rye_err why;
	int r = 0;
	GUARD(&own->lock);

	for (int i = 0; i < AGAIN_MAX; i++) {
		why = (struct rye_err){ 0 };
		r = transaction_once(board, fn, arg, &why);
		if (!r || why.code != RYE_BUSY || why.sys != EDEADLK)
			break;
	}
	if (r && err)
		*err = why;
	return r;
}

/* ---- waking ---- */

static void postgres_wake(struct board *board, enum board_news news, const char *id)
{
	char notice[ID_UUID_MAX + 16];

	/* one that is lost costs one poll */
	snprintf(notice, sizeof(notice), "%d %.*s", (int)news, ID_UUID_MAX, id);
	postgres_ask(board, BOARD_QUERY("SELECT pg_notify('" CHANNEL "', ?1)", DB_TEXT(notice)),
		     NULL, NULL);
}

static void postgres_taken(struct board *board, const char *id)
{
	struct postgres_board *own = board->handle;

	lots_won(&own->lots);
	postgres_wake(board, 0, id);
}

/* With `hearing`. False: just connected, or not to be reached; what was missed is looked for soon. */
static bool ear_ready(struct postgres_board *own, int *ret_fd)
{
	PGresult *result;

	*ret_fd = -1;
	if (own->ear)
		*ret_fd = own->pq.socket(own->ear);
	if (own->ear && own->pq.status(own->ear) == CONNECTION_OK)
		return true;
	if (own->ear)
		own->pq.finish(own->ear);
	*ret_fd = -1;
	own->ear = postgres_connect(own);
	if (!own->ear || own->pq.status(own->ear) != CONNECTION_OK)
		return false;
	result = own->pq.exec(own->ear, "LISTEN " CHANNEL);
	own->pq.clear(result);
	*ret_fd = own->pq.socket(own->ear);
	return false;
}

static bool ear_open(struct postgres_board *own, int *ret_fd)
{
	GUARD(&own->hearing);

	return ear_ready(own, ret_fd);
}

/* With `hearing`. What came; that nothing did means that another thread has heard it. */
static unsigned ear_drain(struct postgres_board *own)
{
	unsigned heard = 0;
	PGnotify *notice;
	bool any = false;

	if (!own->ear || !own->pq.consumeInput(own->ear))
		return 0;
	while ((notice = own->pq.notifies(own->ear))) {
		heard |= lots_hear(&own->lots, notice->extra, clock_ms());
		own->pq.freemem(notice);
		any = true;
	}
	return any ? heard : BOARD_WORD | BOARD_TOLD;
}

static unsigned ear_hear(struct postgres_board *own)
{
	GUARD(&own->hearing);

	return ear_drain(own);
}

/* Until what is heard is of `news`, or the lot is drawn. */
static unsigned ear_wait(struct postgres_board *own, struct pollfd polled[2], unsigned news,
			 int64_t until)
{
	struct lots *lots = &own->lots;

	for (int64_t now = clock_ms(); now < until; now = clock_ms()) {
		int64_t at = news & BOARD_ORDER ? MIN_OF(until, lots_at(lots)) : until;
		int n = poll(polled, 2, (int)(at > now ? at - now : 0));
		unsigned heard = n > 0 && polled[0].revents ? ear_hear(own) : 0;

		if (heard & news & ~(unsigned)BOARD_ORDER)
			return heard & news;
		if (n < 0 || polled[1].revents || polled[0].revents & ~POLLIN)
			return 0;
		if (news & BOARD_ORDER && clock_ms() >= lots_at(lots)) {
			lots_drawn(lots);
			return BOARD_ORDER;
		}
	}
	return 0;
}

static unsigned postgres_wait(struct board *board, int also, unsigned news, int64_t ms)
{
	struct postgres_board *own = board->handle;
	/* poll passes over descriptors below 0 */
	struct pollfd polled[2] = { { .fd = -1, .events = POLLIN },
				    { .fd = also, .events = POLLIN } };
	bool hears = ear_open(own, &polled[0].fd);
	unsigned heard;

	if (news & BOARD_ORDER)
		lots_begin(&own->lots);
	heard = ear_wait(own, polled, news, clock_ms() + (hears ? ms : MIN_OF(ms, UNHEARD_MS)));
	return hears ? heard : news;
}

/* ---- opening ---- */

static void postgres_close(struct board *board)
{
	struct postgres_board *own = board->handle;

	if (own->conn)
		own->pq.finish(own->conn);
	if (own->ear)
		own->pq.finish(own->ear);
	pthread_mutex_destroy(&own->lock);
	pthread_mutex_destroy(&own->hearing);
	free(own->where);
	free(own);
}

static int there_row(void *arg, const struct board_cells *cells)
{
	*(bool *)arg = *cell_text(cells, 0) != '\0';
	return 1;
}

/* With the lock. All of it is one transaction. */
static int tables_exec(struct postgres_board *own, const char *sql, struct rye_err *err)
{
	PGresult *result = own->pq.exec(own->conn, sql);
	int r = has_answer(own, result) ? 0 : answer_fail(own, result, err);

	own->pq.clear(result);
	return r;
}

static int tables_make(struct postgres_board *own, const char *sql, struct rye_err *err)
{
	GUARD(&own->lock);

	return tables_exec(own, sql, err);
}

/* Made by one at a time: `IF NOT EXISTS` alone fails when two do so at once. */
static int postgres_tables(struct board *board, const struct board_tables *tables,
			   struct rye_err *err)
{
	struct postgres_board *own = board->handle;
	auto_buf struct rye_buf sql = RYE_BUF_INIT;
	bool there = false;
	int r = postgres_ask(board,
			     BOARD_ROWS(there_row, &there, "SELECT to_regclass(?1)",
					DB_TEXT(tables->last)),
			     NULL, err);

	if (r || there)
		return r;
	buf_adds(&sql, "SELECT pg_advisory_xact_lock(" SCHEMA_LOCK ");");
	board_spell(board->engine, tables->sql, &sql);
	if (sql.failed)
		return memory_fail(err);
	return tables_make(own, sql.data, err);
}

/* "postgresql://USER@HOST/NAME", or "postgresql:host=… dbname=…", as libpq has them. */
static int postgres_open(struct board *board, const char *where, const struct board_tables *tables,
			 struct rye_err *err)
{
	struct postgres_board *own = memory_note(calloc(1, sizeof(*own)));
	int r;

	if (!own)
		return memory_fail(err);
	board->handle = own;
	pthread_mutex_init(&own->lock, NULL);
	pthread_mutex_init(&own->hearing, NULL);
	if (asprintf(&own->where, "%s%s", *where == '/' ? "postgresql:" : "", where) < 0) {
		own->where = NULL;
		memory_note(NULL);
		r = memory_fail(err);
	} else {
		r = pq_load(&own->pq, err);
	}
	if (!r)
		r = postgres_tables(board, tables, err);
	if (r)
		postgres_close(board);
	return r;
}

const struct board_engine board_postgres = {
	.scheme = "postgresql",
	.now = "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)",
	.skip = " FOR UPDATE OF run SKIP LOCKED",
	.fits = "run.labels::jsonb <@ ?2::jsonb",
	.bytes = "BYTEA",
	.month = "to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM')",
	.rows = "jsonb_array_elements(?2::jsonb) AS e(value)",
	.rowless = "",
	.hold = "SELECT pg_advisory_xact_lock(hashtextextended(?1, 0))",
	.open = postgres_open,
	.close = postgres_close,
	.ask = postgres_ask,
	.step = postgres_step,
	.transaction = postgres_transaction,
	.text = postgres_text,
	.wake = postgres_wake,
	.wait = postgres_wait,
	.taken = postgres_taken,
};
