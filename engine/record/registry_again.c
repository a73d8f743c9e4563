/* SPDX-License-Identifier: MIT */
/*
 * Rows of the registry from what is kept elsewhere: what the logs of changes tell of each, and rows as
 * their threads' directories say (thread/thread_row.c), into the registry. What is read is bounded and
 * untrusted, as the registry itself is. No lock.
 */
#include "record/record_inner.h"

#include "base/io.h"
#include "bounds.h"
#include "scope.h"
#include "str.h"

#include <string.h>

/* The first end counts, as in the registry; one that goes on elsewhere has ended before. */
static void again_status(json_t *row, const char *status, const char *at)
{
	if (registry_terminal(json_str(row, "status")) && strcmp(status, "continued") != 0)
		return;
	json_sets(row, "status", status);
	json_sets(row, "updated_at", at);
	if (registry_terminal(status) && !*json_str(row, "completed_at"))
		json_sets(row, "completed_at", at);
}

static void again_created(json_t *row, const json_t *event)
{
	static const char *const columns[] = { "directive", "parent_id", "tool_id" };

	/* of an id that was deleted by hand, and taken once more */
	json_object_clear(row);
	again_status(row, "created", json_str(event, "timestamp"));
	json_sets(row, "created_at", json_str(event, "timestamp"));
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		if (*json_str(event, columns[i]))
			json_sets(row, columns[i], json_str(event, columns[i]));
}

static void again_line(json_t *rows, struct rye_span line)
{
	auto_json json_t *doc = json_parse(line, JSON_LOAD_LAST_WINS, "event", NULL);
	const char *id = json_str(doc, "thread_id"), *event = json_str(doc, "event");
	bool created = !strcmp(event, "created"), spawned = !strcmp(event, REGISTRY_SPAWNED);
	json_t *row = json_object_get(rows, id);

	if (!strcmp(event, "deleted"))
		json_object_del(rows, id);
	if (!*id ||
	    (!created && !spawned && strcmp(event, "running") != 0 && !registry_terminal(event)))
		return;
	if (!row) {
		row = json_object();
		json_set(rows, id, row);
	}
	if (created)
		again_created(row, doc);
	else if (spawned)
		json_set(row, "spawn_count", json_integer(json_int(row, "spawn_count", 0) + 1));
	else
		again_status(row, event, json_str(doc, "timestamp"));
}

static void again_file(int dir, const char *name, json_t *rows)
{
	auto_blob struct rye_blob *text = NULL;
	struct rye_span rest, line;

	if (io_read_at(dir, name, RYE_BUF_CAP, &text) < 0)
		return;
	rest = (struct rye_span){ text->data, text->len };
	while (span_line(&rest, &line))
		again_line(rows, line);
}

void registry_replay(int dir, json_t *rows)
{
	again_file(dir, REGISTRY_EVENTS_OLD, rows);
	again_file(dir, REGISTRY_EVENTS, rows);
}

json_t *registry_row_told(int dir, const char *id)
{
	auto_json json_t *rows = json_object();

	/* of a directory that was copied the lines are another thread's */
	again_file(dir, REGISTRY_ROW, rows);
	return json_incref(json_object_get(rows, id));
}

static struct db_value again_text(const json_t *row, const char *key)
{
	const char *text = json_str(row, key);

	return DB_TEXT(*text ? text : NULL);
}

/* What is there already keeps what it has, but for an end that it lacks. */
static int again_row(struct db *db, const char *id, const json_t *row, int *ret_changes,
		     struct rye_err *err)
{
	struct thread_cost cost;
	const char *status = json_str(row, "status");
	int r;

	thread_cost_read(json_object_get(row, "cost"), &cost);
	r = db_step(
		db,
		DB_QUERY("INSERT OR IGNORE INTO threads (thread_id, directive, parent_id, status,"
			 " created_at, updated_at, completed_at, result, turns,"
			 " input_tokens, output_tokens, spend, spawn_count, pid, model,"
			 " continuation_of, tool_id) VALUES (?1, ?2, ?3, ?4, ?5, ?6,"
			 " ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
			 DB_TEXT(id), DB_TEXT(json_str(row, "directive")),
			 again_text(row, "parent_id"), DB_TEXT(*status ? status : "running"),
			 again_text(row, "created_at"), again_text(row, "updated_at"),
			 again_text(row, "completed_at"), again_text(row, "result"),
			 DB_INT(cost.turns), DB_INT(cost.input_tokens), DB_INT(cost.output_tokens),
			 DB_REAL(cost.spend), DB_INT(json_int(row, "spawn_count", 0)),
			 DB_INT(json_int(row, "pid", 0)), again_text(row, "model"),
			 again_text(row, "continuation_of"), again_text(row, "tool_id")),
		ret_changes, err);
	if (r || *ret_changes || !registry_terminal(status))
		return r;
	return db_step(
		db,
		DB_QUERY("UPDATE threads SET status = ?2, updated_at = ?3, completed_at = ?4,"
			 " result = ?5, turns = MAX(turns, ?6),"
			 " input_tokens = MAX(input_tokens, ?7),"
			 " output_tokens = MAX(output_tokens, ?8), spend = MAX(spend, ?9)"
			 " WHERE thread_id = ?1 AND status NOT IN " TERMINAL_LIST,
			 DB_TEXT(id), DB_TEXT(status), again_text(row, "updated_at"),
			 again_text(row, "completed_at"), again_text(row, "result"),
			 DB_INT(cost.turns), DB_INT(cost.input_tokens), DB_INT(cost.output_tokens),
			 DB_REAL(cost.spend)),
		ret_changes, err);
}

/* What follows from a row in others: its parent's children, the chain that it goes on with. */
static int again_links(struct db *db, const char *id, const json_t *row, struct rye_err *err)
{
	static const char *const links[] = {
		"UPDATE threads SET spawn_count = MAX(spawn_count, (SELECT COUNT(*) FROM threads c"
		"  WHERE c.parent_id = ?2)) WHERE thread_id = ?2",
		"UPDATE threads SET continuation_thread_id = ?1,"
		" status = CASE WHEN completed_at IS NULL THEN status ELSE 'continued' END"
		" WHERE thread_id = ?3"
		" AND COALESCE((SELECT created_at FROM threads WHERE thread_id = ?1), '') >="
		"  COALESCE((SELECT n.created_at FROM threads n"
		"   WHERE n.thread_id = threads.continuation_thread_id), '')",
		/* UNION, not UNION ALL: a circle in files from elsewhere ends there */
		"WITH RECURSIVE chain(id, older) AS ("
		" SELECT thread_id, ?3 FROM threads WHERE thread_id = ?1"
		" UNION SELECT t.thread_id, t.continuation_of FROM threads t"
		"  JOIN chain ON t.thread_id = chain.older)"
		" UPDATE threads SET continuation_of = ?3,"
		" chain_root_id = COALESCE((SELECT id FROM chain WHERE older IS NULL), chain_root_id)"
		" WHERE thread_id = ?1 AND ?3 IS NOT NULL",
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(links) && !r; i++)
		r = db_step(db,
			    DB_QUERY(links[i], DB_TEXT(id), again_text(row, "parent_id"),
				     again_text(row, "continuation_of")),
			    NULL, err);
	return r;
}

struct again {
	json_t *rows;
	int changes; /* of the last row */
};

static int again_rows(void *arg, struct db *db, struct rye_err *err)
{
	struct again *again = arg;
	const char *id;
	json_t *row;
	int r = 0;

	json_object_foreach(again->rows, id, row)
		r = r ? r : again_row(db, id, row, &again->changes, err);
	json_object_foreach(again->rows, id, row)
		r = r ? r : again_links(db, id, row, err);
	return r;
}

int registry_fill(struct db *db, json_t *rows, struct rye_err *err)
{
	return db_transaction(db, again_rows, &(struct again){ rows, 0 }, err);
}

int registry_put(struct db *db, const char *id, json_t *row, struct rye_err *err)
{
	auto_json json_t *rows = json_object();
	struct again again = { rows, 0 };
	const char *status = json_str(row, "status");
	int r;

	json_set(rows, id, json_incref(row));
	r = db_transaction(db, again_rows, &again, err);
	if (!r && again.changes)
		registry_tell(db, &(struct registry_event){ id, status, json_str(row, "updated_at"),
							    NULL });
	return r;
}
