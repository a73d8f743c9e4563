/* SPDX-License-Identifier: MIT */
/*
 * work.c - which function of a node's class a request is for, and on which thread it is called.
 *
 * A class has the functions that never wait; those that may are in its `aside`, and the thread
 * steps aside for them (loop.h). A request for which there is no place is copied and parked:
 * a caller that is being ended gets its answer at once. No lock.
 */
#include "loop/loop_inner.h"

#include "clock.h"
#include "core/enter.h"
#include "core/parking.h"
#include "core/reply.h"
#include "loop/ring.h"
#include "scope.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

/* ---- each type: how a class's function for it is called ---- */

/* The answer of one that has stepped aside. */
struct work_left {
	struct node_answer answer;
	struct fuse_entry_param entry; /* of a LOOKUP */
};

static bool work_lookup(const struct work *work, const struct node_class *class)
{
	struct fuse_entry_param entry = { 0 };
	int sys;

	if (class->lookup) {
		class->lookup(work->req, work->node, work->name);
		return true;
	}
	sys = class->enter ? class->enter(work->req, work->node, work->name, &entry) : ENOTDIR;
	if (sys == ENTER_ASIDE)
		return false;
	if (work->left)
		*work->left = (struct work_left){ { true, sys, 0 }, entry };
	else
		enter_reply(work->req, sys, &entry, NULL);
	return true;
}

static bool work_readlink(const struct work *work, const struct node_class *class)
{
	if (class->readlink)
		class->readlink(work->req, work->node);
	else
		reply_errno(work->req, EINVAL);
	return true;
}

static bool work_getattr(const struct work *work, const struct node_class *class)
{
	struct stat st;

	if (class->getattr) {
		class->getattr(work->req, work->node, work->flag);
		return true;
	}
	node_stat(front_of(work->req), work->node, &st);
	reply_attr(work->req, &st, TIMEOUT_LONG_S);
	return true;
}

static bool work_setattr(const struct work *work, const struct node_class *class)
{
	if (class->setattr)
		class->setattr(work->req, work->node, &work->st, (int)work->flags);
	else
		reply_errno(work->req, EROFS);
	return true;
}

static bool work_statfs(const struct work *work, const struct node_class *class)
{
	class->statfs(work->req, work->node);
	return true;
}

static bool work_read(const struct work *work, const struct node_class *class)
{
	if (class->here && !class->here(work->node))
		return false;
	if (class->read)
		class->read(work->req, work->node, work->size, work->off);
	else
		reply_errno(work->req, S_ISDIR(work->node->mode) ? EISDIR : EINVAL);
	return true;
}

static bool work_write(const struct work *work, const struct node_class *class)
{
	const struct node_write what = {
		.bytes = work->bytes,
		.off = work->off,
		.flags = work->fi.flags,
		.page = work->fi.writepage,
		.answer = work->left ? &work->left->answer : NULL,
	};

	if (class->write)
		class->write(work->req, work->node, &what);
	else
		reply_errno(work->req, EROFS);
	return true;
}

static bool work_readdir(const struct work *work, const struct node_class *class)
{
	if (class->readdir)
		class->readdir(work->req, work->node, work->size, work->off, work->flag);
	else
		reply_errno(work->req, ENOTDIR);
	return true;
}

static bool work_fsync(const struct work *work, const struct node_class *class)
{
	if (class->fsync)
		class->fsync(work->req, work->node, work->flag);
	else
		reply_errno(work->req, 0);
	return true;
}

/* The kernel's own answer for a file without holes. */
static void plain_lseek(fuse_req_t req, const struct node *node, off_t off, int whence)
{
	if (off < 0 || (uint64_t)off >= node->size)
		reply_errno(req, ENXIO);
	else
		reply_lseek(req, whence == SEEK_DATA ? off : (off_t)node->size);
}

static bool work_lseek(const struct work *work, const struct node_class *class)
{
	if (class->changes && class->changes->lseek)
		class->changes->lseek(work->req, work->node, work->off, (int)work->flags);
	else
		plain_lseek(work->req, work->node, work->off, (int)work->flags);
	return true;
}

static struct node_new what_is_new(const struct work *work)
{
	return (struct node_new){ .name = work->name,
				  .mode = work->st.st_mode,
				  .rdev = work->st.st_rdev,
				  .target = work->new_name };
}

static bool work_make(const struct work *work, const struct node_class *class)
{
	const struct node_new what = what_is_new(work);

	if (class->changes && class->changes->make)
		class->changes->make(work->req, work->node, &what);
	else
		reply_errno(work->req, EROFS);
	return true;
}

static bool work_create(const struct work *work, const struct node_class *class)
{
	const struct node_new what = what_is_new(work);

	if (class->changes && class->changes->create)
		class->changes->create(work->req, work->node, &what, &work->fi);
	else
		reply_errno(work->req, EROFS);
	return true;
}

/* The table of what changes other nodes: both ends of a change have to have the same. */
static const struct node_changes *changes_of(const struct node *node)
{
	const struct node_class *aside = node->class->aside;

	return node->class->changes || !aside ? node->class->changes : aside->changes;
}

static bool work_link(const struct work *work, const struct node_class *class)
{
	const struct node_changes *changes = class->changes;

	if (!changes || !changes->link)
		reply_errno(work->req, EROFS);
	else if (changes_of(work->other) != changes)
		reply_errno(work->req, EXDEV);
	else
		changes->link(work->req, work->other, work->node, work->name);
	return true;
}

static bool work_remove(const struct work *work, const struct node_class *class)
{
	if (class->changes && class->changes->remove)
		class->changes->remove(work->req, work->node, work->name, work->flag);
	else
		reply_errno(work->req, EROFS);
	return true;
}

static bool work_rename(const struct work *work, const struct node_class *class)
{
	const struct node_rename what = {
		.from = work->node,
		.to = work->other,
		.name = work->name,
		.new_name = work->new_name,
		.flags = work->flags,
	};
	const struct node_changes *from = class->changes, *to = changes_of(work->other);

	if (!from || !from->rename)
		reply_errno(work->req, EROFS);
	else if (from != to)
		reply_errno(work->req, to && to->rename ? EXDEV : EROFS);
	else
		from->rename(work->req, &what);
	return true;
}

static bool is_writable(const struct node_class *class)
{
	return class->write || (class->aside && class->aside->write);
}

static bool work_fallocate(const struct work *work, const struct node_class *class)
{
	if (class->changes && class->changes->fallocate)
		class->changes->fallocate(work->req, work->node, (int)work->flags, work->off,
					  (off_t)work->size);
	else
		reply_errno(work->req, is_writable(class) ? EOPNOTSUPP : EROFS);
	return true;
}

/* Callers fall back to reading and writing. */
static bool work_copy(const struct work *work, const struct node_class *class)
{
	const struct node_copy what = {
		.from = work->other,
		.to = work->node,
		.from_off = work->from_off,
		.to_off = work->off,
		.len = work->size,
		.flags = (int)work->flags,
	};
	const struct node_changes *changes = class->changes;

	if (!changes || !changes->copy || changes != changes_of(work->other))
		reply_errno(work->req, EXDEV);
	else
		changes->copy(work->req, &what);
	return true;
}

static bool work_getxattr(const struct work *work, const struct node_class *class)
{
	if (class->xattrs)
		class->xattrs->get(work->req, work->node, work->name, work->size);
	else
		reply_errno(work->req, ENODATA);
	return true;
}

static bool work_listxattr(const struct work *work, const struct node_class *class)
{
	if (class->xattrs)
		class->xattrs->list(work->req, work->node, work->size);
	else
		reply_xattr(work->req, work->size, (struct rye_span){ "", 0 });
	return true;
}

static bool work_setxattr(const struct work *work, const struct node_class *class)
{
	if (class->xattrs && class->xattrs->set)
		class->xattrs->set(work->req, work->node, work->name, work->bytes,
				   (int)work->flags);
	else
		reply_errno(work->req, EROFS);
	return true;
}

static bool work_removexattr(const struct work *work, const struct node_class *class)
{
	if (class->xattrs && class->xattrs->remove)
		class->xattrs->remove(work->req, work->node, work->name);
	else
		reply_errno(work->req, EROFS);
	return true;
}

static const struct work_row {
	size_t member; /* of a class: NULL there, it has nothing for this type */
	/* False: the thread has to step aside for it. */
	bool (*fn)(const struct work *work, const struct node_class *class);
} work_rows[WORK_TYPE__MAX] = {
	[WORK_LOOKUP] = { offsetof(struct node_class, enter), work_lookup },
	[WORK_READLINK] = { offsetof(struct node_class, readlink), work_readlink },
	[WORK_GETATTR] = { offsetof(struct node_class, getattr), work_getattr },
	[WORK_SETATTR] = { offsetof(struct node_class, setattr), work_setattr },
	[WORK_STATFS] = { offsetof(struct node_class, statfs), work_statfs },
	[WORK_READ] = { offsetof(struct node_class, read), work_read },
	[WORK_WRITE] = { offsetof(struct node_class, write), work_write },
	[WORK_READDIR] = { offsetof(struct node_class, readdir), work_readdir },
	[WORK_FSYNC] = { offsetof(struct node_class, fsync), work_fsync },
	[WORK_LSEEK] = { offsetof(struct node_class, changes), work_lseek },
	[WORK_MAKE] = { offsetof(struct node_class, changes), work_make },
	[WORK_CREATE] = { offsetof(struct node_class, changes), work_create },
	[WORK_LINK] = { offsetof(struct node_class, changes), work_link },
	[WORK_REMOVE] = { offsetof(struct node_class, changes), work_remove },
	[WORK_RENAME] = { offsetof(struct node_class, changes), work_rename },
	[WORK_FALLOCATE] = { offsetof(struct node_class, changes), work_fallocate },
	[WORK_COPY] = { offsetof(struct node_class, changes), work_copy },
	[WORK_GETXATTR] = { offsetof(struct node_class, xattrs), work_getxattr },
	[WORK_LISTXATTR] = { offsetof(struct node_class, xattrs), work_listxattr },
	[WORK_SETXATTR] = { offsetof(struct node_class, xattrs), work_setxattr },
	[WORK_REMOVEXATTR] = { offsetof(struct node_class, xattrs), work_removexattr },
};

static bool class_has(const struct node_class *class, enum work_type type)
{
	const void *member;

	memcpy(&member, (const char *)class + work_rows[type].member, sizeof(member));
	return member;
}

/* ---- aside ---- */

static void work_run(struct aside_task *task)
{
	struct work *work = (struct work *)task;

	work_rows[work->type].fn(work, work->aside);
}

/*
 * A caller's next request is on its way before the write of an answer returns, and its processor may be
 * this thread's. Were this one not counted at the device by then, that request would call another.
 */
static void work_answer(struct aside_task *task)
{
	const struct work *work = (const struct work *)task;
	const struct node_answer *answer = &work->left->answer;

	if (!answer->due)
		return;
	if (work->type == WORK_LOOKUP)
		enter_reply(work->req, answer->sys, &work->left->entry, NULL);
	else if (answer->sys)
		reply_errno(work->req, answer->sys);
	else
		reply_written(work->req, answer->count);
}

/* A request for which there was no place. */
struct kept_work {
	struct parked parked;
	struct work work;
	char text[]; /* its names, its bytes */
};

static struct kept_work *kept_of(struct aside_task *task)
{
	return (struct kept_work *)((char *)task - offsetof(struct kept_work, work));
}

/* On the thread that a place came free on; the reference is the queue's. */
static void run_kept(struct aside_task *task)
{
	struct kept_work *kept = kept_of(task);

	if (parking_take(&kept->parked)) {
		parked_leave(&kept->parked);
		work_rows[kept->work.type].fn(&kept->work, kept->work.aside);
	}
	parked_unref(&kept->parked);
}

/* On the parking thread. The request may not be queued yet: then it is found answered. */
static void wake_kept(struct parked *parked, enum parked_why why)
{
	struct kept_work *kept = (struct kept_work *)parked;
	struct work *work = &kept->work;
	struct asides *asides = parked->owner;

	if (!parking_take(parked))
		return;
	parked_leave(parked);
	if (why == PARKED_DUE)
		work->aside->late(work->req, work->node);
	else
		reply_errno(work->req, why == PARKED_CLOSED ? ECANCELED : EINTR);
	if (aside_drop(asides, &work->task))
		parked_unref(parked);
}

static struct kept_work *copy_work(const struct work *work)
{
	static const struct parked_class class = { .wake = wake_kept };
	size_t name = work->name ? strlen(work->name) + 1 : 0;
	size_t new_name = work->new_name ? strlen(work->new_name) + 1 : 0;
	struct front *front = front_of(work->req);
	struct kept_work *kept = parked_new(front->parking, work->req, &class, front->asides,
					    sizeof(*kept) + name + new_name + work->bytes.len);
	char *text;

	if (!kept)
		return NULL;
	text = kept->text;
	kept->work = *work;
	kept->work.left = NULL;
	if (name)
		kept->work.name = memcpy(text, work->name, name);
	if (new_name)
		kept->work.new_name = memcpy(text + name, work->new_name, new_name);
	if (work->bytes.len) {
		memcpy(text + name + new_name, work->bytes.ptr, work->bytes.len);
		kept->work.bytes.ptr = text + name + new_name;
	}
	return kept;
}

static struct aside_task *keep_work(const struct aside_task *task)
{
	static const struct aside_class kept_class = { .run = run_kept };
	const struct work *work = (const struct work *)task;
	int64_t wait_ms = work->aside->late_ms;
	struct kept_work *kept = copy_work(work);

	if (!kept) {
		reply_errno(work->req, ENOMEM);
		return NULL;
	}
	kept->work.task.class = &kept_class;
	if (parking_wait(&kept->parked, wait_ms ? clock_ns() + wait_ms * NS_PER_MS : PARKED_NEVER))
		return &kept->work.task;
	reply_errno(parked_leave(&kept->parked), ECANCELED);
	parked_unref(&kept->parked);
	return NULL;
}

/* Nothing of ours is started to look at what is there; a remote's own may be. */
static bool work_looks(const struct work *work)
{
	switch (work->type) {
	case WORK_LOOKUP:
	case WORK_READLINK:
	case WORK_GETATTR:
	case WORK_READ:
	case WORK_READDIR:
	case WORK_STATFS:
		return work->task.lane.group != ASIDE_OWN;
	default:
		return false;
	}
}

/* A ring's thread stays on its processor, but not while it does what may start threads and processes:
 * those would stay there, too. */
static void work_on_ring(struct ring *ring, struct asides *asides, struct work *work)
{
	const bool stays = work_looks(work);
	struct rye_call *carry;

	work->left->answer.carries = true;
	if (!stays)
		ring_roam(&ring->cpus);
	aside_run_here(asides, &work->task);
	carry = work->left->answer.carry;
	if (carry)
		ring_carry(ring, carry);
	if (!stays)
		ring_back(ring);
}

static void work_aside(struct work *work, const struct node_class *aside)
{
	static const struct aside_class work_aside_class = {
		.run = work_run,
		.keep = keep_work,
		.answer = work_answer,
	};
	struct work_left left = { .answer = { .due = false } };
	struct front *front = front_of(work->req);
	struct ring *ring = atomic_load(&front->ring);
	struct rye_span what = work->name ? (struct rye_span){ work->name, strlen(work->name) } :
					    work->bytes;

	work->aside = aside;
	work->task.class = &work_aside_class;
	work->task.lane = aside->lane(front, work->node, what);
	work->left = &left;
	if (ring && ring_serves(ring))
		work_on_ring(ring, front->asides, work);
	else
		aside_run(front->asides, &work->task);
	work->left = NULL;
}

/* df of the read-only trees: the disk that the project lies on. */
static void plain_statfs(fuse_req_t req, struct node *node)
{
	struct statvfs st = { 0 };

	if (statvfs(front_of(req)->opt->source, &st))
		st.f_bsize = st.f_frsize = 4096;
	st.f_namemax = TREE_NAME_MAX;
	reply_statfs(req, &st);
}

static struct aside_lane plain_lane(struct front *front, const struct node *node,
				    struct rye_span what)
{
	return (struct aside_lane){ ASIDE_FILES, 0 };
}

static const struct node_class plain_aside = { .lane = plain_lane, .statfs = plain_statfs };

void work_begin(struct work *work)
{
	const struct node_class *class = work->node->class, *aside = class->aside;

	if (work->type == WORK_STATFS && (!aside || !class_has(aside, WORK_STATFS)))
		aside = &plain_aside;
	if ((aside && !class_has(class, work->type) && class_has(aside, work->type)) ||
	    !work_rows[work->type].fn(work, class))
		work_aside(work, aside);
}
