/* SPDX-License-Identifier: MIT */
/*
 * errand_uid.c: an account of this machine for each principal, out of the range that node.toml names, where the worker
 * is root: a run of one cannot read what is another's, the node's keys or its board. Which account is whose is the
 * directory `uids`: a file of that number, made once, names the principal. On the worker's thread.
 */
#include "worker/worker_inner.h"

#include "base/io.h"
#include "process/process.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define UIDS "uids"
/* Levels of a tree that is given: a walk for a push goes no deeper. */
#define UID_DEPTH 128

bool worker_has_uids(const struct node_worker *worker)
{
	return worker->node->uid_first && !geteuid();
}

/* 1: that number is this principal's, now or before; 0: another's. */
static int uid_is(const struct node_dir *node, uid_t uid, const char *fp)
{
	auto_blob struct rye_blob *text = NULL;
	char path[32];
	int r;

	snprintf(path, sizeof(path), UIDS "/%u", (unsigned)uid);
	/* most are there, and what is made is synced */
	r = io_read_at(node->dir, path, KEY_FP, &text);
	if (r == -ENOENT) {
		r = io_create_at(node->dir, path, span_of(fp), 0600);
		if (r != -EEXIST)
			return r < 0 ? r : 1;
		r = io_read_at(node->dir, path, KEY_FP, &text);
	}
	return r < 0 ? r : span_eq((struct rye_span){ text->data, text->len }, fp);
}

static int find_uid(const struct errand *errand, const char *fp, uid_t *ret, struct rye_err *err)
{
	const struct node_dir *node = errand->worker->node;
	int r = io_mkdirs_at(node->dir, UIDS, 0700);

	for (uid_t uid = node->uid_first; r >= 0 && uid <= node->uid_last; uid++) {
		r = uid_is(node, uid, fp);
		if (r > 0) {
			*ret = uid;
			return 0;
		}
	}
	return r < 0 ? rye_fail_sys(err, -r, "%s/" UIDS, node->path) :
		       rye_fail(err, RYE_NO_SPACE,
				"uids of the node are used up: its owner says: ryefs node init "
				"uids=%u-%u",
				(unsigned)node->uid_first, (unsigned)node->uid_last * 2);
}

/* What lies in a directory of the node's is its owner's alone. */
static int shut_dir(const struct node_dir *node, const char *name, struct rye_err *err)
{
	int fd = openat(node->dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	auto_dir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return rye_fail_sys(err, errno, "%s/%s", node->path, name);
	}
	while ((entry = readdir(dir))) {
		struct stat st;

		if (!strcmp(entry->d_name, "..") || !strcmp(entry->d_name, ".") ||
		    fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    S_ISLNK(st.st_mode) || !(st.st_mode & 077))
			continue;
		if (fchmodat(fd, entry->d_name, st.st_mode & 0700, 0) < 0)
			return rye_fail_sys(err, errno, "%s/%s", node->path, entry->d_name);
	}
	return 0;
}

/* Through these runs find what is theirs, and see of nothing else that it is there. */
int worker_shut(const struct node_worker *worker, struct rye_err *err)
{
	static const char *const ways[] = { "work", "work/runs", "work/users", "work/projects" };
	const struct node_dir *node = worker->node;
	int r;

	if (!worker_has_uids(worker))
		return 0;
	r = shut_dir(node, ".", err);
	if (!r)
		r = shut_dir(node, "work", err);
	for (size_t i = 0; !r && i < ARRAY_SIZE(ways); i++)
		if (io_mkdirs_at(node->dir, ways[i], 0711) < 0 ||
		    fchmodat(node->dir, ways[i], 0711, 0) < 0)
			r = rye_fail_sys(err, errno, "%s/%s", node->path, ways[i]);
	if (!r && fchmod(node->dir, 0711) < 0)
		r = rye_fail_sys(err, errno, "%s", node->path);
	return r;
}

/* A directory of work/ that is this run's, or its principal's, whole, for its account alone. */
static int uid_give(const struct errand *errand, const char *name, struct rye_err *err)
{
	const struct node_dir *node = errand->worker->node;
	int r = give_tree(node->dir, name, errand->uid, UID_DEPTH);

	if (!r && fchmodat(node->dir, name, 0700, 0) < 0)
		r = -errno;
	return r < 0 ? rye_fail_sys(err, -r, "%s/%s", node->path, name) : 0;
}

int errand_give(struct errand *errand, const struct principal *who, struct rye_err *err)
{
	const struct node_dir *node = errand->worker->node;
	size_t skip = strlen(node->path) + 1;
	char above[PATH_MAX];
	char *slash;
	int r;

	if (!worker_has_uids(errand->worker))
		return 0;
	r = find_uid(errand, who->key.fp, &errand->uid, err);
	if (r)
		return r;
	/* the run's own directory is that of the project's */
	snprintf(above, sizeof(above), "%s", errand->project + skip);
	slash = strrchr(above, '/');
	if (slash)
		*slash = '\0';
	r = uid_give(errand, above, err);
	return r ? r : uid_give(errand, errand->user + skip, err);
}
