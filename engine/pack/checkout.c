/* SPDX-License-Identifier: MIT */
/*
 * Writes the tree of a manifest. Its directory is empty and its caller's alone, but nothing is
 * left to that: each path is opened beneath it without following a link, and each file is made, never
 * replaced. No lock.
 */
#include "base/io.h"
#include "pack/pack_inner.h"

#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

struct checkout_at {
	struct depot *depot;
	const char *principal;
	int root;
	int dir; /* of the file that is written, kept for the next one */
	char path[MANIFEST_PATH + 1]; /* of dir; "": none is kept */
};

int checkout_link_check(const char *path, const char *target, struct rye_err *err)
{
	struct rye_span rest = span_of(target);
	long depth = 0; /* directories that it stands in, less those that it climbs out of */
	bool climbs = true;

	for (const char *s = path; *s; s++)
		depth += *s == '/';
	if (!rest.len || *target == '/' || rest.len > MANIFEST_PATH || !utf8_valid(rest))
		return rye_fail(err, RYE_INVALID,
				"link '%s': its target is absolute, empty or no text", path);
	while (rest.len) {
		ssize_t slash = span_find(rest, 0, "/");
		struct rye_span part = { rest.ptr, slash < 0 ? rest.len : (size_t)slash };
		bool up = span_eq(part, "..");

		/* behind a name it could climb out of the place that another link leads to */
		if (up && (!climbs || --depth < 0))
			return rye_fail(err, RYE_INVALID,
					"link '%s': '%s' may lead out of the project", path,
					target);
		climbs = climbs && (up || !part.len || span_eq(part, "."));
		rest = span_skip(rest, slash < 0 ? rest.len : (size_t)slash + 1);
	}
	return 0;
}

static int open_dir_of(struct checkout_at *at, const char *path, const char **ret_name,
		       struct rye_err *err)
{
	const char *slash = strrchr(path, '/');
	const struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				      .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };
	size_t len = slash ? (size_t)(slash - path) : 0;
	char dir[MANIFEST_PATH + 1];
	int r, fd;

	*ret_name = slash ? slash + 1 : path;
	if (at->dir >= 0 && !strncmp(at->path, path, len) && !at->path[len])
		return 0;
	snprintf(dir, sizeof(dir), "%.*s", (int)len, path);
	r = len ? io_mkdirs_at(at->root, dir, 0755) : 0;
	fd = r < 0 ? r : io_resolve(at->root, len ? dir : ".", &how);
	if (fd < 0)
		return rye_fail_sys(err, -fd, "'%s'", path);
	if (at->dir >= 0)
		close(at->dir);
	at->dir = fd;
	memcpy(at->path, dir, len + 1);
	return 0;
}

static int write_bytes(void *arg, struct rye_span bytes, struct rye_err *err)
{
	int r = io_write_all(*(int *)arg, bytes.ptr, bytes.len);

	return r < 0 ? rye_fail_sys(err, -r, "writing") : 0;
}

static int put_file(struct checkout_at *at, const struct manifest_line *line, const char *name,
		    struct rye_err *err)
{
	bool exec = line->mode == MANIFEST_EXEC || line->mode == MANIFEST_PIECES_EXEC;
	auto_close int fd = openat(at->dir, name,
				   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
				   exec ? 0755 : 0644);
	struct stat st;
	int r;

	if (fd < 0)
		return rye_fail_sys(err, errno, "'%s'", line->path);
	r = depot_file(at->depot, at->principal, line, write_bytes, &fd, err);
	if (r)
		return r;
	/* the umask is another one's, the mode is the manifest's */
	if (fchmod(fd, exec ? 0755 : 0644) < 0 || fstat(fd, &st) < 0)
		return rye_fail_sys(err, errno, "'%s'", line->path);
	if ((uint64_t)st.st_size != line->size)
		return rye_fail(err, RYE_INVALID, "'%s': it has %lld bytes, the manifest says %llu",
				line->path, (long long)st.st_size, (unsigned long long)line->size);
	return 0;
}

static int add_target(void *arg, struct rye_span bytes, struct rye_err *err)
{
	struct rye_buf *target = arg;

	buf_addspan(target, bytes);
	if (target->failed || memchr(bytes.ptr, 0, bytes.len))
		return rye_fail(err, RYE_INVALID, "its target is no path");
	return 0;
}

static int put_link(struct checkout_at *at, const struct manifest_line *line, const char *name,
		    struct rye_err *err)
{
	auto_buf struct rye_buf target = { .cap = MANIFEST_PATH + 1 };
	int r = depot_file(at->depot, at->principal, line, add_target, &target, err);

	if (!r)
		r = checkout_link_check(line->path, buf_span(&target).ptr, err);
	if (r)
		return r;
	if (symlinkat(target.data, at->dir, name) < 0)
		return rye_fail_sys(err, errno, "'%s'", line->path);
	return 0;
}

int checkout(struct depot *depot, const char *principal, const struct manifest *manifest, int dir,
	     struct rye_err *err)
{
	struct checkout_at at = { .depot = depot, .principal = principal, .root = dir, .dir = -1 };
	int r = 0;

	for (size_t i = 0; !r && i < manifest->n; i++) {
		const struct manifest_line *line = &manifest->v[i];
		const char *name;

		r = open_dir_of(&at, line->path, &name, err);
		if (!r)
			r = line->mode == MANIFEST_LINK ? put_link(&at, line, name, err) :
							  put_file(&at, line, name, err);
	}
	if (at.dir >= 0)
		close(at.dir);
	return r;
}
