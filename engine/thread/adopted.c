/* SPDX-License-Identifier: MIT */
/*
 * Threads that this process itself carries out: runs whose caller stopped waiting. A process
 * that wants one ended, this one or another, leaves a mark in its directory; the watching worker
 * sees it by inotify and cancels the call. A signal to the runner would end the whole mount.
 *
 * Lock: threads->lock for the list; calls are cancelled and files looked at without it.
 */
#include "thread/thread_inner.h"

#include "run/run.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>

struct adopted {
	char id[64];
	struct rye_call *call;
	int watch; /* of its directory */
	struct adopted *next;
};

/* The inotify descriptor, in the worker's set; negative: there is none. */
static int notices_fd(struct threads *threads)
{
	struct epoll_event event = { .events = EPOLLIN };
	int none = -1, fd = threads->inotify;

	if (fd >= 0)
		return fd;
	fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (fd < 0)
		return -1;
	if (!atomic_compare_exchange_strong(&threads->inotify, &none, fd)) {
		close(fd);
		return none;
	}
	event.data.fd = fd;
	epoll_ctl(threads->epoll, EPOLL_CTL_ADD, fd, &event);
	return fd;
}

static bool is_to_end(int dir)
{
	auto_thread_read struct thread_read read;

	thread_read(dir, "", 0, &read);
	return read.has & (HAS_CANCELLED | HAS_KILLED);
}

int adopted_add(struct threads *threads, const char *id, struct rye_call *call, int dir)
{
	struct adopted *adopted = calloc(1, sizeof(*adopted));
	char path[64];

	if (!adopted)
		return -ENOMEM;
	if (thread_write(dir, ADOPTED_MARK, SPAN(""), NULL)) {
		free(adopted);
		return -EIO;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", dir);
	snprintf(adopted->id, sizeof(adopted->id), "%s", id);
	call_ref(call);
	adopted->call = call;
	/* without notices it only cannot be ended before its time */
	adopted->watch = inotify_add_watch(notices_fd(threads), path, IN_CREATE | IN_MOVED_TO);
	{
		GUARD(&threads->lock);
		adopted->next = threads->adopted;
		threads->adopted = adopted;
	}
	threads_worker_start(threads);
	/* a mark that came before it was in the list */
	if (is_to_end(dir))
		rye_call_cancel(call, RYE_CANCELLED);
	return 0;
}

void adopted_drop(struct threads *threads, const char *id)
{
	struct adopted *found = NULL;

	{
		GUARD(&threads->lock);
		for (struct adopted **at = &threads->adopted; *at; at = &(*at)->next)
			if (!strcmp((*at)->id, id)) {
				found = *at;
				*at = found->next;
				break;
			}
	}
	if (!found)
		return;
	inotify_rm_watch(threads->inotify, found->watch);
	rye_call_unref(found->call);
	free(found);
}

size_t threads_adopted(struct threads *threads)
{
	size_t n = 0;

	GUARD(&threads->lock);
	for (struct adopted *at = threads->adopted; at; at = at->next)
		n++;
	return n;
}

static struct rye_call *call_of(struct threads *threads, int watch, char id[64])
{
	struct rye_call *call = NULL;

	GUARD(&threads->lock);
	for (struct adopted *at = threads->adopted; at && !call; at = at->next)
		if (at->watch == watch) {
			call = at->call;
			call_ref(call);
			snprintf(id, 64, "%s", at->id);
		}
	return call;
}

static void adopted_look_at(struct threads *threads, int watch)
{
	char id[64] = "";
	struct rye_call *call = call_of(threads, watch, id);
	auto_close int root = call ? thread_root(threads->env.opt->project, false, NULL) : -1;
	auto_close int dir = root < 0 ? -1 : thread_dir(root, id, false, NULL);

	if (dir >= 0 && is_to_end(dir))
		rye_call_cancel(call, RYE_CANCELLED);
	rye_call_unref(call);
}

void adopted_look(struct threads *threads)
{
	char text[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	const struct inotify_event *event;
	ssize_t n;

	while ((n = read(threads->inotify, text, sizeof(text))) > 0)
		for (char *at = text; at < text + n; at += sizeof(*event) + event->len) {
			event = (const struct inotify_event *)at;
			adopted_look_at(threads, event->wd);
		}
}
