/* SPDX-License-Identifier: MIT */
/*
 * meta.h: what a tool declares, normalised over languages (items 4.6, tools 14): dunder or
 * bare names, CONFIG_SCHEMA or config_schema …. Borrowed views into the item's frozen map.
 */
#ifndef RYE_ITEM_META_H
#define RYE_ITEM_META_H

#include "item/item.h"

struct tool_meta {
	const char *version, *tool_type, *executor_id, *category, *description; /* "" absent */
	bool executor_null; /* present and null, or absent */
	bool executor_present; /* "" counts as present */
	const json_t *schema; /* CONFIG_SCHEMA / input_schema as written, or NULL */
	const json_t *parameters; /* YAML `parameters` list, or NULL */
	const json_t *env_config, *config, *config_resolve, *anchor, *verify_deps;
	const json_t *requires_list; /* array of strings, or NULL when absent */
	bool requires_bad; /* present, but no list of strings: nothing is granted */
	const json_t *retry_policy, *actions, *inputs, *outputs, *child_constraints;
	json_int_t timeout; /* seconds, 0: not given */
	bool stateless;
};

/* parsed_… is for signing, which looks at what is not verified; meta_… for all others. */
void parsed_tool(const struct parsed_item *item, struct tool_meta *ret);
/* `__name__`, `name` or `NAME`, at the top or below `data`; NULL: absent. Borrowed. */
const json_t *parsed_get(const struct parsed_item *item, const char *name);
/* `tool_description` of a tool, else `description`; NULL: absent. Borrowed. */
const json_t *parsed_description(const struct parsed_item *item);
/* The JSON Schema of parameters (tool) or inputs (directive) with defaults; new reference. */
json_t *parsed_schema(const struct parsed_item *item);

static inline void meta_tool(const struct rye_item *item, struct tool_meta *ret)
{
	parsed_tool(&item->parsed, ret);
}

static inline const json_t *meta_get(const struct rye_item *item, const char *name)
{
	return parsed_get(&item->parsed, name);
}

static inline const json_t *meta_description(const struct rye_item *item)
{
	return parsed_description(&item->parsed);
}

static inline json_t *meta_schema(const struct rye_item *item)
{
	return parsed_schema(&item->parsed);
}

/* The same of a `parameters` list, an action's for instance. */
json_t *meta_schema_list(const json_t *parameters);

#endif
