/* SPDX-License-Identifier: MIT */
/*
 * Short names of tools: "rye/bash" stands for "rye/bash/bash" where no file has the shorter name. What
 * is checked is the item's own id, whatever a caller wrote, so a capability that names a tool by its
 * short name is made to name the tool. Looks for files and reads none. No lock.
 */
#include "policy/policy.h"

#include "base/id.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool capability_id(const struct item_env *env, enum rye_kind kind, const char *id,
		   char ret[CAPABILITY_ID_MAX])
{
	const struct item_ask ask = { .kind = kind, .id = id, .unopened = true };
	struct located at = { .fd = -1 };

	if (!rye_kind_has(kind, RYE_KIND_FOLDER) || space_locate(env->spaces, &ask, &at, NULL))
		return false;
	if (at.fd >= 0)
		close(at.fd);
	snprintf(ret, CAPABILITY_ID_MAX, "%s", at.id);
	return strcmp(ret, id) != 0;
}

/* "rye.execute.tool.rye.bash" → "rye.execute.tool.rye.bash.bash"; NULL: it stays as it is. */
static json_t *capability_named(const struct item_env *env, const char *text)
{
	static const char tools[] = ".tool.";
	const char *kind, *bare;
	char whole[CAPABILITY_ID_MAX];
	auto_free char *id = NULL;

	if (!span_starts(span_of(text), "rye.") || strpbrk(text, "*?["))
		return NULL;
	kind = strchr(text + strlen("rye."), '.');
	if (!kind || !span_starts(span_of(kind), tools))
		return NULL;
	bare = kind + strlen(tools);
	id = memory_note(strdup(bare));
	for (char *p = id; p && *p; p++)
		*p = *p == '.' ? '/' : *p;
	if (!id || !capability_id(env, RYE_TOOL, id, whole))
		return NULL;
	for (char *p = whole; *p; p++)
		*p = *p == '/' ? '.' : *p;
	return json_sprintf("%.*s%s", (int)(bare - text), text, whole);
}

json_t *capabilities_whole(const struct item_env *env, const json_t *list)
{
	json_t *ret = list ? json_array() : NULL, *element;
	size_t i;

	json_array_foreach(list, i, element) {
		const char *text = json_string_value(element);
		json_t *named = text ? capability_named(env, text) : NULL;

		if (named)
			json_array_append_new(ret, named);
		else
			json_array_append(ret, element);
	}
	return ret;
}
