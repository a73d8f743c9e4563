/* SPDX-License-Identifier: MIT */
/*
 * A person goes on with a thread that has ended. What the new one is to do stands in the signed
 * thread.json of the old one, in no file that anything else could have written. The person starts a
 * root thread anew, with all that its directive declares by now; one that was a child gets no more
 * than it had, though there is no parent any more that would hold it. Callers: workers of the engine.
 */
#include "agent/agent_inner.h"

#include "base/id.h"
#include "clock.h"
#include "scope.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>

/* Milliseconds that the new thread's record is waited for, and between two looks. */
#define RESUMPTION_WAIT_MS 10000
#define RESUMPTION_LOOK_MS 10

/* The new one runs: what tells of it is not worth its end. */
static void resumed_links(const struct agent_recovery *where, struct db *db, const char *old,
			  const struct resumed *what)
{
	auto_close int dir = threads_dir(where->threads, old);
	const struct record record = { .ai = -1,
				       .dir = dir,
				       .id = old,
				       .trust = where->items->trust };
	struct rye_err err = { 0 };

	if (registry_chain(db, old, what->next, &err) || chronicle_resumed(&record, what, &err))
		log_line(where->items->log, RYE_LOG_WARN, "agent", "thread %s is gone on with: %s",
			 old, err.msg);
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

/* RYE_STATE unless it is over, RYE_INVALID for a tool's. */
static int resumed_row(struct db *db, const struct agent_resumption *what, struct rye_err *err)
{
	struct registry_row row;
	const char *bare;
	int r = registry_get(db, what->thread_id, false, &row, err);

	if (!r && !registry_terminal(row.status))
		r = rye_fail(err, RYE_STATE,
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

/* Its runner has read all that it works with once it has written its record; false: it ended before. */
static bool resumed_began(const struct agent_recovery *where, struct db *db, const char *id,
			  int wake)
{
	auto_close int dir = threads_dir(where->threads, id);
	int64_t end = clock_ms() + RESUMPTION_WAIT_MS;
	struct pollfd fd = { .fd = wake, .events = POLLIN };
	struct registry_row row = { .status = "" };
	bool over = false;

	while (faccessat(dir, "thread.json", F_OK, AT_SYMLINK_NOFOLLOW)) {
		/* asked once more behind the end: the record may have come just before */
		if (over)
			return false;
		over = !registry_get(db, id, false, &row, NULL) && registry_terminal(row.status);
		if (!over && (clock_ms() > end || poll(&fd, 1, RESUMPTION_LOOK_MS) > 0))
			return true;
	}
	return true;
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
	bool began;
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
	began = resumed_began(where, db, next, what->wake);
	if (began)
		resumed_links(where, db, what->thread_id,
			      &(struct resumed){ next, json_str(record, "directive"),
						 what->message });
	if (began && what->async)
		return 0;
	json_object_del(*ret, "async");
	json_object_del(*ret, "status");
	json_object_del(*ret, "pid");
	return agent_await(where->threads, &ask, *ret, err);
}

/* One that was continued already is gone on with where its chain ends. */
int agent_resume(const struct agent_recovery *where, const struct agent_resumption *what,
		 json_t **ret, struct rye_err *err)
{
	const struct registry_ask ask = { .project = where->project, .create = true };
	struct agent_resumption last = *what;
	char id[THREAD_ID_MAX];
	struct db *db = NULL;
	int r = registry_of(&ask, &db, err);

	last.thread_id = id;
	if (!r)
		r = registry_last(db, what->thread_id, id, err);
	if (!r)
		r = resumed_row(db, &last, err);
	if (!r)
		r = resumed_start(where, &last, db, ret, err);
	if (*ret)
		json_sets(*ret, "resumed", what->thread_id);
	db_close(db);
	return r;
}
