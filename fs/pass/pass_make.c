/* SPDX-License-Identifier: MIT */
/*
 * pass_make.c - what changes directories below spaces/, and telling the engine of it.
 *
 * Owns no state. Every change checks the caller and the place (pass.c), does what was asked on the
 * disk, and tells the engine soon afterwards on the notify thread: our own backing descriptors stay
 * open, so inotify would not see a write end.
 */
#include "pass/pass.h"

#include "core/front.h"
#include "core/notify.h"
#include "core/reply.h"
#include "pass/pass_inner.h"
#include "scope.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>

/* ---- telling the engine ---- */

/* The path of a node below its space's .ai; false: it is not there (any more). */
static bool pass_make_path_of(struct front *front, const struct node *node, char ret[PATH_MAX])
{
	struct rye_space_info info;
	char proc[PASS_PROC_MAX], root[PATH_MAX];
	ssize_t n, len;

	rye_space_get(front->rye, pass_of(node)->space, &info);
	pass_proc(info.fd, proc);
	len = readlink(proc, root, sizeof(root) - 1);
	pass_proc(pass_of(node)->fd, proc);
	n = readlink(proc, ret, PATH_MAX - 1);
	if (len < 0 || n < len || memcmp(ret, root, (size_t)len) != 0)
		return false;
	ret[n] = 0;
	if (ret[len] == '/')
		len++;
	else if (ret[len])
		return false;
	memmove(ret, ret + len, (size_t)(n - len) + 1);
	return true;
}

static void touch_task(struct front *front, struct node *node, int unused, const char *name)
{
	char path[PATH_MAX + TREE_NAME_MAX + 2];
	size_t n;

	if (!pass_make_path_of(front, node, path))
		return;
	n = strlen(path);
	if (*name)
		snprintf(path + n, sizeof(path) - n, "%s%s", n ? "/" : "", name);
	rye_touched(front->rye, pass_of(node)->space, path);
}

/* A file written in many pieces is told once per turn of the thread. */
void pass_touch(struct front *front, struct node *node, const char *name)
{
	notify_task(front->notify, &(struct notify_task){ touch_task, node, 0, name ? name : "" });
}

/* ---- making ---- */

/* 0, or why nothing of that name may be made in this directory. */
static int may_make(fuse_req_t req, const struct node *dir, const char *name)
{
	enum pass_zone zone;
	int sys = pass_may_write(req, dir);

	if (sys)
		return sys;
	if (strlen(name) > TREE_NAME_MAX)
		return ENAMETOOLONG;
	return pass_zone(pass_of(dir)->zone, name, &zone) ? 0 : EACCES;
}

static void pass_make_own(struct node *dir, const char *name, const struct node *made)
{
	const struct pass_own_file file = { pass_of(made)->dev, pass_of(made)->ino };

	pass_own_note(dir, name, &file);
}

static void answer_made(fuse_req_t req, struct node *dir, const char *name)
{
	struct front *front = front_of(req);
	struct pass_found found;
	int sys = pass_find(front, dir, name, &found);

	pass_touch(front, dir, name);
	if (sys) {
		reply_errno(req, sys);
		return;
	}
	pass_make_own(dir, name, found.node);
	pass_reply_entry(req, &found);
}

static void pass_make(fuse_req_t req, struct node *dir, const struct node_new *what)
{
	int fd = pass_of(dir)->fd, r, sys = may_make(req, dir, what->name);

	if (sys) {
		reply_errno(req, sys);
		return;
	}
	if (S_ISDIR(what->mode))
		r = mkdirat(fd, what->name, what->mode & 07777);
	else if (S_ISLNK(what->mode))
		r = symlinkat(what->target, fd, what->name);
	else
		r = mknodat(fd, what->name, what->mode, what->rdev);
	if (r)
		reply_errno(req, errno);
	else
		answer_made(req, dir, what->name);
}

/* To be written later without an OPEN, and read too: both, whatever was asked for. */
static int pass_make_create(const struct pass_node *dir, const struct node_new *what, int flags)
{
	int want = (flags & (O_EXCL | O_TRUNC)) | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
	int fd = openat(dir->fd, what->name, want | O_RDWR, what->mode & 07777);

	if (fd < 0 && (errno == EACCES || errno == ETXTBSY))
		fd = openat(dir->fd, what->name, want | O_RDONLY, what->mode & 07777);
	return fd < 0 ? -errno : fd;
}

static void pass_create(fuse_req_t req, struct node *dir, const struct node_new *what,
			const struct fuse_file_info *fi)
{
	struct front *front = front_of(req);
	int sys = may_make(req, dir, what->name), fd;
	struct pass_found found;
	struct pass_node *pass;
	enum pass_zone zone;

	fd = sys ? -sys : pass_make_create(pass_of(dir), what, fi->flags);
	if (fd < 0) {
		reply_errno(req, -fd);
		return;
	}
	pass_zone(pass_of(dir)->zone, what->name, &zone);
	sys = pass_adopt(front, dir, fd, zone, &found);
	if (sys) {
		reply_errno(req, sys);
		return;
	}
	pass = pass_of(found.node);
	{
		GUARD(&pass->pass->lock);
		if (pass->fd == fd && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR)
			pass->rd = pass->wr = fd;
	}
	pass_make_own(dir, what->name, found.node);
	pass_touch(front, dir, what->name);
	if (!reply_create(req, &found.entry, fi))
		node_forget(front->nodes, found.node, 1);
}

static void pass_link(fuse_req_t req, struct node *node, struct node *dir, const char *name)
{
	int fd = pass_of(node)->fd, sys = may_make(req, dir, name);
	char proc[PASS_PROC_MAX];

	if (!sys)
		sys = pass_may_write(req, node);
	if (!sys && pass_of(node)->space != pass_of(dir)->space)
		sys = EXDEV;
	pass_proc(fd, proc);
	if (!sys && linkat(fd, "", pass_of(dir)->fd, name, AT_EMPTY_PATH) &&
	    (errno != ENOENT || linkat(AT_FDCWD, proc, pass_of(dir)->fd, name, AT_SYMLINK_FOLLOW)))
		sys = errno;
	if (sys)
		reply_errno(req, sys);
	else
		answer_made(req, dir, name);
}

/* ---- removing, renaming ---- */

static void pass_remove(fuse_req_t req, struct node *dir, const char *name, bool is_dir)
{
	int sys = may_make(req, dir, name);

	if (!sys && unlinkat(pass_of(dir)->fd, name, is_dir ? AT_REMOVEDIR : 0))
		sys = errno;
	if (!sys) {
		pass_own_note(dir, name, &(struct pass_own_file){ 0, 0 });
		pass_touch(front_of(req), dir, name);
	}
	reply_errno(req, sys);
}

/* The node of what is at a path below a directory now, borrowed; NULL: the kernel has none. Nothing
 * there: *ret stays as it is. */
static struct node *node_at(struct front *front, int space, int root, const char *path,
			    struct stat *ret)
{
	struct {
		uint64_t dev, ino;
		int64_t space;
	} id = { .space = space };
	struct tree_key key = { .sort = TREE_PASS };

	if (fstatat(root, path, ret, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT))
		return NULL;
	id.dev = ret->st_dev;
	id.ino = ret->st_ino;
	memcpy(key.text, &id, sizeof(id));
	key.path_len = key.text_len = sizeof(id);
	return node_peek(front->nodes, &key);
}

static void note_renamed(struct front *front, const struct node_rename *what)
{
	auto_node struct node *node = NULL;
	struct pass_node *to = pass_of(what->to);
	struct stat raw;

	pass_own_move(what);
	node = node_at(front, to->space, to->fd, what->new_name, &raw);
	if (node)
		pass_note_renamed(node, &raw);
}

static void pass_rename(fuse_req_t req, const struct node_rename *what)
{
	struct front *front = front_of(req);
	struct pass_node *from = pass_of(what->from), *to = pass_of(what->to);
	int sys = may_make(req, what->from, what->name);

	if (!sys)
		sys = may_make(req, what->to, what->new_name);
	/* what is hidden by its place must keep it */
	if (!sys && (pass_pinned(from->zone, what->name) || pass_pinned(to->zone, what->new_name)))
		sys = EACCES;
	if (!sys && from->space != to->space)
		sys = EXDEV;
	if (!sys && renameat2(from->fd, what->name, to->fd, what->new_name, what->flags))
		sys = errno;
	if (!sys) {
		note_renamed(front, what);
		pass_touch(front, what->from, what->name);
		pass_touch(front, what->to, what->new_name);
	}
	reply_errno(req, sys);
}

const struct node_changes pass_changes = {
	.make = pass_make,
	.create = pass_create,
	.remove = pass_remove,
	.rename = pass_rename,
	.link = pass_link,
	.fallocate = pass_fallocate,
	.copy = pass_copy,
	.lseek = pass_lseek,
};

/* ---- changes seen by the engine ---- */

/* The directory that a path below a space lies in; *ret_name: its name in there. */
static struct node *dir_at(struct front *front, int space, int root, char *path,
			   const char **ret_name)
{
	char *slash = strrchr(path, '/');
	struct stat raw;

	*ret_name = slash ? slash + 1 : path;
	if (slash)
		*slash = 0;
	return node_at(front, space, root, slash ? path : "", &raw);
}

static void changed_task(struct front *front, struct node *none, int space, const char *text)
{
	auto_node struct node *node = NULL, *parent = NULL;
	auto_free char *path = strdup(text);
	struct pass_own_file file;
	struct rye_space_info info;
	struct stat raw = { 0 };
	const char *name;

	rye_space_get(front->rye, space, &info);
	if (info.fd < 0 || !path)
		return;
	node = node_at(front, space, info.fd, path, &raw);
	file = (struct pass_own_file){ raw.st_dev, raw.st_ino };
	if (node && !pass_is_noted(node, &raw))
		notify_send_inode(front, node, pass_note(node, &raw, false) ? 0 : -1);
	parent = dir_at(front, space, info.fd, path, &name);
	if (!parent || pass_own_is(parent, name, &file))
		return;
	notify_send_entry(front, parent, name, true);
	notify_send_inode(front, parent, 0);
}

/* "Anything" may have changed: what the kernel knows below spaces/ expires soon anyway. */
void pass_changed(struct front *front, int space, const char *path)
{
	if (space >= 0 && atomic_load(&front->pass->fds) > 0)
		notify_task(front->notify,
			    &(struct notify_task){ changed_task, NULL, space, path });
}
