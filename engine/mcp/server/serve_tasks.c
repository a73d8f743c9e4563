/* SPDX-License-Identifier: MIT */
/*
 * The Tasks extension: a detached run is a task, its thread's id the task's. What is told of one is
 * what its registry row and files say, or those of the thread that it went on in, so a task outlives
 * the server that began it. On the thread that read the request, or the teller of the call; no lock.
 */
#include "mcp/server/server_inner.h"

#include "clock.h"
#include "str.h"

#include <string.h>

/* How often a client should ask. */
#define POLL_MS 1000

/* A fact of a thread, to free; NULL: it has none, or there is no such thread. */
static char *task_fact(struct serve *serve, const char *id, const char *name)
{
	auto_blob struct rye_blob *blob = NULL;

	if (rye_thread_file(serve->rye, id, name, &blob, NULL))
		return NULL;
	return span_dup(span_trim((struct rye_span){ blob->data, blob->len }));
}

/* The thread that works for the task now. */
static const char *task_thread(struct serve *serve, const char *task, char room[RYE_THREAD_ID_ROOM])
{
	return rye_thread_last(serve->rye, task, room) ? task : room;
}

static json_t *task_reply(struct serve *serve, const char *id)
{
	auto_blob struct rye_blob *blob = NULL;

	if (rye_thread_file(serve->rye, id, "result.json", &blob, NULL))
		return NULL;
	return json_loadb(blob->data, blob->len, JSON_ALLOW_NUL, NULL);
}

/* What is recorded of a runner that died says nothing of the item, as every reply of one does. */
static bool task_lost(const char *status, const json_t *reply)
{
	return !strcmp(status, "error") && !json_object_get(reply, "item_id");
}

/* The status of a task. A conversation that went on in another thread has that one's reply. */
static const char *task_status(const char *status, const json_t *reply)
{
	static const char *const done[] = { "completed", "completed_with_errors", "error",
					    "success" };
	static const char *const ended[] = { "cancelled", "killed" };

	if (task_lost(status, reply))
		return "failed";
	if (!strcmp(status, "continued"))
		status = json_str(reply, json_object_get(reply, "state") ? "state" : "status");
	for (size_t i = 0; i < ARRAY_SIZE(done); i++)
		if (!strcmp(status, done[i]))
			return "completed";
	for (size_t i = 0; i < ARRAY_SIZE(ended); i++)
		if (!strcmp(status, ended[i]))
			return "cancelled";
	return "working";
}

/* The row says so and no process is there: the registry is told before it is believed. */
static void look_after(struct serve *serve, const char *task)
{
	char room[RYE_THREAD_ID_ROOM];
	const char *id = task_thread(serve, task, room);
	auto_free char *status = task_fact(serve, id, "status");
	auto_free char *alive = task_fact(serve, id, "alive");

	if (status && alive && !strcmp(status, "running") && !strcmp(alive, "0"))
		rye_thread_recover(serve->rye, id);
}

/* Of a model at work how far it is, by its limits' line "turns 3 9"; else its status. */
static json_t *task_message(struct serve *serve, const char *id, const char *status)
{
	auto_free char *limits = NULL;
	long long turns, most;

	if (!strcmp(status, "running"))
		limits = task_fact(serve, id, "limits");
	for (const char *line = limits; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (sscanf(line, "turns %lld %lld", &turns, &most) == 2)
			return json_sprintf("turn %lld of %lld", turns, most);
	}
	return json_string(status);
}

/* The task as it is now; NULL: there is no such thread. */
static json_t *task_now(struct serve *serve, const char *id, const json_t *reply)
{
	char room[RYE_THREAD_ID_ROOM];
	const char *thread = task_thread(serve, id, room);
	auto_free char *status = task_fact(serve, thread, "status");
	auto_free char *created = task_fact(serve, id, "created");
	auto_free char *updated = task_fact(serve, thread, "updated");

	if (!status || !created)
		return NULL;
	return json_pack("{s:s, s:s, s:o, s:s, s:s, s:n, s:i}", "taskId", id, "status",
			 task_status(status, reply), "statusMessage",
			 task_message(serve, thread, status), "createdAt", created, "lastUpdatedAt",
			 updated && *updated ? updated : created, "ttlMs", "pollIntervalMs",
			 POLL_MS);
}

json_t *serve_task_begun(struct serve *serve, const json_t *reply)
{
	const char *id = json_str(reply, "thread_id");
	auto_json json_t *end = NULL;
	json_t *task;

	if (!*id || !strcmp(json_str(reply, "status"), "error"))
		return NULL;
	end = task_reply(serve, id); /* it may have ended already */
	task = task_now(serve, id, end);
	if (task)
		json_sets(task, "resultType", "task");
	return task;
}

/* The id that the request names and, of a client that may, its task; NULL: *fault says why not. */
static const char *task_named(struct serve_request *request, const json_t *params,
			      struct serve_fault *fault)
{
	const char *id = serve_text(params, "taskId");
	auto_free char *status = NULL;

	if (!request->frame.tasks) {
		serve_fail(fault, MCP_NEEDS_CAPABILITY, "the client does not declare tasks");
		fault->status = 400;
		fault->data = json_pack("{s:{s:{s:{}}}}", "requiredCapabilities", "extensions",
					SERVE_TASKS);
		return NULL;
	}
	if (id)
		look_after(request->serve, id);
	status = id ? task_fact(request->serve, id, "status") : NULL;
	if (status)
		return id;
	return serve_fail(fault, MCP_BAD_PARAMS, "taskId: there is no such task");
}

json_t *serve_tasks_get(struct serve_request *request, const json_t *params,
			struct serve_fault *fault)
{
	const char *id = task_named(request, params, fault);
	json_t *reply = id ? task_reply(request->serve, id) : NULL;
	json_t *task = id ? task_now(request->serve, id, reply) : NULL;
	const char *status = json_str(task, "status");

	if (id && !task)
		serve_fail(fault, MCP_BAD_PARAMS, "taskId: there is no such task");
	if (!strcmp(status, "completed") && reply)
		json_set(task, "result", serve_tool_said(steal(&reply)));
	else if (!strcmp(status, "failed"))
		json_set(task, "error",
			 json_pack("{s:i, s:s}", "code", MCP_INTERNAL, "message",
				   "the process that ran it is gone"));
	json_decref(reply);
	return task;
}

json_t *serve_tasks_update(struct serve_request *request, const json_t *params,
			   struct serve_fault *fault)
{
	return task_named(request, params, fault) ? json_object() : NULL;
}

json_t *serve_tasks_cancel(struct serve_request *request, const json_t *params,
			   struct serve_fault *fault)
{
	const char *id = task_named(request, params, fault);
	char room[RYE_THREAD_ID_ROOM];

	if (!id)
		return NULL;
	/* What is over already stays so: that is no error. */
	rye_thread_ctl(request->serve->rye, task_thread(request->serve, id, room), SPAN("cancel"),
		       NULL, NULL);
	return json_object();
}
