/* SPDX-License-Identifier: MIT */
/*
 * Waiting for a thread's end where there is a thread to wait on: a worker of the pool for a fork, a
 * runner for its children. The watching worker tells the end through an eventfd. No lock of its own.
 */
#include "thread/thread_inner.h"

#include "clock.h"
#include "memory.h"
#include "scope.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>

/* Between two tries to begin without memory. */
#define AWAIT_AGAIN_MS 100

/* On any thread, once: the thread has ended, or is no longer waited for. */
static void await_on_end(void *arg, const struct rye_outcome *outcome)
{
	(void)outcome;
	(void)!eventfd_write(*(int *)arg, 1);
}

static int await_left(int64_t end)
{
	int64_t left = end - clock_ms();

	return left > 0 ? (int)left : 0;
}

/* Until the end of the patience, or the next look at what is shown meanwhile; -1: neither. */
static int await_next(const struct thread_patience *patience, int64_t end)
{
	int left = patience->wait_ms < 0 ? -1 : await_left(end);

	if (!patience->fn)
		return left;
	return left < 0 || left > THREADS_LOOK_MS ? THREADS_LOOK_MS : left;
}

/* RYE_OK: it has ended. */
static enum rye_code await_poll(int ended, const struct thread_patience *patience)
{
	struct pollfd fds[] = { { .fd = ended, .events = POLLIN },
				{ .fd = patience->wake, .events = POLLIN } };
	int64_t end = clock_ms() + patience->wait_ms;

	for (;;) {
		int n = poll(fds, ARRAY_SIZE(fds), await_next(patience, end));

		if (patience->fn)
			patience->fn(patience->arg);
		if (n == 0 && patience->wait_ms >= 0 && clock_ms() >= end)
			return RYE_TIMEOUT;
		if (n > 0 && fds[0].revents)
			return RYE_OK;
		if (n > 0 && fds[1].revents)
			return RYE_INTERRUPTED;
		if (n < 0 && errno != EINTR)
			return RYE_INTERRUPTED;
	}
}

/*
 * Where the watching worker cannot be started for lack of memory, the end would be told by no thread:
 * until there is some, or the patience ends.
 */
static int await_begin(struct threads *threads, const char *id, const struct rye_listener *listener,
		       const struct thread_patience *patience, struct rye_err *err)
{
	struct pollfd wake = { .fd = patience->wake, .events = POLLIN };
	int64_t end = clock_ms() + patience->wait_ms;

	for (;;) {
		unsigned long before = memory_failures();
		int r = threads_wait(threads, id, listener, err);

		if (!r || memory_failures() == before)
			return r;
		if ((patience->wait_ms >= 0 && clock_ms() >= end) || poll(&wake, 1, AWAIT_AGAIN_MS))
			return r;
	}
}

int threads_await(struct threads *threads, const char *id, const struct thread_patience *patience,
		  struct rye_err *err)
{
	auto_close int ended = eventfd(0, EFD_CLOEXEC);
	struct rye_listener listener = { await_on_end, &ended };
	enum rye_code code;
	eventfd_t told;
	int r;

	if (ended < 0)
		return rye_fail_sys(err, errno, "cannot wait for thread %s", id);
	r = await_begin(threads, id, &listener, patience, err);
	if (r)
		return r;
	code = await_poll(ended, patience);
	if (code != RYE_OK)
		threads_unwait(threads, &ended);
	/* the listener is told once in any case: behind that it is no longer used */
	(void)!eventfd_read(ended, &told);
	if (code == RYE_OK)
		return 0;
	return rye_fail(err, code,
			"no longer waited for: thread %s goes on; " MEND_WITH
			"ryefs threads wait %s",
			id, id);
}

int threads_dir(struct threads *threads, const char *id, struct rye_err *err)
{
	auto_close int root = thread_root(threads->env.opt->project, false, err);
	int dir = root < 0 ? -1 : thread_dir(root, id, false, err);

	return dir < 0 ? -1 : dir;
}

int threads_look(struct threads *threads, const char *id, unsigned docs, struct threads_look *ret,
		 struct rye_err *err)
{
	auto_thread_view struct thread_view view = THREAD_VIEW_INIT;
	int r = thread_view_open(threads, id, &view, err);

	*ret = THREADS_LOOK_INIT;
	if (r)
		return r;
	ret->db = view.db;
	ret->row = view.row;
	ret->dir = view.dir < 0 ? -1 : steal_fd(&view.dir);
	thread_read(ret->dir, id, docs, &ret->read);
	if (registry_links(view.db, id, &ret->links, NULL))
		ret->links = (struct registry_links){ .spawn_count = 0 };
	return 0;
}

void threads_look_done(struct threads_look *look)
{
	thread_read_done(&look->read);
	if (look->dir >= 0)
		close(look->dir);
	*look = THREADS_LOOK_INIT;
}

bool threads_row_time(const struct registry_row *row, struct timespec *ret)
{
	return registry_terminal(row->status) &&
	       (clock_iso_read(row->updated_at, ret) || clock_iso_read(row->completed_at, ret));
}

bool threads_end_time(struct threads *threads, const char *id, struct timespec *ret)
{
	struct registry_row row;
	struct db *db;

	return !thread_id_check(id, NULL) && !threads_registry(threads, false, &db, NULL) &&
	       !registry_get(db, id, false, &row, NULL) && threads_row_time(&row, ret);
}

struct await_children {
	rye_name_fn fn;
	void *arg;
};

static int await_child(void *arg, const struct registry_row *row)
{
	const struct await_children *children = arg;

	return thread_id_check(row->thread_id, NULL) ? 0 :
						       children->fn(children->arg, row->thread_id);
}

int threads_children(struct threads *threads, const char *id, rye_name_fn fn, void *arg,
		     struct rye_err *err)
{
	struct await_children children = { fn, arg };
	struct db *db;
	int r = threads_registry(threads, false, &db, err);

	return r ? r : registry_children(db, id, await_child, &children, err);
}

int threads_last(struct threads *threads, const char *id, char ret[THREAD_ID_MAX])
{
	struct db *db;
	int r = threads_registry(threads, false, &db, NULL);

	return r ? r : registry_last(db, id, ret, NULL);
}
