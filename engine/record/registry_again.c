/* SPDX-License-Identifier: MIT */
/*
 * A registry made anew, when the old one was lost or cannot be read: what the log of changes tells of
 * each thread, and rows as their directories say (thread/thread_rebuild.c). What is read is bounded
 * and untrusted, as the registry itself is. No lock: the caller holds that of the rebuilding.
 */
#include "record/record_inner.h"

#include "base/io.h"
#include "bounds.h"
#include "scope.h"
#include "str.h"

#include <string.h>

static void again_status(json_t *row, const char *status, const char *at)
{
	json_sets(row, "status", status);
	json_sets(row, "updated_at", at);
	/* one that goes on elsewhere has ended before */
	if (registry_terminal(status) && !*json_str(row, "completed_at"))
		json_sets(row, "completed_at", at);
}

static void again_line(json_t *rows, struct rye_span line)
{
	auto_json json_t *doc = json_parse(line, JSON_LOAD_LAST_WINS, "event", NULL);
	const char *id = json_str(doc, "thread_id"), *event = json_str(doc, "event");
	bool created = !strcmp(event, "created");
	json_t *row = json_object_get(rows, id);

	if (!strcmp(event, "deleted"))
		json_object_del(rows, id);
	if (!*id || (!created && strcmp(event, "running") != 0 && !registry_terminal(event)))
		return;
	if (!row) {
		row = json_object();
		json_set(rows, id, row);
	}
	again_status(row, event, json_str(doc, "timestamp"));
	if (created) {
		json_sets(row, "created_at", json_str(doc, "timestamp"));
		json_sets(row, "directive", json_str(doc, "directive"));
	}
}

void registry_replay(int dir, json_t *rows)
{
	static const char *const files[] = { REGISTRY_EVENTS_OLD, REGISTRY_EVENTS };

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		auto_blob struct rye_blob *text = NULL;
		struct rye_span rest, line;

		if (io_read_at(dir, files[i], RYE_BUF_CAP, &text) < 0)
			continue;
		rest = (struct rye_span){ text->data, text->len };
		while (span_line(&rest, &line))
			again_line(rows, line);
	}
}

static struct db_value again_text(const json_t *row, const char *key)
{
	const char *text = json_str(row, key);

	return DB_TEXT(*text ? text : NULL);
}

static int again_row(struct db *db, const char *id, const json_t *row, struct rye_err *err)
{
	struct thread_cost cost;
	const char *status = json_str(row, "status");

	thread_cost_read(json_object_get(row, "cost"), &cost);

	return db_step(db,
		       DB_QUERY("INSERT INTO threads (thread_id, directive, parent_id, status,"
				" created_at, updated_at, completed_at, result, turns,"
				" input_tokens, output_tokens, spend, pid, model,"
				" continuation_of, tool_id) VALUES (?1, ?2, ?3, ?4, ?5, ?6,"
				" ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
				DB_TEXT(id), DB_TEXT(json_str(row, "directive")),
				again_text(row, "parent_id"), DB_TEXT(*status ? status : "running"),
				again_text(row, "created_at"), again_text(row, "updated_at"),
				again_text(row, "completed_at"), again_text(row, "result"),
				DB_INT(cost.turns), DB_INT(cost.input_tokens),
				DB_INT(cost.output_tokens), DB_REAL(cost.spend),
				DB_INT(json_int(row, "pid", 0)), again_text(row, "model"),
				again_text(row, "continuation_of"), again_text(row, "tool_id")),
		       NULL, err);
}

static int again_rows(void *arg, struct db *db, struct rye_err *err)
{
	/* UNION, not UNION ALL: a circle in files from elsewhere ends there */
	static const char *const links[] = {
		"UPDATE threads SET continuation_thread_id = (SELECT n.thread_id FROM threads n"
		"  WHERE n.continuation_of = threads.thread_id ORDER BY n.created_at DESC LIMIT 1),"
		" spawn_count = (SELECT COUNT(*) FROM threads c"
		"  WHERE c.parent_id = threads.thread_id)",
		"UPDATE threads SET status = 'continued' WHERE completed_at IS NOT NULL"
		" AND continuation_thread_id IS NOT NULL",
		"WITH RECURSIVE chain(id, root) AS ("
		" SELECT thread_id, thread_id FROM threads WHERE continuation_of IS NULL"
		" UNION SELECT n.thread_id, chain.root FROM threads n"
		"  JOIN chain ON n.continuation_of = chain.id)"
		" UPDATE threads SET chain_root_id = (SELECT root FROM chain"
		"  WHERE id = threads.thread_id) WHERE continuation_of IS NOT NULL",
	};
	const char *id;
	json_t *row;
	int r = 0;

	json_object_foreach((json_t *)arg, id, row) {
		r = again_row(db, id, row, err);
		if (r)
			return r;
	}
	for (size_t i = 0; i < ARRAY_SIZE(links) && !r; i++)
		r = db_step(db, DB_QUERY(links[i]), NULL, err);
	return r;
}

int registry_fill(struct db *db, json_t *rows, struct rye_err *err)
{
	return db_transaction(db, again_rows, rows, err);
}
