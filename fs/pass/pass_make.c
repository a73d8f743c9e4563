/* SPDX-License-Identifier: MIT */
/*
 * pass_make.c - what changes directories below spaces/.
 *
 * Owns no state. Every change checks the caller and the place (pass.c), does what was asked on the
 * disk, and tells the engine, which may make its answer wait (pass_touch.c).
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

/*
 * From before the system call of a change to behind its note in pass_own: what the watcher hears
 * of in between is looked at again (is_as_left).
 */
static void changing_end(_Atomic unsigned **changing)
{
	atomic_fetch_sub(*changing, 1);
}

static _Atomic unsigned *changing_begin(const struct node *dir)
{
	_Atomic unsigned *changing = &pass_of(dir)->pass->changing;

	atomic_fetch_add(changing, 1);
	return changing;
}

#define CHANGING(dir)              \
	_Atomic unsigned *changing \
		__attribute__((cleanup(changing_end), unused)) = changing_begin(dir)

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
	bool wait;

	if (sys) {
		pass_touch(front, dir, name);
		reply_errno(req, sys);
		return;
	}
	pass_make_own(dir, name, found.node);
	/* under another name it was not told */
	if (found.entry.attr.st_nlink == 1)
		pass_told(front, found.node);
	/* a link may lead to a directory of items, whatever its name */
	wait = pass_touch(front, dir, name) || S_ISLNK(found.node->mode);
	pass_answer(front, &(struct pass_answer){ req, pass_send_found, .found = found }, wait);
}

static void pass_make(fuse_req_t req, struct node *dir, const struct node_new *what)
{
	CHANGING(dir);
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

static void send_created(const struct pass_answer *answer)
{
	if (!reply_create(answer->req, &answer->created.entry, &answer->created.fi))
		node_forget(answer->created.front->nodes, node_of(answer->created.entry.ino), 1);
}

static void pass_create(fuse_req_t req, struct node *dir, const struct node_new *what,
			const struct fuse_file_info *fi)
{
	CHANGING(dir);
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
	pass_names_note(found.node, dir, what->name);
	pass_make_own(dir, what->name, found.node);
	pass_told(front, found.node);
	pass_answer(front,
		    &(struct pass_answer){ req, send_created,
					   .created = { found.entry, *fi, front } },
		    pass_touch_file(front, dir, what->name));
}

static void pass_link(fuse_req_t req, struct node *node, struct node *dir, const char *name)
{
	CHANGING(dir);
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
	CHANGING(dir);
	int sys = may_make(req, dir, name);
	struct front *front = front_of(req);

	if (!sys && unlinkat(pass_of(dir)->fd, name, is_dir ? AT_REMOVEDIR : 0))
		sys = errno;
	if (sys) {
		reply_errno(req, sys);
		return;
	}
	pass_own_note(dir, name, &(struct pass_own_file){ 0, 0 });
	pass_answer(front, &(struct pass_answer){ req, pass_send_done },
		    pass_touch(front, dir, name));
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

/* True: it is a directory, maybe one of items that come with it. */
static bool note_renamed(struct front *front, const struct node_rename *what)
{
	auto_node struct node *node = NULL;
	struct pass_node *to = pass_of(what->to);
	struct stat raw = { 0 };

	pass_own_move(what);
	node = node_at(front, to->space, to->fd, what->new_name, &raw);
	if (node) {
		pass_names_note(node, what->to, what->new_name);
		pass_note_renamed(node, &raw);
		if (raw.st_nlink == 1)
			pass_told(front, node);
	}
	return !S_ISREG(raw.st_mode);
}

static void pass_rename(fuse_req_t req, const struct node_rename *what)
{
	CHANGING(what->to);
	struct front *front = front_of(req);
	struct pass_node *from = pass_of(what->from), *to = pass_of(what->to);
	int sys = may_make(req, what->from, what->name);
	bool (*touch)(struct front * front, struct node * dir, const char *name);
	bool wait;

	if (!sys)
		sys = may_make(req, what->to, what->new_name);
	/* what is hidden by its place must keep it */
	if (!sys && (pass_pinned(from->zone, what->name) || pass_pinned(to->zone, what->new_name)))
		sys = EACCES;
	if (!sys && from->space != to->space)
		sys = EXDEV;
	if (!sys && renameat2(from->fd, what->name, to->fd, what->new_name, what->flags))
		sys = errno;
	if (sys) {
		reply_errno(req, sys);
		return;
	}
	wait = note_renamed(front, what);
	touch = wait ? pass_touch : pass_touch_file;
	wait |= touch(front, what->from, what->name);
	wait |= touch(front, what->to, what->new_name);
	pass_answer(front, &(struct pass_answer){ req, pass_send_done }, wait);
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

/* Looks for as long as a change of ours is on its way from the disk to what is remembered of it. */
#define LOOKS_MAX 20
#define LOOK_AGAIN_US 100

/* Looked at twice at least: a change may come between the disk and what is remembered. */
static bool is_as_left(const struct node *parent, const char *name)
{
	const struct pass *pass = pass_of(parent)->pass;

	for (int i = 0; i < 2 || (i < LOOKS_MAX && atomic_load(&pass->changing)); i++) {
		struct stat raw = { 0 };

		if (fstatat(pass_of(parent)->fd, name, &raw,
			    AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) &&
		    errno != ENOENT)
			return false;
		if (pass_own_is(parent, name, &(struct pass_own_file){ raw.st_dev, raw.st_ino }))
			return true;
		if (atomic_load(&pass->changing))
			usleep(LOOK_AGAIN_US);
	}
	return false;
}

static void changed_task(struct front *front, struct node *none, int space, const char *text)
{
	auto_node struct node *node = NULL, *parent = NULL;
	auto_free char *path = strdup(text);
	struct rye_space_info info;
	struct stat raw = { 0 };
	const char *name;

	rye_space_get(front->rye, space, &info);
	if (info.fd < 0 || !path)
		return;
	node = node_at(front, space, info.fd, path, &raw);
	if (node && !pass_is_noted(node, &raw))
		notify_send_inode(front, node, pass_note(node, &raw, false) ? 0 : -1);
	parent = dir_at(front, space, info.fd, path, &name);
	if (!parent || is_as_left(parent, name))
		return;
	notify_send_entry(front, parent, name, true);
	notify_send_inode(front, parent, 0);
}

/* "Anything" may have changed: what the kernel knows below spaces/ expires soon anyway. */
void pass_changed(struct front *front, int space, const char *path)
{
	if (space >= 0 && atomic_load(&front->pass->fds) > 0)
		notify_task(front->notify,
			    &(struct notify_task){ changed_task, NULL, space, path, LANE_FILES });
}
