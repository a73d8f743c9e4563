/* SPDX-License-Identifier: MIT */
/*
 * What a run elsewhere has changed, into the project here. Each file is looked at three ways: as it was sent, as it
 * came back, as it is here now. One that was changed at both ends is a conflict, and then nothing is written. What
 * is written already is found as it came back, so the same may be asked again. Waits for the disk. No lock.
 */
#include "remote/remote_inner.h"

#include "base/io.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* changes.json of as many files as a manifest may have. */
#define APPLY_DOC_MAX (2 * MANIFEST_MAX)

struct applying {
	int root; /* of the project */
	int thread; /* the thread's directory */
	int from; /* its changes/; -1: nothing was changed */
	json_t *conflicts; /* paths */
	json_t *due; /* rows that are to be written or removed */
};

static bool same_side(const json_t *side, const struct manifest_line *now, bool there)
{
	struct digest sha;

	if (!json_is_object(side))
		return !there;
	return there && digest_parse(span_of(json_str(side, "sha")), &sha) &&
	       digest_is(&sha, &now->sha) &&
	       !strcmp(json_str(side, "mode"), manifest_mode_name(now->mode));
}

/* after: the row itself, or NULL: it was removed. */
static int apply_look(struct applying *applying, json_t *row, const json_t *after,
		      struct rye_err *err)
{
	const char *path = json_str(row, "path"), *why = sent_never(path);
	struct manifest_line now;
	int there, r = manifest_path_check(path, err);

	if (!r && why)
		r = rye_fail(err, RYE_DENIED, "'%s': %s", path, why);
	if (r)
		return r;
	there = snapshot_line(applying->root, path, &now, err);
	if (there < 0 || same_side(after, &now, there))
		return MIN_OF(there, 0);
	if (json_array_append(same_side(json_object_get(row, "was"), &now, there) ?
				      applying->due :
				      applying->conflicts,
			      row))
		return memory_fail(err);
	return 0;
}

static int apply_look_all(struct applying *applying, const json_t *doc, struct rye_err *err)
{
	json_t *row;
	size_t i;
	int r = 0;

	/* removals first: a file may stand where a directory is to be */
	json_array_foreach(json_object_get(doc, "removed"), i, row) {
		r = apply_look(applying, row, NULL, err);
		if (r)
			return r;
	}
	json_array_foreach(json_object_get(doc, "changed"), i, row) {
		r = apply_look(applying, row, row, err);
		if (r)
			return r;
	}
	return 0;
}

/* All of them stand in changes.json, as many as fit in the sentence. */
static int apply_conflict(struct applying *applying, json_t *doc, struct rye_err *err)
{
	size_t n = json_array_size(applying->conflicts), shown = 0;
	auto_buf struct rye_buf names = { .cap = 600 };

	json_object_set(doc, "conflicts", applying->conflicts);
	remote_changes_tell(applying->thread, doc, NULL);
	while (shown < n && names.len < 400) {
		const json_t *row = json_array_get(applying->conflicts, shown++);

		buf_addf(&names, "%s%.200s", shown > 1 ? ", " : "", json_str(row, "path"));
	}
	if (shown < n)
		buf_addf(&names, " and %zu more, which " REMOTE_CHANGES_DOC " names", n - shown);
	return rye_fail(err, RYE_STATE,
			"changed here, too, since it was sent, so nothing was written: %s",
			names.len ? names.data : "");
}

/* ---- writing ---- */

/* The directory of a path, of which no part is a link; made where it is not there. -errno. */
static int open_parent(int root, const char *path, bool make, const char **ret_name)
{
	const struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				      .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };
	const char *slash = strrchr(path, '/');
	char dir[MANIFEST_PATH + 1];
	int r = 0;

	*ret_name = slash ? slash + 1 : path;
	snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
	if (slash && make)
		r = io_mkdirs_at(root, dir, 0755);
	return r < 0 ? r : io_resolve(root, dir, &how);
}

static int apply_link(const struct applying *applying, const char *path, int dir, const char *name)
{
	char target[MANIFEST_PATH + 1];
	ssize_t n = readlinkat(applying->from, path, target, sizeof(target) - 1);

	if (n < 0)
		return -errno;
	target[n] = '\0';
	unlinkat(dir, name, 0);
	return symlinkat(target, dir, name) < 0 ? -errno : 0;
}

/* Mapped: it may be big. */
static int apply_file(const struct applying *applying, const char *path, int dir, const char *name,
		      mode_t mode)
{
	auto_close int fd = io_open_beneath(applying->from, path, O_RDONLY | O_NOFOLLOW);
	struct stat st;
	void *bytes;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fd < 0 ? fd : -errno;
	if (!st.st_size)
		return io_replace_at(dir, name, (struct rye_span){ "", 0 }, mode);
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	r = io_replace_at(dir, name, (struct rye_span){ bytes, (size_t)st.st_size }, mode);
	munmap(bytes, (size_t)st.st_size);
	return r;
}

/* What lies in changes/ is the person's, too: is it still what came back? */
static int apply_source(const struct applying *applying, const json_t *row, struct rye_err *err)
{
	struct manifest_line is;
	int there = applying->from < 0 ?
			    0 :
			    snapshot_line(applying->from, json_str(row, "path"), &is, err);

	if (there < 0 || same_side(row, &is, there))
		return MIN_OF(there, 0);
	return rye_fail(err, RYE_MODIFIED, "'%s' of " REMOTE_CHANGES " is not what came back",
			json_str(row, "path"));
}

static int apply_one(const struct applying *applying, const json_t *row, struct rye_err *err)
{
	const char *path = json_str(row, "path"), *mode = json_str(row, "mode"), *name;
	bool removed = !json_object_get(row, "sha");
	auto_close int dir = open_parent(applying->root, path, !removed, &name);
	size_t len = strlen(mode);
	int r;

	if (dir < 0)
		return rye_fail_sys(err, -dir, "'%s'", path);
	if (removed)
		r = unlinkat(dir, name, 0) < 0 ? -errno : 0;
	else if (!strcmp(mode, manifest_mode_name(MANIFEST_LINK)))
		r = apply_link(applying, path, dir, name);
	else
		r = apply_file(applying, path, dir, name,
			       len && mode[len - 1] == '5' ? 0755 : 0644);
	return r < 0 ? rye_fail_sys(err, -r, "'%s'", path) : 0;
}

static int apply_due(const struct applying *applying, struct rye_err *err)
{
	const json_t *row;
	size_t i;
	int r = 0;

	json_array_foreach(applying->due, i, row) {
		r = json_object_get(row, "sha") ? apply_source(applying, row, err) : 0;
		if (r)
			return r;
	}
	json_array_foreach(applying->due, i, row) {
		r = apply_one(applying, row, err);
		if (r)
			return r;
	}
	return 0;
}

static int apply_read(int thread, json_t **ret, struct rye_err *err)
{
	auto_blob struct rye_blob *text = NULL;
	int r = io_read_at(thread, REMOTE_CHANGES_DOC, APPLY_DOC_MAX, &text);

	if (r == -ENOENT)
		return rye_fail(err, RYE_STATE,
				"the thread has no changes: it ran here, or has not ended");
	if (r < 0)
		return rye_fail_sys(err, -r, REMOTE_CHANGES_DOC);
	*ret = json_parse((struct rye_span){ text->data, text->len }, 0, REMOTE_CHANGES_DOC, err);
	if (!*ret)
		return -(int)err->code;
	if (*json_str(*ret, "error"))
		return rye_fail(err, RYE_STATE, "there is nothing to apply: %s",
				json_str(*ret, "error"));
	if (*json_str(*ret, "left"))
		return rye_fail(err, RYE_STATE, "the files are not here: %s",
				json_str(*ret, "left"));
	json_object_del(*ret, "conflicts");
	return 0;
}

int remote_apply(const struct item_env *env, int thread, size_t *ret_n, struct rye_err *err)
{
	const char *project = env->spaces->v[0].root;
	auto_close int root = open(project, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_close int from = io_open_beneath(thread, REMOTE_CHANGES, O_RDONLY | O_DIRECTORY);
	auto_json json_t *doc = NULL, *due = json_array(), *conflicts = json_array();
	struct applying applying = { root, thread, from, conflicts, due };
	int r;

	if (root < 0)
		return rye_fail_sys(err, errno, "%s", project);
	r = apply_read(thread, &doc, err);
	if (!r)
		r = apply_look_all(&applying, doc, err);
	if (!r && json_array_size(conflicts))
		r = apply_conflict(&applying, doc, err);
	if (!r)
		r = apply_due(&applying, err);
	*ret_n = json_array_size(due);
	return r;
}
