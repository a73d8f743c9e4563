/* SPDX-License-Identifier: MIT */
/*
 * board_sqlite.c: a board in one file, for a node that is one machine. Each commit is on the disk before it
 * is told (synchronous FULL): a claim that a power cut takes back would be begun twice. Its processes wake
 * each other by a byte into a FIFO beside it, out of which none of them reads: each hears by an epoll of its own, at
 * the edge, that there is one more. An inotify over a file would do the same, and takes 8 to 12 ms to be closed, for
 * which what has asked the door would wait.
 *
 * Lock: that of struct db. `heard` is taken from by the thread that waits; several may.
 */
#include "board/board_inner.h"

#include "base/io.h"
#include "clock.h"
#include "memory.h"
#include "scope.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/stat.h>

struct sqlite_board {
	struct db *db;
	int bell; /* the FIFO; -1: none */
	int heard; /* epoll over it; -1: there is none to be had, then waits are short */
};

#define BELL_SUFFIX ".bell"
/* Without it: how long what another process did may go unnoticed. */
#define UNNOTICED_MS 200

static void sqlite_close(struct board *board)
{
	struct sqlite_board *own = board->handle;

	db_close(own->db);
	auto_close_(&own->bell);
	auto_close_(&own->heard);
	free(own);
}

/* Where none can be made (a file system without FIFOs, a limit) waits are short. */
static void sqlite_listen(struct sqlite_board *own, const char *path)
{
	struct epoll_event each = { .events = EPOLLIN | EPOLLET };
	char name[PATH_MAX];
	struct stat st;

	snprintf(name, sizeof(name), "%s" BELL_SUFFIX, path);
	if (mkfifo(name, 0600) < 0 && errno != EEXIST)
		return;
	own->bell = open(name, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	if (own->bell >= 0 && (fstat(own->bell, &st) < 0 || !S_ISFIFO(st.st_mode)))
		close(steal_fd(&own->bell));
	if (own->bell < 0)
		return;
	own->heard = epoll_create1(EPOLL_CLOEXEC);
	if (own->heard >= 0 && epoll_ctl(own->heard, EPOLL_CTL_ADD, own->bell, &each) < 0)
		close(steal_fd(&own->heard));
}

static int sqlite_open(struct board *board, const char *where, const struct board_tables *tables,
		       struct rye_err *err)
{
	struct sqlite_board *own = memory_note(calloc(1, sizeof(*own)));
	auto_buf struct rye_buf schema = RYE_BUF_INIT;
	int r;

	if (!own)
		return memory_fail(err);
	own->bell = own->heard = -1;
	board->handle = own;
	if (!tables->quiet)
		buf_adds(&schema, "PRAGMA synchronous=FULL;");
	board_spell(board->engine, tables->sql, &schema);
	r = schema.failed ? memory_fail(err) : db_open(where, schema.data, &own->db, err);
	if (!r && !tables->quiet)
		sqlite_listen(own, where);
	if (r)
		sqlite_close(board);
	return r;
}

struct sqlite_each {
	const struct board *board;
	const struct board_query *query;
};

static int sqlite_row(void *arg, sqlite3_stmt *row)
{
	const struct sqlite_each *each = arg;
	struct board_cells cells = { each->board->engine, row, 0 };

	return each->query->fn(each->query->arg, &cells);
}

static struct db_query sqlite_query(const struct sqlite_each *each)
{
	const struct board_query *query = each->query;

	return (struct db_query){ .sql = query->sql,
				  .values = query->values,
				  .n = query->n,
				  .fn = query->fn ? sqlite_row : NULL,
				  .arg = (void *)each };
}

static int sqlite_ask(struct board *board, const struct board_query *query, int *ret_changes,
		      struct rye_err *err)
{
	struct sqlite_board *own = board->handle;
	struct sqlite_each each = { board, query };
	struct db_query plain = sqlite_query(&each);

	return db_run(own->db, &plain, ret_changes, err);
}

/* In a transaction the calling thread holds the lock of the database already. */
static int sqlite_step(struct board *board, const struct board_query *query, int *ret_changes,
		       struct rye_err *err)
{
	struct sqlite_board *own = board->handle;
	struct sqlite_each each = { board, query };
	struct db_query plain = sqlite_query(&each);

	return db_step(own->db, &plain, ret_changes, err);
}

struct sqlite_work {
	struct board *board;
	board_work_fn fn;
	void *arg;
};

static int sqlite_work(void *arg, struct db *db, struct rye_err *err)
{
	const struct sqlite_work *work = arg;

	return work->fn(work->arg, work->board, err);
}

static int sqlite_transaction(struct board *board, board_work_fn fn, void *arg, struct rye_err *err)
{
	struct sqlite_board *own = board->handle;
	struct sqlite_work work = { board, fn, arg };

	return db_transaction(own->db, sqlite_work, &work, err);
}

static const char *sqlite_text(const struct board_cells *cells, int column, size_t *ret_len)
{
	sqlite3_stmt *row = cells->row;
	const char *text;

	if (sqlite3_column_type(row, column) == SQLITE_NULL)
		return NULL;
	text = sqlite3_column_type(row, column) == SQLITE_BLOB ?
		       sqlite3_column_blob(row, column) :
		       (const char *)sqlite3_column_text(row, column);
	*ret_len = (size_t)sqlite3_column_bytes(row, column);
	return text ? text : "";
}

/* Takes out what has filled it; those that hear meanwhile that it is empty hear the next byte. */
static void bell_empty(int bell)
{
	char rung[4096];

	while (read(bell, rung, sizeof(rung)) > 0)
		continue;
}

static void sqlite_wake(struct board *board, enum board_news news, const char *id)
{
	const struct sqlite_board *own = board->handle;

	(void)news;
	(void)id;
	if (own->bell < 0 || write(own->bell, "", 1) == 1 || errno != EAGAIN)
		return;
	bell_empty(own->bell);
	/* a wake-up that is lost costs one poll */
	(void)!write(own->bell, "", 1);
}

/* A node that is one machine has a worker or two: what was done is not told apart. */
static unsigned sqlite_wait(struct board *board, int also, unsigned news, int64_t ms)
{
	const struct sqlite_board *own = board->handle;
	/* poll passes over descriptors below 0 */
	struct pollfd polled[] = { { .fd = own->heard, .events = POLLIN },
				   { .fd = also, .events = POLLIN } };
	struct epoll_event rung;

	if (own->heard < 0)
		ms = MIN_OF(ms, UNNOTICED_MS);
	if (poll(polled, ARRAY_SIZE(polled), (int)ms) <= 0 || !polled[0].revents)
		return own->heard < 0 ? news : 0;
	(void)!epoll_wait(own->heard, &rung, 1, 0);
	return news;
}

const struct board_engine board_sqlite = {
	.scheme = "sqlite",
	.now = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)",
	.skip = "",
	.fits = "NOT EXISTS (SELECT 1 FROM json_each(run.labels) need WHERE need.value NOT IN "
		"(SELECT have.value FROM json_each(?2) have))",
	.bytes = "BLOB",
	.month = "strftime('%Y-%m', 'now')",
	.rows = "json_each(?2) AS e",
	.rowless = " WITHOUT ROWID",
	.open = sqlite_open,
	.close = sqlite_close,
	.ask = sqlite_ask,
	.step = sqlite_step,
	.transaction = sqlite_transaction,
	.text = sqlite_text,
	.wake = sqlite_wake,
	.wait = sqlite_wait,
};
