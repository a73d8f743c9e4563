/* SPDX-License-Identifier: MIT */
/*
 * pass_io.c - bytes and attributes of files below spaces/.
 *
 * Owns what keeps the kernel's pages true without AUTO_INVAL_DATA: whenever attributes are told,
 * they are compared with those told before; if another process changed the file beside the mount,
 * the pages are dropped before the answer is sent. No lock of its own (pass.h).
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
#include <sys/statvfs.h>
#include <sys/uio.h>

/* ---- attributes ---- */

struct pass_io_later {
	fuse_req_t req;
	struct stat st;
	double timeout_s;
};

static void attr_later(void *arg)
{
	auto_free struct pass_io_later *later = arg;

	reply_attr(later->req, &later->st, later->timeout_s);
}

/* Answers with the file's attributes as they are now; ours: this request has changed the file, and
 * is to wait. */
static void answer_attr(fuse_req_t req, struct node *node, bool ours, bool wait)
{
	struct front *front = front_of(req);
	double timeout_s = pass_timeout(front, node);
	struct pass_io_later *later;
	struct stat raw, st;

	if (fstatat(pass_of(node)->fd, "", &raw, AT_EMPTY_PATH)) {
		reply_errno(req, errno);
		return;
	}
	pass_stat(front, node, &raw, &st);
	if (!pass_note(node, &raw, ours)) {
		pass_answer(front,
			    &(struct pass_answer){ req, pass_send_attr, .attr = { st, timeout_s } },
			    wait);
		return;
	}
	later = malloc(sizeof(*later));
	if (later)
		*later = (struct pass_io_later){ req, st, timeout_s };
	if (later && notify_inode_then(front->notify, node, 0, attr_later, later))
		return;
	free(later);
	pass_doubt(node);
	reply_errno(req, ENOMEM);
}

static void pass_getattr(fuse_req_t req, struct node *node, bool by_handle)
{
	answer_attr(req, node, false, false);
}

static int set_mode(const struct pass_node *pass, mode_t mode)
{
	char proc[PASS_PROC_MAX];

	pass_proc(pass->fd, proc);
	return chmod(proc, mode & 07777) ? errno : 0;
}

static int set_size(struct node *node, off_t size)
{
	int fd = pass_fd(node, true);

	if (fd < 0)
		return -fd;
	return ftruncate(fd, size) ? errno : 0;
}

static int set_times(const struct pass_node *pass, const struct stat *want, int which)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_nsec = UTIME_OMIT } };

	if (which & FUSE_SET_ATTR_ATIME_NOW)
		times[0].tv_nsec = UTIME_NOW;
	else if (which & FUSE_SET_ATTR_ATIME)
		times[0] = want->st_atim;
	if (which & FUSE_SET_ATTR_MTIME_NOW)
		times[1].tv_nsec = UTIME_NOW;
	else if (which & FUSE_SET_ATTR_MTIME)
		times[1] = want->st_mtim;
	return utimensat(pass->fd, "", times, AT_EMPTY_PATH) ? errno : 0;
}

static int set_attr(struct node *node, const struct stat *want, int which)
{
	struct pass_node *pass = pass_of(node);
	int sys = 0;

	if (which & FUSE_SET_ATTR_MODE)
		sys = set_mode(pass, want->st_mode);
	if (!sys && which & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)) {
		uid_t uid = which & FUSE_SET_ATTR_UID ? want->st_uid : (uid_t)-1;
		gid_t gid = which & FUSE_SET_ATTR_GID ? want->st_gid : (gid_t)-1;

		sys = fchownat(pass->fd, "", uid, gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) ?
			      errno :
			      0;
	}
	if (!sys && which & FUSE_SET_ATTR_SIZE)
		sys = set_size(node, want->st_size);
	if (!sys && which & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_ATIME_NOW |
			     FUSE_SET_ATTR_MTIME_NOW))
		sys = set_times(pass, want, which);
	return sys;
}

static void pass_setattr(fuse_req_t req, struct node *node, const struct stat *want, int which)
{
	int sys = pass_may_write(req, node);

	if (!sys)
		sys = set_attr(node, want, which);
	if (sys) {
		reply_errno(req, sys);
		return;
	}
	answer_attr(req, node, true, pass_touch(front_of(req), node, NULL));
}

static void pass_readlink(fuse_req_t req, struct node *node)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(pass_of(node)->fd, "", target, sizeof(target) - 1);

	if (n < 0) {
		reply_errno(req, errno);
		return;
	}
	target[n] = 0;
	reply_link(req, target);
}

static void pass_statfs(fuse_req_t req, struct node *node)
{
	struct statvfs st;

	if (fstatvfs(pass_of(node)->fd, &st))
		reply_errno(req, errno);
	else
		reply_statfs(req, &st);
}

/* ---- bytes ---- */

struct pass_io_again {
	fuse_req_t req;
	struct node *node;
	size_t size;
	off_t off;
	int tries; /* that are left */
};

static void read_again(void *arg);

static void read_from(const struct pass_io_again *ask)
{
	struct pass_io_again *again = NULL;
	int fd = pass_fd(ask->node, false);

	if (ask->tries && (fd == -EMFILE || fd == -ENFILE))
		again = malloc(sizeof(*again));
	if (again) {
		*again = *ask;
		again->tries--;
		node_ref(ask->node);
		pass_again(front_of(ask->req), ask->node, read_again, again);
	} else if (fd < 0) {
		reply_errno(ask->req, -fd);
	} else {
		atomic_store(&pass_of(ask->node)->cached, true);
		reply_file(ask->req, fd, ask->off, ask->size);
	}
}

static void read_again(void *arg)
{
	auto_free struct pass_io_again *again = arg;
	auto_node struct node *node = again->node;

	read_from(again);
}

static void pass_read(fuse_req_t req, struct node *node, size_t size, off_t off)
{
	read_from(&(struct pass_io_again){ req, node, size, off, PASS_TRIES });
}

struct written {
	fuse_req_t req;
	size_t n;
};

static void written_later(void *arg)
{
	auto_free struct written *written = arg;

	reply_written(written->req, written->n);
}

/* The kernel put these bytes into its pages at the size it had cached; the write appended them at
 * the real end of the file. The kernel's pages from there on are wrong. */
static void send_moved(const struct pass_answer *answer)
{
	struct notify *notify = front_of(answer->req)->notify;
	struct written *written = malloc(sizeof(*written));

	if (written)
		*written = (struct written){ answer->req, answer->n };
	if (written && notify_inode_then(notify, answer->node, answer->off, written_later, written))
		return;
	free(written);
	/* they are written, whatever the kernel's pages say */
	if (!notify_inode(notify, answer->node, answer->off))
		pass_doubt(answer->node);
	pass_send_written(answer);
}

static void pass_write(fuse_req_t req, struct node *node, const struct node_write *write)
{
	struct iovec iov = { (char *)write->bytes.ptr, write->bytes.len };
	bool append = write->flags & O_APPEND && !write->page;
	int sys = write->page && !pass_of(node)->read_only ? 0 : pass_may_write(req, node);
	int fd = sys ? -sys : pass_fd(node, true);
	struct pass_answer answer;
	struct stat raw;
	ssize_t n;

	if (fd < 0) {
		reply_errno(req, -fd);
		return;
	}
	/* for an append the kernel's offset means nothing: it may not know the file's size */
	n = pwritev2(fd, &iov, 1, append ? 0 : write->off, append ? RWF_APPEND : 0);
	if (n < 0) {
		reply_errno(req, errno);
		return;
	}
	atomic_store(&pass_of(node)->cached, true);
	answer = (struct pass_answer){ req, pass_send_written, .n = (size_t)n };
	if (fstat(fd, &raw) == 0) {
		pass_note(node, &raw, true);
		if (append && raw.st_size - n != write->off) {
			answer.send = send_moved;
			answer.node = node;
			answer.off = write->off;
		}
	}
	pass_answer(front_of(req), &answer, pass_touch(front_of(req), node, NULL));
}

static void pass_fsync(fuse_req_t req, struct node *node, bool data_only)
{
	bool dir = S_ISDIR(node->mode);
	int fd = dir ? pass_fd(node, false) : pass_fd(node, !pass_of(node)->read_only);
	int r;

	if (fd < 0) {
		reply_errno(req, -fd);
		return;
	}
	r = data_only ? fdatasync(fd) : fsync(fd);
	reply_errno(req, r ? errno : 0);
}

void pass_fallocate(fuse_req_t req, struct node *node, int mode, off_t off, off_t len)
{
	int sys = pass_may_write(req, node);
	int fd = sys ? -sys : pass_fd(node, true);
	struct stat raw;

	if (fd < 0) {
		reply_errno(req, -fd);
		return;
	}
	if (fallocate(fd, mode, off, len)) {
		reply_errno(req, errno);
		return;
	}
	if (fstat(fd, &raw) == 0)
		pass_note(node, &raw, true);
	pass_answer(front_of(req), &(struct pass_answer){ req, pass_send_done },
		    pass_touch(front_of(req), node, NULL));
}

void pass_copy(fuse_req_t req, const struct node_copy *what)
{
	int sys = pass_may_write(req, what->to);
	int from = sys ? -sys : pass_fd(what->from, false);
	int to = from < 0 ? from : pass_fd(what->to, true);
	off_t from_off = what->from_off, to_off = what->to_off;
	struct stat raw;
	ssize_t n;

	if (to < 0) {
		reply_errno(req, -to);
		return;
	}
	n = copy_file_range(from, &from_off, to, &to_off, what->len, (unsigned)what->flags);
	if (n < 0) {
		reply_errno(req, errno);
		return;
	}
	if (fstat(to, &raw) == 0)
		pass_note(what->to, &raw, true);
	pass_answer(front_of(req), &(struct pass_answer){ req, pass_send_written, .n = (size_t)n },
		    pass_touch(front_of(req), what->to, NULL));
}

void pass_lseek(fuse_req_t req, struct node *node, off_t off, int whence)
{
	int fd = pass_fd(node, false);
	off_t at = fd < 0 ? fd : lseek(fd, off, whence);

	if (fd < 0 || at < 0)
		reply_errno(req, fd < 0 ? -fd : errno);
	else
		reply_lseek(req, at);
}

/* The disk. */
static struct aside_lane pass_lane(struct front *front, const struct node *node,
				   struct rye_span what)
{
	return (struct aside_lane){ ASIDE_FILES, (uint64_t)pass_of(node)->space + 1 };
}

static const struct node_class pass_aside = {
	.lane = pass_lane,
	.enter = pass_enter,
	.lookup = pass_lookup,
	.getattr = pass_getattr,
	.setattr = pass_setattr,
	.readlink = pass_readlink,
	.read = pass_read,
	.write = pass_write,
	.readdir = pass_readdir,
	.statfs = pass_statfs,
	.fsync = pass_fsync,
	.changes = &pass_changes,
	.xattrs = &pass_xattrs,
};

const struct node_class pass_class = {
	.name = "pass",
	.aside = &pass_aside,
	.drop = pass_drop,
};
