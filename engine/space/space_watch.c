/* SPDX-License-Identifier: MIT */
/*
 * inotify → index → listener. Editors save in many ways (in place, rename over, unlink and
 * create); all of them are one rule here: something happened to a name, look what is there.
 * All events of one read are already past when it returns, so each name is looked at once a
 * read. Reads are at least a millisecond apart under load: a burst is merged, never held back
 * longer. A lost event queue means looking at everything again.
 *
 * `lock` guards the queue of changes that other threads found, and whether the watch's thread is
 * between index and listener; it is not held while the listener is called.
 */
#include "space/space.h"

#include "clock.h"
#include "hash.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>

#define EVENTS_SIZE (64u << 10)
/* A power of two above the events that fit into EVENTS_SIZE. */
#define SLOTS 8192
#define PACE_US 1000
#define RESCAN_THREADS 4
/* The one under way, one of events that came meanwhile, that of the queue. */
#define TURNS 3

#define MASK                                                                                \
	(IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_CLOSE_WRITE | IN_MODIFY | \
	 IN_ATTRIB | IN_ONLYDIR | IN_EXCL_UNLINK)

struct queued {
	struct queued *next;
	struct index_changes changes;
};

struct watch {
	const struct log *log;
	struct index *index;
	watch_fn fn;
	void *arg;
	int inotify, wake;
	int no_inotify; /* errno: there is none, every directory goes unwatched */
	pthread_t thread;
	bool running;
	pthread_mutex_t lock;
	struct queued *queue, **tail;
	bool stop; /* under lock */
	bool everything; /* under lock: a change could not be queued, so all is told as changed */
	bool busy; /* under lock: what the index has of events, or of the queue, may be untold */
	uint64_t turns; /* under lock: how often that has ended */
	pthread_cond_t told; /* it has */
	int64_t last_us;
	const struct inotify_event *seen[SLOTS]; /* of the read under way */
	char events[EVENTS_SIZE] __attribute__((aligned(8)));
};

int watch_open(const struct log *log, struct watch **ret, struct rye_err *err)
{
	struct watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return memory_fail(err);
	watch->log = log;
	watch->tail = &watch->queue;
	pthread_mutex_init(&watch->lock, NULL);
	pthread_cond_init(&watch->told, NULL);
	watch->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	watch->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (watch->inotify < 0)
		watch->no_inotify = errno;
	if (watch->wake < 0) {
		int sys = errno;

		watch_close(watch);
		return rye_fail_sys(err, sys, "cannot watch for changes");
	}
	*ret = watch;
	return 0;
}

int watch_add(void *arg, int dirfd)
{
	struct watch *watch = arg;
	char path[40];
	int wd;

	if (watch->inotify < 0)
		return -watch->no_inotify;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", dirfd);
	wd = inotify_add_watch(watch->inotify, path, MASK);
	return wd < 0 ? -errno : wd;
}

void watch_del(void *arg, int wd)
{
	struct watch *watch = arg;

	if (watch->inotify < 0)
		return;
	/* Fails when the directory is gone: the kernel has removed the watch itself. */
	inotify_rm_watch(watch->inotify, wd);
}

static void space_watch_wake(struct watch *watch)
{
	const uint64_t one = 1;
	ssize_t n = write(watch->wake, &one, sizeof(one));

	/* Full means that a wake-up is already waiting. */
	(void)n;
}

void watch_tell(struct watch *watch, struct index_changes *changes)
{
	struct queued *queued;

	if (!changes->n && !changes->all && !changes->keys)
		return;
	queued = calloc(1, sizeof(*queued));
	if (queued) {
		queued->changes = *changes;
		*changes = (struct index_changes){ 0 };
	}
	{
		GUARD(&watch->lock);
		*watch->tail = queued;
		if (queued)
			watch->tail = &queued->next;
		else
			watch->everything = true;
	}
	space_watch_wake(watch);
}

/* On the watch's thread. */
static void space_watch_busy(struct watch *watch, bool busy)
{
	GUARD(&watch->lock);
	watch->busy = busy;
	watch->turns += !busy;
	if (!busy)
		pthread_cond_broadcast(&watch->told);
}

static void space_watch_end(struct watch *watch)
{
	GUARD(&watch->lock);
	watch->stop = true;
	pthread_cond_broadcast(&watch->told);
}

void watch_wait_told(struct watch *watch)
{
	GUARD(&watch->lock);
	uint64_t enough = watch->turns + TURNS;

	while ((watch->busy || watch->queue || watch->everything) && watch->turns < enough &&
	       watch->running && !watch->stop)
		pthread_cond_wait(&watch->told, &watch->lock);
}

static struct queued *take_queue(struct watch *watch, bool *ret_stop, bool *ret_everything)
{
	struct queued *queue = NULL;

	GUARD(&watch->lock);
	queue = watch->queue;
	watch->queue = NULL;
	watch->tail = &watch->queue;
	*ret_stop = watch->stop;
	*ret_everything = watch->everything;
	watch->everything = false;
	return queue;
}

static bool tell_queued(struct watch *watch)
{
	const struct index_changes all = { .all = true, .keys = true };
	bool stop = false, everything = false;

	space_watch_busy(watch, true);
	for (struct queued *queued = take_queue(watch, &stop, &everything), *next; queued;
	     queued = next) {
		next = queued->next;
		if (!stop)
			watch->fn(watch->arg, &queued->changes);
		index_changes_done(&queued->changes);
		free(queued);
	}
	if (everything && !stop)
		watch->fn(watch->arg, &all);
	space_watch_busy(watch, false);
	return !stop;
}

/* ---- inotify ---- */

static bool space_watch_same_name(const struct inotify_event *a, const struct inotify_event *b)
{
	const char *x = a->len ? a->name : "", *y = b->len ? b->name : "";

	return a->wd == b->wd && !strcmp(x, y);
}

/* Has this read already had the name? */
static bool is_repeated(struct watch *watch, const struct inotify_event *event)
{
	uint64_t hash =
		hash_text(hash_add(HASH_BASIS, (uint64_t)event->wd), event->len ? event->name : "");

	for (uint64_t i = hash ^ hash >> 32;; i++) {
		const struct inotify_event **slot = &watch->seen[i & (SLOTS - 1)];

		if (!*slot) {
			*slot = event;
			return false;
		}
		if (space_watch_same_name(*slot, event))
			return true;
	}
}

static void rescan_spaces(struct watch *watch, struct index_changes *out, bool lost)
{
	log_line(watch->log, RYE_LOG_WARN, "watch", "%s: looking at everything again",
		 lost ? "too many changes at once" : "short of memory");
	index_scan(watch->index, RESCAN_THREADS, true);
	index_forget(watch->index);
	out->all = out->keys = true;
}

static void space_watch_handle(struct watch *watch, const char *events, size_t len)
{
	struct index_changes changes = { 0 };
	bool lost = false;

	memset(watch->seen, 0, sizeof(watch->seen));
	for (size_t at = 0; at < len && !lost;) {
		const struct inotify_event *event = (const void *)(events + at);

		at += sizeof(*event) + event->len;
		lost = event->mask & IN_Q_OVERFLOW;
		if (!lost && event->len && !is_repeated(watch, event))
			index_event(watch->index, event->wd, event->name, &changes);
	}
	if (lost || index_lacks(watch->index))
		rescan_spaces(watch, &changes, lost);
	if (changes.n || changes.all || changes.keys)
		watch->fn(watch->arg, &changes);
	index_changes_done(&changes);
}

static void pace_reads(struct watch *watch)
{
	int64_t now = clock_us(), rest = PACE_US - (now - watch->last_us);

	if (rest > 0)
		usleep((useconds_t)rest);
	watch->last_us = clock_us();
}

static void space_watch_drain(struct watch *watch)
{
	ssize_t n;

	pace_reads(watch);
	space_watch_busy(watch, true);
	n = read(watch->inotify, watch->events, sizeof(watch->events));
	if (n > 0)
		space_watch_handle(watch, watch->events, (size_t)n);
	space_watch_busy(watch, false);
}

static void *listen_loop(void *arg)
{
	struct watch *watch = arg;
	struct pollfd fds[] = { { .fd = watch->inotify, .events = POLLIN },
				{ .fd = watch->wake, .events = POLLIN } };
	uint64_t count;
	bool go = true;

	while (go) {
		if (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno != EINTR)
			break;
		if (fds[1].revents && read(watch->wake, &count, sizeof(count)) > 0)
			go = tell_queued(watch);
		if (go && fds[0].revents)
			space_watch_drain(watch);
	}
	/* no change is told any more, so none is waited for */
	space_watch_end(watch);
	return NULL;
}

int watch_start(struct watch *watch, struct index *index, watch_fn fn, void *arg,
		struct rye_err *err)
{
	int sys;

	watch->index = index;
	watch->fn = fn;
	watch->arg = arg;
	sys = pthread_create(&watch->thread, NULL, listen_loop, watch);
	if (sys)
		return rye_fail_sys(err, sys, "cannot start the watcher's thread");
	watch->running = true;
	return 0;
}

void watch_stop(struct watch *watch)
{
	if (!watch || !watch->running)
		return;
	{
		GUARD(&watch->lock);
		watch->stop = true;
	}
	space_watch_wake(watch);
	pthread_join(watch->thread, NULL);
	watch->running = false;
}

void watch_close(struct watch *watch)
{
	bool stop;

	if (!watch)
		return;
	watch_stop(watch);
	for (struct queued *queued = take_queue(watch, &stop, &stop), *next; queued;
	     queued = next) {
		next = queued->next;
		index_changes_done(&queued->changes);
		free(queued);
	}
	if (watch->inotify >= 0)
		close(watch->inotify);
	if (watch->wake >= 0)
		close(watch->wake);
	pthread_mutex_destroy(&watch->lock);
	pthread_cond_destroy(&watch->told);
	free(watch);
}
