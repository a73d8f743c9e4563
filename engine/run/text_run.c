/* SPDX-License-Identifier: MIT */
/*
 * Running what is text: a directive inline hands its directions to the caller, a knowledge
 * entry its content. No process starts. A directive's fork and async go to the layer that
 * keeps threads, with its inputs checked before. On a worker; no lock.
 */
#include "run/run_inner.h"

#include "bounds.h"
#include "memory.h"
#include "scope.h"

#include <stdio.h>
#include <string.h>

static int text_run_load(struct run *run, struct rye_item **ret, struct rye_err *err)
{
	struct item_ask ask = { .kind = run->request.kind, .id = run->request.id };
	json_t *notice;
	int r = rye_load(run->exec->env.items, &ask, ret, err);

	if (r)
		return r;
	json_set(run->reply.metadata, "canonical_ref",
		 json_sprintf("%s:%s", rye_kind_name(run->request.kind), (*ret)->id));
	if ((*ret)->verdict.notice[0]) {
		notice = json_pack("[s]", (*ret)->verdict.notice);
		reply_warn(&run->reply, notice);
		json_decref(notice);
	}
	return 0;
}

/*
 * `model`, `limit_overrides` and what says where it runs beside the inputs are the launcher's, unless the directive has
 * inputs of those names; a run in the caller's own context has no launcher.
 */
static int take_launch(struct run *run, const struct rye_item *directive, struct rye_err *err)
{
	static const char *const names[] = { "model", "limit_overrides" };
	const json_t *inputs = json_object_get(directive->meta, "inputs");
	struct request *request = &run->request;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		json_t *value = json_object_get(request->params, names[i]);

		if (!value || json_find(inputs, "name", names[i]))
			continue;
		if (!request->fork)
			return rye_fail(err, RYE_INVALID, "%s requires thread=\"fork\"", names[i]);
		if (request->verb != RYE_EXECUTE)
			json_object_set(request->doc, names[i], value);
		else if (!json_object_get(request->doc, names[i]))
			json_object_set(request->doc, names[i], value);
		json_object_del(request->params, names[i]);
	}
	return run_take_target(run, directive, err);
}

static void reply_inline(struct run *run, const json_t *map)
{
	struct reply *reply = &run->reply;
	json_t *body = json_object_get(map, "body");
	json_t *outputs = json_object_get(map, "outputs"),
	       *actions = json_object_get(map, "actions");
	auto_json json_t *told = prompt_instruction_of(run->exec->env.items);

	reply_start(reply, "success", run->request.kind, run->request.spelled);
	json_object_set(reply->doc, "your_directions", run->request.by_type ? told : body);
	json_object_set(reply->doc, "body", body);
	json_object_set(reply->doc, "instructions", told);
	if (outputs)
		json_object_set(reply->doc, "outputs", outputs);
	if (actions)
		json_object_set(reply->doc, "actions", actions);
}

static void text_run_reply_dry(struct run *run, const json_t *map, json_t *inputs)
{
	json_t *doc = run->reply.doc;

	reply_start(&run->reply, "validation_passed", run->request.kind, run->request.spelled);
	json_object_set(doc, "data", (json_t *)map);
	json_object_set(doc, "inputs", inputs);
	json_sets(doc, "message", "Directive validation passed (dry run)");
}

static void go_on(struct run *run, const struct rye_item *directive, json_t *inputs)
{
	struct interp in = {
		.inputs = inputs,
		.env = run->exec->env.env,
		.env_arg = run->exec->env.env_arg,
	};
	auto_json json_t *map = NULL;
	struct rye_err err = { 0 };
	char ref[RYE_ID_MAX + 16];

	if (run->request.fork && !run->request.dry_run) {
		json_object_update(run->request.params, inputs);
		snprintf(ref, sizeof(ref), "directive:%s", directive->id);
		run_detached(run, ref);
		return;
	}
	map = interp_map(&in, directive->meta, &err);
	if (!map)
		run_fail(run, &err);
	else if (run->request.dry_run)
		text_run_reply_dry(run, map, inputs);
	else
		reply_inline(run, map);
}

void run_directive(struct run *run)
{
	auto_item struct rye_item *directive = NULL;
	auto_json json_t *inputs = NULL;
	auto_json json_t *extra = NULL;
	struct rye_err err = { 0 };
	int r = text_run_load(run, &directive, &err);

	if (!r && run_refused(run, directive->kind, directive->id))
		return;
	if (!r)
		r = request_whole(run->ask, &run->request, directive, &err);
	if (!r)
		r = take_launch(run, directive, &err);
	if (!r)
		r = inputs_resolve(directive, run->request.params, &inputs, &extra, &err);
	if (!r) {
		go_on(run, directive, inputs);
		return;
	}
	run_fail(run, &err);
	if (extra)
		json_object_update_missing(run->reply.doc, extra);
}

void run_knowledge(struct run *run)
{
	static const char told[] = "Use this knowledge to inform your decisions.";
	auto_item struct rye_item *entry = NULL;
	auto_json json_t *data = NULL;
	struct rye_err err = { 0 };
	json_t *doc = run->reply.doc, *body;
	int r = text_run_load(run, &entry, &err);

	if (!r && run_refused(run, entry->kind, entry->id))
		return;
	/* Its text can be read, but `data` would be half of what was meant. */
	if (!r && entry->parse.code)
		r = rye_fail(&err, entry->parse.code, "Cannot read metadata: knowledge:%s: %s",
			     entry->id, entry->parse.msg);
	if (r) {
		run_fail(run, &err);
		return;
	}
	data = json_deep_copy(entry->meta);
	if (!json_object_get(data, "name"))
		json_sets(data, "name", entry->id);
	body = json_object_get(data, "body");
	if (!json_string_length(body))
		body = json_object_get(data, "content");
	reply_start(&run->reply, "success", run->request.kind, run->request.spelled);
	json_object_set(doc, "data", data);
	json_sets(doc, "your_directions", told);
	if (json_is_string(body))
		json_object_set(doc, "content", body);
	else
		json_set(doc, "content", json_stringn(entry->body.ptr, entry->body.len));
}
