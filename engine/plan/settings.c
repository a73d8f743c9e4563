/* SPDX-License-Identifier: MIT */
/*
 * Configuration: what the chain's elements say (config, merged), what files under .ai/config they
 * ask for (CONFIG_RESOLVE), and the limits that follow. item/merged.c loads and merges such files
 * and decides which of them may be unsigned, and for which items. No lock.
 */
#include "plan/plan_inner.h"

#include "base/id.h"
#include "item/item.h"
#include "memory.h"
#include "scope.h"
#include "space/space.h"

#include <stdlib.h>
#include <string.h>

/* Later wins, key by key; nothing is merged deeper. */
static json_t *merge_chain(const struct chain *chain, size_t from)
{
	json_t *merged = json_object();

	for (size_t i = chain->n; i-- > from;)
		if (chain->v[i].meta.config)
			json_object_update(merged, (json_t *)chain->v[i].meta.config);
	return merged;
}

static bool path_ok(const char *path)
{
	struct rye_span whole = span_of(path);

	return *path && id_check(whole, NULL) == 0;
}

/* Every bundle, then user, then project; or the first of project, user, bundles. */
static int resolve_one(struct planner *planner, const struct config_want *want, json_t **ret,
		       json_t **ret_files, struct rye_err *err)
{
	__attribute__((cleanup(config_entry_done))) struct config_entry entry = { 0 };
	int r = config_everywhere(planner->base->items, want, &entry, err);

	if (r)
		return r;
	ground_mark_config(planner, want->path, json_array_size(entry.files), want->first);
	*ret = steal(&entry.map);
	*ret_files = steal(&entry.files);
	return 0;
}

/* What is given: the tool, and limits that hold for it, whichever of its runtimes asked for them. */
static int resolve_spec(struct planner *planner, const json_t *spec, bool limits, json_t **ret,
			struct rye_err *err)
{
	const char *mode = json_str(spec, "mode");
	struct config_want want = { .path = json_str(spec, "path"),
				    .first = !strcmp(mode, "first_match"),
				    .whose = planner->chain->v[0].item->space->type,
				    .limits = limits };
	auto_json json_t *files = NULL;
	int r;

	if (!json_is_object(spec) || (*mode && !want.first && strcmp(mode, "deep_merge"))) {
		*ret = json_object();
		planner_warn(planner, "config_resolve: mode %s is unknown: nothing was read", mode);
		return 0;
	}
	if (!*want.path) {
		*ret = json_object();
		return 0;
	}
	if (!path_ok(want.path))
		return rye_fail(err, RYE_INVALID,
				"config_resolve: %s: a relative path below .ai/config is wanted",
				want.path);
	r = resolve_one(planner, &want, ret, &files, err);
	if (!r && planner->trace)
		json_array_append_new(
			planner->trace,
			json_pack("{s:s, s:s, s:s, s:I, s:O}", "step", "config", "path", want.path,
				  "mode", want.first ? "first_match" : "deep_merge", "keys",
				  (json_int_t)json_object_size(*ret), "files", files));
	return r;
}

/* The tool's own wish goes into its parameters. */
static int resolve_tool(struct planner *planner, const json_t *specs, struct rye_err *err)
{
	json_t *all, *spec, *one = NULL;
	size_t i;
	int r;

	if (!json_is_array(specs)) {
		r = resolve_spec(planner, specs, false, &one, err);
		/* A copy: parameters are changed on their way to the tool, items never. */
		if (!r && json_object_size(one))
			json_object_set_new(planner->params, "resolved_config",
					    json_deep_copy(one));
		json_decref(one);
		return r;
	}
	all = json_object();
	json_object_set_new(planner->params, "resolved_config", all);
	json_array_foreach(specs, i, spec) {
		one = NULL;
		r = resolve_spec(planner, spec, false, &one, err);
		if (r)
			return r;
		if (*json_str(spec, "path"))
			json_object_set_new(all, json_str(spec, "path"), json_deep_copy(one));
		json_decref(one);
	}
	return 0;
}

/*
 * What runtimes ask for are the limits of execution. They hold for a tool without a runtime, too,
 * and for one whose runtime does not ask.
 */
static int resolve_limits(struct planner *planner, struct rye_err *err)
{
	auto_json json_t *usual = NULL;

	for (size_t i = 1; i < planner->chain->n && !planner->limits; i++) {
		const json_t *spec = planner->chain->v[i].meta.config_resolve;
		int r = spec ? resolve_spec(planner, spec, true, &planner->limits, err) : 0;

		if (r)
			return r;
	}
	if (planner->limits)
		return 0;
	usual = json_pack("{s:s}", "path", "execution/execution.yaml");
	return usual ? resolve_spec(planner, usual, true, &planner->limits, err) : memory_fail(err);
}

void params_fix(struct planner *planner)
{
	json_t *fixed = json_object_get(planner->config, "fixed_params");
	const char *below = json_str(planner->config, "params_key"), *key;
	json_t *value, *all;

	if (!json_is_object(fixed))
		return;
	if (*below) {
		all = json_deep_copy(fixed);
		json_object_set_new(all, below, planner->params);
		planner->params = all;
		return;
	}
	json_object_foreach(fixed, key, value) {
		json_object_del(planner->params, key);
		json_object_set_new(planner->params, key, json_deep_copy(value));
	}
}

int config_make(struct planner *planner, struct rye_err *err)
{
	const struct link *tool = &planner->chain->v[0];
	int r = 0;

	planner->config = merge_chain(planner->chain, 0);
	if (tool->meta.config_resolve) {
		/* it goes into this call's parameters */
		marks_unfit(planner->marks);
		r = resolve_tool(planner, tool->meta.config_resolve, err);
	}
	return r ? r : resolve_limits(planner, err);
}

/* Seconds of a number or a numeric text; 0: none. */
static double read_seconds(const json_t *value)
{
	const char *text = json_string_value(value);
	double number = json_number_value(value);
	char *end;

	if (text) {
		number = strtod(text, &end);
		if (*end)
			number = 0;
	}
	return number > 0 ? number : 0;
}

static const json_t *limits_of_tool(const struct planner *planner)
{
	return json_object_get(json_object_get(planner->limits, "tools"),
			       planner->chain->v[0].item->id);
}

/*
 * The first that is set: `timeout` of the tool, of its config, of the configs of its runtimes, the
 * default of the limits, the built-in one. Of a thread only the tool's own two count.
 */
static double usual_timeout(const struct planner *planner)
{
	const struct chain *chain = planner->chain;
	size_t most = planner->kept ? 1 : chain->n;
	double found = 0;

	if (chain->v[0].meta.timeout)
		found = (double)chain->v[0].meta.timeout;
	for (size_t i = 0; found <= 0 && i < most; i++)
		if (strcmp(chain->v[i].meta.tool_type, "primitive"))
			found = read_seconds(json_object_get(chain->v[i].meta.config, "timeout"));
	/* A thread is for long work: its user ends it by cancelling it. */
	if (found <= 0 && planner->kept)
		return RYE_TIMEOUT_MAX_S;
	if (found <= 0)
		found = read_seconds(
			json_object_get(json_object_get(planner->limits, "defaults"), "timeout"));
	return found > 0 ? found : RYE_TIMEOUT_DEFAULT_S;
}

int64_t config_timeout_ms(struct planner *planner)
{
	double own = read_seconds(json_object_get(planner->params, "timeout"));
	double limit = read_seconds(json_object_get(limits_of_tool(planner), "timeout"));

	if (planner->timeout > 0)
		limit = planner->timeout + (planner->own_timeout ? 10 : 0);
	if (limit <= 0) {
		limit = usual_timeout(planner);
		/* A tool that ends its work itself gets the time to say so. */
		if (limit > 0 && planner->own_timeout && own + 10 > limit)
			limit = own + 10;
	}
	if (limit > RYE_TIMEOUT_MAX_S)
		limit = RYE_TIMEOUT_MAX_S;
	return (int64_t)(limit * 1000 + 0.5);
}

size_t config_output_cap(const struct planner *planner)
{
	const json_t *rows[] = { limits_of_tool(planner),
				 json_object_get(planner->limits, "defaults"), planner->limits };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_int_t cap = json_int(rows[i], "max_output_bytes", 0);

		if (cap > 0)
			return cap < RYE_OUTPUT_MAX ? (size_t)cap : RYE_OUTPUT_MAX;
	}
	return RYE_OUTPUT_MAX;
}
