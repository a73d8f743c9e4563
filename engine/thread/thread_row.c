/* SPDX-License-Identifier: MIT */
/*
 * From a thread's directory to its row of the registry, which is a cache for those that list threads and
 * for other implementations. thread_align() is the one way: a thread that ends, one whose runner died
 * without a word, one that is looked at and has no row, each of a registry that is made anew. What stands
 * in no directory stays as the row has it: other implementations' threads, a graph's run that is waited for.
 */
#include "thread/thread_inner.h"

#include "base/io.h"
#include "clock.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define LOST "Process died"

/* What the row has no text of yet. */
static void row_copy(json_t *row, const char *key, const char *text)
{
	if (*text && !*json_str(row, key))
		json_sets(row, key, text);
}

/* A directive's thread says it as its row would. */
static const char *result_status(const json_t *result)
{
	const char *state = json_str(result, "state"), *status = json_str(result, "status");

	if (!*status || registry_terminal(state))
		return *status ? state : "";
	if (strcmp(status, "error") != 0)
		return "completed";
	return strcmp(json_str(result, "error"), KILLED_WHY) ? "error" : "killed";
}

/*
 * With no result one of ours is of a runner that died before it was at its end, whatever else says so. A
 * directive's record first, which also tells of a successor.
 */
static const char *row_end(const struct thread_read *read)
{
	const char *record = json_str(read->record, "status"),
		   *told = json_str(read->told, "status");

	if (!read->result && (read->has & HAS_LOCK))
		return "";
	if (registry_terminal(record))
		return record;
	return registry_terminal(told) ? told : result_status(read->result);
}

/* Its last change: of a row that is open the last turn, of one that has ended the end or a successor. */
static void row_later(json_t *row, const char *at)
{
	if (strcmp(at, json_str(row, "updated_at")) > 0)
		json_sets(row, "updated_at", at);
}

/* When it ended, where no line tells it: its record does, else the result is as old. */
static void row_ended(json_t *row, int dir, const struct thread_read *read)
{
	struct stat st;
	char stamp[40];

	row_copy(row, "completed_at", json_str(read->record, "updated_at"));
	if (fstatat(dir, THREAD_RESULT_FILE, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		clock_iso_at(st.st_mtim.tv_sec * 1000000ll + st.st_mtim.tv_nsec / 1000, stamp);
		row_copy(row, "completed_at", stamp);
	}
	row_later(row, json_str(row, "completed_at"));
	row_later(row, json_str(read->record, "updated_at"));
	if (read->result_text)
		json_sets(row, "result", read->result_text->data);
}

/* What nothing else tells: when the directory was made last. */
static void row_times(json_t *row, int dir)
{
	struct stat st;
	char stamp[40];

	if (fstat(dir, &st) < 0)
		return;
	clock_iso_at(st.st_mtim.tv_sec * 1000000ll, stamp);
	row_copy(row, "created_at", stamp);
	row_copy(row, "updated_at", stamp);
}

static void row_texts(json_t *row, const struct thread_read *read)
{
	static const char *const same[] = { "directive", "created_at", "updated_at",
					    "model",	 "tool_id",    "parent_id" };
	const char *item = json_str(read->request, "item_id");

	for (size_t i = 0; i < ARRAY_SIZE(same); i++)
		row_copy(row, same[i], json_str(read->record, same[i]));
	if (!strncmp(item, "directive:", strlen("directive:")))
		item += strlen("directive:");
	row_copy(row, "directive", item);
	row_copy(row, "continuation_of", json_str(read->record, "previous_thread_id"));
}

void thread_row(int dir, const struct thread_read *read, json_t *row)
{
	const char *end = row_end(read);
	char was[32];
	bool continued;

	snprintf(was, sizeof(was), "%s", json_str(row, "status"));
	/* the log of all threads may know of a successor, which its own lines do not tell of */
	continued = !strcmp(was, "continued");
	if (continued)
		json_object_update_missing(row, read->told);
	else
		json_object_update(row, read->told);
	row_texts(row, read);
	if (json_object_get(read->record, "cost"))
		json_object_set(row, "cost", json_object_get(read->record, "cost"));
	if (read->named)
		json_set(row, "pid", json_integer(read->runner.pid));
	if (!continued)
		json_sets(row, "status", *end ? end : registry_terminal(was) ? was : "running");
	if (*end)
		row_ended(row, dir, read);
	row_times(row, dir);
}

int thread_align(struct db *db, int dir, const char *id, struct rye_err *err)
{
	auto_thread_read struct thread_read read;
	auto_json json_t *row = json_object();

	thread_read(dir, id, THREAD_DOCS, &read);
	if (read.scarce)
		return rye_fail_sys(err, ENOMEM, "thread %s cannot be read", id);
	thread_row(dir, &read, row);
	return registry_put(db, id, row, err);
}

/* ---- how an end is written down ---- */

/* Into the directory: the result, and behind it the line that says how it ended. */
static int record_in_dir(int dir, const char *id, const char *status,
			 const struct rye_outcome *outcome, bool passing)
{
	struct rye_span reply = { outcome->reply->data, outcome->reply->len };
	int r = 0;

	if (outcome->output &&
	    (passing ? io_remember_at : io_replace_before_at)(
		    dir, "output", (struct rye_span){ outcome->output->data, outcome->output->len },
		    0600))
		r = -(int)RYE_IO;
	/* one that a power cut has torn is none: then its runner has died */
	if ((passing ? thread_remember : thread_write)(dir, THREAD_RESULT_FILE, reply, NULL))
		r = -(int)RYE_IO;
	return r ? r : registry_row_tell(dir, id, status);
}

int threads_record_end(struct db *registry, int dir, const char *id, const char *status,
		       const struct rye_outcome *outcome, bool passing)
{
	int kept = dir < 0 ? 0 : record_in_dir(dir, id, status, outcome, passing);
	int r;

	/* what has a row alone has its result there; so has what finds no room, until there is some */
	if (dir < 0 || kept)
		r = registry_finish(registry, id, status, outcome->reply->data, NULL);
	else
		r = thread_align(registry, dir, id, NULL);
	/* what is to be written once more is written of a cancel, too */
	if (dir >= 0 && !kept && !r)
		unlinkat(dir, CANCEL_MARK, 0);
	return kept || r ? -(int)RYE_IO : 0;
}

int threads_record_loss(struct db *registry, int dir, const char *id, const char *status,
			const char *why)
{
	auto_json json_t *doc = json_object();
	struct rye_outcome outcome = { .code = RYE_IO };
	int r;

	json_sets(doc, "status", "error");
	json_sets(doc, "error", why);
	json_sets(doc, "thread_id", id);
	outcome.reply = json_blob(doc, false);
	if (!outcome.reply)
		return -(int)RYE_IO;
	r = threads_record_end(registry, dir, id, status, &outcome, false);
	rye_blob_unref(outcome.reply);
	return r;
}

/* It goes on elsewhere, whatever has become of the process that followed it here. */
static bool lost_taken_up(struct threads *threads, const struct thread_view *view,
			  const struct thread_lost *lost)
{
	const json_t *orders = json_object_get(lost->again, "orders");
	const char *ref = json_str(lost->again, "ref");
	const struct launch what = { .type = ORDERS_REMOTE,
				     .ref = ref,
				     .request = json_object_get(orders, "request"),
				     .more = orders,
				     .grows = strncmp(ref, "directive:", strlen("directive:")) ?
						      NULL :
						      "transcript.jsonl" };

	return lost->again && view->lock >= 0 && !threads_take_up(threads, view, &what, NULL);
}

/* As the room that knows the thread's kind tells it, else by a sentence. */
static enum thread_loss record_lost(struct threads *threads, const struct thread_view *view,
				    struct thread_lost *lost)
{
	struct rye_outcome outcome = { .code = RYE_IO };
	bool taken;

	if (threads->env.lost)
		threads->env.lost(threads->env.lost_arg, lost);
	taken = lost_taken_up(threads, view, lost);
	if (lost->again || lost->later) {
		json_decref(lost->again);
		json_decref(lost->reply);
		return taken ? THREAD_LOSS_TAKEN_UP : THREAD_LOSS_NO_ROOM;
	}
	outcome.reply = lost->reply ? json_blob(lost->reply, false) : NULL;
	json_decref(lost->reply);
	if (outcome.reply)
		threads_record_end(view->db, view->dir, lost->id, lost->status, &outcome, false);
	else
		threads_record_loss(view->db, view->dir, lost->id, lost->status, lost->why);
	rye_blob_unref(outcome.reply);
	return THREAD_LOSS_RECORDED;
}

enum thread_loss threads_record_lost(struct threads *threads, const struct thread_view *view,
				     int exit_status, bool killed)
{
	auto_thread_read struct thread_read read;
	struct thread_lost lost = { .id = view->row.thread_id, .dir = view->dir };
	char why[96] = LOST;
	bool cancelled;

	if (exit_status >= 0 && WIFSIGNALED(exit_status))
		snprintf(why, sizeof(why), LOST " (signal %d)", WTERMSIG(exit_status));
	/* of a follower there is a connection alone; what runs elsewhere has the same id, and that may be this machine */
	if (view->dir < 0 || !thread_marked(view->dir, REMOTE_FILE))
		thread_kill_strays(lost.id);
	thread_unhear(threads->env.opt->project, lost.id);
	/* behind the signal that ends it: what it still wrote counts */
	thread_read(view->dir, lost.id, THREAD_DOCS, &read);
	if (read.scarce)
		return THREAD_LOSS_NO_ROOM;
	killed |= read.has & HAS_KILLED;
	cancelled = !killed && (read.has & HAS_CANCELLED);
	snprintf(lost.status, sizeof(lost.status), "%s",
		 killed	   ? "killed" :
		 cancelled ? "cancelled" :
			     "error");
	lost.why = killed ? KILLED_WHY : cancelled ? CANCEL_WHY : why;
	if (view->dir < 0)
		threads_record_loss(view->db, view->dir, lost.id, lost.status, lost.why);
	/* a runner that ended between its end and the row: that is the truth */
	else if (*row_end(&read))
		thread_align(view->db, view->dir, lost.id, NULL);
	else
		return record_lost(threads, view, &lost);
	return THREAD_LOSS_RECORDED;
}
