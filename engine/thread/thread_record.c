/* SPDX-License-Identifier: MIT */
/*
 * How a thread's end is written down: result.json first, the row last, which is what says that
 * it is over. Called by the runner, by a mount that carried the run itself, by the watching
 * worker that finds a runner dead, and by a kill; a terminal row never changes, so the first of
 * them decides.
 */
#include "thread/thread_inner.h"

#include "base/io.h"
#include "bounds.h"
#include "scope.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define LOST "Process died"

int threads_record_end(struct db *registry, int dir, const char *id, const char *status,
		       const struct rye_outcome *outcome)
{
	struct rye_span reply = { outcome->reply->data, outcome->reply->len };
	int r = 0;

	/* what has a row alone has its result there */
	if (dir < 0)
		return registry_finish(registry, id, status, outcome->reply->data, NULL) ?
			       -(int)RYE_IO :
			       0;
	if (outcome->output)
		r = thread_write(dir, "output",
				 (struct rye_span){ outcome->output->data, outcome->output->len },
				 NULL);
	if (thread_write(dir, "result.json", reply, NULL))
		r = -(int)RYE_IO;
	/* Also when the disk is full: the row then carries the result alone. */
	if (registry_finish(registry, id, status, outcome->reply->data, NULL))
		r = -(int)RYE_IO;
	/* what is to be written once more is written of a cancel, too */
	if (!r)
		unlinkat(dir, CANCEL_MARK, 0);
	return r;
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
	r = threads_record_end(registry, dir, id, status, &outcome);
	rye_blob_unref(outcome.reply);
	return r;
}

/* A directive's thread says it as its row would. */
const char *thread_result_status(const json_t *result)
{
	const char *state = json_str(result, "state");

	if (!*json_str(result, "status") || registry_terminal(state))
		return *json_str(result, "status") ? state : "";
	if (strcmp(json_str(result, "status"), "error") != 0)
		return "completed";
	return strcmp(json_str(result, "error"), KILLED_WHY) ? "error" : "killed";
}

/*
 * A runner that ended between its result and the row: the result is the truth. False: there is
 * none, or not a whole one.
 */
static bool record_found(struct db *registry, int dir, const char *id)
{
	struct rye_blob *blob = NULL;
	auto_json json_t *reply = NULL;
	const char *status;

	if (io_read_at(dir, "result.json", RYE_BUF_CAP, &blob) < 0)
		return false;
	reply = json_parse((struct rye_span){ blob->data, blob->len }, 0, "result.json", NULL);
	status = thread_result_status(reply);
	/* A kill writes its result first, the row last: this look may come in between. */
	if (*status)
		registry_finish(registry, id, status, blob->data, NULL);
	rye_blob_unref(blob);
	return *status;
}

/* As the room that knows the thread's kind tells it, else by a sentence. */
static bool record_lost(const struct threads *threads, const struct thread_view *view,
			struct thread_lost *lost)
{
	struct rye_outcome outcome = { .code = RYE_IO };

	if (threads->env.lost)
		threads->env.lost(threads->env.lost_arg, lost);
	if (lost->later) {
		json_decref(lost->reply);
		return false;
	}
	outcome.reply = lost->reply ? json_blob(lost->reply, false) : NULL;
	json_decref(lost->reply);
	if (outcome.reply)
		threads_record_end(view->db, view->dir, lost->id, lost->status, &outcome);
	else
		threads_record_loss(view->db, view->dir, lost->id, lost->status, lost->why);
	rye_blob_unref(outcome.reply);
	return true;
}

bool threads_record_lost(const struct threads *threads, const struct thread_view *view,
			 int exit_status, bool killed)
{
	struct thread_lost lost = { .id = view->row.thread_id, .dir = view->dir };
	char why[96] = LOST;
	bool cancelled;

	if (exit_status >= 0 && WIFSIGNALED(exit_status))
		snprintf(why, sizeof(why), LOST " (signal %d)", WTERMSIG(exit_status));
	thread_kill_strays(lost.id);
	thread_unhear(threads->env.opt->project, lost.id);
	killed |= view->dir >= 0 && thread_marked(view->dir, KILLED_MARK);
	cancelled = !killed && view->dir >= 0 && thread_marked(view->dir, CANCEL_MARK);
	snprintf(lost.status, sizeof(lost.status), "%s",
		 killed	   ? "killed" :
		 cancelled ? "cancelled" :
			     "error");
	lost.why = killed ? KILLED_WHY : cancelled ? CANCEL_WHY : why;
	if (view->dir < 0)
		threads_record_loss(view->db, view->dir, lost.id, lost.status, lost.why);
	else if (!record_found(view->db, view->dir, lost.id))
		return record_lost(threads, view, &lost);
	return true;
}
