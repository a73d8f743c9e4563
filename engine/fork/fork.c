/* SPDX-License-Identifier: MIT */
/*
 * A directive's fork: starts its runner, and for one that is waited for waits until the thread has
 * ended. A caller that stops waiting leaves the thread as it is. The reply is what the runner has
 * recorded. No state, no lock.
 */
#include "fork/fork.h"

#include "base/id.h"
#include "policy/policy.h"
#include "memory.h"
#include "record/record.h"
#include "scope.h"
#include "str.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What ran elsewhere may have recorded the reply of a tool, which has no state: it is as its thread has ended. */
static void fork_state(struct threads *threads, const char *id, json_t *reply, bool failed)
{
	struct registry_row row = { .status = "" };
	struct db *db = NULL;

	if (!threads_registry(threads, true, &db, NULL) &&
	    !registry_get(db, id, false, &row, NULL) && registry_terminal(row.status))
		json_sets(reply, "state", row.status);
	else
		json_sets(reply, "state", failed ? "error" : "completed");
}

/* The reply that the runner has recorded; of a thread that failed its reason in *err, too. */
static int fork_result(struct threads *threads, const char *id, json_t *reply, struct rye_err *err)
{
	static const char *const ours[] = { "status", "code", "item_id", "type" };
	auto_blob struct rye_blob *blob = NULL;
	auto_json json_t *doc = NULL;
	enum rye_code code;
	int r = threads_file(threads, id, "result.json", &blob, err);

	if (r)
		return r;
	doc = json_parse((struct rye_span){ blob->data, blob->len }, 0, "result.json", err);
	if (!doc)
		return -(int)RYE_IO;
	/* another version may have another code: the item failed */
	code = rye_code_named(json_str(doc, "code"));
	if (!strcmp(json_str(doc, "status"), "error"))
		r = rye_fail(err, code ? code : RYE_TOOL_FAILED, "%s", json_str(doc, "error"));
	if (!*json_str(doc, "state"))
		fork_state(threads, id, doc, r);
	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		json_object_del(doc, ours[i]);
	/* the caller knows the first thread of a chain, and asks what all of it has cost */
	if (strcmp(json_str(doc, "thread_id"), id) != 0 && *json_str(doc, "thread_id")) {
		json_sets(reply, "resolved_thread_id", json_str(doc, "thread_id"));
		if (json_object_get(doc, "chain_cost"))
			json_object_set(doc, "cost", json_object_get(doc, "chain_cost"));
		json_object_del(doc, "chain_cost");
	}
	json_object_del(doc, "thread_id");
	json_object_update(reply, doc);
	return r;
}

static json_t *fork_reply(const struct fork_ask *ask, const struct launched *launched)
{
	const char *id = ask->ref;
	json_t *reply = json_object();

	id_split(ask->ref, &id);
	json_sets(reply, "thread_id", launched->thread_id);
	if (ask->remote)
		json_sets(reply, "remote", ask->remote);
	else
		json_sets(reply, "directive", id);
	json_sets(reply, "execution_mode", ask->remote ? "remote" : "fork");
	json_sets(reply, "state", "running");
	if (!ask->async)
		return reply;
	json_set(reply, "async", json_true());
	json_sets(reply, "status", "running");
	json_set(reply, "pid", json_integer(launched->pid));
	return reply;
}

void fork_next(const char *id, char ret[ID_UUID_MAX])
{
	id_uuid_of(id, "handoff", ret);
}

/* What is done between its name and its runner. */
struct fork_named {
	const struct fork_ask *ask;
	json_t *more;
};

static void fork_fund(void *arg, const char *thread_id)
{
	const struct fork_named *named = arg;
	const struct fork_ask *ask = named->ask;
	struct rye_err err = { 0 };

	if (ask->fund && ask->fund(ask->fund_arg, thread_id, &err) == -(int)RYE_BUDGET)
		json_sets(named->more, "unfunded", err.msg);
}

static int fork_launch(struct threads *threads, const struct fork_ask *ask, struct launched *ret,
		       struct rye_err *err)
{
	auto_json json_t *more = json_object();
	struct fork_named named = { ask, more };
	bool model = !strncmp(ask->ref, "directive:", strlen("directive:"));
	struct launch start = { .type = ask->remote ? ORDERS_REMOTE : ORDERS_DIRECTIVE,
				.ref = ask->ref,
				.id = ask->id,
				.request = ask->request,
				.grows = model ? "transcript.jsonl" : NULL,
				.parent_id = ask->parent_id,
				.previous_id = ask->previous_id,
				.named = fork_fund,
				.named_arg = &named };
	auto_buf struct rye_buf stem = RYE_BUF_INIT;
	const char *id = ask->ref, *leaf;

	id_split(ask->ref, &id);
	leaf = strrchr(id, '/') ? strrchr(id, '/') + 1 : id;
	buf_addf(&stem, "%s/%s", id, leaf);
	if (ask->authority)
		json_object_set(more, "authority", (json_t *)ask->authority);
	if (ask->parent_id)
		json_sets(more, "parent_id", ask->parent_id);
	if (ask->previous_id)
		json_sets(more, "previous_id", ask->previous_id);
	if (ask->message)
		json_sets(more, "continuation_message", ask->message);
	if (ask->chain)
		json_set(more, "chain", json_integer(ask->chain));
	if (ask->before)
		json_object_set(more, "before", (json_t *)ask->before);
	if (ask->remote)
		json_sets(more, "remote", ask->remote);
	start.stem = ask->remote ? NULL : stem.data;
	start.more = more;
	return threads_launch(threads, &start, ret, err);
}

/* ---- what comes out while it is waited for ---- */

/* The thread's `live`, which its launcher makes and its runner appends to. */
struct fork_live {
	const struct fork_ask *ask;
	int dir, file;
};

static void fork_live_done(struct fork_live *live)
{
	if (live->dir >= 0)
		close(live->dir);
	if (live->file >= 0)
		close(live->file);
}
#define auto_fork_live __attribute__((cleanup(fork_live_done)))

static void fork_live_read(void *arg)
{
	struct fork_live *live = arg;
	char chunk[8192];
	ssize_t n;

	if (live->file < 0)
		live->file = openat(live->dir, "live", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	while (live->file >= 0 && (n = read(live->file, chunk, sizeof(chunk))) > 0)
		live->ask->live(live->ask->live_arg, (struct rye_span){ chunk, (size_t)n });
}

/* The end of the last thread of its chain: it may hand over to others. */
static int fork_await_last(struct threads *threads, const char *id,
			   const struct thread_patience *patience, struct rye_err *err)
{
	char at[THREAD_ID_MAX], last[THREAD_ID_MAX];
	int r;

	snprintf(at, sizeof(at), "%s", id);
	for (;;) {
		r = threads_await(threads, at, patience, err);
		if (r || threads_last(threads, at, last) || !strcmp(at, last))
			return r;
		snprintf(at, sizeof(at), "%s", last);
	}
}

/* A tool that is run elsewhere is a run as any other: it ends with its caller. */
static void fork_cancel(struct threads *threads, const struct fork_ask *ask, const char *id,
			struct rye_err *err)
{
	struct rye_err why = { 0 };
	const char *name;

	if (!ask->remote || rye_kind_has(id_split(ask->ref, &name), RYE_KIND_FORKS) ||
	    threads_ctl(threads, id, SPAN("cancel"), &why))
		return;
	rye_fail(err, RYE_INTERRUPTED, "Run was cancelled: %s is told", ask->remote);
}

int fork_await(struct threads *threads, const struct fork_ask *ask, json_t *reply,
	       struct rye_err *err)
{
	auto_fork_live struct fork_live live = { ask, -1, -1 };
	const char *id = json_str(reply, "thread_id");
	struct thread_patience patience = { .wake = ask->wake,
					    .wait_ms = ask->wait_ms > 0 ? ask->wait_ms : -1,
					    .arg = &live };
	int r;

	/* without it nothing is told before the end */
	live.dir = ask->live ? threads_dir(threads, id, NULL) : -1;
	patience.fn = live.dir < 0 ? NULL : fork_live_read;
	r = fork_await_last(threads, id, &patience, err);
	if (r == -(int)RYE_INTERRUPTED)
		fork_cancel(threads, ask, id, err);
	if (live.dir >= 0)
		fork_live_read(&live);
	return r ? r : fork_result(threads, id, reply, err);
}

/* A child is counted before it is there, as one that the model itself asks for. */
static int fork_count(struct threads *threads, const json_t *authority, const char *parent,
		      struct rye_err *err)
{
	auto_close int dir = threads_dir(threads, parent, NULL);
	const json_t *spawns = json_object_get(json_object_get(authority, "limits"), "spawns");
	const struct registry_ask ask = { .project = json_str(authority, "project"),
					  .create = true };
	struct db *db = NULL;
	int r = 0;

	if (!json_is_number(spawns))
		return 0;
	r = registry_of(&ask, &db, err);
	if (!r)
		r = registry_spawn(db, dir, parent, (int64_t)json_number_value(spawns), err);
	db_close(db);
	return r;
}

int fork_start_below(struct threads *threads, const char *authority, const struct fork_ask *ask,
		     json_t **ret, struct rye_err *err)
{
	auto_json json_t *doc =
		authority_below(authority, json_object_get(ask->request, "within"), err);
	struct fork_ask below = *ask;
	int r = 0;

	if (!doc)
		return -(int)err->code;
	if (authority) {
		below.parent_id = json_str(doc, "thread_id");
		r = fork_count(threads, doc, below.parent_id, err);
	}
	if (json_array_size(json_object_get(doc, "capabilities")))
		below.authority = doc;
	return r ? r : fork_start(threads, &below, ret, err);
}

int fork_start(struct threads *threads, const struct fork_ask *ask, json_t **ret,
	       struct rye_err *err)
{
	struct launched launched = { .pid = 0 };
	int r = fork_launch(threads, ask, &launched, err);

	/* what is carried out elsewhere is asked for again under the same id: it is that one */
	if (r == -(int)RYE_BUSY && ask->remote && ask->id) {
		*err = (struct rye_err){ 0 };
		snprintf(launched.thread_id, sizeof(launched.thread_id), "%s", ask->id);
		r = 0;
	}
	if (r)
		return r;
	*ret = fork_reply(ask, &launched);
	if (ask->begun)
		ask->begun(ask->live_arg, launched.thread_id);
	return ask->async ? 0 : fork_await(threads, ask, *ret, err);
}

int fork_settled(const struct item_env *items, const char *ref, struct rye_err *err)
{
	auto_json json_t *config = NULL;
	const char *id = ref;

	if (!policy_config(items, "agent/agent", &config, err))
		return 0;
	if (!id)
		return rye_wrap(err, "Model resolution failed");
	id_split(ref, &id);
	return rye_wrap(err, "Model resolution failed for directive '%s'", id);
}
