/* SPDX-License-Identifier: MIT */
/*
 * The environment of a run (docs/tools.md: allow-list < asked-for names < primitive < runtime <
 * tool; interpreters last and unchangeable). Names are asked for by ${NAME} in env_config and
 * config.env of signed elements, and by lists in config.env; only those may come from the engine's
 * own environment beyond the allow-list, from the project's .env (for items of the project alone: it is
 * unsigned), or, where both lack them, from the person's secrets. Each value keeps where it is from, for where.c.
 */
#include "plan/plan_inner.h"

#include "base/io.h"
#include "memory.h"
#include "scope.h"
#include "secret/secret.h"
#include "space/space.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* A .env is a page of settings; more is not one. */
#define DOTENV_MAX (1 << 20)

/* Those that one element asks for are added. */
static void asked_names(const struct chain *chain, const struct link *link, json_t *names)
{
	const struct tool_meta *meta = &link->meta;
	json_t *env = json_object_get(meta->config, "env"), *name;
	size_t k;

	template_names(meta->env_config, names);
	template_names(chain->prim->config_asks ? meta->config : env, names);
	if (json_is_array(json_object_get(meta->env_config, "env")))
		env = json_object_get(meta->env_config, "env");
	json_array_foreach(env, k, name) {
		if (json_is_string(name))
			json_array_append(names, name);
	}
}

void envres_asked(const struct chain *chain, json_t *names)
{
	for (size_t i = 0; i < chain->n; i++)
		asked_names(chain, &chain->v[i], names);
}

static void read_dotenv(const struct planner *planner, struct env *env)
{
	int root = open(planner->base->project, O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_close int held = root;
	struct rye_blob *blob = NULL;

	if (held >= 0 && io_read_at(held, ".env", DOTENV_MAX, &blob) == 0)
		env_dotenv(env, (struct rye_span){ blob->data, blob->len });
	rye_blob_unref(blob);
}

static void mark_dotenv(const struct planner *planner)
{
	auto_free char *path = NULL;

	if (asprintf(&path, "%s/.env", planner->base->project) < 0)
		marks_unfit(planner->marks);
	else
		marks_add(planner->marks, AT_FDCWD, path, false);
}

/* Ours are in the allow-list already, or are not to be had. */
static bool is_never_given(const char *name)
{
	return !strncmp(name, "RYE_", 4);
}

/* Read for the first name that nothing else has. *secrets: NULL, not read yet. */
static const char *find_secret(struct planner *planner, const char *name, json_t **secrets)
{
	struct rye_err err = { 0 };

	if (!*secrets && secret_load(planner->base->items->spaces, secrets, &err)) {
		planner_warn(planner, "no secret is given: %s", err.msg);
		*secrets = json_object();
	}
	secret_mark(planner->base->items->spaces, planner->marks);
	return secret_value(*secrets, name);
}

/* The first that there is: the .env, what the planner has already, the engine's own, a secret. */
static void give_one(struct planner *planner, const char *name, const struct env *file,
		     json_t **secrets)
{
	const char *value = env_dotenv_may(name) ? env_get(file, name) : NULL;

	if (value) {
		env_put_from(&planner->env, name, value, ENV_OTHER);
		return;
	}
	if (env_get(&planner->env, name))
		return;
	value = env_get(&planner->base->inherited, name);
	if (value) {
		env_put_from(&planner->env, name, value, ENV_OWN);
		return;
	}
	value = find_secret(planner, name, secrets);
	if (value)
		env_put_from(&planner->env, name, value, ENV_STORE);
}

void envres_give(struct planner *planner, const json_t *names, const struct space *space)
{
	auto_env struct env file = { 0 };
	auto_json json_t *secrets = NULL;
	json_t *name;
	size_t i;

	if (!json_array_size(names))
		return;
	if (space && space->type == RYE_PROJECT) {
		read_dotenv(planner, &file);
		mark_dotenv(planner);
	}
	json_array_foreach(names, i, name) {
		const char *text = json_string_value(name);

		if (env_name_ok(text) && !is_never_given(text))
			give_one(planner, text, &file, &secrets);
	}
}

static bool asks_for(const json_t *names, const json_t *name)
{
	const json_t *one;
	size_t i;

	json_array_foreach(names, i, one) {
		if (json_equal(one, name))
			return true;
	}
	return false;
}

/*
 * What an element of a stronger space asks for is found without the project's .env, also where one
 * of the project asks for that name.
 */
static void give_chain(struct planner *planner)
{
	const struct chain *chain = planner->chain;
	auto_json json_t *above = json_array(), *own = json_array(), *rest = json_array();
	const struct space *project = NULL;
	json_t *name;
	size_t i;

	for (i = 0; i < chain->n; i++) {
		const struct space *space = chain->v[i].item->space;
		bool is_project = space->type == RYE_PROJECT;

		project = is_project ? space : project;
		asked_names(planner->chain, &chain->v[i], is_project ? own : above);
	}
	json_array_foreach(own, i, name) {
		if (!asks_for(above, name))
			json_array_append(rest, name);
	}
	envres_give(planner, above, NULL);
	envres_give(planner, rest, project);
}

/* Static variables of one element; {context} and ${earlier} ones are known. */
static void asked_env_put_map(struct planner *planner, const json_t *map)
{
	struct template_seen seen;
	struct template in = { .env = &planner->env, .context = planner->context, .seen = &seen };
	json_t *object = (json_t *)map;
	const char *name;
	json_t *value;

	json_object_foreach(object, name, value) {
		auto_buf struct rye_buf text = RYE_BUF_INIT;

		if (!env_name_ok(name))
			continue;
		seen = (struct template_seen){ ENV_SIGNED, SIZE_MAX };
		template_put(&in, value, &text);
		if (!text.failed)
			env_put_from(&planner->env, name, text.data ? text.data : "", seen.from);
	}
}

static int put_interpreter(struct planner *planner, const json_t *how, struct env *fixed,
			   struct rye_err *err)
{
	const char *var = json_str(how, "var");
	auto_free char *path = NULL;

	if (!*var || !env_name_ok(var))
		return 0;
	path = interp_resolve(planner, how, err);
	if (!path)
		return -(int)err->code;
	env_put(&planner->env, var, path);
	env_put(fixed, var, path);
	return 0;
}

static int put_element(struct planner *planner, const struct link *link, struct env *fixed,
		       struct rye_err *err)
{
	const json_t *config = link->meta.env_config;
	const json_t *interpreter = json_object_get(config, "interpreter");
	int r = interpreter ? put_interpreter(planner, interpreter, fixed, err) : 0;

	if (r)
		return r;
	asked_env_put_map(planner, json_object_get(config, "env"));
	if (config && planner->trace) {
		json_t *keys = json_array(), *object = json_object_get(config, "env"), *value;
		const char *name;

		if (interpreter)
			json_array_append(keys, json_object_get(interpreter, "var"));
		json_object_foreach(object, name, value)
			json_array_append_new(keys, json_string(name));
		json_array_append_new(planner->trace,
				      json_pack("{s:s, s:s, s:o}", "step", "resolve_env",
						"contributed_by", link->item->id, "keys", keys));
	}
	return 0;
}

void envres_begin(struct planner *planner)
{
	const struct rye_options *opt = planner->base->opt;
	const char *self = env_get(&planner->base->allowed, "RYE_RYEFS");

	env_copy(&planner->env, &planner->base->allowed);
	if (self)
		env_put_from(&planner->env, "RYE_RYEFS", self, ENV_OWN);
	if (opt->user_base)
		env_put_from(&planner->env, "USER_SPACE", opt->user_base, ENV_OWN);
	if (opt->system_roots)
		env_put_from(&planner->env, "RYE_SYSTEM_SPACES", opt->system_roots, ENV_OWN);
}

int envres_make(struct planner *planner, struct rye_err *err)
{
	auto_env struct env fixed = { 0 };
	int r;

	envres_begin(planner);
	give_chain(planner);
	for (size_t i = planner->chain->n; i-- > 0;) {
		r = put_element(planner, &planner->chain->v[i], &fixed, err);
		if (r)
			return r;
	}
	anchor_env(planner);
	for (size_t i = 0; i < planner->chain->n; i++) {
		const json_t *env = json_object_get(planner->chain->v[i].meta.config, "env");

		if (!env)
			continue;
		asked_env_put_map(planner, env);
		break; /* shallow merge: the nearest element's replaces the others' */
	}
	env_copy(&planner->env, &fixed);
	r = modules_lend(planner, err);
	return !r && planner->env.failed ? memory_fail(err) : r;
}
