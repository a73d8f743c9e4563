/* SPDX-License-Identifier: MIT */
/*
 * Verifies what lies below an active anchor before an interpreter may import it: every listed kind
 * of file as a tool, every link's target inside the anchor, component by component. Directories the
 * runtime excludes are searched for code all the same, where their names could be imported: what is
 * in them is not signed. The same holds for the library that a runtime puts on the search path.
 */
#include "plan/plan_inner.h"

#include "memory.h"
#include "scope.h"
#include "space/space.h"
#include "str.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

struct verify_deps_walk {
	struct planner *planner;
	const struct space *space;
	const char *base; /* absolute real path of the anchor */
	const json_t *extensions, *excluded, *code; /* arrays of strings */
	bool recursive;
	json_t *files; /* for the trace; or NULL */
};

static const char *suffix(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && dot > name ? dot : "";
}

static int verify_deps_escape(const char *path, const char *real, struct rye_err *err)
{
	return rye_fail(err, RYE_UNCOVERED, "Symlink escape: %s resolves to %s", path, real);
}

/* Paths of files are told to rye_load_path below the space's .ai. */
static int verify_file(struct verify_deps_walk *walk, const char *path, struct rye_err *err)
{
	auto_buf struct rye_buf ai = RYE_BUF_INIT;
	auto_item struct rye_item *item = NULL;
	auto_free char *root = realpath(walk->space->root, NULL);
	struct path_ask ask = { .space = walk->space, .kind = RYE_TOOL };
	int r;

	buf_addf(&ai, "%s/.ai/", root ? root : walk->space->root);
	if (ai.failed || strncmp(path, ai.data, ai.len))
		return rye_fail(err, RYE_UNCOVERED, "%s lies outside the space of its tool", path);
	ask.path = path + ai.len;
	r = rye_load_path(walk->planner->base->items, &ask, &item, err);
	if (!r && walk->files)
		json_array_append_new(walk->files, json_string(path));
	return r;
}

static bool is_excluded(const struct verify_deps_walk *walk, const char *name)
{
	static const char *const usual[] = { "__pycache__", ".venv", "node_modules", ".git" };

	if (walk->excluded)
		return json_lists(walk->excluded, name);
	for (size_t i = 0; i < ARRAY_SIZE(usual); i++)
		if (!strcmp(name, usual[i]))
			return true;
	return false;
}

/* Nothing imports from these by name; loaders refuse or ignore them. */
static bool never_imported(const char *name)
{
	return *name == '.' || !strcmp(name, "__pycache__") || !strcmp(name, "node_modules");
}

static int visit_dir(struct verify_deps_walk *walk, const char *dir, int depth,
		     struct rye_err *err);

static int visit_link(struct verify_deps_walk *walk, const char *path, bool is_dir,
		      struct rye_err *err)
{
	auto_free char *real = realpath(path, NULL);
	const char *p;

	if (!real)
		return rye_fail_sys(err, errno, "%s", path);
	if (!path_below(real, walk->base))
		return verify_deps_escape(path, real, err);
	if (!is_dir)
		return 0;
	/* Inside, so it is walked by its own name, unless that is excluded. */
	for (p = real + strlen(walk->base); *p; p += strcspn(p, "/")) {
		auto_free char *name = NULL;

		p += *p == '/';
		name = memory_note(strndup(p, strcspn(p, "/")));
		if (name && is_excluded(walk, name))
			return verify_deps_escape(path, real, err);
	}
	return 0;
}

static int verify_deps_visit(struct verify_deps_walk *walk, const char *dir, const char *name,
			     int depth, struct rye_err *err)
{
	auto_buf struct rye_buf path = RYE_BUF_INIT;
	struct stat st, target;
	int r = 0;

	buf_addf(&path, "%s/%s", dir, name);
	if (path.failed || lstat(path.data, &st) < 0)
		return rye_fail_sys(err, path.failed ? ENOMEM : errno, "%s", path.data);
	target = st;
	if (S_ISLNK(st.st_mode)) {
		if (stat(path.data, &target) < 0)
			return json_lists(walk->extensions, suffix(name)) ?
				       rye_fail_sys(err, errno, "%s", path.data) :
				       0;
		r = visit_link(walk, path.data, S_ISDIR(target.st_mode), err);
		if (r || S_ISDIR(target.st_mode))
			return r;
	}
	if (S_ISREG(target.st_mode) && json_lists(walk->extensions, suffix(name)))
		return verify_file(walk, path.data, err);
	if (!S_ISDIR(st.st_mode) || !walk->recursive)
		return 0;
	if (is_excluded(walk, name)) {
		struct verify_deps_walk code = *walk;

		code.extensions = walk->code;
		return never_imported(name) ? 0 : visit_dir(&code, path.data, depth + 1, err);
	}
	return visit_dir(walk, path.data, depth + 1, err);
}

static int visit_dir(struct verify_deps_walk *walk, const char *dir, int depth, struct rye_err *err)
{
	auto_dir DIR *stream = opendir(dir);
	struct dirent *entry;
	int r = 0;

	if (!stream)
		return rye_fail_sys(err, errno, "%s", dir);
	if (depth > RYE_DEPTH_MAX)
		return rye_fail(err, RYE_INVALID, "%s: deeper than %d directories", dir,
				RYE_DEPTH_MAX);
	while (!r && (entry = readdir(stream)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			r = verify_deps_visit(walk, dir, entry->d_name, depth, err);
	return r;
}

/* What the runtime brings for anchored tools (anchor.lib) can be imported as well. */
static int verify_lib(const struct verify_deps_walk *tool, struct rye_err *err)
{
	struct verify_deps_walk walk = *tool;
	auto_free char *base = realpath(json_str(tool->planner->context, "runtime_lib"), NULL);

	if (!base)
		return 0;
	walk.space = tool->planner->anchor.link->item->space;
	walk.base = base;
	walk.recursive = true;
	return visit_dir(&walk, base, 0, err);
}

static const struct link *declaring(const struct chain *chain)
{
	for (size_t i = 0; i < chain->n; i++)
		if (chain->v[i].meta.verify_deps)
			return &chain->v[i];
	return NULL;
}

int anchor_verify(struct planner *planner, struct rye_err *err)
{
	const struct link *link = declaring(planner->chain), *runtime;
	const json_t *how = link ? link->meta.verify_deps : NULL;
	const char *scope = json_str(how, "scope");
	struct verify_deps_walk walk = { .planner = planner,
					 .space = planner->chain->v[0].item->space };
	int r;

	if (!planner->anchor.active || !json_is_true(json_object_get(how, "enabled")) ||
	    !strcmp(scope, "tool_file"))
		return 0;
	runtime = chain_runtime(planner->chain);
	walk.extensions = json_object_get(how, "extensions");
	walk.excluded = json_object_get(how, "exclude_dirs");
	walk.code = runtime ? json_object_get(runtime->meta.config, "source_ext") : NULL;
	walk.recursive = strcmp(scope, "tool_siblings") && json_flag(how, "recursive", true);
	walk.base = json_str(planner->context,
			     !*scope || !strcmp(scope, "anchor") ? "anchor_path" : "tool_dir");
	walk.files = planner->trace ? json_array() : NULL;
	r = visit_dir(&walk, walk.base, 0, err);
	if (!r)
		r = verify_lib(&walk, err);
	if (walk.files)
		json_array_append_new(planner->trace, json_pack("{s:s, s:o}", "step", "verify_deps",
								"files", walk.files));
	return r;
}
