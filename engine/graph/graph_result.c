/* SPDX-License-Identifier: MIT */
/*
 * What a call answered, as the expressions of a graph see it.
 */
#include "graph/graph_inner.h"

#include "scope.h"

#include <string.h>

/* Of the engine, not of the item. */
static const char *const engine_keys[] = { "chain", "chain_detail", "metadata",
					   "path",  "source",	    "resolved_env_keys" };

bool result_failed(const json_t *result)
{
	return !strcmp(json_str(result, "status"), "error");
}

json_t *graph_unwrap(json_t *envelope)
{
	auto_json json_t *held = envelope;
	const json_t *data = json_object_get(envelope, "data");
	bool failed = result_failed(envelope);
	json_t *ret;

	if (!json_is_object(envelope))
		return json_pack("{s:O?}", "result", envelope);
	ret = json_copy(json_is_object(data) ? (json_t *)data : envelope);
	for (size_t i = 0; i < ARRAY_SIZE(engine_keys); i++)
		json_object_del(ret, engine_keys[i]);
	if (failed || json_is_false(json_object_get(ret, "success")))
		json_sets(ret, "status", "error");
	if (failed && !json_object_get(ret, "error") && json_object_get(envelope, "error"))
		json_object_set(ret, "error", json_object_get(envelope, "error"));
	return ret;
}

void graph_strip(json_t *value)
{
	const char *key;
	json_t *member;
	void *next;
	size_t i;

	json_array_foreach(value, i, member) {
		graph_strip(member);
	}
	json_object_foreach_safe(value, next, key, member) {
		if (json_is_null(member))
			json_object_del(value, key);
		else
			graph_strip(member);
	}
}
