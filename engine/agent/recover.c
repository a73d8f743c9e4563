/* SPDX-License-Identifier: MIT */
/*
 * The end of a directive's thread whose runner was lost or killed, written down by the process that
 * finds it: the transcript is closed, thread.json says so, the budget is settled, its children are
 * cancelled. Called before the row becomes terminal, under the thread's lock; again is fine, since a
 * terminal event that is there is kept.
 */
#include "agent/agent_inner.h"

#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

struct recovery {
	const struct agent_recovery *where;
	struct thread_lost *lost;
	struct record record;
	struct key_secret key;
	struct thread_cost cost;
	char status[32]; /* of the terminal event that is there; "" none */
};

static bool recover_is_terminal(const char *type, char ret[32])
{
	static const char *const types[] = { "thread_completed", "thread_error", "thread_cancelled",
					     "thread_continued", "thread_killed" };

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (!strcmp(types[i], type)) {
			snprintf(ret, 32, "%s", type + strlen("thread_"));
			return true;
		}
	return false;
}

/* What the transcript knows of the thread: its last cost, and whether it has ended. */
static int recover_line(void *arg, const struct chronicle_line *line)
{
	struct recovery *recovery = arg;

	/* another process may have found it killed just before */
	if (recover_is_terminal(line->type, recovery->status) &&
	    !strcmp(recovery->lost->status, "killed") && !strcmp(recovery->status, "cancelled"))
		snprintf(recovery->status, sizeof(recovery->status), "killed");
	if (!strcmp(line->type, "cognition_out") && !json_flag(line->payload, "is_partial", false))
		recovery->cost.turns++;
	return 0;
}

static int recover_transcript(struct recovery *recovery, struct rye_err *err)
{
	const struct thread_lost *lost = recovery->lost;
	auto_chronicle struct chronicle *transcript = NULL;
	auto_blob struct rye_blob *text = NULL;
	struct rye_span span;
	bool killed = !strcmp(lost->status, "killed");
	int r = chronicle_open(&recovery->record, &transcript, err);

	if (!r)
		r = chronicle_text(&recovery->record, &text, err);
	if (r)
		return r;
	span = (struct rye_span){ text->data, text->len };
	r = chronicle_each(span, recover_line, recovery, err);
	if (r || *recovery->status)
		return r;
	r = chronicle_close_calls(transcript, span, lost->why, err);
	if (r < 0)
		return r;
	r = chronicle_event(transcript, killed ? "thread_cancelled" : "thread_error",
			    json_pack("{s:o, s:s}", "cost", thread_cost_json(&recovery->cost),
				      "error", lost->why),
			    err);
	return r ? r : chronicle_checkpoint(transcript, recovery->cost.turns, err);
}

/* The record that the runner wrote at its start, with its end. */
static int recover_json(struct recovery *recovery, struct rye_err *err)
{
	const struct thread_lost *lost = recovery->lost;
	auto_json json_t *old = NULL;
	auto_json json_t *more = NULL;
	auto_json json_t *cost = thread_cost_json(&recovery->cost);
	static const char *const own[] = { "thread_id",	     "directive",  "tool_id",
					   "status",	     "created_at", "updated_at",
					   "model",	     "cost",	   "limits",
					   "capabilities",   "outputs",	   "_signature",
					   "transcript_head" };
	struct thread_json json = { .tool_id = THREAD_TOOL_ID,
				    .status = *recovery->status ? recovery->status : lost->status };
	int r = thread_json_read(&recovery->record, &old, err);

	if (r)
		return r;
	more = json_copy(old);
	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		json_object_del(more, own[i]);
	if (!*recovery->status)
		json_sets(more, "error", lost->why);
	json.directive = json_str(old, "directive");
	snprintf(json.created_at, sizeof(json.created_at), "%s", json_str(old, "created_at"));
	json.model = json_str(old, "model");
	json.cost = json_object_get(old, "cost") ? json_object_get(old, "cost") : cost;
	json.limits = json_object_get(old, "limits");
	json.capabilities = json_object_get(old, "capabilities");
	json.outputs = json_object_get(old, "outputs");
	json.more = more;
	return thread_json_write(&recovery->record, &json, err);
}

static int recover_child(void *arg, const struct registry_row *row)
{
	if (!registry_terminal(row->status))
		json_array_append_new(arg, json_string(row->thread_id));
	return 0;
}

/* The money it had reserved goes back; what works for it is cancelled. */
static void recover_family(const struct recovery *recovery)
{
	const struct thread_lost *lost = recovery->lost;
	auto_json json_t *children = json_array();
	char path[THREADS_PATH_MAX];
	struct db *db = NULL;
	json_t *id;
	size_t i;

	if (!threads_path(recovery->where->project, "budget_ledger.db", path, NULL) &&
	    !access(path, F_OK) && !budget_open(path, &db, NULL)) {
		budget_settle(db, lost->id, lost->status, NULL);
		db_close(db);
	}
	db = NULL;
	if (!threads_path(recovery->where->project, "registry.db", path, NULL) &&
	    !registry_open(path, &db, NULL)) {
		registry_children(db, lost->id, recover_child, children, NULL);
		db_close(db);
	}
	json_array_foreach(children, i, id)
		threads_ctl(recovery->where->threads, json_string_value(id), SPAN("cancel"), NULL);
}

/* Its end was told, but not recorded. */
static json_t *recover_reply(const struct recovery *recovery)
{
	auto_json json_t *doc = NULL;
	json_t *reply;

	if (!*recovery->status || !strcmp(recovery->status, recovery->lost->status) ||
	    thread_json_read(&recovery->record, &doc, NULL))
		return NULL;
	reply = json_pack("{s:s, s:s, s:s, s:s, s:s}", "status",
			  strcmp(recovery->status, "completed") ? "error" : "success", "type",
			  "directive", "thread_id", recovery->lost->id, "directive",
			  json_str(doc, "directive"), "state", recovery->status);
	if (json_object_get(doc, "outputs"))
		json_object_set(reply, "outputs", json_object_get(doc, "outputs"));
	if (json_object_get(doc, "cost"))
		json_object_set(reply, "cost", json_object_get(doc, "cost"));
	return reply;
}

void agent_recover(const struct agent_recovery *where, struct thread_lost *lost)
{
	struct recovery recovery = { .where = where, .lost = lost };
	auto_buf struct rye_buf path = RYE_BUF_INIT;
	auto_close int ai = -1;
	struct rye_err err = { 0 };

	/* a tool's thread has none */
	if (faccessat(lost->dir, "thread.json", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	buf_addf(&path, "%s/.ai", where->project);
	ai = path.failed ? -1 : open(path.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ai < 0 || keystore_automatic(where->items, &recovery.key, &err))
		return;
	recovery.record = (struct record){ .ai = ai,
					   .dir = lost->dir,
					   .id = lost->id,
					   .key = &recovery.key,
					   .trust = where->items->trust };
	if (recover_transcript(&recovery, &err) || recover_json(&recovery, &err))
		log_line(where->items->log, RYE_LOG_WARN, "agent", "thread %s: %s", lost->id,
			 err.msg);
	recover_family(&recovery);
	lost->reply = recover_reply(&recovery);
	if (lost->reply)
		snprintf(lost->status, sizeof(lost->status), "%s", recovery.status);
	key_wipe(&recovery.key);
}
