/* SPDX-License-Identifier: MIT */
/*
 * The files below config/agent that decide what threads may do. They are authority: item/merged.c
 * takes none that is unsigned. No lock.
 */
#include "policy/policy.h"

#include "memory.h"
#include "scope.h"

#include <stdio.h>

int policy_config(const struct item_env *env, const char *id, json_t **ret, struct rye_err *err)
{
	__attribute__((cleanup(config_entry_done))) struct config_entry entry = { 0 };
	char path[128];
	struct config_want want = { .path = path, .whose = RYE_SYSTEM };
	int r;

	snprintf(path, sizeof(path), "%s.yaml", id);
	r = config_everywhere(env, &want, &entry, err);
	if (r)
		return r;
	*ret = json_deep_copy(entry.map);
	return *ret ? 0 : memory_fail(err);
}
