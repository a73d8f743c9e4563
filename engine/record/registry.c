/* SPDX-License-Identifier: MIT */
/*
 * Rows of registry.db. Columns are always named: files written by other implementations may
 * have them in another order or lack some, which are then added. One statement per change, so
 * readers never see a finished thread without its result.
 */
#include "record/record_inner.h"

#include "clock.h"
#include "scope.h"

#include <string.h>

static const char schema[] =
	"CREATE TABLE IF NOT EXISTS threads ("
	" thread_id TEXT PRIMARY KEY, directive TEXT NOT NULL, parent_id TEXT,"
	" status TEXT DEFAULT 'created', created_at TEXT, updated_at TEXT, completed_at TEXT,"
	" result TEXT, turns INTEGER DEFAULT 0, input_tokens INTEGER DEFAULT 0,"
	" output_tokens INTEGER DEFAULT 0, spend REAL DEFAULT 0.0,"
	" spawn_count INTEGER DEFAULT 0, pid INTEGER, model TEXT, continuation_of TEXT,"
	" continuation_thread_id TEXT, chain_root_id TEXT, tool_id TEXT);"
	"CREATE INDEX IF NOT EXISTS idx_threads_parent ON threads(parent_id);"
	"CREATE INDEX IF NOT EXISTS idx_threads_status ON threads(status);";

/* Columns that the earliest files of the format lack. */
static const char *const later_columns[] = {
	"turns INTEGER DEFAULT 0",
	"input_tokens INTEGER DEFAULT 0",
	"output_tokens INTEGER DEFAULT 0",
	"spend REAL DEFAULT 0.0",
	"spawn_count INTEGER DEFAULT 0",
	"pid INTEGER",
	"model TEXT",
	"continuation_of TEXT",
	"continuation_thread_id TEXT",
	"chain_root_id TEXT",
	"tool_id TEXT",
};

static const char *const terminal[] = { "completed", "completed_with_errors",
					"error",     "cancelled",
					"killed",    "continued" };
/*
 * A result may be long: unasked for it is not even read, nor carried through a sort. In a row it stands
 * before the process, and sqlite comes to what follows only by reading all pages of it: of an ended
 * thread, which alone has a result, the process is read by registry_pid.
 */
#define ROW_COLUMNS                                                           \
	"thread_id, directive, status, created_at, updated_at, completed_at," \
	" CASE WHEN status NOT IN " TERMINAL_LIST " THEN pid END"

bool registry_terminal(const char *status)
{
	for (size_t i = 0; i < ARRAY_SIZE(terminal); i++)
		if (!strcmp(status, terminal[i]))
			return true;
	return false;
}

/* Nearly always: one question in place of eleven refusals. */
static bool has_later_columns(struct db *db)
{
	auto_buf struct rye_buf sql = RYE_BUF_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(later_columns); i++)
		buf_addf(&sql, "%s%.*s", i ? ", " : "SELECT ", (int)strcspn(later_columns[i], " "),
			 later_columns[i]);
	buf_adds(&sql, " FROM threads LIMIT 0");
	return !sql.failed && sqlite3_exec(db->handle, sql.data, NULL, NULL, NULL) == SQLITE_OK;
}

static void add_missing(struct db *db)
{
	char sql[128];

	if (has_later_columns(db))
		return;
	/* "duplicate column name" is the usual answer and exactly what is wanted. */
	for (size_t i = 0; i < ARRAY_SIZE(later_columns); i++) {
		sqlite3_snprintf(sizeof(sql), sql, "ALTER TABLE threads ADD COLUMN %s",
				 later_columns[i]);
		sqlite3_exec(db->handle, sql, NULL, NULL, NULL);
	}
}

int registry_open(const char *path, struct db **ret, struct rye_err *err)
{
	int r = db_open(path, schema, ret, err);

	if (!r)
		add_missing(*ret);
	return r;
}

int registry_open_passing(const char *path, struct db **ret, struct rye_err *err)
{
	return db_open_passing(path, schema, ret, err);
}

/* Tells of the event, if a row has changed. */
static int registry_change(struct db *db, const struct db_query *query,
			   const struct registry_event *event, struct rye_err *err)
{
	int changes = 0, r = db_run(db, query, &changes, err);

	if (changes)
		registry_tell(db, event);
	return r;
}

int registry_add(struct db *db, const struct registry_new *what, struct rye_err *err)
{
	const char *status = what->pid ? "running" : "created";
	const char *at = what->at;
	char now[40];
	int r;

	clock_iso_us(now);
	at = at ? at : now;
	r = registry_change(
		db,
		DB_QUERY("INSERT INTO threads (thread_id, directive, status, "
			 "created_at, updated_at, parent_id, tool_id, pid) VALUES "
			 "(?1, ?2, ?3, ?4, ?4, ?5, ?6, NULLIF(?7, 0))",
			 DB_TEXT(what->id), DB_TEXT(what->directive), DB_TEXT(status), DB_TEXT(at),
			 DB_TEXT(what->parent_id), DB_TEXT(what->tool_id), DB_INT(what->pid)),
		&(struct registry_event){ what->id, "created", at, what->directive }, err);
	if (!r && what->pid)
		registry_tell(db, &(struct registry_event){ what->id, status, at, NULL });
	return r;
}

int registry_running(struct db *db, const char *id, int64_t pid, struct rye_err *err)
{
	char now[40];

	clock_iso_us(now);
	return registry_change(db,
			       DB_QUERY("UPDATE threads SET status = 'running', pid = ?2, "
					"updated_at = ?3 WHERE thread_id = ?1 "
					"AND status IN ('created', 'running')",
					DB_TEXT(id), DB_INT(pid), DB_TEXT(now)),
			       &(struct registry_event){ id, "running", now, NULL }, err);
}

int registry_finish(struct db *db, const char *id, const char *status, const char *result,
		    struct rye_err *err)
{
	char now[40];

	clock_iso_us(now);
	return registry_change(db,
			       DB_QUERY("UPDATE threads SET status = ?2, updated_at = ?3, "
					"completed_at = ?3, result = ?4 WHERE thread_id = ?1 "
					"AND status NOT IN " TERMINAL_LIST,
					DB_TEXT(id), DB_TEXT(status), DB_TEXT(now),
					DB_TEXT(result)),
			       &(struct registry_event){ id, status, now, NULL }, err);
}

int registry_delete(struct db *db, const char *id, struct rye_err *err)
{
	char now[40];

	clock_iso_us(now);
	return registry_change(db,
			       DB_QUERY("DELETE FROM threads WHERE thread_id = ?1 "
					"AND status IN " TERMINAL_LIST,
					DB_TEXT(id)),
			       &(struct registry_event){ id, "deleted", now, NULL }, err);
}

static void copy_column(sqlite3_stmt *row, int column, char *out, size_t size)
{
	const char *text = (const char *)sqlite3_column_text(row, column);

	sqlite3_snprintf((int)size, out, "%s", text ? text : "");
}

struct registry_walk {
	registry_fn fn;
	void *arg;
	bool with_result, found;
};

static int on_row(void *arg, sqlite3_stmt *row)
{
	struct registry_walk *walk = arg;
	struct registry_row out = { 0 };
	const char *result;

	copy_column(row, 0, out.thread_id, sizeof(out.thread_id));
	if (strlen(out.thread_id) != (size_t)sqlite3_column_bytes(row, 0))
		*out.thread_id = 0; /* a NUL in it, or too long: no thread can be asked for by it */
	copy_column(row, 1, out.directive, sizeof(out.directive));
	copy_column(row, 2, out.status, sizeof(out.status));
	copy_column(row, 3, out.created_at, sizeof(out.created_at));
	copy_column(row, 4, out.updated_at, sizeof(out.updated_at));
	copy_column(row, 5, out.completed_at, sizeof(out.completed_at));
	out.pid = sqlite3_column_int64(row, 6);
	result = walk->with_result ? (const char *)sqlite3_column_text(row, 7) : NULL;
	if (result)
		out.result = strdup(result);
	walk->found = true;
	return walk->fn(walk->arg, &out);
}

static int registry_keep(void *arg, const struct registry_row *row)
{
	*(struct registry_row *)arg = *row;
	return 1;
}

int registry_get(struct db *db, const char *id, bool with_result, struct registry_row *ret,
		 struct rye_err *err)
{
	struct registry_walk walk = { .fn = registry_keep, .arg = ret, .with_result = with_result };
	int r = db_run(db,
		       DB_ROWS(on_row, &walk,
			       with_result ? "SELECT " ROW_COLUMNS
					     ", result FROM threads WHERE thread_id = ?1" :
					     "SELECT " ROW_COLUMNS
					     " FROM threads WHERE thread_id = ?1",
			       DB_TEXT(id)),
		       NULL, err);

	if (!r && !walk.found)
		return rye_fail(err, RYE_NOT_FOUND, "Thread not found: %s", id);
	return r;
}

static int keep_number(void *arg, sqlite3_stmt *row)
{
	*(int64_t *)arg = sqlite3_column_int64(row, 0);
	return 1;
}

/* What the query gives for the thread; 0: nothing. */
static int64_t registry_number(struct db *db, const char *sql, const char *id)
{
	int64_t number = 0;

	db_run(db, DB_ROWS(keep_number, &number, sql, DB_TEXT(id)), NULL, NULL);
	return number;
}

int64_t registry_pid(struct db *db, const char *id)
{
	return registry_number(db, "SELECT pid FROM threads WHERE thread_id = ?1", id);
}

/* The type stands in a row's head. */
bool registry_has_result(struct db *db, const char *id)
{
	return registry_number(db,
			       "SELECT typeof(result) = 'text' FROM threads WHERE thread_id = ?1"
			       " AND status IN " TERMINAL_LIST,
			       id);
}

static int keep_version(void *arg, sqlite3_stmt *row)
{
	int64_t *version = arg;

	version[0] = sqlite3_column_int64(row, 0);
	version[1] = sqlite3_column_int64(row, 1);
	return 1;
}

/*
 * The first number counts what other connections commit, the second what this one changes; of another
 * file both are others.
 */
int registry_version(struct db *db, int64_t ret[2], struct rye_err *err)
{
	int r = db_run(db,
		       DB_ROWS(keep_version, ret,
			       "SELECT data_version, total_changes() FROM pragma_data_version"),
		       NULL, err);

	ret[0] ^= (int64_t)(db->st.st_ino << 24);
	return r;
}

int registry_each(struct db *db, bool active, registry_fn fn, void *arg, struct rye_err *err)
{
	struct registry_walk walk = { .fn = fn, .arg = arg };

	return db_run(db,
		      DB_ROWS(on_row, &walk,
			      active ? "SELECT " ROW_COLUMNS
				       " FROM threads WHERE status NOT IN " TERMINAL_LIST
				       " ORDER BY created_at DESC" :
				       "SELECT " ROW_COLUMNS
				       " FROM threads ORDER BY created_at DESC"),
		      NULL, err);
}

int registry_children(struct db *db, const char *parent, registry_fn fn, void *arg,
		      struct rye_err *err)
{
	struct registry_walk walk = { .fn = fn, .arg = arg };

	return db_run(db,
		      DB_ROWS(on_row, &walk,
			      "SELECT " ROW_COLUMNS " FROM threads WHERE parent_id = ?1 "
			      "ORDER BY created_at, rowid",
			      DB_TEXT(parent)),
		      NULL, err);
}
