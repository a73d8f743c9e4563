/* SPDX-License-Identifier: MIT */
/*
 * Puts a plan together: context and anchor, configuration, environment, then what the
 * primitive adds. The order matters: the tool's parameters get their configuration before
 * they are spelled out, the environment needs the anchor. Owned by one worker thread; no lock.
 */
#include "plan/plan_inner.h"

#include "base/formats.h"
#include "memory.h"
#include "scope.h"
#include "space/space.h"
#include "str.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

void planner_warn(struct planner *planner, const char *format, ...)
{
	char text[512];

	STR_FORMAT(text, format);
	json_array_append_new(planner->warnings, json_string(text));
}

void plan_text(const struct planner *planner, const json_t *value, struct rye_buf *out)
{
	struct template in = {
		.env = &planner->env,
		.context = planner->context,
		.config = planner->config,
		.params = planner->params,
		.seen = planner->seen,
	};

	template_put(&in, value, out);
}

/* One entry of `requires` covers a capability: "fs.write" is covered by itself, "fs.*", "*". */
static bool entry_covers(const char *entry, const char *capability)
{
	return !strcmp(entry, capability) || fnmatch(entry, capability, 0) == 0;
}

/* Any capability below net: they are not told apart. */
static bool is_net(const char *entry)
{
	return !strcmp(entry, "net") || !strncmp(entry, "net.", 4) || !strcmp(entry, "*");
}

/* What capabilities open: what lies in the project and is the person's own, what the engine keeps there, and what
 * it keeps for its person, which tools cannot reach otherwise. */
enum {
	OPENS_GIT = SHOW_GIT,
	OPENS_ENV = SHOW_ENV,
	OPENS_STATE = SHOW_STATE,
	OPENS_WRITE = 1 << 8,
	OPENS_KEYS = 1 << 9
};

static const struct capability {
	const char *name;
	int opens;
} capabilities[] = {
#define CAPABILITY_ROW(name, opens) { name, opens },
	CAPABILITIES(CAPABILITY_ROW)
};

static int opened_by(const char *entry)
{
	int opens = 0;

	for (size_t i = 0; i < ARRAY_SIZE(capabilities); i++) {
		const struct capability *one = &capabilities[i];

		if (one->opens & OPENS_KEYS ? !strcmp(entry, one->name) :
					      entry_covers(entry, one->name))
			opens |= one->opens;
	}
	return opens;
}

void confine_within(struct confine *confine, const struct confine *limit)
{
	confine->net &= limit->net;
	confine->write &= limit->write;
	confine->shown &= limit->shown;
}

struct confine plan_confine(const struct tool_meta *meta, const struct rye_options *opt)
{
	bool listed = meta->requires_list || meta->requires_bad;
	struct confine confine = {
		.net = !listed && opt->sandbox != RYE_SANDBOX_STRICT,
		.write = !listed,
	};
	json_t *element;
	size_t i;

	json_array_foreach(meta->requires_list, i, element) {
		const char *entry = json_string_value(element);
		int opens = opened_by(entry);

		confine.shown |= (unsigned char)(opens & SHOW_ALL);
		confine.net |= is_net(entry);
		confine.write |= (opens & OPENS_WRITE) != 0;
		confine.calls |= !strncmp(entry, "rye.", 4);
		confine.keys |= (opens & OPENS_KEYS) != 0;
	}
	return confine;
}

static int make_cwd(struct planner *planner, struct plan *plan, struct rye_err *err)
{
	const json_t *cwd = json_object_get(planner->config, "cwd");
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_free char *anchored = anchor_cwd(planner);

	if (anchored) {
		plan->cwd = steal(&anchored);
		return 0;
	}
	if (json_is_string(cwd))
		plan_text(planner, cwd, &text);
	if (text.len && text.data[0] != '/') {
		auto_free char *relative = buf_steal(&text);

		buf_addf(&text, "%s/%s", planner->base->project, relative ? relative : "");
	}
	if (!text.len)
		buf_adds(&text, planner->base->project);
	plan->cwd = buf_steal(&text);
	return plan->cwd ? 0 : memory_fail(err);
}

static int planner_begin(struct planner *planner, struct rye_err *err)
{
	struct ground *ground = planner->ground;
	size_t warnings = json_array_size(planner->warnings);
	int r;

	if (ground->made && !planner->trace) {
		ground_lend(ground, planner);
		return planner->env.failed ? memory_fail(err) : 0;
	}
	planner->fresh = !ground->made;
	planner->marks = planner->fresh ? &ground->marks : NULL;
	r = anchor_make(planner, err);
	if (!r)
		r = anchor_verify(planner, err);
	if (!r)
		r = config_make(planner, err);
	if (!r)
		r = lockfile_check(planner, err);
	if (!r)
		r = envres_make(planner, err);
	/* each run tells its warnings */
	if (json_array_size(planner->warnings) != warnings)
		marks_unfit(planner->marks);
	planner->marks = NULL;
	if (!r && planner->fresh)
		ground_fill(ground, planner);
	return r;
}

/*
 * What sees keys has no home: where that is the project, or lies in it, tools have written there what
 * interpreters load (docs/security.md). The person's space it is told by name.
 */
static void leave_home(struct planner *planner)
{
	const struct spaces *spaces = planner->base->items->spaces;

	for (size_t i = 0; i < spaces->n; i++)
		if (spaces->v[i].type == RYE_USER)
			env_put(&planner->env, "USER_SPACE", spaces->v[i].root);
	env_put(&planner->env, "HOME", "/nonexistent");
}

int planner_make(struct planner *planner, struct plan *plan, struct rye_err *err)
{
	int r = planner_begin(planner, err);

	*plan = (struct plan){ .ops = planner->ops };
	if (r)
		return r;
	params_fix(planner);
	plan->timeout_ms = config_timeout_ms(planner);
	plan->output_cap = config_output_cap(planner);
	plan->confine = plan_confine(&planner->chain->v[0].meta, planner->base->opt);
	plan->may_call = planner->chain->v[0].meta.requires_list;
	confine_within(&plan->confine, &planner->limit);
	/*
	 * Only a bundle's tool may manage keys: the signature of a user's or a project's tool is
	 * not enough for that.
	 */
	plan->confine.keys &= planner->limit.keys &&
			      planner->chain->v[0].item->space->type == RYE_SYSTEM;
	if (plan->confine.keys)
		leave_home(planner);
	json_python_dumps(&planner->params_json, planner->params);
	if (planner->params_json.failed)
		return rye_fail(err, RYE_TOO_BIG, "parameters: too big");
	r = make_cwd(planner, plan, err);
	if (!r && !(plan->own = calloc(1, plan->ops->own_size)))
		r = memory_fail(err);
	if (!r)
		r = plan->ops->plan(planner, plan, err);
	plan->env = planner->env;
	planner->env = (struct env){ 0 };
	return r;
}

void planner_done(struct planner *planner)
{
	json_decref(planner->params);
	json_decref(planner->context);
	json_decref(planner->config);
	json_decref(planner->limits);
	free(planner->lockfile);
	env_done(&planner->env);
	buf_done(&planner->params_json);
}

void plan_done(struct plan *plan)
{
	if (plan->ops && plan->own) {
		plan->ops->done(plan->own);
		free(plan->own);
	}
	free(plan->cwd);
	env_done(&plan->env);
}
