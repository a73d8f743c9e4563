/* SPDX-License-Identifier: MIT */
/*
 * Children of a thread: directives that its model asks to have worked through. What a child may do is
 * handed over in its orders, from this process's memory: no file that a tool can write widens it.
 * Children of a thread that is cancelled or fails are cancelled, too; those of one that has completed
 * go on.
 */
#include "agent/agent_inner.h"

#include "memory.h"
#include "scope.h"
#include "str.h"

#include <string.h>

/* What a thread may hand on, {capabilities, limits}; a new reference. */
static json_t *spawn_authority(const struct agent *agent)
{
	return json_pack("{s:O, s:o}", "capabilities", agent->lists, "limits",
			 limits_json(&agent->limits));
}

char *spawn_authority_text(const struct agent *agent, const struct tool_call *call)
{
	auto_json json_t *authority = spawn_authority(agent);
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	json_sets(authority, "thread_id", agent->thread_id);
	json_sets(authority, "project", agent->opt.project);
	if (call->free)
		json_set(authority, "free", json_true());
	json_put(&text, authority, true);
	return text.failed ? NULL : buf_steal(&text);
}

/* A child is counted before it is there: one that fails to start counts as well. */
static int children_count(struct agent *agent, struct rye_err *err)
{
	if (!agent->limits.set[LIMIT_SPAWNS])
		return 0;
	return registry_spawn(agent->registry, agent->record.dir, agent->thread_id,
			      (int64_t)agent->limits.value[LIMIT_SPAWNS], err);
}

/* The money of one that is being started, reserved before this thread spends or ends. */
struct child_funds {
	struct agent *agent;
	const char *id; /* of its directive */
	json_t *request;
	char thread_id[THREAD_ID_MAX]; /* "": nothing is reserved */
	struct rye_err refused; /* RYE_BUDGET: there is not that much; it ends at its start */
};

static int children_limits(const struct child_funds *funds, struct limits *ret, struct rye_err *err)
{
	struct agent *agent = funds->agent;
	const struct item_ask ask = { .kind = RYE_DIRECTIVE, .id = funds->id };
	auto_item struct rye_item *item = NULL;
	struct brief_limits_ask limits = { .items = agent->items,
					   .request = funds->request,
					   .parent = &agent->limits };
	int r = rye_load(agent->items, &ask, &item, err);

	if (r)
		return r;
	brief_take(item, funds->request);
	limits.directive = item;
	return brief_limits(&limits, ret, err);
}

static int children_fund(void *arg, const char *thread_id, struct rye_err *err)
{
	struct child_funds *funds = arg;
	struct budget_ask ask = { .child = thread_id, .parent = funds->agent->thread_id };
	struct limits limits;
	int r = children_limits(funds, &limits, err);

	if (r || !limits.set[LIMIT_SPEND])
		return r;
	ask.amount = limits.value[LIMIT_SPEND];
	ask.half = !limits.spend_declared;
	r = budget_reserve(funds->agent->budget, &ask, NULL, err);
	if (!r)
		snprintf(funds->thread_id, sizeof(funds->thread_id), "%s", thread_id);
	if (r == -(int)RYE_BUDGET)
		funds->refused = *err;
	return r;
}

void spawn_confine(const struct agent *agent, json_t *request)
{
	static const char *const flags[] = { "no_net", "no_write", "no_shown" };

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		if (json_flag(agent->request, flags[i], false))
			json_set(request, flags[i], json_true());
}

static json_t *children_request(const struct tool_call *call, const char *ref)
{
	static const char *const kept[] = { "parameters", "model", "limit_overrides" };
	json_t *request = json_pack("{s:s, s:s}", "item_id", ref, "thread", "fork");

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (json_object_get(call->arguments, kept[i]))
			json_object_set_new(
				request, kept[i],
				json_deep_copy(json_object_get(call->arguments, kept[i])));
	return request;
}

bool spawn_asked(const struct tool_call *call)
{
	const json_t *thread = json_object_get(call->arguments, "thread");
	const json_t *dry_run = json_object_get(call->arguments, "dry_run");
	const char *target = json_str(call->arguments, "target");

	/* elsewhere: as any other request, whose thread is this one's child all the same */
	if ((*target && strcmp(target, "local") != 0) || (dry_run && !json_is_false(dry_run)))
		return false;
	return call->kind == RYE_DIRECTIVE && !strcmp(call->primary, "execute") &&
	       (json_is_true(thread) || !strcmp(json_str(call->arguments, "thread"), "fork"));
}

json_t *spawn_fork(struct agent *agent, const struct tool_call *call, struct rye_err *err)
{
	auto_buf struct rye_buf ref = RYE_BUF_INIT;
	auto_json json_t *request = NULL;
	auto_json json_t *authority = NULL;
	json_t *reply = NULL, *status;
	struct child_funds funds = { .agent = agent, .id = call->item_id };
	struct fork_ask ask = { .parent_id = agent->thread_id,
				.wake = agent->ask->stop,
				.async = json_flag(call->arguments, "async", false),
				.fund = children_fund,
				.fund_arg = &funds };
	struct rye_err why = { 0 };

	if (children_count(agent, err))
		return NULL;
	buf_addf(&ref, "directive:%s", call->item_id);
	ask.ref = ref.data;
	ask.request = funds.request = request = children_request(call, ref.data);
	spawn_confine(agent, request);
	ask.authority = authority = spawn_authority(agent);
	if (fork_start(agent->threads, &ask, &reply, &why) && !reply) {
		/* it never began */
		if (*funds.thread_id)
			budget_settle(agent->budget, funds.thread_id, "error", NULL);
		*err = why;
		return NULL;
	}
	/* it has begun only to say so: to a parent that does not wait nothing else would */
	if (ask.async && funds.refused.code != RYE_OK) {
		rye_fail(err, RYE_BUDGET, "thread %s cannot work: %s", json_str(reply, "thread_id"),
			 funds.refused.msg);
		json_decref(reply);
		return NULL;
	}
	status = json_pack("{s:s}", "status", why.code ? "error" : "success");
	if (why.code)
		json_sets(status, "error", why.msg);
	json_object_update_missing(reply, status);
	json_decref(status);
	return reply;
}

/* ---- at the end ---- */

static int children_living(void *arg, const struct registry_row *row)
{
	if (!registry_terminal(row->status))
		json_array_append_new(arg, json_string(row->thread_id));
	return 0;
}

void spawn_end(struct agent *agent)
{
	auto_json json_t *living = json_array();
	json_t *id;
	size_t i;

	if (agent->threads && strcmp(agent->status, "completed") &&
	    strcmp(agent->status, "continued"))
		registry_children(agent->registry, agent->thread_id, children_living, living, NULL);
	json_array_foreach(living, i, id)
		threads_ctl(agent->threads, json_string_value(id), SPAN("cancel"), NULL);
}
