/* SPDX-License-Identifier: MIT */
/*
 * Building and checking chains. Resolution follows the space rule: an element is looked for
 * from the space of the one that names it downwards, so a system runtime never runs project
 * code. A new element that shadows an old one must be seen by the next run, so nothing of a
 * chain is remembered here; the item store saves reading what has not changed.
 */
#include "chain/chain.h"

#include "base/id.h"
#include "scope.h"
#include "space/space.h"

#include <stdio.h>
#include <string.h>

#define BASH "rye/core/runtimes/bash/bash"

static void chain_warn(struct chain *chain, const char *text)
{
	if (!chain->warnings)
		chain->warnings = json_array();
	json_array_append_new(chain->warnings, json_string(text));
}

const struct space *chain_search_from(const struct item_env *env, const struct rye_item *item)
{
	if (item->space->type != RYE_SYSTEM)
		return item->space;
	/* Bundles are one layer: an element of one may name an element of any other. */
	for (size_t i = 0; i < env->spaces->n; i++)
		if (env->spaces->v[i].type == RYE_SYSTEM)
			return &env->spaces->v[i];
	return item->space;
}

static const struct space *first_system(const struct item_env *env)
{
	for (size_t i = 0; i < env->spaces->n; i++)
		if (env->spaces->v[i].type == RYE_SYSTEM)
			return &env->spaces->v[i];
	return NULL;
}

static bool alias_id(const char *id, int i, char ret[RYE_ID_MAX + 32])
{
	const char *dir = i == 0 ? "runtimes" : "primitives";

	if (i == 0 && !strcmp(id, "python_runtime"))
		id = "python/script";
	return snprintf(ret, RYE_ID_MAX + 32, "rye/core/%s/%s", dir, id) < RYE_ID_MAX + 32;
}

/* An element of the system, in the place of what the last one names. */
static int load_system(const struct item_env *env, const char *name, struct chain_start *ret,
		       struct chain *chain)
{
	const struct space *system = first_system(env);
	const char *id = chain->v[chain->n - 1].meta.executor_id;
	struct chain_start found = { 0 };
	struct item_ask ask = { .kind = RYE_TOOL,
				.id = name,
				.from = system,
				.ret_ambiguous = &found.ambiguous };
	struct rye_err err = { 0 };
	char text[2 * RYE_ID_MAX + 100];

	if (!system || rye_load(env, &ask, &found.item, &err))
		return -1;
	*ret = found;
	snprintf(text, sizeof(text), "executor_id %s was read as %s", id, name);
	chain_warn(chain, text);
	return 0;
}

/* "python/function", "subprocess" …: short names of the system's runtimes and primitives. */
static int load_alias(const struct item_env *env, const char *id, struct chain_start *ret,
		      struct chain *chain)
{
	char name[RYE_ID_MAX + 32];

	for (int i = 0; i < 2; i++)
		if (alias_id(id, i, name) && load_system(env, name, ret, chain) == 0)
			return 0;
	return -1;
}

static bool starts_command(const char *id)
{
	char name[RYE_ID_MAX + 32];
	const struct prim *prim = prim_find(id);

	if (!prim && alias_id(id, 1, name))
		prim = prim_find(name);
	return prim && prim->starts_command;
}

/* A shell tool with nothing for the primitive to start: bash is meant, with the file. */
static bool wants_bash(const struct chain *chain)
{
	const struct link *tool = &chain->v[0];
	const json_t *config = meta_get(tool->item, "config");

	return chain->n == 1 && !strcmp(tool->item->ext, ".sh") &&
	       starts_command(tool->meta.executor_id) && !json_object_get(config, "command") &&
	       !json_object_get(config, "image");
}

static int load_next(const struct item_env *env, struct chain *chain, struct chain_start *ret,
		     struct rye_err *err)
{
	const struct link *last = &chain->v[chain->n - 1];
	const char *id = last->meta.executor_id;
	struct item_ask ask = { .kind = RYE_TOOL,
				.id = id,
				.from = chain_search_from(env, last->item),
				.ret_ambiguous = &ret->ambiguous };
	int r;

	if (wants_bash(chain) && load_system(env, BASH, ret, chain) == 0)
		return 0;
	r = rye_load(env, &ask, &ret->item, err);
	if (r == 0 || err->code != RYE_NOT_FOUND)
		return r;
	if (load_alias(env, id, ret, chain) == 0)
		return 0;
	return rye_fail(err, RYE_NO_EXECUTOR, "Executor not found: %s", id);
}

/* Files of the same id beside the winner: no reader sees them, so the reply warns of them. */
static void warn_ambiguous(struct chain *chain, const struct rye_item *item)
{
	auto_buf struct rye_buf names = RYE_BUF_INIT;
	auto_buf struct rye_buf path = RYE_BUF_INIT;
	size_t stem = strlen(item->path) - strlen(item->ext);

	for (const char *const *ext = kind_extensions(RYE_TOOL); *ext; ext++) {
		buf_clear(&path);
		buf_addf(&path, "%s/.ai/%.*s%s", item->space->root, (int)stem, item->path, *ext);
		if (!path.failed && strcmp(*ext, item->ext) && access(path.data, F_OK) == 0)
			buf_addf(&names, " %s%s", item->id, *ext);
	}
	buf_clear(&path);
	buf_addf(&path, "ambiguous: %s%s is used and hides%s", item->id, item->ext,
		 names.data ? names.data : " another file of that id");
	if (!path.failed)
		chain_warn(chain, path.data);
}

/* A notice speaks of one file: of several in a chain each says of which. */
static void warn_notice(struct chain *chain, const struct rye_item *item)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	buf_addf(&text, "tool:%s: %s", item->id, item->verdict.notice);
	if (!text.failed)
		chain_warn(chain, text.data);
}

static void chain_append(struct chain *chain, const struct chain_start *from)
{
	struct link *link = &chain->v[chain->n++];
	struct rye_item *item = from->item;

	link->item = item;
	meta_tool(item, &link->meta);
	if (item->verdict.notice[0])
		warn_notice(chain, item);
	if (from->ambiguous)
		warn_ambiguous(chain, item);
}

static bool chain_has(const struct chain *chain, const char *id)
{
	for (size_t i = 0; i < chain->n; i++)
		if (!strcmp(chain->v[i].item->id, id))
			return true;
	return false;
}

/* The last element names no executor: it is a primitive, or the end of the attempt. */
static int end_chain(struct chain *chain, struct rye_err *err)
{
	const struct link *last = &chain->v[chain->n - 1];

	chain->prim = prim_find(last->item->id);
	if (chain->prim)
		return 0;
	if (last->item->parse.code != RYE_OK)
		return rye_fail(err, RYE_UNPARSABLE, "Cannot read tool metadata: %s: %s",
				last->item->id, last->item->parse.msg);
	return rye_fail(err, RYE_NO_EXECUTOR, "Tool has no executor_id: %s", last->item->id);
}

int chain_build(const struct item_env *env, struct chain_start *first, struct chain *ret,
		struct rye_err *err)
{
	*ret = (struct chain){ 0 };
	chain_append(ret, first);
	for (;;) {
		const char *next = ret->v[ret->n - 1].meta.executor_id;
		struct chain_start more;
		int r;

		if (!next || !*next)
			return end_chain(ret, err);
		if (ret->n >= RYE_CHAIN_MAX)
			return rye_fail(err, RYE_CHAIN_LOOP,
					"Chain too deep (max %d): %s. Possible circular dependency "
					"or excessive nesting.",
					RYE_CHAIN_MAX, first->item->id);
		if (chain_has(ret, next))
			return rye_fail(err, RYE_CHAIN_LOOP, "Circular dependency detected: %s",
					next);
		r = load_next(env, ret, &more, err);
		if (r)
			return r;
		if (chain_has(ret, more.item->id)) {
			r = rye_fail(err, RYE_CHAIN_LOOP, "Circular dependency detected: %s",
				     more.item->id);
			rye_item_unref(more.item);
			return r;
		}
		chain_append(ret, &more);
	}
}

void chain_done(struct chain *chain)
{
	for (size_t i = 0; i < chain->n; i++)
		rye_item_unref(chain->v[i].item);
	json_decref(chain->warnings);
	*chain = (struct chain){ 0 };
}

const struct link *chain_runtime(const struct chain *chain)
{
	for (size_t i = 1; i < chain->n; i++)
		if (!strcmp(chain->v[i].meta.tool_type, "runtime"))
			return &chain->v[i];
	return NULL;
}

json_t *chain_ids(const struct chain *chain)
{
	json_t *ids = json_array();

	for (size_t i = 0; i < chain->n; i++)
		json_array_append_new(ids, json_string(chain->v[i].item->id));
	return ids;
}

json_t *chain_pairs(const struct chain *chain)
{
	json_t *pairs = json_array();

	for (size_t i = 0; i + 1 < chain->n; i++)
		json_array_append_new(pairs, json_sprintf("%s -> %s", chain->v[i].item->id,
							  chain->v[i + 1].item->id));
	return pairs;
}

static json_t *detail(const struct link *link)
{
	const struct rye_item *item = link->item;
	json_t *row = json_object();

	json_sets(row, "item_id", item->id);
	json_sets(row, "space", item->space->full);
	json_sets(row, "tool_type", link->meta.tool_type);
	json_sets(row, "executor_id",
		  link->meta.executor_id && *link->meta.executor_id ? link->meta.executor_id :
								      NULL);
	json_sets(row, "integrity", item->verdict.hash);
	json_sets(row, "signer", item->verdict.fingerprint[0] ? item->verdict.fingerprint : NULL);
	if (item->space->type == RYE_SYSTEM && item->space->bundle)
		json_sets(row, "provider_id", item->space->bundle);
	return row;
}

json_t *chain_detail(const struct chain *chain)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < chain->n; i++)
		json_array_append_new(rows, detail(&chain->v[i]));
	return rows;
}

/* Rows {path, space} of the lower spaces that have the id too. */
static json_t *chain_lower(const struct item_env *env, const struct rye_item *item)
{
	json_t *rows = json_array();

	for (size_t i = (size_t)item->space->index + 1; i < env->spaces->n; i++) {
		struct item_ask ask = { .kind = RYE_TOOL, .id = item->id };
		struct located at = { .fd = -1 };

		ask.only = &env->spaces->v[i];
		if (space_locate(env->spaces, &ask, &at, NULL))
			continue;
		close(at.fd);
		json_array_append_new(rows,
				      json_pack("{s:o, s:s}", "path",
						json_sprintf("%s/.ai/%s", at.space->root, at.path),
						"space", at.space->full));
	}
	return rows;
}

json_t *chain_shadowed(const struct item_env *env, const struct chain *chain)
{
	json_t *all = NULL;

	/*
	 * The tool itself may be an override on purpose; the reply warns of a runtime that is one.
	 */
	for (size_t i = 1; i < chain->n; i++) {
		const struct rye_item *item = chain->v[i].item;
		auto_json json_t *rows = NULL;

		if (item->space->type == RYE_SYSTEM)
			continue;
		rows = chain_lower(env, item);
		if (!json_array_size(rows))
			continue;
		all = all ? all : json_array();
		json_array_append_new(all, json_pack("{s:s, s:s, s:O}", "item_id", item->id,
						     "space", item->space->full, "shadows", rows));
	}
	return all;
}

void chain_trace(const struct item_env *env, const struct chain *chain, json_t *trace)
{
	for (size_t i = 0; i < chain->n; i++) {
		const struct rye_item *item = chain->v[i].item;
		const struct space *from = i ? chain_search_from(env, chain->v[i - 1].item) :
					       env->spaces->v;
		json_t *searched = json_array();

		for (int k = from->index; k <= item->space->index; k++)
			json_array_append_new(searched, json_string(env->spaces->v[k].full));
		json_array_append_new(trace,
				      json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "step", "resolve",
						"item_id", item->id, "path", item->abspath, "space",
						item->space->full, "searched", searched, "shadowed",
						chain_lower(env, item)));
	}
	for (size_t i = 0; i < chain->n; i++) {
		const struct verdict *v = &chain->v[i].item->verdict;

		json_array_append_new(
			trace, json_pack("{s:s, s:s, s:b, s:s, s:s?}", "step", "verify_integrity",
					 "item_id", chain->v[i].item->id, "verified",
					 v->code == RYE_OK, "verdict", rye_code_name(v->code),
					 "key_fp", v->fingerprint[0] ? v->fingerprint : NULL));
	}
}
