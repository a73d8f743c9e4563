/* SPDX-License-Identifier: MIT */
/*
 * The engine's threads: what rye.h says of state/threads, and the hooks by which exec hands
 * over a request that is to outlive its caller. Callers: the front, the verbs, exec's workers.
 * No lock of its own; waits are calls whose cancelling takes them off the list.
 */
#include "api/api_inner.h"

#include "base/io.h"
#include "facts/facts.h"
#include "fork/fork.h"
#include "memory.h"
#include "process/process.h"
#include "record/record.h"
#include "remote/remote.h"
#include "run/run.h"
#include "str.h"

#include <stdio.h>

void rye_thread_recover(struct rye *rye, const char *id)
{
	if (id)
		threads_recover(rye->threads, id);
	else
		threads_recover_all(rye->threads);
}

size_t rye_thread_lost(struct rye *rye, rye_name_fn fn, void *arg)
{
	return threads_lost(rye->threads, fn, arg);
}

int rye_uncommitted(struct rye *rye, struct rye_blob **lines, struct rye_err *err)
{
	auto_close int ai = io_open_dir(rye->opt.project, ".ai", false);
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	int r = ai < 0 ? ai : gitignore_complete(ai, lines ? &text : NULL);

	if (r < 0)
		return rye_fail_sys(err, -r, ".ai/.gitignore");
	if (!lines || !r)
		return r;
	*lines = buf_blob(&text);
	return *lines ? r : memory_fail(err);
}

int rye_thread_list(struct rye *rye, rye_name_fn fn, void *arg, struct rye_err *err)
{
	return threads_list(rye->threads, fn, arg, err);
}

int rye_thread_rows(struct rye *rye, rye_thread_row_fn fn, void *arg, struct rye_err *err)
{
	return threads_rows(rye->threads, fn, arg, err);
}

uint64_t rye_thread_list_number(struct rye *rye)
{
	return threads_list_number(rye->threads);
}

int rye_thread_entries(struct rye *rye, const struct rye_thread_at *at, rye_thread_fn fn, void *arg,
		       struct rye_err *err)
{
	const struct facts_ask ask = { .id = at->id, .path = at->path };

	return facts_names(rye->facts, &ask, fn, arg, err);
}

int rye_thread_entry(struct rye *rye, const struct rye_thread_at *at, struct rye_thread_entry *ret,
		     struct rye_err *err)
{
	const struct facts_ask ask = { at->id, at->path, at->has, at->arg };

	return facts_entry(rye->facts, &ask, ret, err);
}

struct thread_names {
	rye_name_fn fn;
	void *arg;
};

static int threads_name(void *arg, const char *name, enum rye_thread_sort sort)
{
	const struct thread_names *names = arg;

	(void)sort;
	return names->fn(names->arg, name);
}

int rye_thread_names(struct rye *rye, const char *id, rye_name_fn fn, void *arg,
		     struct rye_err *err)
{
	const struct facts_ask ask = { .id = id, .path = "" };
	struct thread_names names = { fn, arg };

	return facts_names(rye->facts, &ask, threads_name, &names, err);
}

int rye_thread_file(struct rye *rye, const char *id, const char *name, struct rye_blob **ret,
		    struct rye_err *err)
{
	const struct facts_ask ask = { .id = id, .path = name };

	return facts_file(rye->facts, &ask, ret, err);
}

int rye_thread_read(struct rye *rye, const struct rye_thread_part *part, struct rye_blob **ret,
		    uint64_t *ret_size, struct rye_err *err)
{
	return facts_read(rye->facts, part, ret, ret_size, err);
}

static int cancel_one(void *arg, const char *id)
{
	/* one that has ended is refused, and is what was wanted */
	threads_ctl(arg, id, SPAN("cancel"), NULL);
	return 0;
}

static int all_cancel(struct rye *rye, struct rye_err *err)
{
	return threads_list(rye->threads, cancel_one, rye->threads, err);
}

static int all_recover(struct rye *rye, struct rye_err *err)
{
	(void)err;
	threads_recover_all(rye->threads);
	return 0;
}

static int all_gc(struct rye *rye, struct rye_err *err)
{
	(void)err;
	threads_left(rye->threads, true, NULL, NULL);
	return 0;
}

static int all_drain(struct rye *rye, struct rye_err *err)
{
	return threads_drain(rye->threads, err);
}

static int all_accept(struct rye *rye, struct rye_err *err)
{
	(void)err;
	threads_accept(rye->threads);
	return 0;
}

/* What was not noticed: a file system that tells of no change, a watch that could not be had. */
static int all_reload(struct rye *rye, struct rye_err *err)
{
	struct index_changes changes = { .all = true, .keys = true };

	(void)err;
	index_scan(engine_index(rye), engine_threads(), true);
	engine_changed(rye, &changes);
	return 0;
}

/* Of all threads. */
static int threads_ctl_all(struct rye *rye, struct rye_span verb, struct rye_err *err)
{
	static const struct {
		const char *name;
		int (*fn)(struct rye *rye, struct rye_err *err);
	} all[] = {
		{ "accept", all_accept }, { "cancel-all", all_cancel }, { "drain", all_drain },
		{ "gc", all_gc },	  { "recover", all_recover },	{ "reload", all_reload }
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (span_eq(verb, all[i].name))
			return all[i].fn(rye, err);
	return threads_no_verb(verb, RYE_THREADS_VERBS, err);
}

/* Answers with the new thread's id. */
static int ctl_resume(struct rye *rye, const char *id, struct rye_span message, struct rye_buf *out,
		      struct rye_err *err)
{
	const struct fork_env where = { rye->threads, &rye->items, rye->opt.project };
	auto_free char *text = span_dup(message);
	const struct fork_resumption what = { .thread_id = id,
					      .message = text,
					      .async = true,
					      .wake = -1 };
	auto_json json_t *reply = NULL;
	int r = text ? threads_may_start(rye->threads, err) : memory_fail(err);

	if (!r)
		r = fork_resume(&where, &what, &reply, err);
	if (!r)
		buf_addf(out, "%s\n", json_str(reply, "thread_id"));
	return r;
}

/* Are the records what the thread has written? Answers as `integrity` does. */
static int ctl_verify(struct rye *rye, const char *id, struct rye_buf *out, struct rye_err *err)
{
	auto_blob struct rye_blob *text = NULL;
	const struct facts_ask ask = { .id = id, .path = "integrity" };
	struct rye_span line;
	int r = facts_file(rye->facts, &ask, &text, err);

	if (r)
		return r;
	line = span_trim((struct rye_span){ text->data, text->len });
	if (!span_starts(line, "ok "))
		return rye_fail(err, span_starts(line, "bad: ") ? RYE_MODIFIED : RYE_UNSIGNED,
				"%.*s", (int)line.len, line.ptr);
	buf_add(out, text->data, text->len);
	return 0;
}

/* What a run elsewhere has changed, into the project. */
static int ctl_apply(struct rye *rye, const char *id, struct rye_buf *out, struct rye_err *err)
{
	auto_close int dir = threads_dir(rye->threads, id, err);
	size_t n = 0;
	int r = dir < 0 ? -(int)err->code : remote_apply(&rye->items, dir, &n, err);

	if (!r)
		buf_addf(out, "%zu %s\n", n, n == 1 ? "file" : "files");
	return r;
}

/* What it may have spent elsewhere is held until a person says that nothing is to be waited for. */
static int ctl_forget(struct rye *rye, const char *id, struct rye_err *err)
{
	if (!remote_lost_forget(&rye->items, id))
		return rye_fail(err, RYE_STATE,
				"thread %s is none that was lost elsewhere; " MEND_WITH
				"ryefs threads delete %s",
				id, id);
	return ledger_settle(rye->opt.project, id, "error", err);
}

static int thread_verb(struct rye *rye, const char *id, struct rye_span text, struct rye_buf *out,
		       struct rye_err *err)
{
	static const char resume[] = "resume ";

	if (!*id)
		return threads_ctl_all(rye, text, err);
	if (span_starts(text, resume))
		return ctl_resume(rye, id, span_trim(span_skip(text, sizeof(resume) - 1)), out,
				  err);
	if (span_eq(text, "verify"))
		return ctl_verify(rye, id, out, err);
	if (span_eq(text, "apply"))
		return ctl_apply(rye, id, out, err);
	if (span_eq(text, "forget"))
		return ctl_forget(rye, id, err);
	return threads_ctl(rye->threads, id, text, err);
}

bool rye_thread_told(struct rye_span verb)
{
	return threads_is_told(span_trim(verb));
}

int rye_thread_ctl(struct rye *rye, const char *id, struct rye_span verb, struct rye_blob **ret,
		   struct rye_err *err)
{
	auto_buf struct rye_buf out = RYE_BUF_INIT;
	int r = thread_verb(rye, id, span_trim(verb), &out, err);

	if (r || !ret)
		return r;
	if (!out.len)
		buf_adds(&out, "ok\n");
	*ret = buf_blob(&out);
	return *ret ? 0 : memory_fail(err);
}

int rye_thread_last(struct rye *rye, const char *id, char ret[RYE_THREAD_ID_ROOM])
{
	return threads_last(rye->threads, id, ret);
}

/* ---- waiting ---- */

static void engine_threads_on_status(void *arg, const struct rye_outcome *outcome)
{
	call_finish(arg, outcome);
}

/* The listener is found by its argument: it may have been told, and freed, meanwhile. */
static void wait_cancelled(struct rye_call *call)
{
	threads_unwait(call->owner, call);
}

static const struct call_ops wait_ops = { .cancelled = wait_cancelled };

int rye_thread_wait(struct rye *rye, const char *id, const struct rye_listener *who,
		    struct rye_call **ret, struct rye_err *err)
{
	struct rye_call *call = call_new(&wait_ops, rye->threads, who->fn, who->arg);
	struct rye_listener listener = { .fn = engine_threads_on_status, .arg = call };
	int r;

	if (!call)
		return memory_fail(err);
	r = threads_wait(rye->threads, id, &listener, err);
	if (!r) {
		*ret = call;
		return 0;
	}
	/* fn was not called, so the reference of the answer is given back here too. */
	rye_call_unref(call);
	rye_call_unref(call);
	return r;
}

/* ---- hooks of exec ---- */

/* An id as one component of a path, with room for what is put behind it. */
#define STEM_MAX 200

static void thread_stem(const char *id, char ret[STEM_MAX + 1])
{
	snprintf(ret, STEM_MAX + 1, "%s", id);
	utf8_mend(ret);
	for (char *p = ret; *p; p++)
		if (*p == '/')
			*p = '-';
}

/* A tool, or a graph: that has a stem. */
static int detach_tool(struct rye *rye, const struct exec_detach *ask, json_t **ret,
		       struct rye_err *err)
{
	struct launch start = { .type = ORDERS_TOOL, .ref = ask->ref, .request = ask->request };
	char stem[STEM_MAX + 1];
	struct launched launched;
	auto_json json_t *more = json_object();
	json_t *extra;
	int r;

	/* what a graph starts in its own runner is held by it as well */
	if (ask->authority)
		json_sets(more, "authority", ask->authority);
	start.more = more;
	if (ask->stem) {
		thread_stem(ask->stem, stem);
		start.type = ORDERS_GRAPH;
		start.stem = stem;
	}
	r = threads_launch(rye->threads, &start, &launched, err);
	if (r)
		return r;
	extra = json_object();
	json_set(extra, "async", json_true());
	json_sets(extra, "thread_id", launched.thread_id);
	json_sets(extra, "execution_mode", "inline");
	json_sets(extra, "state", "running");
	json_set(extra, "pid", json_integer(launched.pid));
	*ret = extra;
	return 0;
}

void engine_thread_lost(void *arg, struct thread_lost *lost)
{
	struct rye *rye = arg;
	const struct fork_env where = { rye->threads, &rye->items, rye->opt.project };

	fork_recover(&where, lost);
}

void engine_thread_deleted(void *arg, const char *id)
{
	struct rye *rye = arg;
	const struct fork_env where = { rye->threads, &rye->items, rye->opt.project };

	fork_forget(&where, id);
	remote_view_forget(&rye->items, id);
	remote_lost_forget(&rye->items, id);
}

static void fork_on_begun(void *arg, const char *id)
{
	events_thread(arg, id);
}

static void fork_on_live(void *arg, struct rye_span text)
{
	events_output(arg, RYE_STDOUT, text);
}

/* So often may one order have been ended by hand and asked for again. */
#define ORDER_AGAIN_MAX 100

/*
 * The thread of a request that is told apart by a text of its asker's: asked for again it is that one, unless it was
 * ended by hand. False: it has none.
 */
static bool order_id(struct rye *rye, const json_t *request, char ret[ID_UUID_MAX])
{
	const char *order = json_str(request, "order"), *adopt = json_str(request, "adopt");
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	struct registry_row row;
	struct db *db = NULL;
	size_t len;

	/* one that was begun elsewhere, whose order is here now */
	snprintf(ret, ID_UUID_MAX, "%s", adopt);
	if (*adopt)
		return true;
	json_canonical(&text, request);
	len = text.len;
	if (!*order || text.failed || threads_registry(rye->threads, true, &db, NULL))
		return false;
	for (int i = 0; i < ORDER_AGAIN_MAX; i++) {
		text.len = len;
		buf_addf(&text, " %d", i);
		if (text.failed)
			return false;
		id_uuid_of(order, text.data, ret);
		if (registry_get(db, ret, false, &row, NULL) ||
		    (strcmp(row.status, "cancelled") != 0 && strcmp(row.status, "killed") != 0))
			break;
	}
	return true;
}

/* A directive that a model works through; what is carried out elsewhere. */
static int detach_directive(struct rye *rye, const struct exec_detach *ask, json_t **ret,
			    struct rye_err *err)
{
	char id[ID_UUID_MAX];
	const struct fork_ask start = { .ref = ask->ref,
					.remote = ask->remote,
					.id = ask->remote && order_id(rye, ask->request, id) ? id :
											       NULL,
					.request = ask->request,
					.async = ask->async,
					.wake = call_wake(ask->call),
					.begun = ask->call->events ? fork_on_begun : NULL,
					.live = ask->call->events ? fork_on_live : NULL,
					.live_arg = ask->call->events };
	int r = fork_start_below(rye->threads, ask->authority, &start, ret, err);

	/* the call knows what for */
	if (r == -(int)RYE_INTERRUPTED && call_cancelled(ask->call) != RYE_OK) {
		err->code = call_cancelled(ask->call);
		r = -(int)err->code;
	}
	return r;
}

static int detach_resume(struct rye *rye, const struct exec_detach *ask, json_t **ret,
			 struct rye_err *err)
{
	const struct fork_env where = { rye->threads, &rye->items, rye->opt.project };
	const struct fork_resumption what = { .thread_id = ask->resume,
					      .message = ask->message,
					      .given = ask->request,
					      .async = ask->async,
					      .wake = call_wake(ask->call) };

	return fork_resume(&where, &what, ret, err);
}

int engine_detach(void *arg, const struct exec_detach *ask, json_t **ret, struct rye_err *err)
{
	struct rye *rye = arg;
	/* what a running thread starts belongs to its end */
	int r = ask->authority ? 0 : threads_may_start(rye->threads, err);

	/* what elsewhere is settled there */
	if (!r && !ask->remote && (ask->fork || ask->resume))
		r = fork_settled(&rye->items, ask->ref, err);
	if (r)
		return r;
	if (ask->resume)
		return detach_resume(arg, ask, ret, err);
	return ask->fork || ask->remote ? detach_directive(arg, ask, ret, err) :
					  detach_tool(arg, ask, ret, err);
}

bool engine_adopt(void *arg, struct rye_call *call, const char *ref, const json_t *request,
		  char thread_id[64])
{
	struct rye *rye = arg;
	const struct adoption what = { call, ref, request };
	struct launched launched;
	struct rye_err err = { 0 };

	if (threads_adopt(rye->threads, &what, &launched, &err)) {
		log_line(&rye->log, RYE_LOG_WARN, "threads", "%s", err.msg);
		return false;
	}
	snprintf(thread_id, 64, "%.63s", launched.thread_id); /* a tool's: a UUID */
	return true;
}

void engine_adopted_end(void *arg, const char *thread_id, const struct rye_outcome *outcome)
{
	struct rye *rye = arg;

	threads_adopted_end(rye->threads, thread_id, outcome);
}

bool engine_enrol(void *arg, const char *run_id, const char *ref, const char *parent_id)
{
	struct rye *rye = arg;
	struct rye_err err = { 0 };

	if (!threads_enrol(rye->threads, &(struct enrolment){ run_id, ref, parent_id }, &err))
		return true;
	/* a run that goes on has its row from before */
	if (err.code != RYE_BUSY)
		log_line(&rye->log, RYE_LOG_WARN, "threads", "%s", err.msg);
	return false;
}

void engine_discharge(void *arg, const char *run_id, const char *status, const char *result)
{
	struct rye *rye = arg;

	threads_discharge(rye->threads, run_id, status, result);
}
