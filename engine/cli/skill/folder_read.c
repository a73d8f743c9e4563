/* SPDX-License-Identifier: MIT */
/*
 * A folder that is to become a skill, or is one. Each file is opened beneath it and read once. What
 * version control and interpreters leave beside files is passed over; what cannot be listed in a
 * manifest is an error, for a half of a skill is none.
 */
#include "cli/skill/skill_words.h"

#include "base/io.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

struct reading_folder {
	struct folder *folder;
	int root;
	bool with_deps;
	struct rye_err *err;
};

static bool is_passed_over(const char *name)
{
	static const char *const names[] = { ".git", ".hg", ".svn", ".DS_Store", "__pycache__" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

int folder_add(struct folder *folder, const char *path, struct rye_blob *blob, struct rye_err *err)
{
	struct folder_file *file;

	if (folder->n == folder->size) {
		size_t size = folder->size ? 2 * folder->size : 16;
		struct folder_file *v = realloc(folder->v, size * sizeof(*v));

		if (!v) {
			rye_blob_unref(blob);
			return memory_fail(err);
		}
		folder->v = v;
		folder->size = size;
	}
	file = &folder->v[folder->n++];
	*file = (struct folder_file){ .path = strdup(path), .blob = blob };
	folder->bytes += blob->len;
	return file->path ? 0 : memory_fail(err);
}

static int folder_take(struct reading_folder *reading, const char *path, bool link)
{
	const struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
				      .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };
	auto_close int fd = io_resolve(reading->root, path, &how);
	struct folder *folder = reading->folder;
	struct rye_blob *blob = NULL;
	struct stat st;
	int r = fd < 0 ? fd : io_read_fd(fd, SKILL_FILE_MAX, &blob, &st);

	if (r == -EFBIG)
		return rye_fail(reading->err, RYE_TOO_BIG, "%s is bigger than %u MiB", path,
				SKILL_FILE_MAX >> 20);
	if (r < 0 && link)
		return rye_fail(reading->err, RYE_INVALID,
				"%s is a link, and leads to no file of the folder", path);
	if (r < 0)
		return rye_fail_sys(reading->err, -r, "cannot read %s", path);
	r = folder_add(folder, path, blob, reading->err);
	if (r)
		return r;
	folder->v[folder->n - 1].was_link = link;
	folder->v[folder->n - 1].x = st.st_mode & 0100 ||
				     (blob->len > 1 && !memcmp(blob->data, "#!", 2));
	if (folder->n > SKILL_FILES_MAX || folder->bytes > SKILL_BYTES_MAX)
		return rye_fail(reading->err, RYE_TOO_BIG,
				"a skill has at most %d files, and %u MiB", SKILL_FILES_MAX,
				SKILL_BYTES_MAX >> 20);
	return 0;
}

static int folder_walk(struct reading_folder *reading, int fd, const char *above, int depth);

static int folder_visit(struct reading_folder *reading, int dir, const char *above,
			const char *name, int depth)
{
	auto_free char *path = NULL;
	struct stat st;

	if (asprintf(&path, "%s%s%s", above, *above ? "/" : "", name) < 0)
		return memory_fail(reading->err);
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return rye_fail_sys(reading->err, errno, "cannot look at %s", path);
	if (!strcmp(name, "node_modules") && !reading->with_deps) {
		reading->folder->has_deps = true;
		return rye_fail(reading->err, RYE_INVALID,
				"%s: packages are not taken along, unless --with-deps says so",
				path);
	}
	if (!skill_path_ok(span_of(path)))
		return rye_fail(reading->err, RYE_INVALID,
				"%s: no manifest lists such a path: too deep, too long, or with "
				"characters that are not shown",
				path);
	if (S_ISDIR(st.st_mode))
		return folder_walk(
			reading, openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
			path, depth + 1);
	if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
		return rye_fail(reading->err, RYE_INVALID, "%s is no regular file", path);
	return folder_take(reading, path, S_ISLNK(st.st_mode));
}

/* Takes fd over. */
static int folder_walk(struct reading_folder *reading, int fd, const char *above, int depth)
{
	auto_dir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int r = 0;

	if (fd >= 0 && !dir)
		close(fd);
	if (!dir)
		return rye_fail_sys(reading->err, errno, "cannot read %s",
				    *above ? above : "the folder");
	while (!r && (entry = readdir(dir))) {
		const char *name = entry->d_name;

		if (!strcmp(name, ".") || !strcmp(name, ".."))
			continue;
		if (is_passed_over(name))
			reading->folder->passed_over++;
		else
			r = folder_visit(reading, dirfd(dir), above, name, depth);
	}
	return r;
}

static int folder_order(const void *a, const void *b)
{
	return strcmp(((const struct folder_file *)a)->path, ((const struct folder_file *)b)->path);
}

int folder_read(int dir, bool with_deps, struct folder *ret, struct rye_err *err)
{
	struct reading_folder reading = { ret, dir, with_deps, err };
	int r = folder_walk(&reading, openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "", 0);

	if (!r && ret->n > 1)
		qsort(ret->v, ret->n, sizeof(*ret->v), folder_order);
	return r;
}

void folder_done(struct folder *folder)
{
	for (size_t i = 0; i < folder->n; i++) {
		free(folder->v[i].path);
		rye_blob_unref(folder->v[i].blob);
	}
	free(folder->v);
	*folder = (struct folder){ 0 };
}

const struct folder_file *folder_find(const struct folder *folder, const char *path)
{
	const struct folder_file key = { .path = (char *)path };

	return folder->n ? bsearch(&key, folder->v, folder->n, sizeof(key), folder_order) : NULL;
}
