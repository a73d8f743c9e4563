/* SPDX-License-Identifier: MIT */
/*
 * pass_fd.c - descriptors of nodes below spaces/.
 *
 * Owns how many there are. One is opened when a node is first read or written, and kept until
 * FORGET, since the kernel sends no RELEASE for a file it never sent an OPEN for. The number of
 * descriptors of a process is limited: when half are used, the notify thread makes the kernel
 * forget the nodes that it caches but no process uses.
 */
#include "pass/pass.h"

#include "core/notify.h"
#include "scope.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>

/* With a ring FORGET comes by another way than what is asked, and in heaps (loop/loops.c): it is waited for, in ms;
 * less than what waits for this is patient. */
#define FORGETS_MS 10

bool pass_short(struct pass *pass)
{
	return atomic_load(&pass->fds) > pass->limit / 2;
}

/* On the notify thread. Makes the kernel drop the dentries below spaces/; it sends FORGET for those
 * that no process uses, which closes their descriptors. The lstat looks spaces/ up again: else
 * getcwd(2) of a shell in it would fail (tests/e2e/big.sh). */
static void purge_task(struct front *front, struct node *none, int unused, const char *text)
{
	uint64_t before = atomic_load(&front->stats.n[STAT_FORGET]);
	char path[PATH_MAX];
	struct stat st;
	bool there;

	notify_send_entry(front, front->root, "spaces", false);
	snprintf(path, sizeof(path), "%s/spaces", front->opt->mountpoint);
	there = lstat(path, &st) == 0;
	for (int left_ms = front->uring == URING_ON ? FORGETS_MS : 0;
	     left_ms > 0 && atomic_load(&front->stats.n[STAT_FORGET]) == before; left_ms--)
		poll(NULL, 0, 1);
	/* it takes a descriptor itself */
	if (!there && lstat(path, &st))
		return;
	atomic_store(&front->pass->calm, atomic_load(&front->pass->fds));
}

static void pass_fd_purge(struct pass *pass)
{
	notify_task(pass->front->notify,
		    &(struct notify_task){ purge_task, NULL, 0, "", LANE_FILES });
}

void pass_count(struct pass *pass)
{
	size_t n = atomic_fetch_add(&pass->fds, 1) + 1, calm = atomic_load(&pass->calm);

	/* when most are truly in use, asking again and again would free none */
	if (n > pass->limit / 2 && n > calm + pass->limit / 8)
		pass_fd_purge(pass);
	else if (n < calm)
		atomic_store(&pass->calm, n);
}

void pass_again(struct front *front, struct node *node, void (*fn)(void *), void *arg)
{
	pass_fd_purge(front->pass);
	/* behind the purge, on the same thread */
	if (!notify_inode_then(front->notify, node, -1, fn, arg))
		fn(arg);
}

/* The mode may have lost the bit after the caller's process opened the file, which may go on
 * writing then. We own the file, so set the bit for the time of our open. */
static int open_lifted(int fd, int flags)
{
	char proc[PASS_PROC_MAX];
	struct stat st;
	int got;

	pass_proc(fd, proc);
	got = open(proc, flags);
	if (got >= 0 || errno != EACCES || fstat(fd, &st) || st.st_uid != geteuid())
		return got < 0 ? -errno : got;
	if (chmod(proc, (st.st_mode & 07777) | ((flags & O_ACCMODE) == O_RDONLY ? 0400 : 0600)))
		return -EACCES;
	got = open(proc, flags);
	got = got < 0 ? -errno : got;
	if (chmod(proc, st.st_mode & 07777) && got >= 0) {
		close(got);
		return -EIO;
	}
	return got;
}

int pass_fd(struct node *node, bool write)
{
	struct pass_node *pass = pass_of(node);
	pthread_mutex_t *lock = &pass->pass->lock;
	int *slot = write ? &pass->wr : &pass->rd;
	int fd = -1, used = -1;

	{
		GUARD(lock);
		used = *slot;
	}
	if (used >= 0)
		return used;
	fd = open_lifted(pass->fd, (write ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return fd;
	{
		GUARD(lock);
		if (*slot < 0)
			*slot = steal_fd(&fd);
		used = *slot;
	}
	if (fd >= 0)
		close(fd);
	else
		pass_count(pass->pass);
	return used;
}
