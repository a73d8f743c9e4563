/* SPDX-License-Identifier: MIT */
/*
 * Everything before the first request, in the order in which it can fail: databases, items and engine,
 * the directive, limits, capabilities, the model, the tools, the budget, the records. A thread that
 * fails here has a row, a directory and a result that says why.
 */
#include "agent/agent_inner.h"

#include "api/api.h"
#include "base/engine_options.h"
#include "base/id.h"
#include "clock.h"
#include "memory.h"
#include "scope.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static void agent_open_log(void *arg, enum rye_level level, const char *module, const char *line)
{
	(void)arg;
	if (level <= RYE_LOG_WARN)
		fprintf(stderr, "%s: %s\n", module, line);
}

/* Of all that can fail the first: what its launcher has reserved for it is given back at the end. */
static int agent_open_databases(struct agent *agent, struct rye_err *err)
{
	struct registry_ask ask = { .create = true, .log = &agent->log };
	struct ledger_ask ledger;
	bool anew = false;
	int r;

	options_from_json(json_object_get(agent->ask->doc, "options"), &agent->opt);
	umask(agent->opt.umask);
	agent->log = (struct log){ agent_open_log, NULL };
	ask.project = agent->opt.project;
	r = registry_of(&ask, &agent->registry, err);
	ledger = (struct ledger_ask){ ask.project, agent->thread_id, agent->registry };
	if (!r)
		r = ledger_open(&ledger, &agent->budget, &anew, err);
	if (anew)
		agent_warn(agent, LEDGER_FILE
			   " could not be read and was begun anew; what was there is " LEDGER_FILE
			   ".damaged, what ended threads have spent stands in their records");
	return r;
}

static int agent_open_engine(struct agent *agent, struct rye_err *err)
{
	int r;

	agent->opt.scan = false;
	agent->opt.log = agent_open_log;
	env_rows(&agent->env, environ);
	r = rye_open(&agent->opt, &agent->rye, err);
	if (r)
		return r;
	agent->items = engine_items(agent->rye);
	agent->threads = engine_family(agent->rye);
	return 0;
}

/*
 * What a parent may hand on came with the orders; its record must be what it wrote all the same: one
 * that was edited is a sign that another process works on the family.
 */
static int agent_open_parent(struct agent *agent, struct rye_err *err)
{
	const char *parent = json_str(agent->ask->doc, "parent_id");
	auto_json json_t *doc = NULL;
	struct record record = { .ai = -1, .id = parent, .trust = agent->items->trust };
	auto_close int dir = -1;
	int r;

	if (!*parent)
		return 0;
	record.dir = dir = threads_dir(agent->threads, parent, err);
	if (dir < 0 && err->code != RYE_NOT_FOUND)
		return rye_wrap(err, "parent thread '%s'", parent);
	if (dir < 0)
		return rye_fail(err, RYE_NOT_FOUND, "parent thread '%s' is not there", parent);
	r = thread_json_read(&record, &doc, err);
	return r ? rye_wrap(err, "parent thread '%s'", parent) : 0;
}

/* Limits of a parent: one that a graph or a tool of a person has started has none, but is held to its lists. */
static const struct limits *agent_above_limits(const struct agent *agent)
{
	return json_object_get(agent->authority, "limits") ? &agent->above_limits : NULL;
}

/* What its parent may hand on; a person's thread has no parent and is held by its directive alone. */
static int agent_open_limits(struct agent *agent, struct rye_err *err)
{
	const json_t *above = json_object_get(agent->authority, "limits");
	struct brief_limits_ask ask = { .items = agent->items,
					.directive = agent->brief.chain[0],
					.request = agent->request,
					.parent = agent_above_limits(agent),
					.warnings = agent->warnings };
	int r = above ? limits_read(above, &agent->above_limits, err) : 0;

	return r ? r : brief_limits(&ask, &agent->limits, err);
}

/* Those of the threads above it; NULL: a person has started it. */
static json_t *agent_above_lists(const struct agent *agent)
{
	return json_object_get(agent->authority, "capabilities");
}

static int agent_open_capabilities(struct agent *agent, struct rye_err *err)
{
	json_t *above = agent_above_lists(agent);
	auto_json json_t *config = NULL, *declared = NULL;
	struct risk_ask risk = { .warnings = agent->warnings };
	int r = policy_config(agent->items, "agent/capability_risk", &config, err);

	if (r)
		return r;
	declared = capabilities_whole(agent->items, agent->brief.declared);
	agent->capabilities = capabilities_attenuate(
		declared, agent->authority ? json_array_get(above, 0) : NULL);
	agent->lists = json_pack("[O]", agent->capabilities);
	if (!agent->lists || (above && json_array_extend(agent->lists, above)))
		return memory_fail(err);
	authority_model(&agent->asker, agent->lists);
	risk.config = config;
	risk.capabilities = agent->capabilities;
	risk.acknowledged = brief_meta(&agent->brief, "acknowledged_risks");
	return risk_check(&risk, NULL, err);
}

/* A limit of money holds nothing whose price is not known. */
static int agent_open_price(const struct agent *agent, const struct provider *provider,
			    struct rye_err *err)
{
	if (provider->priced || provider->local || !agent->limits.set[LIMIT_SPEND])
		return 0;
	return rye_fail(err, RYE_INVALID,
			"the price of %s is not known, so its limit of spend cannot be held: give "
			"%s a pricing row, or the directive no limit of spend",
			provider->model, provider->id);
}

/*
 * The model that is asked if this one refuses: of the same provider, else of any. Known before the first request,
 * as all that a thread works with; a thread without it runs, too.
 */
static void agent_open_fallback(struct agent *agent, const struct provider_env *env)
{
	struct provider *first = agent->provider;
	struct provider_ask ask = { .model = first->fallback, .provider = first->id };
	auto_provider struct provider *next = NULL;
	struct rye_err err = { 0 };
	int r;

	if (!first->fallback)
		return;
	r = provider_resolve(env, &ask, &next, &err);
	ask.provider = NULL;
	if (r == -(int)RYE_NOT_FOUND)
		r = provider_resolve(env, &ask, &next, &err);
	if (!r)
		r = agent_open_price(agent, next, &err);
	if (r) {
		agent_warn(agent, "fallback_model of %s: %s", first->model, err.msg);
		return;
	}
	if (!first->secrets)
		first->secrets = json_array();
	json_array_extend(first->secrets, next->secrets);
	agent->fallback = steal(&next);
}

static int agent_open_provider(struct agent *agent, struct rye_err *err)
{
	const json_t *model = brief_meta(&agent->brief, "model");
	const char *asked = json_str(agent->request, "model");
	const char *names[] = { asked, json_str(model, "id"), json_str(model, "tier") };
	char shared[THREADS_RUNTIME_MAX];
	struct provider_env env = { .items = agent->items, .own = &agent->env };
	struct provider_ask ask = { .provider = json_str(model, "provider") };

	for (size_t i = 0; i < ARRAY_SIZE(names) && !ask.model; i++)
		ask.model = *names[i] ? names[i] : NULL;
	if (!*ask.provider)
		ask.provider = NULL;
	if (!threads_runtime_dir(shared, NULL))
		env.shared = shared;
	if (provider_resolve(&env, &ask, &agent->provider, err))
		return rye_wrap(err, "Model resolution failed for directive '%s'",
				agent->directive);
	if (agent_open_price(agent, agent->provider, err))
		return -(int)err->code;
	agent_open_fallback(agent, &env);
	return 0;
}

/*
 * As a fork would: whatever keeps it from its model is told in the same words. Looks at items and keys, and
 * whether a server listens at an address that is no vendor's.
 */
int rye_model(struct rye *rye, char ret[RYE_MODEL_MAX], struct rye_err *err)
{
	auto_env struct env own = { 0 };
	/* no directory: nothing is sent that others would have to wait for */
	const struct provider_env env = { .items = engine_items(rye), .own = &own, .shared = "" };
	auto_provider struct provider *provider = NULL;
	int r;

	env_rows(&own, environ);
	r = provider_resolve(&env, &(const struct provider_ask){ NULL, NULL }, &provider, err);
	if (!r)
		r = provider_reach(provider, err);
	if (!r)
		snprintf(ret, RYE_MODEL_MAX, "%.200s of %.80s", provider->model, provider->name);
	return r;
}

static int agent_open_ledger(struct agent *agent, struct rye_err *err)
{
	const struct limits *limits = &agent->limits;
	const char *parent = json_str(agent->ask->doc, "parent_id");
	const char *refusal = json_str(agent->ask->doc, "unfunded");
	double got;
	int r;

	if (!limits->set[LIMIT_SPEND])
		return 0;
	if (*refusal)
		return rye_fail(err, RYE_BUDGET, "Budget reservation failed: %s", refusal);
	if (!*parent)
		return budget_root(agent->budget, agent->thread_id, limits->value[LIMIT_SPEND],
				   err);
	r = budget_reserve(agent->budget,
			   &(struct budget_ask){ .child = agent->thread_id,
						 .parent = parent,
						 .amount = limits->value[LIMIT_SPEND],
						 .half = !limits->spend_declared },
			   &got, err);
	if (r)
		return rye_wrap(err, "Budget reservation failed");
	agent->limits.value[LIMIT_SPEND] = got;
	return 0;
}

/* What a resume has to know beside what it became: the launcher's own words. */
static json_t *agent_open_asked(const struct agent *agent)
{
	static const char *const kept[] = { "model", "limit_overrides", "no_net", "no_write",
					    "no_shown" };
	json_t *asked = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (json_object_get(agent->request, kept[i]))
			json_object_set(asked, kept[i], json_object_get(agent->request, kept[i]));
	return asked;
}

static int agent_open_json(struct agent *agent, struct rye_err *err)
{
	auto_json json_t *more = json_object();
	auto_json json_t *limits = limits_json(&agent->limits);
	auto_json json_t *capabilities = json_deep_copy(agent->capabilities);

	if (brief_meta(&agent->brief, "outputs"))
		json_array_append_new(
			capabilities,
			json_string("rye.execute.tool.rye.agent.threads.directive_return"));
	json_object_set(more, "inputs", agent->brief.inputs);
	json_set(more, "asked", agent_open_asked(agent));
	json_set(more, "above",
		 agent_above_lists(agent) ? json_incref(agent_above_lists(agent)) : json_array());
	json_sets(more, "provider", agent->provider->id);
	if (*json_str(agent->ask->doc, "parent_id"))
		json_sets(more, "parent_id", json_str(agent->ask->doc, "parent_id"));
	if (*json_str(agent->ask->doc, "previous_id"))
		json_sets(more, "previous_thread_id", json_str(agent->ask->doc, "previous_id"));
	if (agent->past.kept)
		json_set(more, "history_kept", json_true());
	agent->json = (struct thread_json){ .directive = agent->directive,
					    .tool_id = THREAD_TOOL_ID,
					    .status = "running",
					    .model = agent->provider->model,
					    .limits = steal(&limits),
					    .capabilities = steal(&capabilities),
					    .more = steal(&more) };
	return thread_json_write(&agent->record, &agent->json, err);
}

/* Where records lie: those of the threads before this one are read before it has one of its own. */
static int agent_open_place(struct agent *agent, struct rye_err *err)
{
	auto_buf struct rye_buf path = RYE_BUF_INIT;

	buf_addf(&path, "%s/.ai", agent->opt.project);
	agent->record.ai = path.failed ? -1 : open(path.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return agent->record.ai < 0 ? rye_fail_sys(err, errno, "%s/.ai", agent->opt.project) : 0;
}

static int agent_open_records(struct agent *agent, struct rye_err *err)
{
	int r = keystore_automatic(agent->items, &agent->key, err);

	if (r)
		return r;
	agent->record.key = &agent->key;
	agent->record.trust = agent->items->trust;
	agent->record.secrets = agent->provider->secrets;
	r = agent_open_json(agent, err);
	if (!r)
		r = capabilities_md_write(&agent->record, agent->palette.tools, agent->capabilities,
					  err);
	return r ? r : chronicle_open(&agent->record, &agent->transcript, err);
}

/* A thread that cannot be talked to runs all the same. */
static int agent_open_inbox(struct agent *agent, struct rye_err *err)
{
	struct rye_err why = { 0 };

	(void)err;
	if (inbox_open(agent, agent_above_limits(agent), &why))
		agent_warn(agent, "nothing can be said to this thread: %s", why.msg);
	return 0;
}

int agent_open(struct agent *agent, struct rye_err *err)
{
	static int (*const steps[])(struct agent * agent, struct rye_err * err) = {
		agent_open_databases,
		agent_open_engine,
		agent_open_parent,
		hooks_load,
		brief_read,
		agent_open_limits,
		agent_open_capabilities,
		agent_open_provider,
		palette_fill,
		agent_open_ledger,
		agent_open_place,
		continuation_read,
		agent_open_records,
		agent_open_inbox,
	};
	const struct agent_ask *ask = agent->ask;
	int r = 0;

	agent->thread_id = json_str(ask->doc, "thread_id");
	agent->request = json_object_get(ask->doc, "request");
	agent->authority = json_object_get(ask->doc, "authority");
	agent->directive = json_str(agent->request, "item_id");
	id_split(agent->directive, &agent->directive);
	agent->record = (struct record){ .ai = -1, .dir = ask->dir, .id = agent->thread_id };
	agent->start_ms = clock_ms();
	thread_cost_read(json_object_get(ask->doc, "before"), &agent->before);
	agent->warnings = json_array();
	agent->messages = json_array();
	agent->unlogged = json_array();
	agent->http = http_open();
	if (!agent->http)
		return memory_fail(err);
	for (size_t i = 0; i < ARRAY_SIZE(steps) && !r; i++)
		r = steps[i](agent, err);
	return r;
}

void agent_close(struct agent *agent)
{
	inbox_close(agent->inbox);
	chronicle_close(agent->transcript);
	if (agent->record.ai >= 0)
		close(agent->record.ai);
	key_wipe(&agent->key);
	db_close(agent->registry);
	db_close(agent->budget);
	http_close(agent->http);
	provider_free(agent->provider);
	provider_free(agent->fallback);
	provider_free(agent->refused);
	palette_done(&agent->palette);
	brief_done(&agent->brief);
	json_decref(agent->hooks);
	json_decref(agent->suppressed);
	rye_close(agent->rye);
	env_done(&agent->env);
	json_decref((json_t *)agent->json.limits);
	json_decref((json_t *)agent->json.capabilities);
	json_decref((json_t *)agent->json.more);
	json_decref(agent->capabilities);
	json_decref(agent->lists);
	authority_done(&agent->asker);
	json_decref(agent->warnings);
	json_decref(agent->messages);
	json_decref(agent->past.system);
	json_decref(agent->past.tools);
	json_decref(agent->outputs);
	json_decref(agent->unlogged);
	buf_done(&agent->delta.text);
	free(agent->error);
	free(agent->text);
}
