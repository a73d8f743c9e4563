/* SPDX-License-Identifier: MIT */
/*
 * What of a project's git runs programs by itself and shows in no diff: configuration and hooks, of
 * submodules and work trees too. A tool may commit and check out, but changes none of these: the
 * person's next `git status` would run what it wrote, outside of every sandbox. What is not there
 * cannot be protected (docs/security.md says what is left). Called by the worker that makes a veil;
 * no lock, no state.
 */
#include "sandbox/sandbox_inner.h"

#include "scope.h"
#include "str.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

/* "NAME" of a submodule may have slashes, and it may have submodules. */
#define GIT_DEPTH 6

/* Does the path lie in the project, where alone tools write? */
static bool git_inside(const char *project, const char *path)
{
	const char *below = path_below(path, project);

	return below && *below;
}

static bool git_is_dir(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void freeze_there(struct veil_rows *rows, const char *dir, const char *name)
{
	auto_free char *path = NULL;

	if (asprintf(&path, "%s/%s", dir, name) < 0)
		rows->failed = true;
	else if (access(path, F_OK) == 0)
		veil_rows_add(rows, VEIL_FREEZE, path);
}

/* One directory that git reads its configuration from; its name stays its own. */
static void protect_dir(struct veil_rows *rows, const char *dir)
{
	static const char *const names[] = { "config", "config.worktree", "commondir", "gitdir",
					     "hooks" };
	auto_free char *objects = NULL, *hooks = NULL;

	/* a template may have none, and a tool would make them; a work tree has those of another */
	if (asprintf(&objects, "%s/objects", dir) < 0 || asprintf(&hooks, "%s/hooks", dir) < 0)
		rows->failed = true;
	else if (git_is_dir(objects))
		mkdir(hooks, 0755);
	veil_rows_add(rows, VEIL_ANCHOR, dir);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		freeze_there(rows, dir, names[i]);
}

/* Directories of submodules or work trees below this one: those with a HEAD. */
static void protect_below(struct veil_rows *rows, const char *dir, int depth)
{
	auto_dir DIR *list = depth && git_is_dir(dir) ? opendir(dir) : NULL;
	struct dirent *entry;

	if (!list)
		return;
	veil_rows_add(rows, VEIL_ANCHOR, dir);
	while (!rows->failed && (entry = readdir(list))) {
		auto_free char *path = NULL, *head = NULL, *modules = NULL;

		if (entry->d_name[0] == '.' || asprintf(&path, "%s/%s", dir, entry->d_name) < 0 ||
		    !git_is_dir(path))
			continue;
		if (asprintf(&head, "%s/HEAD", path) < 0 ||
		    asprintf(&modules, "%s/modules", path) < 0) {
			rows->failed = true;
		} else if (access(head, F_OK) == 0) {
			protect_dir(rows, path);
			protect_below(rows, modules, depth - 1);
		} else {
			protect_below(rows, path, depth - 1);
		}
	}
}

static void protect_whole(struct veil_rows *rows, const char *dir)
{
	static const char *const below[] = { "modules", "worktrees" };

	protect_dir(rows, dir);
	for (size_t i = 0; i < ARRAY_SIZE(below); i++) {
		auto_free char *path = NULL;

		if (asprintf(&path, "%s/%s", dir, below[i]) < 0)
			rows->failed = true;
		else
			protect_below(rows, path, GIT_DEPTH);
	}
}

/* "gitdir: PATH" of a work tree or a submodule, from where it stands; NULL: none, or not in the project. */
static char *git_named(const char *project, const char *file)
{
	char text[PATH_MAX + 16] = "", path[2 * PATH_MAX + 32];
	auto_close int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	int above = (int)(strrchr(file, '/') - file) + 1;
	auto_free char *real = NULL;

	if (n < 8 || strncmp(text, "gitdir: ", 8) != 0)
		return NULL;
	text[8 + strcspn(text + 8, "\r\n")] = 0;
	snprintf(path, sizeof(path), "%.*s%s", text[8] == '/' ? 0 : above, file, text + 8);
	real = realpath(path, NULL);
	return real && git_inside(project, real) ? steal(&real) : NULL;
}

/* What lies between the project and the path stays where it is: from above, for each is a mount in the last. */
static void anchor_above(struct veil_rows *rows, const char *project, const char *path)
{
	const char *at = path + strlen(project) + 1;

	for (; (at = strchr(at, '/')) && !rows->failed; at++) {
		auto_free char *dir = strndup(path, (size_t)(at - path));

		if (dir)
			veil_rows_add(rows, VEIL_ANCHOR, dir);
		else
			rows->failed = true;
	}
}

void veil_rows_git(struct veil_rows *rows, const char *project, const char *name)
{
	auto_free char *git = NULL, *real = NULL;
	struct stat st;

	if (asprintf(&git, "%s/%s", project, name) < 0) {
		rows->failed = true;
		return;
	}
	if (lstat(git, &st) < 0)
		return;
	anchor_above(rows, project, git);
	/* a file says where it is: nothing else may take its place */
	if (S_ISREG(st.st_mode))
		veil_rows_add(rows, VEIL_FREEZE, git);
	real = S_ISREG(st.st_mode) ? git_named(project, git) : realpath(git, NULL);
	if (!real || !git_inside(project, real) || !git_is_dir(real))
		return;
	anchor_above(rows, project, real);
	protect_whole(rows, real);
}
