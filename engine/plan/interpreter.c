/* SPDX-License-Identifier: MIT */
/*
 * Which program is "python3"? The system's, by fixed directories first, so that neither the project
 * nor a wrapper that reads files of the working directory decides. A project's own interpreters
 * count only with the venv option, for project items.
 *
 * Lock: `lock` of struct interps guards what was learnt about programs; they are asked outside it
 * (twice at worst).
 */
#include "plan/plan_inner.h"

#include "memory.h"
#include "process/process.h"
#include "scope.h"
#include "space/space.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Where an administrator puts interpreters. */
#define SYSTEM_PATH "/usr/local/bin:/usr/bin:/bin"
/* Milliseconds a program may take to say which version it is. */
#define ASK_MS 5000
/* Programs whose answers are remembered; there are two or three. */
#define KNOWN_MAX 32

struct known {
	char *path;
	struct timespec mtime;
	bool safe_path;
};

struct interps {
	pthread_mutex_t lock; /* v, n */
	struct known v[KNOWN_MAX];
	size_t n;
};

struct interps *interps_open(void)
{
	struct interps *interps = calloc(1, sizeof(*interps));

	if (interps)
		pthread_mutex_init(&interps->lock, NULL);
	return interps;
}

void interps_close(struct interps *interps)
{
	if (!interps)
		return;
	for (size_t i = 0; i < interps->n; i++)
		free(interps->v[i].path);
	pthread_mutex_destroy(&interps->lock);
	free(interps);
}

/* Exit status 0 and what it printed on its first line; false: anything else. */
static bool interpreter_ask(const struct plan_base *base, char *const *argv, struct rye_buf *line)
{
	struct pipes pipes;
	struct capture_ask how = { .in = -1, .control = -1, .cancel = -1, .timeout_ms = ASK_MS };
	struct spawn_ask start = { .path = argv[0], .argv = argv, .cwd = "/", .extra = -1 };
	struct box *box = NULL;
	struct captured got;
	bool ok;

	/* A project's own interpreter is a file that tools may write: it gets to see nothing. */
	if (pipes_open(&pipes, false, NULL))
		return false;
	if (box_take(base->boxes, (struct confine){ .net = false }, &box, NULL)) {
		pipes_close(&pipes);
		return false;
	}
	start.box = box;
	start.envp = base->allowed.v;
	if (pipes_spawn(&pipes, &start, &how, NULL)) {
		box_give(base->boxes, box, false);
		return false;
	}
	how.cap = 4096;
	capture(&how, &got);
	ok = got.ended.code == 0 && !got.timed_out;
	buf_add(line, got.out.data ? got.out.data : "",
		got.out.data ? strcspn(got.out.data, "\n") : 0);
	captured_done(&got);
	box_give(base->boxes, box, false);
	return ok;
}

static bool interpreter_recall(struct interps *interps, const char *path, const struct stat *st,
			       bool *ret)
{
	GUARD(&interps->lock);
	for (size_t i = 0; i < interps->n; i++) {
		const struct known *known = &interps->v[i];

		if (strcmp(known->path, path) ||
		    memcmp(&known->mtime, &st->st_mtim, sizeof(known->mtime)))
			continue;
		*ret = known->safe_path;
		return true;
	}
	return false;
}

static void interpreter_remember(struct interps *interps, const char *path, const struct stat *st,
				 bool value)
{
	GUARD(&interps->lock);
	struct known *row = &interps->v[interps->n];

	if (interps->n == KNOWN_MAX)
		return;
	row->path = memory_note(strdup(path));
	row->mtime = st->st_mtim;
	row->safe_path = value;
	interps->n += row->path != NULL;
}

bool interp_knows_safe_path(const struct plan_base *base, const char *path)
{
	static const char question[] = "import sys; print(int(sys.version_info >= (3, 11)))";
	char *const argv[] = { (char *)path, (char *)"-I",     (char *)"-S",
			       (char *)"-c", (char *)question, NULL };
	auto_buf struct rye_buf line = RYE_BUF_INIT;
	struct stat st;
	bool known;

	if (stat(path, &st) < 0)
		return false;
	if (interpreter_recall(base->interps, path, &st, &known))
		return known;
	known = interpreter_ask(base, argv, &line) && line.len == 1 && line.data[0] == '1';
	interpreter_remember(base->interps, path, &st, known);
	return known;
}

char *interp_on_system(const struct plan_base *base, const char *name)
{
	char *path = env_which(name, SYSTEM_PATH);

	return path ? path : env_which(name, env_get(&base->allowed, "PATH"));
}

/* Notes the places of a search, up to the one where it ended. False: it did not end there. */
static bool mark_path(struct marks *marks, const char *path, const char *name, const char *found)
{
	while (path && *path && marks && !marks->unfit) {
		auto_free char *file = NULL;
		size_t n = strcspn(path, ":");

		if (asprintf(&file, "%.*s/%s", (int)n, path, name) < 0) {
			marks_unfit(marks);
			return true;
		}
		marks_add(marks, AT_FDCWD, file, true);
		if (found && !strcmp(file, found))
			return true;
		path += n + (path[n] == ':');
	}
	return false;
}

char *interp_find(const struct planner *planner, const char *name)
{
	const struct plan_base *base = planner->base;
	char *path = interp_on_system(base, name);

	if (!mark_path(planner->marks, SYSTEM_PATH, name, path))
		mark_path(planner->marks, env_get(&base->allowed, "PATH"), name, path);
	return path;
}

bool interp_looks_in(const struct plan_base *base, struct rye_span dir)
{
	const char *const paths[] = { SYSTEM_PATH, env_get(&base->allowed, "PATH") };

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		for (const char *at = paths[i]; at && *at; at += strspn(at, ":")) {
			size_t n = strcspn(at, ":");

			if (n == dir.len && !memcmp(at, dir.ptr, n))
				return true;
			at += n;
		}
	}
	return false;
}

/* By its name, or by where its links lead. */
static bool in_project(const struct plan_base *base, const char *path)
{
	auto_free char *real = realpath(path, NULL);

	return path_below(path, base->project) || (real && path_below(real, base->project));
}

char *interp_which(struct planner *planner, const char *name, struct rye_err *err)
{
	const struct plan_base *base = planner->base;
	bool project = planner->chain->v[0].item->space->type == RYE_PROJECT;
	auto_free char *path = NULL;

	if (strchr(name, '/') && *name != '/') {
		rye_fail(err, RYE_TOOL_FAILED,
			 "Failed to spawn: %s: a program is named by an absolute path or a bare "
			 "name",
			 name);
		return NULL;
	}
	path = *name == '/' ? memory_note(strdup(name)) :
			      env_which(name, env_get(&base->allowed, "PATH"));
	if (*name != '/')
		mark_path(planner->marks, env_get(&base->allowed, "PATH"), name, path);
	/* Many systems have no other name for it. */
	if (!path && !strcmp(name, "python"))
		path = interp_find(planner, "python3");
	if (!path) {
		rye_fail(err, RYE_TOOL_FAILED,
			 "Failed to spawn: %s: No such file or directory (os error 2)", name);
		return NULL;
	}
	if (in_project(base, path) && strcmp(path, json_str(planner->context, "tool_path")) &&
	    !(base->opt->venv && project)) {
		rye_fail(err, RYE_TOOL_FAILED,
			 "Failed to spawn: %s: a file of the project that nobody signed; "
			 "-o venv allows a project's own programs",
			 path);
		return NULL;
	}
	return steal(&path);
}

static char *try_in(const char *root, const char *below, const char *name)
{
	auto_buf struct rye_buf path = RYE_BUF_INIT;

	buf_addf(&path, "%s/%s/%s", root, below, name);
	return path.failed || access(path.data, X_OK) ? NULL : buf_steal(&path);
}

static char *search_roots(const char *root, const json_t *paths, const json_t *names)
{
	json_t *path, *name;
	size_t i, k;

	json_array_foreach(paths, i, path) {
		json_array_foreach(names, k, name) {
			char *found = try_in(root, json_string_value(path) ?: "",
					     json_string_value(name) ?: "");

			if (found)
				return found;
		}
	}
	return NULL;
}

/* Root by root, then the project itself; only what the person allowed by -o venv. */
static char *search_local(struct planner *planner, const json_t *how)
{
	const json_t *roots = json_object_get(how, "search_roots");
	const json_t *paths = json_object_get(how, "search_paths");
	const json_t *names = json_object_get(how, "candidates");
	char *found = NULL;
	json_t *root;
	size_t i;

	if (!planner->base->opt->venv || planner->chain->v[0].item->space->type != RYE_PROJECT)
		return NULL;
	marks_unfit(planner->marks);
	json_array_foreach(roots, i, root) {
		auto_buf struct rye_buf text = RYE_BUF_INIT;

		plan_text(planner, root, &text);
		if (!found && text.len && text.data[0] == '/')
			found = search_roots(text.data, paths, names);
	}
	return found ? found : search_roots(planner->base->project, paths, names);
}

/* `resolve_cmd`: a signed command whose first line is the path. */
static char *ask_command(struct planner *planner, const json_t *command)
{
	char *argv[16] = { NULL };
	auto_free char *path = NULL;
	auto_buf struct rye_buf line = RYE_BUF_INIT;
	json_t *word;
	size_t i;

	json_array_foreach(command, i, word) {
		if (i + 1 < ARRAY_SIZE(argv))
			argv[i] = (char *)json_string_value(word);
	}
	path = argv[0] ? interp_on_system(planner->base, argv[0]) : NULL;
	argv[0] = path;
	if (!path || !interpreter_ask(planner->base, argv, &line) || !line.len ||
	    line.data[0] != '/')
		return NULL;
	return buf_steal(&line);
}

/* A version manager is asked as a person would ask it: `pyenv which python3`. */
static json_t *manager_alias(const json_t *how)
{
	static const struct {
		const char *manager, *variable, *binary;
	} rows[] = {
		{ "pyenv", "PYENV_VERSION", "python3" },
		{ "rbenv", "RBENV_VERSION", "ruby" },
		{ "asdf", "ASDF_VERSION", "python3" },
	};
	const char *manager = json_str(how, "manager"), *binary = json_str(how, "binary");
	const char *version = json_str(how, "version");

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!strcmp(manager, rows[i].manager))
			return json_pack("{s:s, s:[s, o, s, s, s], s:s}", "type", "command",
					 "resolve_cmd", "env",
					 json_sprintf("%s=%s", rows[i].variable, version), manager,
					 "which", *binary ? binary : rows[i].binary, "fallback",
					 *binary ? binary : rows[i].binary);
	return json_object();
}

/* The older type names say where to look instead of listing it. */
static json_t *read_alias(const json_t *how)
{
	const char *type = json_str(how, "type");
	const char *venv = json_str(how, "venv_path");

	if (!strcmp(type, "venv_python"))
		return json_pack("{s:[s, s], s:[o], s:s}", "candidates", "python", "python3",
				 "search_paths", json_sprintf("%s/bin", *venv ? venv : ".venv"),
				 "fallback", "python3");
	if (!strcmp(type, "node_modules"))
		return json_pack("{s:[s], s:[s], s:s}", "candidates", "node", "search_paths",
				 "node_modules/.bin", "fallback", "node");
	if (!strcmp(type, "version_manager"))
		return manager_alias(how);
	return json_incref((json_t *)how);
}

char *interp_resolve(struct planner *planner, const json_t *how, struct rye_err *err)
{
	auto_json json_t *read = read_alias(how);
	const char *type = json_str(read, "type");
	const char *binary = json_str(how, "binary"), *fallback = json_str(read, "fallback");
	char *path = NULL;

	if (!strcmp(type, "shebang"))
		return shebang_program(planner, err);
	/* what a program answers is asked each time */
	if (!strcmp(type, "command"))
		marks_unfit(planner->marks);
	if (!strcmp(type, "command"))
		path = ask_command(planner, json_object_get(read, "resolve_cmd"));
	else if (!strcmp(type, "system_binary"))
		path = *binary ? interp_find(planner, binary) : NULL;
	else
		path = search_local(planner, read);
	if (!path && *fallback)
		path = interp_find(planner, fallback);
	if (!path && *binary)
		path = interp_find(planner, binary);
	if (!path)
		rye_fail(err, RYE_NO_EXECUTOR,
			 "interpreter %s not found: install it where the system finds it",
			 *fallback ? fallback :
			 *binary   ? binary :
				     json_str(how, "type"));
	return path;
}
