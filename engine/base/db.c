/* SPDX-License-Identifier: MIT */
/*
 * SQLite, opened once per engine and file. The mutex makes one connection serve every thread;
 * nothing here waits longer than the busy timeout. Never opened through a mount: WAL needs shared
 * memory, which FUSE does not give.
 */
#include "base/db.h"

#include "base/io.h"
#include "bounds.h"
#include "buf.h"
#include "clock.h"
#include "memory.h"
#include "scope.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Other processes (runners, the command line) hold the write lock for microseconds. */
#define BUSY_TIMEOUT_MS 10000

/*
 * The errno of what there was too little of; 0: nothing. SQLite says of most of it that the file cannot be
 * opened, or that reading it failed.
 */
static int db_scarcity(sqlite3 *handle)
{
	static const int scarce[] = { EMFILE, ENFILE, ENOMEM, ENOSPC, EDQUOT };
	int code = sqlite3_extended_errcode(handle), sys = sqlite3_system_errno(handle);

	if (code == SQLITE_NOMEM || code == SQLITE_IOERR_NOMEM)
		return ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(scarce); i++)
		if (sys == scarce[i] &&
		    ((code & 0xff) == SQLITE_CANTOPEN || (code & 0xff) == SQLITE_IOERR))
			return sys;
	return 0;
}

static int db_fail(struct db *db, const char *what, struct rye_err *err)
{
	int code = sqlite3_extended_errcode(db->handle) & 0xff, scarce = db_scarcity(db->handle), r;
	bool locked = code == SQLITE_BUSY || code == SQLITE_LOCKED;
	bool damaged = code == SQLITE_CORRUPT || code == SQLITE_NOTADB;

	if (scarce)
		return rye_fail_sys(err, scarce, "%s: %s", db->path, what);
	r = rye_fail(err,
		     code == SQLITE_FULL		 ? RYE_NO_SPACE :
		     code == SQLITE_CONSTRAINT || locked ? RYE_BUSY :
		     code == SQLITE_READONLY		 ? RYE_READ_ONLY :
		     code == SQLITE_CANTOPEN		 ? RYE_DENIED :
		     damaged				 ? RYE_UNPARSABLE :
							   RYE_IO,
		     "%s: %s: %s", db->path, what,
		     locked ? "another process has it locked" : sqlite3_errmsg(db->handle));

	db->damaged |= damaged;
	if (err && (locked || code == SQLITE_CONSTRAINT))
		err->sys = locked ? EBUSY : EEXIST;
	return r;
}

/*
 * The file lies where tools may write and comes with a cloned project: its schema is data. A
 * view or trigger in it would run for as long as its author likes.
 */
static bool distrust_schema(sqlite3 *handle)
{
	static const int off[] = { SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_VIEW,
				   SQLITE_DBCONFIG_TRUSTED_SCHEMA };

	for (size_t i = 0; i < ARRAY_SIZE(off); i++)
		if (sqlite3_db_config(handle, off[i], 0, NULL) != SQLITE_OK)
			return false;
	return sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL) == SQLITE_OK;
}

/*
 * Turning a new file into WAL is refused at once, whatever the timeout says, while another process
 * does the same: both hold what the other one waits for.
 */
static int db_prepare(struct db *db, const char *schema, bool passing, struct rye_err *err)
{
	const struct timespec pause = { .tv_nsec = 2000000 };
	int64_t end = clock_ms() + BUSY_TIMEOUT_MS;
	int r = SQLITE_BUSY;

	while (r == SQLITE_BUSY && clock_ms() < end) {
		/* WAL is a change of the file, which is synced as the connection says then */
		r = sqlite3_exec(db->handle,
				 passing ? "PRAGMA synchronous=OFF; PRAGMA journal_mode=WAL;"
					   "PRAGMA temp_store=MEMORY;" :
					   "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
					   "PRAGMA temp_store=MEMORY;",
				 NULL, NULL, NULL);
		if (r == SQLITE_BUSY)
			nanosleep(&pause, NULL);
	}
	if (r != SQLITE_OK || sqlite3_exec(db->handle, schema, NULL, NULL, NULL) != SQLITE_OK)
		return db_fail(db, "cannot prepare the database", err);
	return 0;
}

/* Does it lie on a file system that nothing can be written to? */
static bool is_frozen(const char *path)
{
	return access(path, W_OK) < 0 && errno == EROFS && !access(path, R_OK);
}

/*
 * WAL wants a file of shared memory beside the database, even of a reader. Where none can be made the
 * file is read as one that does not change, without what its log has; until it does (db_is_spent).
 */
static int db_open_frozen(struct db *db)
{
	auto_buf struct rye_buf uri = RYE_BUF_INIT;
	const char *p;

	buf_adds(&uri, "file:");
	for (p = db->path; *p; p++)
		buf_addf(&uri, strchr("%?#", *p) ? "%%%02x" : "%c", (unsigned char)*p);
	buf_adds(&uri, "?immutable=1");
	return uri.failed ? SQLITE_NOMEM :
			    sqlite3_open_v2(uri.data, &db->handle,
					    SQLITE_OPEN_READONLY | SQLITE_OPEN_URI |
						    SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW,
					    NULL);
}

static int db_open_file(struct db *db, const char *schema, bool passing, struct rye_err *err)
{
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
		    SQLITE_OPEN_NOFOLLOW;
	int code;

	db->frozen = is_frozen(db->path);
	code = db->frozen ? db_open_frozen(db) :
			    sqlite3_open_v2(db->path, &db->handle, flags, NULL);
	if (code != SQLITE_OK || !distrust_schema(db->handle))
		return db_fail(db, "cannot open the database", err);
	sqlite3_limit(db->handle, SQLITE_LIMIT_LENGTH, RYE_BUF_CAP);
	sqlite3_busy_timeout(db->handle, BUSY_TIMEOUT_MS);
	return db->frozen ? 0 : db_prepare(db, schema, passing, err);
}

static int db_open_as(const char *path, const char *schema, bool passing, struct db **ret,
		      struct rye_err *err)
{
	struct db *db = calloc(1, sizeof(*db));
	int r;

	if (!db || !(db->path = strdup(path))) {
		free(db);
		return memory_fail(err);
	}
	pthread_mutex_init(&db->lock, NULL);
	r = db_open_file(db, schema, passing, err);
	if (r) {
		db_close(db);
		return r;
	}
	if (stat(path, &db->st) < 0)
		db->st.st_ino = 0;
	*ret = db;
	return 0;
}

int db_open(const char *path, const char *schema, struct db **ret, struct rye_err *err)
{
	return db_open_as(path, schema, false, ret, err);
}

int db_open_passing(const char *path, const char *schema, struct db **ret, struct rye_err *err)
{
	return db_open_as(path, schema, true, ret, err);
}

bool db_is_spent(struct db *db)
{
	struct stat st;

	if (db->damaged || stat(db->path, &st) < 0)
		return db->damaged;
	return st.st_ino != db->st.st_ino ||
	       (db->frozen && (!stat_same(&st, &db->st) || !is_frozen(db->path)));
}

/* Lock held, or no other thread has it. */
static void db_let_go(struct db *db)
{
	for (size_t i = 0; i < DB_KEPT; i++)
		sqlite3_finalize(steal(&db->kept[i]));
	sqlite3_close(steal(&db->handle));
}

void db_retire(struct db *db)
{
	GUARD(&db->lock);
	db_let_go(db);
}

void db_close(struct db *db)
{
	if (!db)
		return;
	db_let_go(db);
	pthread_mutex_destroy(&db->lock);
	free(db->path);
	free(db);
}

/* With the lock held: kept from before, or new; NULL: that is no statement. */
static sqlite3_stmt *db_statement(struct db *db, const char *sql)
{
	sqlite3_stmt **place = &db->kept[db->next], *fresh;

	for (size_t i = 0; i < DB_KEPT; i++)
		if (db->kept[i] && !strcmp(sqlite3_sql(db->kept[i]), sql))
			return db->kept[i];
	if (sqlite3_prepare_v3(db->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, &fresh, NULL) !=
	    SQLITE_OK)
		return NULL;
	sqlite3_finalize(*place);
	*place = fresh;
	db->next = (db->next + 1) % DB_KEPT;
	return fresh;
}

/* One that is not reset holds its lock of the file. */
static void db_release(sqlite3_stmt **held)
{
	if (!*held)
		return;
	sqlite3_reset(*held);
	sqlite3_clear_bindings(*held);
}

static void db_bind(sqlite3_stmt *statement, int index, const struct db_value *value)
{
	switch (value->type) {
	case DB_TEXT:
		if (value->text)
			sqlite3_bind_text(statement, index, value->text, -1, SQLITE_STATIC);
		break;
	case DB_INT:
		sqlite3_bind_int64(statement, index, value->number);
		break;
	case DB_REAL:
		sqlite3_bind_double(statement, index, value->real);
		break;
	case DB_BLOB:
		sqlite3_bind_blob64(statement, index, value->text, value->len, SQLITE_STATIC);
		break;
	case DB_NULL:
		break;
	}
}

int db_step(struct db *db, const struct db_query *query, int *ret_changes, struct rye_err *err)
{
	__attribute__((cleanup(db_release))) sqlite3_stmt *statement = NULL;
	int r;

	if (!db->handle)
		return rye_fail(err, RYE_UNPARSABLE, "%s: there is another file now, try again",
				db->path);
	statement = db_statement(db, query->sql);
	if (!statement)
		return db_fail(db, "bad statement", err);
	for (size_t i = 0; i < query->n; i++)
		db_bind(statement, (int)i + 1, &query->values[i]);
	while ((r = sqlite3_step(statement)) == SQLITE_ROW)
		if (query->fn && query->fn(query->arg, statement))
			break;
	if (r != SQLITE_DONE && r != SQLITE_ROW)
		return db_fail(db, "statement failed", err);
	if (ret_changes)
		*ret_changes = sqlite3_changes(db->handle);
	return 0;
}

int db_run(struct db *db, const struct db_query *query, int *ret_changes, struct rye_err *err)
{
	GUARD(&db->lock);
	return db_step(db, query, ret_changes, err);
}

static int db_word(struct db *db, const char *word, struct rye_err *err)
{
	return db_step(db, &(struct db_query){ .sql = word }, NULL, err);
}

int db_transaction(struct db *db, db_work_fn fn, void *arg, struct rye_err *err)
{
	GUARD(&db->lock);
	int r = db_word(db, "BEGIN IMMEDIATE", err);

	if (r)
		return r;
	r = fn(arg, db, err);
	if (!r)
		r = db_word(db, "COMMIT", err);
	/* A full disk may have ended it already: then there is nothing left to take back. */
	if (r)
		db_word(db, "ROLLBACK", NULL);
	return r;
}
