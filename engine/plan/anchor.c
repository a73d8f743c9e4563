/* SPDX-License-Identifier: MIT */
/*
 * The names a chain's templates know (tool_path …) and anchors: a tool that lies in a package of
 * its own gets that package's directory on its search paths, once every file of it is verified.
 * Between that check and the interpreter's own reading lies a race, which docs/tools.md names.
 * Reads directories of user files, so never under a lock.
 */
#include "plan/plan_inner.h"

#include "base/io.h"
#include "memory.h"
#include "scope.h"
#include "space/space.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static bool anchor_put(struct planner *planner, const char *key, const char *value)
{
	return json_sets(planner->context, key, value ? value : "");
}

static char *parent_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return memory_note(slash && slash > path ? strndup(path, (size_t)(slash - path)) :
						   strdup("/"));
}

static const char *root_of(const struct planner *planner, enum rye_space type)
{
	const struct spaces *spaces = planner->base->items->spaces;

	for (size_t i = 0; i < spaces->n; i++)
		if (spaces->v[i].type == type)
			return spaces->v[i].root;
	return "";
}

static int make_context(struct planner *planner, struct rye_err *err)
{
	const struct rye_item *tool = planner->chain->v[0].item;
	auto_free char *path = io_real_path(tool->abspath);
	auto_free char *dir = path ? parent_of(path) : NULL;
	auto_free char *up = dir ? parent_of(dir) : NULL;

	if (!path)
		return rye_fail_sys(err, errno, "%s", tool->abspath);
	if (strcmp(path, tool->abspath) != 0)
		marks_unfit(planner->marks);
	marks_add_read(planner->marks, AT_FDCWD, path, &tool->st);
	planner->context = json_object();
	if (anchor_put(planner, "tool_path", path) && anchor_put(planner, "tool_dir", dir) &&
	    anchor_put(planner, "tool_parent", up) && anchor_put(planner, "anchor_path", dir) &&
	    anchor_put(planner, "runtime_lib", "") &&
	    anchor_put(planner, "project_path", planner->base->project) &&
	    anchor_put(planner, "user_space", root_of(planner, RYE_USER)) &&
	    anchor_put(planner, "system_space", root_of(planner, RYE_SYSTEM)))
		return 0;
	return rye_fail(err, RYE_INVALID, "%s: paths have to be valid UTF-8", path);
}

static bool has_marker(const struct planner *planner, const json_t *markers)
{
	const char *dir = json_str(planner->context, "tool_dir");
	json_t *marker;
	size_t i;

	json_array_foreach(markers, i, marker) {
		auto_buf struct rye_buf path = RYE_BUF_INIT;
		struct stat st;

		buf_addf(&path, "%s/%s", dir,
			 json_is_string(marker) ? json_string_value(marker) : "");
		if (path.failed || !json_string_length(marker))
			continue;
		if (stat(path.data, &st) == 0)
			return true;
		marks_add(planner->marks, AT_FDCWD, path.data, true);
	}
	return false;
}

static bool is_active(const struct planner *planner, const json_t *anchor)
{
	const char *mode = json_str(anchor, "mode");

	if (!json_is_true(json_object_get(anchor, "enabled")) || !strcmp(mode, "never"))
		return false;
	return !strcmp(mode, "always") ||
	       has_marker(planner, json_object_get(anchor, "markers_any"));
}

static void set_lib(struct planner *planner, const struct link *link)
{
	const char *lib = json_str(link->meta.anchor, "lib");
	auto_free char *dir = parent_of(link->item->abspath);
	auto_buf struct rye_buf path = RYE_BUF_INIT;

	if (!*lib || !dir)
		return;
	if (!strcmp(lib, "."))
		buf_adds(&path, dir);
	else
		buf_addf(&path, "%s/%s", dir, lib);
	if (!path.failed)
		anchor_put(planner, "runtime_lib", path.data);
}

int anchor_make(struct planner *planner, struct rye_err *err)
{
	struct anchor *anchor = &planner->anchor;
	const char *root;
	int r = make_context(planner, err);

	for (size_t i = 0; !r && !anchor->link && i < planner->chain->n; i++)
		if (planner->chain->v[i].meta.anchor)
			anchor->link = &planner->chain->v[i];
	if (r || !anchor->link)
		return r;
	set_lib(planner, anchor->link);
	anchor->active = is_active(planner, anchor->link->meta.anchor);
	if (!anchor->active)
		return 0;
	/* the files below it are looked at each time */
	marks_unfit(planner->marks);
	root = json_str(anchor->link->meta.anchor, "root");
	if (strcmp(root, "tool_parent") && strcmp(root, "project_path"))
		root = "tool_dir";
	anchor_put(planner, "anchor_path", json_str(planner->context, root));
	return 0;
}

char *anchor_cwd(struct planner *planner)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	const json_t *cwd;

	if (!planner->anchor.active)
		return NULL;
	cwd = json_object_get(planner->anchor.link->meta.anchor, "cwd");
	if (!cwd)
		return NULL;
	plan_text(planner, cwd, &text);
	return text.len ? buf_steal(&text) : NULL;
}

static bool list_has(const char *list, const char *entry)
{
	size_t len = strlen(entry);

	while (list && *list) {
		size_t n = strcspn(list, ":");

		if (n == len && !memcmp(list, entry, n))
			return true;
		list += n + (list[n] == ':');
	}
	return false;
}

static void add_entries(struct planner *planner, const json_t *entries, const char *old,
			struct rye_buf *out)
{
	json_t *entry;
	size_t i;

	json_array_foreach(entries, i, entry) {
		auto_buf struct rye_buf text = RYE_BUF_INIT;

		plan_text(planner, entry, &text);
		if (!text.len || text.failed || list_has(old, text.data) ||
		    list_has(out->data, text.data))
			continue;
		if (out->len)
			buf_addc(out, ':');
		buf_addspan(out, (struct rye_span){ text.data, text.len });
	}
}

static void anchor_add_old(const char *old, struct rye_buf *out)
{
	while (old && *old) {
		size_t n = strcspn(old, ":");

		if (n && out->len)
			buf_addc(out, ':');
		buf_add(out, old, n);
		old += n + (old[n] == ':');
	}
}

static void add_paths(struct planner *planner, const json_t *paths)
{
	json_t *object = (json_t *)paths;
	const char *name;
	json_t *how;

	json_object_foreach(object, name, how) {
		auto_buf struct rye_buf value = RYE_BUF_INIT;
		const char *old = env_get(&planner->env, name);

		if (!env_name_ok(name))
			continue;
		add_entries(planner, json_object_get(how, "prepend"), old, &value);
		anchor_add_old(old, &value);
		add_entries(planner, json_object_get(how, "append"), old, &value);
		if (value.len && !value.failed)
			env_put(&planner->env, name, value.data);
	}
}

void anchor_env(struct planner *planner)
{
	const struct anchor *anchor = &planner->anchor;
	bool venv = planner->base->opt->venv &&
		    planner->chain->v[0].item->space->type == RYE_PROJECT;

	if (anchor->link && anchor->active)
		add_paths(planner, json_object_get(anchor->link->meta.anchor, "env_paths"));
	if (anchor->link && venv)
		add_paths(planner, json_object_get(anchor->link->meta.anchor, "venv_env_paths"));
}
