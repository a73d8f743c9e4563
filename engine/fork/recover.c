/* SPDX-License-Identifier: MIT */
/*
 * The end of a directive's thread whose runner was lost or killed, written down by the process that
 * finds it: the transcript is closed, thread.json says so, the budget is settled, its children are
 * cancelled. Called before the row becomes terminal, under the thread's lock; again is fine, since a
 * terminal event that is there is kept, and wanted where the disk was full.
 */
#include "fork/fork.h"

#include "memory.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct recovery {
	const struct fork_env *where;
	struct thread_lost *lost;
	struct record record;
	struct key_secret key;
	struct thread_cost cost;
	double last; /* timestamp of the last line */
	double elapsed; /* between all lines; a clock that was set back takes nothing away */
	bool sealed; /* its last line is a checkpoint */
	char status[32]; /* of the terminal event that is there; "" none */
	char *error; /* its error, or NULL */
	char *text; /* the last answer, or NULL */
	json_t *outputs; /* that the model returned, or NULL */
	char head[SHA_HEX]; /* the digest in the last checkpoint */
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

static void recover_keep(char **kept, const char *text)
{
	free(*kept);
	*kept = *text ? memory_note(strdup(text)) : NULL;
}

/* What one request has cost, as the runner that heard its answer has logged it. */
static void recover_usage(struct thread_cost *cost, const json_t *payload)
{
	const json_t *usage = json_object_get(payload, "usage");

	cost->input_tokens += json_int(usage, "input_tokens", 0);
	cost->output_tokens += json_int(usage, "output_tokens", 0);
	cost->spend += json_number_value(json_object_get(usage, "spend"));
}

static void recover_end(struct recovery *recovery, const struct chronicle_line *line)
{
	const json_t *cost = json_object_get(line->payload, "cost");

	/* another process may have found it killed just before */
	if (!strcmp(recovery->lost->status, "killed") && !strcmp(recovery->status, "cancelled"))
		snprintf(recovery->status, sizeof(recovery->status), "killed");
	recover_keep(&recovery->error, json_str(line->payload, "error"));
	if (cost)
		thread_cost_read(cost, &recovery->cost);
}

/* What the transcript knows of the thread: what it cost and returned, and whether it has ended. */
static int recover_line(void *arg, const struct chronicle_line *line)
{
	struct recovery *recovery = arg;

	if (recovery->last > 0 && line->timestamp > recovery->last)
		recovery->elapsed += line->timestamp - recovery->last;
	recovery->last = line->timestamp;
	recovery->sealed = !strcmp(line->type, "checkpoint");
	if (recover_is_terminal(line->type, recovery->status))
		recover_end(recovery, line);
	else
		recover_usage(&recovery->cost, line->payload);
	if (!strcmp(line->type, "cognition_out") &&
	    !json_flag(line->payload, "is_partial", false)) {
		recovery->cost.turns++;
		recover_keep(&recovery->text, json_str(line->payload, "text"));
	} else if (!strcmp(line->type, "directive_return")) {
		json_decref(recovery->outputs);
		recovery->outputs = json_incref(json_object_get(line->payload, "outputs"));
	}
	return 0;
}

/* Its end, unless the runner came so far itself; then its last checkpoint alone may be missing. */
static int recover_close(struct recovery *recovery, struct chronicle *transcript,
			 struct rye_err *err)
{
	const struct thread_lost *lost = recovery->lost;
	bool failed = !strcmp(lost->status, "error");
	int r;

	if (*recovery->status && recovery->sealed)
		return 0;
	if (!*recovery->status) {
		r = chronicle_close_calls(transcript, CHRONICLE_FILE(&recovery->record), lost->why,
					  err);
		if (r < 0)
			return r;
		r = chronicle_event(transcript, failed ? "thread_error" : "thread_cancelled",
				    json_pack("{s:o, s:s}", "cost",
					      thread_cost_json(&recovery->cost), "error",
					      lost->why),
				    err);
		if (r)
			return r;
	}
	return chronicle_checkpoint(transcript, recovery->cost.turns, err);
}

static int recover_transcript(struct recovery *recovery, struct rye_err *err)
{
	auto_chronicle struct chronicle *transcript = NULL;
	int r = chronicle_open(&recovery->record, &transcript, err);

	if (r)
		return r;
	r = chronicle_each(CHRONICLE_FILE(&recovery->record), recover_line, recovery, err);
	if (!*recovery->status)
		recovery->cost.elapsed_seconds = recovery->elapsed;
	if (!r)
		r = recover_close(recovery, transcript, err);
	snprintf(recovery->head, sizeof(recovery->head), "%s", chronicle_head(transcript));
	return r;
}

static const char *recover_status(const struct recovery *recovery)
{
	return *recovery->status ? recovery->status : recovery->lost->status;
}

/* The knowledge entry, which the runner may have left at an earlier turn. */
static int recover_story(const struct recovery *recovery, const struct thread_json *json,
			 struct rye_err *err)
{
	const struct story story = { .directive = json->directive,
				     .status = recover_status(recovery),
				     .model = json->model,
				     .cost = recovery->cost,
				     .capabilities = json->capabilities };

	return story_write(&recovery->record, &story, CHRONICLE_FILE(&recovery->record), err);
}

/* The record that the runner wrote at its start, with its end. */
static int recover_json(struct recovery *recovery, struct rye_err *err)
{
	auto_json json_t *old = NULL;
	auto_json json_t *more = NULL;
	auto_json json_t *cost = thread_cost_json(&recovery->cost);
	static const char *const own[] = { "thread_id",	     "directive",  "tool_id",
					   "status",	     "created_at", "updated_at",
					   "model",	     "cost",	   "limits",
					   "capabilities",   "outputs",	   "_signature",
					   "transcript_head" };
	struct thread_json json = { .tool_id = THREAD_TOOL_ID, .status = recover_status(recovery) };
	const char *why = *recovery->status ? recovery->error : recovery->lost->why;
	int r = thread_json_read(&recovery->record, &old, err);

	if (r)
		return r;
	more = json_copy(old);
	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		json_object_del(more, own[i]);
	if (why)
		json_sets(more, "error", why);
	json.directive = json_str(old, "directive");
	snprintf(json.created_at, sizeof(json.created_at), "%s", json_str(old, "created_at"));
	json.model = *json_str(old, "model") ? json_str(old, "model") : NULL;
	json.cost = cost;
	json.limits = json_object_get(old, "limits");
	json.capabilities = json_object_get(old, "capabilities");
	json.outputs = recovery->outputs;
	json.transcript_head = recovery->head;
	json.more = more;
	r = thread_json_write(&recovery->record, &json, err);
	return r ? r : recover_story(recovery, &json, err);
}

static int recover_child(void *arg, const char *id)
{
	json_array_append_new(arg, json_string(id));
	return 0;
}

/* ---- the family of a lost thread ---- */

/* The entry for people, and the directories of its id that are empty then. */
static void forget_story(const char *project, const char *id)
{
	auto_buf struct rye_buf path = RYE_BUF_INIT;
	size_t least;

	buf_addf(&path, "%s/.ai/knowledge/agent/threads/", project);
	least = path.len;
	buf_addf(&path, "%s.md", id);
	if (path.failed || unlink(path.data) < 0)
		return;
	for (char *slash = strrchr(path.data, '/'); (size_t)(slash - path.data) >= least;
	     slash = strrchr(path.data, '/')) {
		*slash = 0;
		if (rmdir(path.data) < 0)
			return;
	}
}

void fork_forget(const struct fork_env *where, const char *id)
{
	struct db *db = ledger_there(where->project);

	forget_story(where->project, id);
	if (db)
		budget_drop(db, id, NULL);
	db_close(db);
}

/* The money it had reserved goes back; what works for it is cancelled. */
static void recover_family(const struct recovery *recovery)
{
	const struct thread_lost *lost = recovery->lost;
	struct threads *threads = recovery->where->threads;
	const char *project = recovery->where->project;
	auto_json json_t *children = json_array();
	struct db *ledger = ledger_there(project);
	struct rye_err err = { 0 };
	json_t *id;
	size_t i;

	if ((ledger && ledger_settle_unborn(ledger, threads, lost->id, &err)) ||
	    ledger_settle(project, lost->id, recover_status(recovery), &err) ||
	    threads_children(threads, lost->id, recover_child, children, &err))
		recovery->lost->later |= err_scarce(&err);
	db_close(ledger);
	/* one that has ended is refused, and is what was wanted */
	json_array_foreach(children, i, id)
		threads_ctl(threads, json_string_value(id), SPAN("cancel"), NULL);
}

/* What the runner would have given; NULL: it has no record to tell it from. */
static json_t *recover_reply(const struct recovery *recovery)
{
	const char *status = recover_status(recovery);
	const char *why = *recovery->status ? recovery->error : recovery->lost->why;
	bool well = !strcmp(status, "completed");
	auto_json json_t *doc = NULL;
	auto_buf struct rye_buf ref = RYE_BUF_INIT;
	json_t *reply;

	if (thread_json_read(&recovery->record, &doc, NULL))
		return NULL;
	buf_addf(&ref, "directive:%s", json_str(doc, "directive"));
	if (ref.failed)
		return NULL;
	reply = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "status", well ? "success" : "error",
			  "type", "directive", "item_id", ref.data, "thread_id", recovery->lost->id,
			  "directive", json_str(doc, "directive"), "state", status);
	if (why)
		json_sets(reply, "error", why);
	if (recovery->text)
		json_sets(reply, "result", recovery->text);
	if (recovery->outputs)
		json_object_set(reply, "outputs", recovery->outputs);
	json_set(reply, "cost", thread_cost_json(&recovery->cost));
	return reply;
}

/* What the runner would have written; a thread that died before its first file has none. */
static void recover_files(struct recovery *recovery)
{
	const struct fork_env *where = recovery->where;
	struct thread_lost *lost = recovery->lost;
	auto_buf struct rye_buf path = RYE_BUF_INIT;
	auto_close int ai = -1;
	struct rye_err err = { 0 };

	buf_addf(&path, "%s/.ai", where->project);
	ai = path.failed ? -1 : open(path.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ai < 0)
		rye_fail_sys(&err, path.failed ? ENOMEM : errno, "%s/.ai", where->project);
	if (ai < 0 || keystore_automatic(where->items, &recovery->key, &err)) {
		lost->later = err_scarce(&err);
		return;
	}
	recovery->record = (struct record){ .ai = ai,
					    .dir = lost->dir,
					    .id = lost->id,
					    .key = &recovery->key,
					    .trust = where->items->trust };
	if (recover_transcript(recovery, &err) || recover_json(recovery, &err)) {
		lost->later = err_scarce(&err);
		log_line(where->items->log, RYE_LOG_WARN, "agent", "thread %s: %s", lost->id,
			 err.msg);
	}
	lost->reply = recover_reply(recovery);
	key_wipe(&recovery->key);
}

/* So many runners follow one run: what ends each of them ends the next one, too. */
#define FOLLOWED_MAX 100

/*
 * It runs elsewhere, and was not asked to end: what the process that followed it has noted, and signed, is enough for
 * another one. Its order lies in the outbox. NULL: there is none, or too many have tried.
 */
static json_t *recover_follow(const struct fork_env *where, const struct thread_lost *lost)
{
	const struct record record = { .ai = -1,
				       .dir = lost->dir,
				       .id = lost->id,
				       .trust = where->items->trust };
	json_t *doc = strcmp(lost->status, "error") ? NULL : record_noted(&record, RECORD_FOLLOW);
	auto_close int tries = doc ? openat(lost->dir, RECORD_FOLLOWED,
					    O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
					    0600) :
				     -1;
	struct stat st;

	if (tries >= 0 && !fstat(tries, &st) && st.st_size < FOLLOWED_MAX &&
	    write(tries, ".", 1) == 1)
		return doc;
	json_decref(doc);
	return NULL;
}

/* Of one that runs elsewhere what is here are copies of its records, to which nothing is added here. */
static bool recover_has_files(const struct thread_lost *lost)
{
	return !faccessat(lost->dir, "thread.json", F_OK, AT_SYMLINK_NOFOLLOW) &&
	       faccessat(lost->dir, REMOTE_FILE, F_OK, AT_SYMLINK_NOFOLLOW);
}

void fork_recover(const struct fork_env *where, struct thread_lost *lost)
{
	struct recovery recovery = { .where = where, .lost = lost };

	lost->again = recover_follow(where, lost);
	if (lost->again)
		return;
	if (recover_has_files(lost))
		recover_files(&recovery);
	/* its budget is held before its first file is there */
	recover_family(&recovery);
	if (lost->reply && *recovery.status)
		snprintf(lost->status, sizeof(lost->status), "%s", recovery.status);
	free(recovery.error);
	free(recovery.text);
	json_decref(recovery.outputs);
}
