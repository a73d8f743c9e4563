/* SPDX-License-Identifier: MIT */
/*
 * Modules that a runtime lends to every tool of it: files of its library (anchor.lib) that
 * anchor.modules names. Their verified text goes along in the environment, as RYE_MODULE_NAME, and
 * the runtime's loader makes modules of it. So a tool of one file imports them without a search path,
 * nothing is read again between check and use, and an interpreter that waits has imported them
 * before: its pool is the one of this environment, so of this very text. An anchored tool has the
 * library on its search path instead.
 */
#include "plan/plan_inner.h"

#include "memory.h"
#include "scope.h"

#include <string.h>

static int lend_module(struct planner *planner, const char *file, struct rye_err *err)
{
	const struct link *link = planner->anchor.link;
	const struct rye_item *runtime = link->item;
	struct path_ask ask = { .space = runtime->space, .kind = RYE_TOOL };
	auto_buf struct rye_buf path = RYE_BUF_INIT, name = RYE_BUF_INIT;
	auto_item struct rye_item *module = NULL;
	const char *slash = strrchr(runtime->path, '/');
	int r;

	buf_add(&path, runtime->path, slash ? (size_t)(slash - runtime->path) + 1 : 0);
	buf_addf(&path, "%s/%s", json_str(link->meta.anchor, "lib"), file);
	buf_addf(&name, "RYE_MODULE_%.*s", (int)strcspn(file, "."), file);
	if (path.failed || name.failed)
		return memory_fail(err);
	ask.path = path.data;
	r = rye_load_path(planner->base->items, &ask, &module, err);
	if (r)
		return r;
	space_mark(module->space, module->path, false, planner->marks);
	if (!env_name_ok(name.data) || memchr(module->text->data, 0, module->text->len))
		return rye_fail(err, RYE_INVALID, "%s cannot be lent to tools", file);
	env_put(&planner->env, name.data, module->text->data);
	return 0;
}

int modules_lend(struct planner *planner, struct rye_err *err)
{
	const struct anchor *anchor = &planner->anchor;
	const json_t *file;
	size_t i;
	int r = 0;

	if (!anchor->link || anchor->active)
		return 0;
	json_array_foreach(json_object_get(anchor->link->meta.anchor, "modules"), i, file)
		if (!r && json_is_string(file))
			r = lend_module(planner, json_string_value(file), err);
	return r;
}
