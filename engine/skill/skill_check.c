/* SPDX-License-Identifier: MIT */
/*
 * A folder against its manifest: each listed file is opened beneath the folder, through no link, read
 * once and hashed; the same bytes are handed out. What is not listed is not looked at. May wait for a
 * disk; no lock.
 */
#include "skill/skill.h"

#include "base/io.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

int skill_open_folder(int ai, const char *name)
{
	char path[16 + SKILL_NAME_MAX + 1];

	snprintf(path, sizeof(path), "skills/%.*s", SKILL_NAME_MAX, name);
	return io_open_mounted(ai, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

static int changed(const char *path, const char *how, struct rye_err *err)
{
	return rye_fail(err, RYE_MODIFIED, "Content modified since signing: %s %s",
			skill_path_told(path), how);
}

static const struct open_how within = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
					.resolve = RESOLVE_BENEATH | RESOLVE_NO_XDEV |
						   RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };

int skill_load(int folder, const struct skill_file *file, struct rye_blob **ret,
	       struct stat *ret_st, struct rye_err *err)
{
	auto_close int fd = io_resolve(folder, file->path, &within);
	auto_blob struct rye_blob *blob = NULL;
	unsigned char sha[SHA_LEN];
	int r;

	if (fd == -ENOENT || fd == -ENOTDIR)
		return changed(file->path, "is missing", err);
	if (fd == -ELOOP || fd == -EXDEV || fd == -ENXIO)
		return changed(file->path, "is no regular file", err);
	if (fd < 0)
		return rye_fail_sys(err, -fd, "cannot open %s", skill_path_told(file->path));
	r = io_read_fd(fd, (size_t)file->size, &blob, ret_st);
	if (r == -EFBIG)
		return changed(file->path, "has changed", err);
	if (r == -EISDIR || r == -EINVAL)
		return changed(file->path, "is no regular file", err);
	if (r < 0)
		return rye_fail_sys(err, -r, "cannot read %s", skill_path_told(file->path));
	sha256_of((struct rye_span){ blob->data, blob->len }, sha);
	if (blob->len != file->size || memcmp(sha, file->sha, SHA_LEN) != 0)
		return changed(file->path, "has changed", err);
	*ret = steal(&blob);
	return 0;
}

static int check_file(int folder, const struct skill *skill, const struct skill_file *file,
		      bool *ret_linked, struct rye_err *err)
{
	auto_blob struct rye_blob *blob = NULL;
	auto_json json_t *front = NULL;
	struct stat st;
	int r = skill_load(folder, file, &blob, &st, err);

	if (r)
		return r;
	*ret_linked |= st.st_nlink > 1;
	if (strcmp(file->path, SKILL_TEXT) != 0)
		return 0;
	r = skill_front((struct rye_span){ blob->data, blob->len }, &front, NULL, err);
	return r ? r : skill_front_check(front, skill->name, err);
}

int skill_check(int ai, const struct skill *skill, bool *ret_linked, struct rye_err *err)
{
	auto_close int folder = skill_open_folder(ai, skill->name);
	int r = 0;

	*ret_linked = false;
	if (folder < 0)
		return changed(SKILL_TEXT, "is missing", err);
	for (size_t i = 0; i < skill->n && !r; i++)
		r = check_file(folder, skill, &skill->v[i], ret_linked, err);
	return r;
}

static bool has_conflict(int folder, const char *path)
{
	auto_close int fd = io_resolve(folder, path, &within);
	auto_blob struct rye_blob *blob = NULL;
	struct stat st;

	return fd >= 0 && io_read_fd(fd, SKILL_TEXT_MAX, &blob, &st) >= 0 &&
	       span_conflict((struct rye_span){ blob->data, blob->len });
}

const char *skill_conflict(int ai, const struct skill *skill)
{
	auto_close int folder = skill_open_folder(ai, skill->name);

	for (size_t i = 0; folder >= 0 && i < skill->n; i++) {
		auto_blob struct rye_blob *blob = NULL;
		struct rye_err err = { 0 };
		struct stat st;

		if (skill_load(folder, &skill->v[i], &blob, &st, &err) == -(int)RYE_MODIFIED &&
		    has_conflict(folder, skill->v[i].path))
			return skill->v[i].path;
	}
	return NULL;
}
