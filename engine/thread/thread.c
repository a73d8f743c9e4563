/* SPDX-License-Identifier: MIT */
/*
 * Opening and closing, starting runners, adopting runs of this process. The launcher takes the
 * directory's lock, inserts the row, and only then hands the lock to the runner: no process can
 * take a starting thread for a dead one.
 */
#include "thread/thread_inner.h"

#include "base/id.h"
#include "clock.h"
#include "memory.h"
#include "scope.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/pidfd.h>

int threads_registry(struct threads *threads, bool create, struct db **ret, struct rye_err *err)
{
	struct registry_ask ask = { .project = threads->env.opt->project,
				    .create = create,
				    .passing = threads->env.passing,
				    .log = threads->env.log };
	struct db *db = NULL, *old = NULL;
	int r;

	{
		GUARD(&threads->lock);
		old = threads->registry;
	}
	if (old && !db_is_spent(old)) {
		*ret = old;
		return 0;
	}
	if (old && old->damaged)
		ask.damaged = old->st.st_ino;
	r = registry_of(&ask, &db, err);
	if (r)
		return r;
	{
		GUARD(&threads->lock);
		if (threads->registry == old) {
			db->older = old; /* another thread may have the pointer */
			threads->registry = steal(&db);
		}
		*ret = threads->registry;
	}
	if (!db && old)
		db_retire(old);
	db_close(db);
	return 0;
}

int threads_open(const struct threads_env *env, struct threads **ret, struct rye_err *err)
{
	struct threads *threads = calloc(1, sizeof(*threads));
	struct epoll_event event = { .events = EPOLLIN };

	if (!threads)
		return memory_fail(err);
	threads->env = *env;
	pthread_mutex_init(&threads->lock, NULL);
	threads->inotify = -1;
	threads->epoll = epoll_create1(EPOLL_CLOEXEC);
	threads->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	event.data.fd = threads->wake;
	if (threads->epoll < 0 || threads->wake < 0 ||
	    epoll_ctl(threads->epoll, EPOLL_CTL_ADD, threads->wake, &event) < 0) {
		int sys = errno;

		threads_close(threads);
		return rye_fail_sys(err, sys, "cannot watch threads");
	}
	*ret = threads;
	return 0;
}

void threads_close(struct threads *threads)
{
	if (!threads)
		return;
	threads_worker_stop(threads);
	while (threads->watched) {
		struct watched *next = threads->watched->next;

		close(threads->watched->pidfd);
		watched_free(threads->watched);
		threads->watched = next;
	}
	while (threads->registry) {
		struct db *older = threads->registry->older;

		db_close(threads->registry);
		threads->registry = older;
	}
	rye_blob_unref(threads->list);
	if (threads->inotify >= 0)
		close(threads->inotify);
	if (threads->epoll >= 0)
		close(threads->epoll);
	if (threads->wake >= 0)
		close(threads->wake);
	pthread_mutex_destroy(&threads->lock);
	free(threads);
}

/* Seconds that the result of a run that this process carries waits for room on a full disk. */
#define ADOPTED_TRIES 60
/* Threads of one stem that begin in the same moment each take another millisecond. */
#define NAME_TRIES 64

/* A thread that has ended has its request there; that of another implementation, its own files. */
static bool is_used(int dir)
{
	auto_thread_read struct thread_read read;

	thread_read(dir, "", 0, &read);
	return read.has & (HAS_REQUEST | HAS_RECORD | HAS_STORY);
}

/*
 * A directory of its own name, locked. A mount that looks for what was left behind takes the lock
 * for a moment, and the directory with it when there is nothing in it yet: then another one is made.
 */
static int make_locked(int root, const struct launch *what, char ret_id[THREAD_ID_MAX],
		       int *ret_lock, struct rye_err *err)
{
	const char *stem = what->stem;
	const int64_t now = record_now(&(const struct record){ .ai = -1 });

	for (int i = 0; i < NAME_TRIES; i++) {
		auto_close int dir = -1, lock = -1;
		struct stat st;

		if (what->id)
			snprintf(ret_id, THREAD_ID_MAX, "%s", what->id);
		else if (stem)
			thread_id_at(stem, now, i, ret_id);
		else
			id_uuid(ret_id);
		dir = thread_dir(root, ret_id, true, err);
		if (dir < 0)
			return dir;
		lock = thread_lock(dir);
		if (lock >= 0 && is_used(dir)) {
			if (what->id)
				return rye_fail(err, RYE_BUSY, "there is a thread %s", ret_id);
			continue;
		}
		if (lock >= 0 && stem && thread_is_run(root, ret_id)) {
			thread_remove(root, ret_id);
			continue;
		}
		if (lock >= 0 && fstat(lock, &st) == 0 && st.st_nlink) {
			*ret_lock = steal_fd(&lock);
			return steal_fd(&dir);
		}
		if (lock < 0 && lock != -EAGAIN && lock != -EBUSY && lock != -ENOENT)
			return rye_fail_sys(err, -lock, "cannot lock thread %s", ret_id);
	}
	return rye_fail(err, RYE_BUSY, "cannot lock thread %s", ret_id);
}

/* Names a new thread and makes its directory, which it returns, with the request in it. */
static int thread_make_dir(struct threads *threads, const struct launch *what,
			   char ret_id[THREAD_ID_MAX], int *ret_lock, struct rye_err *err)
{
	auto_close int root = thread_root(threads->env.opt->project, true, err);
	auto_close int dir = -1;
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	int r;

	if (root < 0)
		return root;
	if (!threads->env.passing)
		thread_keep_uncommitted(threads->env.opt->project);
	dir = make_locked(root, what, ret_id, ret_lock, err);
	if (dir < 0)
		return dir;
	json_put(&text, what->request, true);
	r = (threads->env.passing ? thread_remember : thread_write)(dir, "request.json",
								    buf_span(&text), err);
	if (!r)
		return steal_fd(&dir);
	thread_remove(root, ret_id);
	return r;
}

/* A start that failed before there was a row: its directory would never be listed. */
static void thread_forget_dir(struct threads *threads, const char *id)
{
	auto_close int root = thread_root(threads->env.opt->project, false, NULL);

	if (root >= 0)
		thread_remove(root, id);
}

static int add_row(struct threads *threads, const struct registry_new *row, struct db **ret,
		   struct rye_err *err)
{
	int r = threads_registry(threads, true, ret, err);

	if (!r)
		r = registry_add(*ret, row, err);
	if (r != -(int)RYE_UNPARSABLE)
		return r;
	/* damaged: there is another one now */
	r = threads_registry(threads, true, ret, err);
	return r ? r : registry_add(*ret, row, err);
}

/* The row, between the lock and the runner; the directory has first what it tells. */
static int enter_row(struct threads *threads, int dir, const char *id, const struct launch *what,
		     struct db **ret, struct rye_err *err)
{
	const char *bare = NULL;
	bool directive = id_split(what->ref, &bare) == RYE_DIRECTIVE;
	char now[40];
	/* as other implementations have it: a directive by its id, a tool by its reference */
	const struct registry_new row = { .id = id,
					  .directive = directive ? bare : what->ref,
					  .parent_id = what->parent_id,
					  .tool_id = directive ? THREAD_TOOL_ID : NULL,
					  .at = now };
	int r;

	clock_iso_us(now);
	r = registry_row_new(dir, &row);
	return r < 0 ? rye_fail_sys(err, -r, "cannot write " REGISTRY_ROW) :
		       add_row(threads, &row, ret, err);
}

/*
 * What was asked of the thread before its runner was named: the row shows it earlier. A mark
 * that comes later finds the name; one that cancels the runner notices itself.
 */
static void obey_marks(int dir, const char *id, pid_t runner)
{
	if (!thread_marked(dir, KILLED_MARK))
		return;
	kill(runner, SIGKILL);
	thread_kill_strays(id);
}

/* start: all but the digest, which is made here. ret: has the id, and gets the process's. 0 or a positive errno. */
static int start_runner(struct threads *threads, struct db *db, struct runner_start *start,
			const struct launch *what, struct launched *ret)
{
	const char *id = ret->thread_id;
	char digest[RUNNER_DIGEST];
	struct watch_ask watch;
	int r;

	runner_digest(id, what->request, digest);
	start->digest = digest;
	r = runner_spawn(start, &ret->pid);
	if (r)
		return r;
	/*
	 * Before the runner writes it itself: a process that knows the thread's id may end it from
	 * here on.
	 */
	runner_write(start->dir, ret->pid, NULL);
	registry_running(db, id, ret->pid, NULL);
	obey_marks(start->dir, id, ret->pid);
	watch = (struct watch_ask){ id, ret->pid, pidfd_open(ret->pid, 0), what->ref,
				    what->request };
	threads_watch(threads, &watch);
	threads_notify(threads, id);
	return 0;
}

int threads_take_up(struct threads *threads, const struct thread_view *view,
		    const struct launch *what, struct rye_err *err)
{
	const char *id = view->row.thread_id;
	auto_close int order = runner_orders(threads, id, what, err), wait = -1, go = -1;
	struct launched launched = { .pid = 0 };
	struct runner_start start;
	int pipe[2], r;

	if (order < 0)
		return order;
	if (pipe2(pipe, O_CLOEXEC) < 0)
		return rye_fail_sys(err, errno, "cannot follow thread %s", id);
	wait = pipe[0];
	go = pipe[1]; /* closed at the end, as in threads_launch */
	start = (struct runner_start){ view->dir, order,       view->lock,	  wait,
				       NULL,	  what->grows, threads->env.lent, true };
	snprintf(launched.thread_id, sizeof(launched.thread_id), "%s", id);
	r = start_runner(threads, view->db, &start, what, &launched);
	return r ? rye_fail_sys(err, r, "cannot follow thread %s", id) : 0;
}

int threads_launch(struct threads *threads, const struct launch *what, struct launched *ret,
		   struct rye_err *err)
{
	auto_close int dir = -1, lock = -1, order = -1, wait = -1, go = -1;
	struct launched launched = { 0 };
	struct runner_start start;
	int pipe[2];
	struct db *db;
	int r;

	dir = thread_make_dir(threads, what, launched.thread_id, &lock, err);
	if (dir < 0)
		return dir;
	if (what->named)
		what->named(what->named_arg, launched.thread_id);
	r = order = runner_orders(threads, launched.thread_id, what, err);
	if (r >= 0 && pipe2(pipe, O_CLOEXEC) < 0)
		r = rye_fail_sys(err, errno, "cannot start thread %s", launched.thread_id);
	if (r >= 0) {
		wait = pipe[0];
		go = pipe[1]; /* closed at the end: the runner begins when its launcher knows it */
		r = enter_row(threads, dir, launched.thread_id, what, &db, err);
	}
	if (r) {
		thread_forget_dir(threads, launched.thread_id);
		return r;
	}
	/* not before there is a row: a registry that is made anew takes it for a record */
	start = (struct runner_start){
		dir, order, lock, wait, NULL, what->grows, .lent = threads->env.lent
	};
	r = start_runner(threads, db, &start, what, &launched);
	if (r) {
		char why[160];

		snprintf(why, sizeof(why), "Failed to spawn async process: %s", strerrordesc_np(r));
		threads_record_loss(db, dir, launched.thread_id, "error", why);
		return rye_fail(err, RYE_IO, "%s", why);
	}
	*ret = launched;
	return 0;
}

int threads_adopt(struct threads *threads, const struct adoption *what, struct launched *ret,
		  struct rye_err *err)
{
	const struct launch launch = { .ref = what->ref, .request = what->request };
	struct launched launched = { .pid = getpid() };
	auto_close int dir = -1, lock = -1; /* held until there is a row */
	struct db *db;
	int r;

	dir = thread_make_dir(threads, &launch, launched.thread_id, &lock, err);
	if (dir < 0)
		return dir;
	r = runner_write(dir, launched.pid, err);
	if (!r && adopted_add(threads, launched.thread_id, what->call, dir))
		r = rye_fail(err, RYE_IO, "cannot keep thread %s", launched.thread_id);
	if (!r)
		r = enter_row(threads, dir, launched.thread_id, &launch, &db, err);
	if (r) {
		adopted_drop(threads, launched.thread_id);
		thread_forget_dir(threads, launched.thread_id);
		return r;
	}
	registry_running(db, launched.thread_id, launched.pid, NULL);
	threads_notify(threads, launched.thread_id);
	*ret = launched;
	return 0;
}

static int adopted_record(struct threads *threads, int dir, const char *id,
			  const struct rye_outcome *outcome)
{
	const char *status = outcome->code == RYE_OK	    ? "completed" :
			     outcome->code == RYE_CANCELLED ? "cancelled" :
							      "error";
	struct db *db;

	if (threads_registry(threads, false, &db, NULL))
		return -(int)RYE_IO;
	if (outcome->code == RYE_CANCELLED && thread_marked(dir, KILLED_MARK))
		return threads_record_loss(db, dir, id, "killed", KILLED_WHY);
	return threads_record_end(db, dir, id, status, outcome, false);
}

void threads_adopted_end(struct threads *threads, const char *id, const struct rye_outcome *outcome)
{
	auto_close int root = thread_root(threads->env.opt->project, false, NULL);
	auto_close int dir = root < 0 ? -1 : thread_dir(root, id, false, NULL);

	/* on the worker that ran it, as a runner's main thread does (runner_end.c) */
	for (int i = 0; dir >= 0 && i < ADOPTED_TRIES; i++) {
		if (!adopted_record(threads, dir, id, outcome))
			break;
		sleep(1);
	}
	adopted_drop(threads, id);
	threads_ended(threads, id);
}

int threads_enrol(struct threads *threads, const struct enrolment *what, struct rye_err *err)
{
	/*
	 * With its process at once: a row without one would be called lost. A tool's process may have its
	 * own idea of its thread.
	 */
	bool child = what->parent_id && !thread_id_check(what->parent_id, NULL) &&
		     thread_has_row(threads, what->parent_id);
	const struct registry_new row = { .id = what->id,
					  .directive = what->ref,
					  .parent_id = child ? what->parent_id : NULL,
					  .pid = getpid() };
	struct db *db;
	int r = add_row(threads, &row, &db, err);

	if (!r)
		threads_notify(threads, what->id);
	return r;
}

static int discharge_row(struct threads *threads, const char *id, const char *status,
			 const char *result, struct rye_err *err)
{
	struct db *db;
	int r = threads_registry(threads, false, &db, err);

	return r ? r : registry_finish(db, id, status, result, err);
}

void threads_discharge(struct threads *threads, const char *id, const char *status,
		       const char *result)
{
	/* on the worker that walked the graph; a row that stays open would be called lost later */
	for (int i = 0; i < ADOPTED_TRIES; i++) {
		struct rye_err err = { 0 };

		if (!discharge_row(threads, id, status, result, &err) || !err_scarce(&err))
			break;
		sleep(1);
	}
	threads_ended(threads, id);
}
