/* SPDX-License-Identifier: MIT */
/*
 * Parameters → what is to be done with which server. What is asked is the signed item's
 * where there is one; for a server that is about to have one, the caller's words, which is why
 * only a person's own process may ask so (server_acts.c). On a worker; no lock.
 */
#include "mcp/items/items_inner.h"

#include "memory.h"
#include "scope.h"
#include "space/space.h"

#include <string.h>

#define NAME_MAX_SERVER 64

static bool is_server_name(const char *name)
{
	size_t n = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-");

	return n && !name[n] && n <= NAME_MAX_SERVER && *name != '-' && strcmp(name, "servers");
}

static int choose_space(const struct planner *planner, struct server_ask *ask, struct rye_err *err)
{
	const struct spaces *spaces = planner->base->items->spaces;
	const char *scope = json_str(ask->params, "scope");

	if (!*scope && ask->act->there)
		return 0;
	scope = *scope ? scope : "project";
	for (size_t i = 0; i < spaces->n; i++)
		if (!strcmp(spaces->v[i].label, scope) && spaces->v[i].type != RYE_SYSTEM)
			ask->space = &spaces->v[i];
	if (ask->space)
		return 0;
	return rye_fail(err, RYE_INVALID, "scope is \"%s\": project or user is wanted", scope);
}

static int name_server(struct server_ask *ask, struct rye_err *err)
{
	const char *name = json_str(ask->params, "name");
	auto_buf struct rye_buf id = RYE_BUF_INIT;

	if (!*name && !ask->act->changes && !ask->act->there)
		name = "unnamed";
	if (!is_server_name(name))
		return rye_fail(err, RYE_INVALID,
				"name: letters, digits, - and _, %d of them at most, and not "
				"\"servers\", are wanted",
				NAME_MAX_SERVER);
	buf_addf(&id, "mcp/servers/%s", name);
	ask->id = buf_steal(&id);
	return ask->id ? 0 : memory_fail(err);
}

/* ---- a server that has no item yet ---- */

static void take_member(const struct server_ask *ask, const char *given, const char *name)
{
	json_t *value = json_object_get(ask->params, given);

	if (value && !json_is_null(value))
		json_object_set(ask->config, name, value);
}

static int config_of_params(struct server_ask *ask, struct rye_err *err)
{
	static const char *const members[] = { "transport", "url",	   "headers", "command",
					       "args",	    "env",	   "cwd",     "timeout",
					       "protocol",  "elicitation", "pin",     "home" };

	ask->config = json_object();
	take_member(ask, "mcp_server_env", "env");
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		take_member(ask, members[i], members[i]);
	if (!json_object_get(ask->config, "transport"))
		return rye_fail(err, RYE_INVALID, "Missing required parameters: transport");
	return 0;
}

/* The pool of servers must not take a server of other words for this one. */
static int stamp_of(const struct server_ask *ask, char ret[SHA_HEX], struct rye_err *err)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	json_canonical(&text, ask->config);
	if (text.failed)
		return memory_fail(err);
	sha256_hex(buf_span(&text), ret);
	return 0;
}

static int plan_new(struct planner *planner, struct server_ask *ask, struct rye_err *err)
{
	struct mcp_source source = { .id = ask->id, .space = ask->space };
	char stamp[SHA_HEX];
	int r = config_of_params(ask, err);

	/* what a fetcher of packages brings has to lie somewhere */
	if (!r && server_fetches(ask->config) && !json_object_get(ask->config, "home"))
		json_sets(ask->config, "home", "private");
	if (!r)
		r = stamp_of(ask, stamp, err);
	source.config = ask->config;
	source.stamp = stamp;
	source.meta.requires_list = json_object_get(ask->params, "requires");
	return r ? r : mcp_source_spec(planner, &source, &ask->spec, err);
}

/* ---- one that has ---- */

static int load_there(const struct planner *planner, const struct server_ask *ask,
		      struct mcp_source *ret, struct rye_err *err)
{
	const struct item_ask item = { .kind = RYE_TOOL, .id = ask->id, .only = ask->space };

	return mcp_source_load(planner, &item, ret, err);
}

static int plan_there(struct planner *planner, struct server_ask *ask, struct rye_err *err)
{
	__attribute__((cleanup(mcp_source_done))) struct mcp_source source = { 0 };
	int r = load_there(planner, ask, &source, err);

	if (r)
		return r;
	if (ask->act->changes && source.item->space->type == RYE_SYSTEM)
		return rye_fail(err, RYE_READ_ONLY, "%s is a bundle's", ask->id);
	ask->space = source.item->space;
	ask->config = json_deep_copy(source.config);
	ask->found = json_incref(json_object_get(source.config, "identity"));
	/* A refresh asks which era it is of by now. */
	if (ask->act->changes)
		source.cache = NULL;
	return ask->act->asks ? mcp_source_spec(planner, &source, &ask->spec, err) : 0;
}

static void sweep_spaces(const struct spaces *spaces)
{
	for (size_t i = 0; i < spaces->n; i++)
		if (spaces->v[i].type != RYE_SYSTEM)
			server_stage_sweep(&spaces->v[i]);
}

int server_ask_make(struct planner *planner, struct server_ask *ret, struct rye_err *err)
{
	const char *word = json_str(planner->config, "action");
	int r = 0;

	ret->params = json_incref(planner->params);
	if (!*word)
		word = json_str(planner->params, "action");
	ret->act = server_act_find(word);
	/* first: the server that is named may be half there */
	if (ret->act && ret->act->changes && !planner->base->opt->no_sign)
		sweep_spaces(planner->base->items->spaces);
	if (!ret->act)
		return rye_fail(err, RYE_INVALID,
				"action is \"%.40s\": add, list, refresh or remove is wanted",
				word);
	if (!ret->act->named)
		return 0;
	r = name_server(ret, err);
	if (!r)
		r = choose_space(planner, ret, err);
	if (!r)
		r = ret->act->there ? plan_there(planner, ret, err) : plan_new(planner, ret, err);
	ret->asked = !r && ret->act->asks;
	return r;
}

void server_ask_done(struct server_ask *ask)
{
	mcp_spec_done(&ask->spec);
	json_decref(ask->params);
	json_decref(ask->config);
	json_decref(ask->found);
	free(ask->id);
}
