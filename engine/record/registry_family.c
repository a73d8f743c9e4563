/* SPDX-License-Identifier: MIT */
/*
 * What rows of registry.db hold of families, chains and cost: how many children a thread may have,
 * what continues what. Each change is one transaction; columns are always named.
 */
#include "record/record_inner.h"

#include "clock.h"
#include "scope.h"

#include <stdio.h>
#include <string.h>

/* Hand-offs of one conversation: more are a model that goes round in circles. */
#define CHAIN_STEPS 1000

int registry_snapshot(struct db *db, const char *id, const struct thread_cost *cost,
		      struct rye_err *err)
{
	char now[40];

	clock_iso_us(now);
	return db_run(db,
		      DB_QUERY("UPDATE threads SET turns = ?2, input_tokens = ?3, "
			       "output_tokens = ?4, spend = ?5, updated_at = ?6 "
			       "WHERE thread_id = ?1 AND status IN ('created', 'running')",
			       DB_TEXT(id), DB_INT(cost->turns), DB_INT(cost->input_tokens),
			       DB_INT(cost->output_tokens), DB_REAL(cost->spend), DB_TEXT(now)),
		      NULL, err);
}

static void family_text(sqlite3_stmt *row, int column, char ret[1025])
{
	const char *text = (const char *)sqlite3_column_text(row, column);

	snprintf(ret, 1025, "%s", text ? text : "");
}

struct family_look {
	struct registry_links *ret;
	bool found;
};

static int family_on_row(void *arg, sqlite3_stmt *row)
{
	struct family_look *look = arg;
	struct registry_links *ret = look->ret;

	family_text(row, 0, ret->parent_id);
	family_text(row, 1, ret->continuation_of);
	family_text(row, 2, ret->continuation_thread_id);
	family_text(row, 3, ret->chain_root_id);
	ret->spawn_count = sqlite3_column_int64(row, 4);
	ret->cost = (struct thread_cost){ .turns = sqlite3_column_int64(row, 5),
					  .input_tokens = sqlite3_column_int64(row, 6),
					  .output_tokens = sqlite3_column_int64(row, 7),
					  .spend = sqlite3_column_double(row, 8) };
	look->found = true;
	return 1;
}

typedef int (*family_run)(struct db *db, const struct db_query *query, int *ret_changes,
			  struct rye_err *err);

/* run: db_run, or db_step within a transaction. */
static int read_links(family_run run, struct db *db, const char *id, struct registry_links *ret,
		      struct rye_err *err)
{
	struct family_look look = { .ret = ret };
	int r = run(db,
		    DB_ROWS(family_on_row, &look,
			    "SELECT parent_id, continuation_of, continuation_thread_id, "
			    "chain_root_id, spawn_count, turns, input_tokens, "
			    "output_tokens, spend FROM threads WHERE thread_id = ?1",
			    DB_TEXT(id)),
		    NULL, err);

	if (!r && !look.found)
		return rye_fail(err, RYE_NOT_FOUND, "Thread not found: %.900s", id);
	return r;
}

int registry_links(struct db *db, const char *id, struct registry_links *ret, struct rye_err *err)
{
	return read_links(db_run, db, id, ret, err);
}

/* ---- children ---- */

struct family_spawn {
	const char *parent;
	int64_t max;
};

static int count_spawn(void *arg, struct db *db, struct rye_err *err)
{
	const struct family_spawn *spawn = arg;
	struct registry_links links;
	int changes = 0, r;

	r = db_step(db,
		    DB_QUERY("UPDATE threads SET spawn_count = spawn_count + 1 "
			     "WHERE thread_id = ?1 AND spawn_count < ?2",
			     DB_TEXT(spawn->parent), DB_INT(spawn->max)),
		    &changes, err);
	if (r || changes)
		return r;
	r = read_links(db_step, db, spawn->parent, &links, err);
	if (r)
		return r;
	return rye_fail(err, RYE_BUDGET, "Spawn limit exceeded for parent %.800s: %lld/%lld",
			spawn->parent, (long long)links.spawn_count, (long long)spawn->max);
}

int registry_spawn(struct db *db, int dir, const char *parent, int64_t max, struct rye_err *err)
{
	int r = db_transaction(db, count_spawn, &(struct family_spawn){ parent, max }, err);

	/* before the child is there */
	if (!r && dir >= 0)
		registry_row_tell(dir, parent, REGISTRY_SPAWNED);
	return r;
}

/* ---- chains ---- */

struct family_chain {
	const char *old, *next;
};

static int link_chain(void *arg, struct db *db, struct rye_err *err)
{
	const struct family_chain *chain = arg;
	struct registry_links old, next;
	char now[40];
	int r = read_links(db_step, db, chain->old, &old, err);

	if (!r)
		r = read_links(db_step, db, chain->next, &next, err);
	if (r)
		return r;
	clock_iso_us(now);
	r = db_step(db,
		    DB_QUERY("UPDATE threads SET continuation_thread_id = ?2, "
			     "updated_at = ?3, status = CASE WHEN completed_at IS NULL "
			     "THEN status ELSE 'continued' END WHERE thread_id = ?1",
			     DB_TEXT(chain->old), DB_TEXT(chain->next), DB_TEXT(now)),
		    NULL, err);
	if (r)
		return r;
	return db_step(db,
		       DB_QUERY("UPDATE threads SET continuation_of = ?1, "
				"chain_root_id = ?4, updated_at = ?3 WHERE thread_id = ?2",
				DB_TEXT(chain->old), DB_TEXT(chain->next), DB_TEXT(now),
				DB_TEXT(*old.chain_root_id ? old.chain_root_id : chain->old)),
		       NULL, err);
}

int registry_chain(struct db *db, const char *old, const char *next, struct rye_err *err)
{
	char now[40];
	int r;

	if (!strcmp(old, next))
		return rye_fail(err, RYE_INVALID, "thread %.900s cannot continue itself", old);
	r = db_transaction(db, link_chain, &(struct family_chain){ old, next }, err);
	clock_iso_us(now);
	if (!r)
		registry_tell(db, &(struct registry_event){ old, "continued", now, NULL });
	return r;
}

int registry_last(struct db *db, const char *id, char ret[1025], struct rye_err *err)
{
	struct registry_links links;
	int r = read_links(db_run, db, id, &links, err);

	snprintf(ret, 1025, "%s", id);
	/* a circle in a file from elsewhere ends after so many steps */
	for (int step = 0; !r && *links.continuation_thread_id && step < CHAIN_STEPS; step++) {
		char next[1025];

		memcpy(next, links.continuation_thread_id, sizeof(next));
		r = read_links(db_run, db, next, &links, err);
		if (!r)
			memcpy(ret, next, sizeof(next));
		else if (r == -(int)RYE_NOT_FOUND)
			return 0;
	}
	return r;
}
