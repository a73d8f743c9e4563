/* SPDX-License-Identifier: MIT */
/*
 * ops.c - every request of the kernel comes in here.
 *
 * Each operation counts and finds the node; its class does the rest (work.c). OPEN, OPENDIR and
 * FLUSH are answered ENOSYS, so
 * that the kernel never sends them again. ENOSYS holds for the whole connection: no other
 * operation may answer it for some nodes only.
 */
#include "loop/loop_inner.h"

#include "core/reply.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/eventfd.h>

static void ops_count(fuse_req_t req, enum stat_op op)
{
	stats_count(&front_of(req)->stats, op);
}

/* Something of that directory will be remembered by the kernel. */
static void ops_look(const struct work *work)
{
	const struct node *dir = work->node;

	if (dir->sort == TREE_MERGED || dir->sort == TREE_SEARCH || dir->sort == TREE_RESULTS)
		atomic_fetch_add(&front_of(work->req)->looks, 1);
}

/* What the kernel asks of the node with that number, counted. */
static struct work work_of(fuse_req_t req, enum stat_op op, enum work_type type, fuse_ino_t ino)
{
	ops_count(req, op);
	return (struct work){ .req = req, .type = type, .node = front_node(front_of(req), ino) };
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
	struct work work = work_of(req, STAT_LOOKUP, WORK_LOOKUP, parent);

	work.name = name;
	ops_look(&work);
	work_begin(&work);
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
	struct work work = work_of(req, STAT_READLINK, WORK_READLINK, ino);

	work_begin(&work);
}

/* ---- attributes ---- */

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct work work = work_of(req, STAT_GETATTR, WORK_GETATTR, ino);

	work.flag = fi != NULL;
	work_begin(&work);
}

static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *want, int which,
		       struct fuse_file_info *fi)
{
	struct work work = work_of(req, STAT_SETATTR, WORK_SETATTR, ino);

	work.st = *want;
	work.flags = (unsigned)which;
	work_begin(&work);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct work work = work_of(req, STAT_OTHER, WORK_STATFS, ino);

	work_begin(&work);
}

/* ---- the handles that are not there ---- */

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	ops_count(req, STAT_OPEN);
	fi->keep_cache = 1;
	if (front_of(req)->answer_open)
		reply_open(req, fi);
	else
		reply_errno(req, ENOSYS);
}

static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	ops_count(req, STAT_OPENDIR);
	fi->keep_cache = 1;
	fi->cache_readdir = 1;
	if (front_of(req)->answer_open)
		reply_open(req, fi);
	else
		reply_errno(req, ENOSYS);
}

static void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	ops_count(req, STAT_FLUSH);
	reply_errno(req, ENOSYS);
}

static void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	ops_count(req, STAT_RELEASE);
	reply_errno(req, 0);
}

/* ---- bytes ---- */

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		    struct fuse_file_info *fi)
{
	struct work work = work_of(req, STAT_READ, WORK_READ, ino);

	work.size = size;
	work.off = off;
	work_begin(&work);
}

static void op_write(fuse_req_t req, fuse_ino_t ino, const char *bytes, size_t size, off_t off,
		     struct fuse_file_info *fi)
{
	struct work work = work_of(req, STAT_WRITE, WORK_WRITE, ino);

	work.bytes = (struct rye_span){ bytes, size };
	work.off = off;
	work.fi = *fi;
	work_begin(&work);
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		       struct fuse_file_info *fi)
{
	struct work work = work_of(req, STAT_READDIR, WORK_READDIR, ino);

	work.size = size;
	work.off = off;
	ops_look(&work);
	work_begin(&work);
}

static void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
			   struct fuse_file_info *fi)
{
	struct work work = work_of(req, STAT_READDIRPLUS, WORK_READDIR, ino);

	work.size = size;
	work.off = off;
	work.flag = true;
	ops_look(&work);
	work_begin(&work);
}

static void op_fsync(fuse_req_t req, fuse_ino_t ino, int data_only, struct fuse_file_info *fi)
{
	struct work work = work_of(req, STAT_OTHER, WORK_FSYNC, ino);

	work.flag = data_only;
	work_begin(&work);
}

static void op_lseek(fuse_req_t req, fuse_ino_t ino, off_t off, int whence,
		     struct fuse_file_info *fi)
{
	struct work work = work_of(req, STAT_OTHER, WORK_LSEEK, ino);

	work.off = off;
	work.flags = (unsigned)whence;
	work_begin(&work);
}

/* ---- changes ---- */

static void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev)
{
	struct work work = work_of(req, STAT_MAKE, WORK_MAKE, parent);

	work.name = name;
	work.st.st_mode = mode;
	work.st.st_rdev = rdev;
	work_begin(&work);
}

static void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	struct work work = work_of(req, STAT_MAKE, WORK_MAKE, parent);

	work.name = name;
	work.st.st_mode = (mode & 07777) | S_IFDIR;
	work_begin(&work);
}

static void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	struct work work = work_of(req, STAT_MAKE, WORK_MAKE, parent);

	work.name = name;
	work.new_name = target;
	work.st.st_mode = S_IFLNK | 0777;
	work_begin(&work);
}

static void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
		      struct fuse_file_info *fi)
{
	struct work work = work_of(req, STAT_CREATE, WORK_CREATE, parent);

	work.name = name;
	work.st.st_mode = (mode & 07777) | S_IFREG;
	work.fi = *fi;
	work_begin(&work);
}

static void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	struct work work = work_of(req, STAT_MAKE, WORK_LINK, parent);

	work.other = front_node(front_of(req), ino);
	work.name = name;
	work_begin(&work);
}

static void take_away(fuse_req_t req, fuse_ino_t parent, const char *name, bool is_dir)
{
	struct work work = work_of(req, STAT_REMOVE, WORK_REMOVE, parent);

	work.name = name;
	work.flag = is_dir;
	work_begin(&work);
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
	struct work work = work_of(req, STAT_RENAME, WORK_RENAME, parent);

	work.other = front_node(front_of(req), new_parent);
	work.name = name;
	work.new_name = new_name;
	work.flags = flags;
	work_begin(&work);
}

static void op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off, off_t len,
			 struct fuse_file_info *fi)
{
	struct work work = work_of(req, STAT_OTHER, WORK_FALLOCATE, ino);

	work.flags = (unsigned)mode;
	work.off = off;
	work.size = (size_t)len;
	work_begin(&work);
}

static void op_copy(fuse_req_t req, fuse_ino_t from, off_t from_off, struct fuse_file_info *fi,
		    fuse_ino_t to, off_t to_off, struct fuse_file_info *fi_to, size_t len,
		    int flags)
{
	struct work work = work_of(req, STAT_OTHER, WORK_COPY, to);

	work.other = front_node(front_of(req), from);
	work.from_off = from_off;
	work.off = to_off;
	work.size = len;
	work.flags = (unsigned)flags;
	work_begin(&work);
}

/* ---- extended attributes: ENOSYS unless asked for, a write would cost two requests ---- */

static void ops_xattr(struct work *work)
{
	if (front_of(work->req)->opt->xattr)
		work_begin(work);
	else
		reply_errno(work->req, ENOSYS);
}

static void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	struct work work = work_of(req, STAT_XATTR, WORK_GETXATTR, ino);

	work.name = name;
	work.size = size;
	ops_xattr(&work);
}

static void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	struct work work = work_of(req, STAT_XATTR, WORK_LISTXATTR, ino);

	work.size = size;
	ops_xattr(&work);
}

static void op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value,
			size_t size, int flags)
{
	struct work work = work_of(req, STAT_XATTR, WORK_SETXATTR, ino);

	work.name = name;
	work.bytes = (struct rye_span){ value, size };
	work.flags = (unsigned)flags;
	ops_xattr(&work);
}

static void op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	struct work work = work_of(req, STAT_XATTR, WORK_REMOVEXATTR, ino);

	work.name = name;
	ops_xattr(&work);
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
