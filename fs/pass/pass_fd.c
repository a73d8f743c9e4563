/* SPDX-License-Identifier: MIT */
/*
 * pass_fd.c - descriptors of nodes below spaces/.
 *
 * Owns how many there are. One is opened when a node is first read or written, and kept until
 * FORGET, for nobody tells of a close. A process may have so many only: in time the kernel is
 * asked to forget what nobody uses.
 */
#include "pass/pass.h"

#include "core/notify.h"
#include "scope.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>

bool pass_short(struct pass *pass)
{
	return atomic_load(&pass->fds) > pass->limit / 2;
}

/* Whatever the kernel remembers below spaces/ and nobody uses is forgotten, descriptors and
 * all. Then the directory is entered again, or a shell in it lost its way up. */
static void purge_task(struct front *front, struct node *none, int unused, const char *text)
{
	char path[PATH_MAX];
	struct stat st;

	notify_send_entry(front, front->root, "spaces", false);
	snprintf(path, sizeof(path), "%s/spaces", front->opt->mountpoint);
	if (lstat(path, &st))
		return;
	atomic_store(&front->pass->calm, atomic_load(&front->pass->fds));
}

static void pass_fd_purge(struct pass *pass)
{
	notify_task(pass->front->notify, &(struct notify_task){ purge_task, NULL, 0, "" });
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
	notify_inode_then(front->notify, node, -1, fn, arg);
}

/* The mode may have lost the bit since the file was opened by whoever writes now: we own it,
 * so lift the bit for a moment. */
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
