/* SPDX-License-Identifier: MIT */
/*
 * ops.c - every request of the kernel comes in here.
 *
 * Each operation counts, finds the node and hands over to its class; what a class has not got
 * is answered as a read-only tree answers it. OPEN, OPENDIR and FLUSH are answered ENOSYS, so
 * that the kernel never sends them again. ENOSYS holds for the whole connection: no other
 * operation may answer it for some nodes only.
 */
#include "ops.h"

#include "core/enter.h"
#include "core/reply.h"
#include "scope.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>

static struct node *ops_begin(fuse_req_t req, enum stat_op op, fuse_ino_t ino)
{
	struct front *front = front_of(req);

	stats_count(&front->stats, op);
	return front_node(front, ino);
}

/* As ops_begin, of a directory of which the kernel will remember something. */
static struct node *ops_begin_look(fuse_req_t req, enum stat_op op, fuse_ino_t ino)
{
	struct node *dir = ops_begin(req, op, ino);

	if (dir->sort == TREE_MERGED || dir->sort == TREE_SEARCH || dir->sort == TREE_RESULTS)
		atomic_fetch_add(&front_of(req)->looks, 1);
	return dir;
}

/* ---- the connection ---- */

static void op_init(void *userdata, struct fuse_conn_info *conn)
{
	struct front *front = userdata;
	const unsigned without_open = FUSE_CAP_NO_OPEN_SUPPORT | FUSE_CAP_NO_OPENDIR_SUPPORT;
	const unsigned wanted = FUSE_CAP_READDIRPLUS | FUSE_CAP_EXPLICIT_INVAL_DATA |
				FUSE_CAP_CACHE_SYMLINKS | FUSE_CAP_PARALLEL_DIROPS |
				FUSE_CAP_EXPIRE_ONLY | without_open;
	/* O_TRUNC must arrive as SETATTR; errors of a write must not wait for a flush; data is
	 * invalidated by us; each costs a request or a wrong answer otherwise */
	const unsigned unwanted = FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_WRITEBACK_CACHE |
				  FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_READDIRPLUS_AUTO |
				  FUSE_CAP_POSIX_ACL | FUSE_CAP_SPLICE_READ;

	conn->want |= conn->capable & wanted;
	conn->want &= ~unwanted;
	conn->time_gran = 1;
	front->expires = conn->capable & FUSE_CAP_EXPIRE_ONLY;
	front->answer_open = (conn->capable & without_open) != without_open;
	front->parallel_lookups = conn->capable & FUSE_CAP_PARALLEL_DIROPS;
	atomic_store(&front->inited, true);
	eventfd_write(front->ready_fd, 1);
}

/* ---- names ---- */

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct node *dir = ops_begin_look(req, STAT_LOOKUP, parent);
	struct fuse_entry_param entry = { 0 };
	int sys;

	if (dir->class->lookup) {
		dir->class->lookup(req, dir, name);
		return;
	}
	sys = dir->class->enter ? dir->class->enter(req, dir, name, &entry) : ENOTDIR;
	enter_reply(req, sys, &entry, NULL);
}

static void forget_one(struct front *front, fuse_ino_t ino, uint64_t n)
{
	stats_count(&front->stats, STAT_FORGET);
	if (ino != FUSE_ROOT_ID)
		node_forget(front->nodes, front_node(front, ino), n);
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n)
{
	forget_one(front_of(req), ino, n);
	reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
	for (size_t i = 0; i < count; i++)
		forget_one(front_of(req), forgets[i].ino, forgets[i].nlookup);
	reply_none(req);
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	struct node *node = ops_begin(req, STAT_READLINK, ino);

	if (node->class->readlink)
		node->class->readlink(req, node);
	else
		reply_errno(req, EINVAL);
}

/* ---- attributes ---- */

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct node *node = ops_begin(req, STAT_GETATTR, ino);
	struct stat st;

	if (node->class->getattr) {
		node->class->getattr(req, node, fi != NULL);
		return;
	}
	node_stat(front_of(req), node, &st);
	reply_attr(req, &st, TIMEOUT_LONG_S);
}

static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *want, int which,
		       struct fuse_file_info *fi)
{
	struct node *node = ops_begin(req, STAT_SETATTR, ino);

	if (node->class->setattr)
		node->class->setattr(req, node, want, which);
	else
		reply_errno(req, EROFS);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct node *node = ops_begin(req, STAT_OTHER, ino);
	struct front *front = front_of(req);
	struct statvfs st = { 0 };

	if (node->class->statfs) {
		node->class->statfs(req, node);
		return;
	}
	/* df of the read-only trees: the disk that the project lies on */
	if (statvfs(front->opt->source, &st))
		st.f_bsize = st.f_frsize = 4096;
	st.f_namemax = TREE_NAME_MAX;
	reply_statfs(req, &st);
}

/* ---- the handles that are not there ---- */

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	ops_begin(req, STAT_OPEN, ino);
	fi->keep_cache = 1;
	if (front_of(req)->answer_open)
		reply_open(req, fi);
	else
		reply_errno(req, ENOSYS);
}

static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	ops_begin(req, STAT_OPENDIR, ino);
	fi->keep_cache = 1;
	fi->cache_readdir = 1;
	if (front_of(req)->answer_open)
		reply_open(req, fi);
	else
		reply_errno(req, ENOSYS);
}

static void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	ops_begin(req, STAT_FLUSH, ino);
	reply_errno(req, ENOSYS);
}

static void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	ops_begin(req, STAT_RELEASE, ino);
	reply_errno(req, 0);
}

/* ---- bytes ---- */

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		    struct fuse_file_info *fi)
{
	struct node *node = ops_begin(req, STAT_READ, ino);

	if (node->class->read)
		node->class->read(req, node, size, off);
	else
		reply_errno(req, S_ISDIR(node->mode) ? EISDIR : EINVAL);
}

static void op_write(fuse_req_t req, fuse_ino_t ino, const char *bytes, size_t size, off_t off,
		     struct fuse_file_info *fi)
{
	struct node *node = ops_begin(req, STAT_WRITE, ino);
	struct node_write what = {
		.bytes = { bytes, size },
		.off = off,
		.flags = fi->flags,
		.page = fi->writepage,
	};

	if (node->class->write)
		node->class->write(req, node, &what);
	else
		reply_errno(req, EROFS);
}

static void ops_list(fuse_req_t req, struct node *node, size_t size, off_t off, bool plus)
{
	if (node->class->readdir)
		node->class->readdir(req, node, size, off, plus);
	else
		reply_errno(req, ENOTDIR);
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		       struct fuse_file_info *fi)
{
	ops_list(req, ops_begin_look(req, STAT_READDIR, ino), size, off, false);
}

static void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
			   struct fuse_file_info *fi)
{
	ops_list(req, ops_begin_look(req, STAT_READDIRPLUS, ino), size, off, true);
}

static void op_fsync(fuse_req_t req, fuse_ino_t ino, int data_only, struct fuse_file_info *fi)
{
	struct node *node = ops_begin(req, STAT_OTHER, ino);

	if (node->class->fsync)
		node->class->fsync(req, node, data_only);
	else
		reply_errno(req, 0);
}

/* The kernel's own answer for a file without holes. */
static void plain_lseek(fuse_req_t req, const struct node *node, off_t off, int whence)
{
	if (off < 0 || (uint64_t)off >= node->size)
		reply_errno(req, ENXIO);
	else
		reply_lseek(req, whence == SEEK_DATA ? off : (off_t)node->size);
}

static void op_lseek(fuse_req_t req, fuse_ino_t ino, off_t off, int whence,
		     struct fuse_file_info *fi)
{
	struct node *node = ops_begin(req, STAT_OTHER, ino);

	if (node->class->changes && node->class->changes->lseek)
		node->class->changes->lseek(req, node, off, whence);
	else
		plain_lseek(req, node, off, whence);
}

/* ---- changes ---- */

static void ops_make(fuse_req_t req, fuse_ino_t parent, const struct node_new *what)
{
	struct node *dir = ops_begin(req, STAT_MAKE, parent);

	if (dir->class->changes)
		dir->class->changes->make(req, dir, what);
	else
		reply_errno(req, EROFS);
}

static void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev)
{
	ops_make(req, parent, &(struct node_new){ .name = name, .mode = mode, .rdev = rdev });
}

static void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	ops_make(req, parent, &(struct node_new){ .name = name, .mode = (mode & 07777) | S_IFDIR });
}

static void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	ops_make(req, parent,
		 &(struct node_new){ .name = name, .mode = S_IFLNK | 0777, .target = target });
}

static void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
		      struct fuse_file_info *fi)
{
	struct node *dir = ops_begin(req, STAT_CREATE, parent);
	struct node_new what = { .name = name, .mode = (mode & 07777) | S_IFREG };

	if (dir->class->changes)
		dir->class->changes->create(req, dir, &what, fi);
	else
		reply_errno(req, EROFS);
}

static void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	struct node *node = front_node(front_of(req), ino);
	struct node *dir = ops_begin(req, STAT_MAKE, parent);

	if (!dir->class->changes || !dir->class->changes->link)
		reply_errno(req, EROFS);
	else if (node->class->changes != dir->class->changes)
		reply_errno(req, EXDEV);
	else
		dir->class->changes->link(req, node, dir, name);
}

static void take_away(fuse_req_t req, fuse_ino_t parent, const char *name, bool is_dir)
{
	struct node *dir = ops_begin(req, STAT_REMOVE, parent);

	if (dir->class->changes && dir->class->changes->remove)
		dir->class->changes->remove(req, dir, name, is_dir);
	else
		reply_errno(req, EROFS);
}

static void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	take_away(req, parent, name, false);
}

static void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	take_away(req, parent, name, true);
}

static void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
		      const char *new_name, unsigned flags)
{
	struct node_rename what = {
		.from = ops_begin(req, STAT_RENAME, parent),
		.to = front_node(front_of(req), new_parent),
		.name = name,
		.new_name = new_name,
		.flags = flags,
	};
	const struct node_changes *from = what.from->class->changes, *to = what.to->class->changes;

	if (!from || !from->rename)
		reply_errno(req, EROFS);
	else if (from != to)
		reply_errno(req, to ? EXDEV : EROFS);
	else
		from->rename(req, &what);
}

static void op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off, off_t len,
			 struct fuse_file_info *fi)
{
	struct node *node = ops_begin(req, STAT_OTHER, ino);

	if (node->class->changes && node->class->changes->fallocate)
		node->class->changes->fallocate(req, node, mode, off, len);
	else
		reply_errno(req, node->class->write ? EOPNOTSUPP : EROFS);
}

static void op_copy(fuse_req_t req, fuse_ino_t from, off_t from_off, struct fuse_file_info *fi,
		    fuse_ino_t to, off_t to_off, struct fuse_file_info *fi_to, size_t len,
		    int flags)
{
	struct node_copy what = {
		.from = ops_begin(req, STAT_OTHER, from),
		.to = front_node(front_of(req), to),
		.from_off = from_off,
		.to_off = to_off,
		.len = len,
		.flags = flags,
	};
	const struct node_changes *changes = what.to->class->changes;

	/* callers fall back to reading and writing */
	if (!changes || !changes->copy || changes != what.from->class->changes)
		reply_errno(req, EXDEV);
	else
		changes->copy(req, &what);
}

/* ---- extended attributes: ENOSYS unless asked for, a write would cost two requests ---- */

static const struct node_xattrs *xattrs_of(fuse_req_t req, fuse_ino_t ino, int otherwise)
{
	struct node *node = ops_begin(req, STAT_XATTR, ino);

	if (!front_of(req)->opt->xattr)
		reply_errno(req, ENOSYS);
	else if (!node->class->xattrs)
		reply_errno(req, otherwise);
	else
		return node->class->xattrs;
	return NULL;
}

static void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	const struct node_xattrs *x = xattrs_of(req, ino, ENODATA);

	if (x)
		x->get(req, front_node(front_of(req), ino), name, size);
}

static void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	struct front *front = front_of(req);
	const struct node_xattrs *x;

	if (front->opt->xattr && !front_node(front, ino)->class->xattrs) {
		reply_xattr(req, size, (struct rye_span){ "", 0 });
		return;
	}
	x = xattrs_of(req, ino, ENODATA);
	if (x)
		x->list(req, front_node(front, ino), size);
}

static void op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value,
			size_t size, int flags)
{
	const struct node_xattrs *x = xattrs_of(req, ino, EROFS);

	if (x && x->set)
		x->set(req, front_node(front_of(req), ino), name, (struct rye_span){ value, size },
		       flags);
	else if (x)
		reply_errno(req, EROFS);
}

static void op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	const struct node_xattrs *x = xattrs_of(req, ino, EROFS);

	if (x && x->remove)
		x->remove(req, front_node(front_of(req), ino), name);
	else if (x)
		reply_errno(req, EROFS);
}

const struct fuse_lowlevel_ops ops_table = {
	.init = op_init,
	.lookup = op_lookup,
	.forget = op_forget,
	.forget_multi = op_forget_multi,
	.getattr = op_getattr,
	.setattr = op_setattr,
	.readlink = op_readlink,
	.mknod = op_mknod,
	.mkdir = op_mkdir,
	.unlink = op_unlink,
	.rmdir = op_rmdir,
	.symlink = op_symlink,
	.rename = op_rename,
	.link = op_link,
	.open = op_open,
	.read = op_read,
	.write = op_write,
	.flush = op_flush,
	.release = op_release,
	.fsync = op_fsync,
	.opendir = op_opendir,
	.readdir = op_readdir,
	.releasedir = op_release,
	.fsyncdir = op_fsync,
	.statfs = op_statfs,
	.setxattr = op_setxattr,
	.getxattr = op_getxattr,
	.listxattr = op_listxattr,
	.removexattr = op_removexattr,
	.create = op_create,
	.readdirplus = op_readdirplus,
	.fallocate = op_fallocate,
	.copy_file_range = op_copy,
	.lseek = op_lseek,
};
