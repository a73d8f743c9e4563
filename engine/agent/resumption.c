/* SPDX-License-Identifier: MIT */
/*
 * A person goes on with a thread that has ended. What the new one is to do stands in the signed
 * thread.json of the old one, in no file that anything else could have written. The person starts a
 * root thread anew, with all that its directive declares by now; one that was a child gets no more
 * than it had, though there is no parent any more that would hold it. Callers: workers of the engine.
 */
#include "agent/agent_inner.h"

#include "base/id.h"
#include "base/io.h"
#include "scope.h"
#include "str.h"

#include <fcntl.h>
#include <string.h>

/* Into the old transcript, whose thread is over; it is a known tail behind the last checkpoint. */
static void resumed_event(const struct agent_recovery *where, const char *old, const char *next,
			  const char *message)
{
	auto_close int dir = threads_dir(where->threads, old);
	auto_buf struct rye_buf line = RYE_BUF_INIT;
	auto_json json_t *doc = NULL;
	auto_close int fd = dir < 0 ? -1 :
				      openat(dir, "transcript.jsonl",
					     O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
	struct timespec now;
	char preview[201];

	clock_gettime(CLOCK_REALTIME, &now);
	utf8_cut(message, preview, sizeof(preview));
	doc = json_pack("{s:f, s:s, s:s, s:{s:s, s:s}}", "timestamp",
			(double)now.tv_sec + (double)now.tv_nsec / 1e9, "thread_id", old,
			"event_type", "thread_resumed", "payload", "new_thread_id", next,
			"message_preview", preview);
	json_python_dumps(&line, doc);
	buf_addc(&line, '\n');
	if (fd >= 0 && !line.failed)
		io_write_all(fd, line.data, line.len);
}

/* What the runner of the old one has signed. */
static int resumed_record(const struct agent_recovery *where, const char *id, json_t **ret,
			  struct rye_err *err)
{
	auto_close int dir = threads_dir(where->threads, id);
	const struct record record = { .ai = -1,
				       .dir = dir,
				       .id = id,
				       .trust = where->items->trust };
	int r;

	if (dir < 0)
		return rye_fail(err, RYE_NOT_FOUND, "Thread not found: %s", id);
	r = thread_json_read(&record, ret, err);
	return r ? rye_wrap(err, "thread %s cannot be resumed", id) : 0;
}

/* The same again; its inputs are those that it ended up with. */
static json_t *resumed_request(const json_t *record, const char *ref)
{
	json_t *asked = json_object_get(record, "asked");
	json_t *inputs = json_object_get(record, "inputs");
	json_t *request = json_pack("{s:s, s:s, s:o}", "item_id", ref, "thread", "fork",
				    "parameters", inputs ? json_deep_copy(inputs) : json_object());

	json_object_update_missing(request, asked);
	return request;
}

/* No more than it had: its own capabilities within those of all threads above it, and its limits. */
static json_t *resumed_authority(const json_t *record)
{
	json_t *own = json_object_get(record, "capabilities");
	json_t *lists = json_array(), *limits = json_deep_copy(json_object_get(record, "limits"));

	json_array_append_new(lists, own ? json_deep_copy(own) : json_array());
	json_array_extend(lists, json_object_get(record, "above"));
	/* of a child's depth its parent's is one more */
	json_set(limits, "depth", json_integer(json_int(limits, "depth", -1) + 1));
	return json_pack("{s:o, s:o}", "capabilities", lists, "limits", limits);
}

/* *ret NULL: a root thread, which the person starts as any other. */
static int resumed_hold(const json_t *record, json_t **ret, struct rye_err *err)
{
	bool held = json_array_size(json_object_get(record, "above"));

	if (!held && *json_str(record, "parent_id"))
		return rye_fail(err, RYE_DENIED,
				"thread %s cannot be resumed: its record does not tell what the "
				"threads above it allow\n" MEND_WITH
				"ryefs execute --fork directive:%s",
				json_str(record, "thread_id"), json_str(record, "directive"));
	*ret = held ? resumed_authority(record) : NULL;
	return 0;
}

/* RYE_BUSY unless it is over, RYE_INVALID for a tool's. */
static int resumed_row(struct db *db, const struct agent_resumption *what, struct rye_err *err)
{
	struct registry_row row;
	const char *bare;
	int r = registry_get(db, what->thread_id, false, &row, err);

	if (!r && !registry_terminal(row.status))
		r = rye_fail(err, RYE_BUSY,
			     "Thread is still %s, cannot resume; " MEND_WITH
			     "ryefs threads wait %s",
			     row.status, what->thread_id);
	if (!r && !*what->message)
		r = rye_fail(err, RYE_INVALID, "message required");
	if (!r && id_split(row.directive, &bare) == RYE_TOOL)
		r = rye_fail(err, RYE_INVALID,
			     "thread %s is no directive's: no model can go on with it; " MEND_WITH
			     "ryefs threads show %s",
			     what->thread_id, what->thread_id);
	return r;
}

/* Linked once it runs: a new thread that cannot start leaves the old one as it is. */
static int resumed_start(const struct agent_recovery *where, const struct agent_resumption *what,
			 struct db *db, json_t **ret, struct rye_err *err)
{
	auto_json json_t *record = NULL;
	auto_json json_t *request = NULL;
	auto_json json_t *authority = NULL;
	auto_buf struct rye_buf ref = RYE_BUF_INIT;
	struct fork_ask ask = { .async = true,
				.wake = what->wake,
				.previous_id = what->thread_id,
				.message = what->message };
	const char *next;
	int r = resumed_record(where, what->thread_id, &record, err);

	if (!r)
		r = resumed_hold(record, &authority, err);
	if (r)
		return r;
	buf_addf(&ref, "directive:%s", json_str(record, "directive"));
	ask.ref = ref.data;
	ask.request = request = resumed_request(record, ref.data);
	ask.authority = authority;
	r = agent_fork(where->threads, &ask, ret, err);
	if (r)
		return r;
	next = json_str(*ret, "thread_id");
	if (!registry_chain(db, what->thread_id, next, NULL))
		resumed_event(where, what->thread_id, next, what->message);
	if (what->async)
		return 0;
	json_object_del(*ret, "async");
	json_object_del(*ret, "status");
	json_object_del(*ret, "pid");
	return agent_await(where->threads, &ask, *ret, err);
}

int agent_resume(const struct agent_recovery *where, const struct agent_resumption *what,
		 json_t **ret, struct rye_err *err)
{
	const struct registry_ask ask = { .project = where->project, .create = true };
	struct db *db = NULL;
	int r = registry_of(&ask, &db, err);

	if (!r)
		r = resumed_row(db, what, err);
	if (!r)
		r = resumed_start(where, what, db, ret, err);
	if (*ret)
		json_sets(*ret, "resumed", what->thread_id);
	db_close(db);
	return r;
}
