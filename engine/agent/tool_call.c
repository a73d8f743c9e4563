/* SPDX-License-Identifier: MIT */
/*
 * One call of the model: which item it names, whether the thread's capabilities and those of every
 * thread above it allow it, and its reply, through the engine's one way of running things. Whatever
 * is wrong with a call is told to the model as its result.
 */
#include "agent/agent_inner.h"

#include "base/id.h"
#include "bounds.h"
#include "clock.h"
#include "memory.h"
#include "scope.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>

void tool_call_done(struct tool_call *call)
{
	json_decref(call->arguments);
	*call = (struct tool_call){ .arguments = NULL };
}

/* ---- what it names ---- */

/* The primitives under every name that models know; NULL: none of them. */
static const char *call_primary(const char *name)
{
	static const char *const names[][2] = {
		{ "rye_execute", "execute" }, { "rye_fetch", "fetch" }, { "rye_load", "fetch" },
		{ "rye_search", "fetch" },    { "rye_sign", "sign" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i][0], name))
			return names[i][1];
	return NULL;
}

/* An object; a text that holds one, as some models write `parameters`. */
static int call_object(const json_t *value, const char *what, json_t **ret, struct rye_err *err)
{
	struct rye_span text = { json_string_value(value), json_string_length(value) };

	if (!value || json_is_null(value))
		*ret = json_object();
	else if (json_is_object(value))
		*ret = json_deep_copy(value);
	else if (json_is_string(value))
		*ret = json_parse(text, JSON_LOAD_LAST_WINS, what, err);
	else
		return rye_fail(err, RYE_INVALID, "%s must be an object", what);
	if (*ret)
		return 0;
	return json_is_string(value) ? -(int)RYE_INVALID : memory_fail(err);
}

/* Kind and id of what a primitive's arguments name; "" for a search. */
static int call_item(struct tool_call *call, struct rye_err *err)
{
	const char *id = json_str(call->arguments, "item_id");
	const char *type = json_str(call->arguments, "item_type");

	if (!*type)
		type = json_str(call->arguments, "kind");
	call->kind = id_split(id, &call->item_id);
	if (call->kind == RYE_KIND__MAX) {
		call->item_id = id;
		call->kind = *type ? kind_from_name(type) : RYE_TOOL;
	} else if (*type && kind_from_name(type) != call->kind) {
		return rye_fail(err, RYE_INVALID, "item_type '%s' contradicts item_id '%s'", type,
				id);
	}
	if (call->kind == RYE_KIND__MAX)
		return rye_fail(err, RYE_INVALID,
				"Unknown item_type: '%s'. Must be directive, tool or knowledge.",
				type);
	if (!*id && strcmp(call->primary, "fetch") != 0)
		return rye_fail(err, RYE_INVALID, "item_id is required.");
	return 0;
}

/* `rye_execute` of the return: its parameters are the outputs. */
static int call_returns(struct tool_call *call, struct rye_err *err)
{
	json_t *parameters = NULL;
	int r;

	if (call->kind != RYE_TOOL || strcmp(call->item_id, RETURN_ID) != 0)
		return 0;
	call->returns = true;
	r = call_object(json_object_get(call->arguments, "parameters"), "parameters", &parameters,
			err);
	if (r)
		return r;
	call->item_id = RETURN_ID;
	json_decref(call->arguments);
	call->arguments = parameters;
	return 0;
}

static int call_offered(const struct agent *agent, struct tool_call *call, struct rye_err *err)
{
	const json_t *offer = json_object_get(agent->palette.items, call->name);

	if (!json_is_object(offer))
		return rye_fail(err, RYE_NOT_FOUND, "Unknown tool: %.200s", call->name);
	snprintf(call->primary, sizeof(call->primary), "%s", json_str(offer, "primary"));
	call->item_id = json_str(offer, "item_id");
	call->kind = RYE_TOOL;
	return 0;
}

int tool_call_read(const struct agent *agent, const json_t *block, struct tool_call *ret,
		   struct rye_err *err)
{
	const char *primary;
	int r;

	*ret = (struct tool_call){ .block = block,
				   .id = json_str(block, "id"),
				   .name = json_str(block, "name") };
	if (json_flag(block, "incomplete", false))
		return rye_fail(err, RYE_INVALID, "the arguments cannot be read: %.600s",
				json_str(block, "fault"));
	r = call_object(json_object_get(block, "arguments"), "the arguments", &ret->arguments, err);
	if (r)
		return r;
	if (!strcmp(ret->name, RETURN_NAME)) {
		ret->returns = true;
		ret->item_id = RETURN_ID;
		/* the whole call of an execute, under the short name */
		if (json_object_get(ret->arguments, "parameters") &&
		    json_object_get(ret->arguments, "item_id"))
			return call_item(ret, err) ? -(int)RYE_INVALID : call_returns(ret, err);
		return 0;
	}
	primary = call_primary(ret->name);
	if (!primary)
		return call_offered(agent, ret, err);
	snprintf(ret->primary, sizeof(ret->primary), "%s", primary);
	r = call_item(ret, err);
	return r || strcmp(primary, "execute") != 0 ? r : call_returns(ret, err);
}

/* ---- may it? ---- */

/* Of which kind a query is: "knowledge.a.*" and "rye.fetch.knowledge.*" are of knowledge. */
static void call_scope(const struct tool_call *call, char ret[32])
{
	static const char *const before[] = { "rye.fetch.", "rye.*." };
	const char *scope = json_str(call->arguments, "scope");

	for (size_t i = 0; i < ARRAY_SIZE(before); i++)
		if (!strncmp(scope, before[i], strlen(before[i])))
			scope += strlen(before[i]);
	if (!*scope)
		scope = rye_kind_name(call->kind);
	snprintf(ret, 32, "%.*s", (int)strcspn(scope, "."), scope);
}

/* From here on a tool has its own id, whatever the caller wrote: what is checked is what runs. */
void tool_call_settle(const struct agent *agent, struct tool_call *call)
{
	if (!call->returns &&
	    capability_id(agent->items, call->kind, call->item_id, call->whole_id))
		call->item_id = call->whole_id;
}

static enum act call_act(const struct tool_call *call)
{
	if (!strcmp(call->primary, "sign"))
		return ACT_SIGN;
	if (strcmp(call->primary, "fetch") != 0)
		return ACT_RUN;
	return json_object_get(call->arguments, "destination") ? ACT_COPY : ACT_READ;
}

int tool_call_allowed(const struct agent *agent, const struct tool_call *call, struct rye_err *err)
{
	struct authority_ask ask = { call_act(call), rye_kind_name(call->kind), call->item_id };
	char scope[32];

	if (!strcmp(call->primary, "fetch") && !*call->item_id) {
		call_scope(call, scope);
		ask.kind = scope;
		ask.id = NULL;
	}
	return authority_check(&agent->asker, &ask, err);
}

/* ---- its reply ---- */

/* rye_done_fn, on a worker. */
static void call_on_done(void *arg, const struct rye_outcome *outcome)
{
	struct tool_running *run = arg;

	run->reply = json_parse((struct rye_span){ outcome->reply->data, outcome->reply->len },
				JSON_LOAD_LAST_WINS | JSON_LOAD_NUL, "the reply", NULL);
	(void)!eventfd_write(run->done, 1);
}

/* Until it is answered; a stop or the end of the thread's time cancels it, once. */
static void tool_call_wait(const struct agent *agent, struct rye_call *call, int done)
{
	struct pollfd fds[] = { { .fd = done, .events = POLLIN },
				{ .fd = agent->ask->stop, .events = POLLIN } };
	int64_t left = agent_left_ms(agent);
	int n;

	do
		n = poll(fds, ARRAY_SIZE(fds), left < 0 ? -1 : (int)MIN_OF(left, INT32_MAX));
	while (n < 0 && errno == EINTR);
	if (fds[0].revents)
		return;
	rye_call_cancel(call, n ? RYE_CANCELLED : RYE_TIMEOUT);
	fds[1].fd = -1;
	while (poll(fds, 1, -1) < 0 && errno == EINTR)
		;
}

/* The request as the engine takes it. */
static json_t *call_request(const struct tool_call *call)
{
	static const char *const kept[] = { "thread",	       "async",	 "model",
					    "limit_overrides", "target", "dry_run" };
	bool primitive = call_primary(call->name);
	json_t *request, *parameters = json_object_get(call->arguments, "parameters");

	if (strcmp(call->primary, "execute") != 0) {
		request = json_deep_copy(call->arguments);
		json_object_del(request, "kind");
		json_object_del(request, "item_type");
		/* of a query the kind is its scope */
		if (!*call->item_id && *json_str(call->arguments, "item_type") &&
		    !*json_str(request, "scope"))
			json_sets(request, "scope", rye_kind_name(call->kind));
		if (*call->item_id)
			json_set(request, "item_id",
				 json_sprintf("%s:%s", rye_kind_name(call->kind), call->item_id));
		return request;
	}
	request = json_pack("{s:o}", "item_id",
			    json_sprintf("%s:%s", rye_kind_name(call->kind), call->item_id));
	if (!primitive) {
		json_object_set(request, "parameters", call->arguments);
		return request;
	}
	if (parameters)
		json_object_set(request, "parameters", parameters);
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (json_object_get(call->arguments, kept[i]))
			json_object_set(request, kept[i],
					json_object_get(call->arguments, kept[i]));
	return request;
}

static enum rye_verb call_verb(const struct tool_call *call)
{
	if (!strcmp(call->primary, "fetch"))
		return RYE_FETCH;
	return strcmp(call->primary, "sign") ? RYE_EXECUTE : RYE_SIGN;
}

int tool_call_begin(struct agent *agent, const struct tool_call *call, struct tool_running *ret,
		    struct rye_err *err)
{
	auto_json json_t *message = call_request(call);
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_free char *authority = spawn_authority_text(agent, call);
	struct rye_request request = { .verb = call_verb(call),
				       .kind = RYE_KIND__MAX,
				       .id = "",
				       .uid = getuid(),
				       .authority = authority };

	if (request.verb == RYE_EXECUTE)
		spawn_confine(agent, message);
	json_put(&text, message, true);
	*ret = (struct tool_running){ .done = eventfd(0, EFD_CLOEXEC) };
	if (ret->done < 0 || text.failed || !authority) {
		int sys = ret->done < 0 ? errno : ENOMEM;

		if (ret->done >= 0)
			close(ret->done);
		return rye_fail_sys(err, sys, "cannot run %s", call->name);
	}
	request.message = (struct rye_span){ text.data, text.len };
	rye_start(agent->rye, &request, call_on_done, ret, &ret->call);
	return 0;
}

json_t *tool_call_end(const struct agent *agent, const struct tool_call *call,
		      struct tool_running *run, struct rye_err *err)
{
	eventfd_t told;

	tool_call_wait(agent, run->call, run->done);
	/* behind this the worker no longer uses it */
	(void)!eventfd_read(run->done, &told);
	rye_call_unref(run->call);
	close(run->done);
	if (!run->reply)
		rye_fail(err, RYE_TOOL_FAILED, "%s has no reply that can be read", call->name);
	return run->reply;
}

json_t *tool_call_execute(struct agent *agent, const struct tool_call *call, struct rye_err *err)
{
	struct tool_running run;

	if (spawn_asked(call))
		return spawn_fork(agent, call, err);
	if (tool_call_begin(agent, call, &run, err))
		return NULL;
	return tool_call_end(agent, call, &run, err);
}
