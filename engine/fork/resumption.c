/* SPDX-License-Identifier: MIT */
/*
 * A person goes on with a thread that has ended. What the new one is to do stands in the signed
 * thread.json of the old one, in no file that anything else could have written. The person starts a
 * root thread anew, with all that its directive declares by now; one that was a child gets no more
 * than it had, though there is no parent any more that would hold it. Callers: workers of the engine.
 */
#include "fork/fork.h"

#include "base/id.h"
#include "clock.h"
#include "scope.h"
#include "str.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Milliseconds that the new thread's record is waited for, and between two looks. */
#define RESUMPTION_WAIT_MS 10000
#define RESUMPTION_LOOK_MS 10

/* An old thread while a call goes on with it. */
struct resumption {
	const struct fork_env *where;
	const char *id;
	int dir; /* locked: of two that resume it at once one does */
	struct db *db;
	json_t *record; /* its verified thread.json */
	struct trust_box
		*vouched; /* one that another machine carried out: what its records count by */
	char remote[65]; /* its name; "": none */
};

static struct trust_box *resumed_trust(const struct resumption *old)
{
	return old->vouched ? old->vouched : old->where->items->trust;
}

/* So that its record and its row tell the same. */
static int resumed_status(const struct resumption *old, struct rye_err *err)
{
	struct record record = { .ai = -1, .dir = old->dir, .id = old->id };
	struct key_secret key;
	int r = keystore_automatic(old->where->items, &key, err);

	if (r)
		return r;
	record.key = &key;
	r = thread_json_again(&record, old->record, "continued", err);
	key_wipe(&key);
	return r;
}

/* The new one runs: what tells of it is not worth its end. */
static void resumed_links(const struct resumption *old, const struct resumed *what)
{
	const struct record record = { .ai = -1,
				       .dir = old->dir,
				       .id = old->id,
				       .trust = resumed_trust(old) };
	struct rye_err err = { 0 };

	if (registry_chain(old->db, old->id, what->next, &err) || resumed_status(old, &err) ||
	    chronicle_resumed(&record, what, &err))
		log_line(old->where->items->log, RYE_LOG_WARN, "agent",
			 "thread %s is gone on with: %s", old->id, err.msg);
}

/* What the runner of the old one has signed. */
static int resumed_record(struct resumption *old, struct rye_err *err)
{
	struct record record = { .ai = -1,
				 .dir = old->dir,
				 .id = old->id,
				 .trust = old->where->items->trust };
	int r;

	record_vouched(&record, old->remote, &old->vouched);
	record.trust = resumed_trust(old);
	r = thread_json_read(&record, &old->record, err);

	return r ? rye_wrap(err, "thread %s cannot be resumed", old->id) : 0;
}

/* The same again, with the inputs that it ended up with; what the person gives now goes over that. */
static json_t *resumed_request(const json_t *record, const char *ref, const json_t *given)
{
	static const char *const own[] = { "model", "limit_overrides" };
	json_t *inputs = json_object_get(record, "inputs");
	json_t *parameters = inputs ? json_deep_copy(inputs) : json_object();
	json_t *request = json_pack("{s:s, s:s, s:o}", "item_id", ref, "thread", "fork",
				    "parameters", parameters);

	json_object_update(parameters, json_object_get(given, "parameters"));
	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		if (json_object_get(given, own[i]))
			json_object_set(request, own[i], json_object_get(given, own[i]));
	json_object_update_missing(request, json_object_get(record, "asked"));
	return request;
}

/* A request may name the directive as well: then it is this one's. */
static int resumed_named(const struct resumption *old, const json_t *given, struct rye_err *err)
{
	const char *named = json_str(given, "item_id"), *id;

	id_split(named, &id);
	if (!*named || !strcmp(id, json_str(old->record, "directive")))
		return 0;
	return rye_fail(err, RYE_INVALID, "thread %s is one of directive:%s, not of %.300s",
			old->id, json_str(old->record, "directive"), named);
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
static int resumed_row(struct db *db, const struct fork_resumption *what, struct rye_err *err)
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
static bool resumed_began(const struct fork_env *where, struct db *db, const char *id, int wake)
{
	auto_close int dir = threads_dir(where->threads, id, NULL);
	struct stat story;
	int64_t end = clock_ms() + RESUMPTION_WAIT_MS;
	struct pollfd fd = { .fd = wake, .events = POLLIN };
	struct registry_row row = { .status = "" };
	bool over = false;

	while (faccessat(dir, "thread.json", F_OK, AT_SYMLINK_NOFOLLOW)) {
		/* asked once more behind the end: the record may have come just before */
		if (over)
			return false;
		over = !registry_get(db, id, false, &row, NULL) && registry_terminal(row.status);
		/* elsewhere: its record comes with its end, what it tells before that */
		if (!fstatat(dir, "transcript.jsonl", &story, AT_SYMLINK_NOFOLLOW) &&
		    story.st_size > 0)
			return true;
		if (!over && (clock_ms() > end || poll(&fd, 1, RESUMPTION_LOOK_MS) > 0))
			return true;
	}
	return true;
}

/*
 * Linked once it runs: a new thread that cannot start leaves the old one as it is, and nothing of itself.
 */
static int resumed_start(struct resumption *old, const struct fork_resumption *what,
			 const struct fork_ask *how, json_t **ret, struct rye_err *err)
{
	const struct fork_env *where = old->where;
	auto_json json_t *request = NULL;
	auto_json json_t *authority = NULL;
	auto_buf struct rye_buf ref = RYE_BUF_INIT;
	struct fork_ask ask = *how;
	const char *next;
	int r = resumed_hold(old->record, &authority, err);

	if (!r)
		r = resumed_named(old, what->given, err);
	if (r)
		return r;
	buf_addf(&ref, "directive:%s", json_str(old->record, "directive"));
	request = resumed_request(old->record, ref.data, what->given);
	ask.ref = ref.data;
	ask.request = request;
	ask.authority = authority;
	ask.remote = *old->remote ? old->remote : NULL;
	r = fork_start(where->threads, &ask, ret, err);
	if (r)
		return r;
	next = json_str(*ret, "thread_id");
	if (resumed_began(where, old->db, next, what->wake)) {
		resumed_links(old, &(struct resumed){ next, json_str(old->record, "directive"),
						      what->message });
		return 0;
	}
	r = fork_await(where->threads, &ask, *ret, err);
	if (r && !threads_ctl(where->threads, next, SPAN("delete"), NULL)) {
		json_decref(*ret);
		*ret = NULL;
	}
	return r;
}

/* One that was continued already is gone on with where its chain ends. */
static int resumed_open(struct resumption *old, const struct fork_resumption *what,
			char id[THREAD_ID_MAX], struct rye_err *err)
{
	const struct registry_ask ask = { .project = old->where->project, .create = true };
	struct fork_resumption last = *what;
	char again[THREAD_ID_MAX];
	int r = registry_of(&ask, &old->db, err);

	if (!r)
		r = registry_last(old->db, what->thread_id, id, err);
	last.thread_id = old->id = id;
	if (!r)
		r = resumed_row(old->db, &last, err);
	if (r)
		return r;
	old->dir = threads_dir(old->where->threads, id, err);
	if (old->dir < 0)
		return -(int)err->code;
	/* also one that has linked its own in between */
	if (flock(old->dir, LOCK_EX | LOCK_NB) < 0 || registry_last(old->db, id, again, err) ||
	    strcmp(again, id) != 0)
		return rye_fail(err, RYE_STATE,
				"thread %s is gone on with already; " MEND_WITH
				"ryefs threads show %s",
				id, id);
	return resumed_record(old, err);
}

int fork_resume(const struct fork_env *where, const struct fork_resumption *what, json_t **ret,
		struct rye_err *err)
{
	struct resumption old = { .where = where, .dir = -1 };
	struct fork_ask ask = { .async = true, .wake = what->wake, .message = what->message };
	char id[THREAD_ID_MAX];
	int r = resumed_open(&old, what, id, err);

	ask.previous_id = id;
	if (!r)
		r = resumed_start(&old, what, &ask, ret, err);
	json_decref(old.record);
	trust_box_free(old.vouched);
	db_close(old.db);
	if (old.dir >= 0)
		close(old.dir);
	/* others need not wait for as long as this one */
	if (!r && !what->async) {
		json_object_del(*ret, "async");
		json_object_del(*ret, "status");
		json_object_del(*ret, "pid");
		r = fork_await(where->threads, &ask, *ret, err);
	}
	if (*ret)
		json_sets(*ret, "resumed", what->thread_id);
	return r;
}
