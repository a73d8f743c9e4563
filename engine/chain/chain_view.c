/* SPDX-License-Identifier: MIT */
/*
 * chain.json: what would run a tool, its signers, what adds to its environment. Loads the
 * chain as a run does and starts nothing. No lock.
 */
#include "chain/chain.h"

#include "scope.h"

static json_t *environment_of(const struct chain *chain)
{
	json_t *rows = json_array();

	for (size_t i = chain->n; i-- > 0;) {
		const json_t *config = chain->v[i].meta.env_config;
		json_t *object = json_object_get(config, "env"), *keys = json_array(), *value;
		const char *name, *var;

		var = json_str(json_object_get(config, "interpreter"), "var");
		if (*var)
			json_array_append_new(keys, json_string(var));
		json_object_foreach(object, name, value)
			json_array_append_new(keys, json_string(name));
		if (config)
			json_array_append_new(rows, json_pack("{s:s, s:O}", "contributed_by",
							      chain->v[i].item->id, "keys", keys));
		json_decref(keys);
	}
	return rows;
}

json_t *chain_view(const struct item_env *env, const struct rye_item *tool, struct rye_err *err)
{
	auto_chain struct chain chain = { 0 };
	struct chain_start first = { .item = rye_item_ref(tool) };
	int r = chain_build(env, &first, &chain, err);
	json_t *shadowed, *doc;

	if (!r)
		r = chain_check(&chain, err);
	if (r)
		return NULL;
	doc = json_object();
	json_sets(doc, "item_id", tool->id);
	json_sets(doc, "primitive", chain.v[chain.n - 1].item->id);
	json_set(doc, "chain", chain_ids(&chain));
	json_set(doc, "chain_detail", chain_detail(&chain));
	json_set(doc, "validated_pairs", chain_pairs(&chain));
	json_set(doc, "environment", environment_of(&chain));
	shadowed = chain_shadowed(env, &chain);
	if (shadowed)
		json_set(doc, "shadowed", shadowed);
	if (json_array_size(chain.warnings))
		json_object_set(doc, "warnings", chain.warnings);
	return doc;
}
