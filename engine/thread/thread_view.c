/* SPDX-License-Identifier: MIT */
/*
 * Opening one thread: its row, its directory, and what state that makes. The place that opens the
 * registry of a project. No lock; `.lock` of the directory is only tried.
 */
#include "thread/thread_inner.h"

#include "proc.h"
#include "scope.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

int thread_registry_read(int root, const struct registry_ask *ask, struct db **ret,
			 struct rye_err *err)
{
	char path[THREADS_PATH_MAX];
	struct stat st;
	int r = thread_path(root, "registry.db", path);

	if (r < 0)
		return rye_fail_sys(err, -r, "state/threads");
	if (stat(path, &st) < 0 || !st.st_size)
		return rye_fail_sys(err, ENOENT, "no threads yet");
	if (st.st_ino == ask->damaged)
		return rye_fail(err, RYE_UNPARSABLE, "%s is damaged", path);
	return (ask->passing ? registry_open_passing : registry_open)(path, ret, err);
}

/* Nothing: a project that has had no thread, or none but the one that begins just now. */
static bool has_threads(int root)
{
	auto_json json_t *rows = thread_rebuild_rows(root);

	return json_object_size(rows);
}

int registry_of(const struct registry_ask *ask, struct db **ret, struct rye_err *err)
{
	auto_close int root = thread_root(ask->project, ask->create, err);
	char path[THREADS_PATH_MAX];
	int r;

	if (root < 0)
		return root;
	r = thread_registry_read(root, ask, ret, err);
	if (r != -(int)RYE_UNPARSABLE && r != -(int)RYE_NOT_FOUND)
		return r;
	if (r == -(int)RYE_UNPARSABLE || has_threads(root)) {
		r = thread_rebuild(root, ask, err);
		return r ? r : thread_registry_read(root, ask, ret, err);
	}
	if (!ask->create || thread_path(root, "registry.db", path) < 0)
		return r;
	return (ask->passing ? registry_open_passing : registry_open)(path, ret, err);
}

void thread_view_close(struct thread_view *view)
{
	if (view->dir >= 0)
		close(view->dir);
	if (view->lock >= 0)
		close(view->lock);
	if (view->pidfd >= 0)
		close(view->pidfd);
	*view = THREAD_VIEW_INIT;
}

/* A directory that was brought here, or whose row another program has lost. */
static int view_make_row(struct thread_view *view, const char *id, struct rye_err *err)
{
	auto_thread_read struct thread_read read;

	thread_read(view->dir, id, 0, &read);
	return thread_is_begun(view->dir, &read) ?
		       thread_align(view->db, view->dir, id, err) :
		       rye_fail(err, RYE_NOT_FOUND, "Thread not found: %s", id);
}

static int view_get_row(struct threads *threads, const char *id, struct thread_view *ret,
			struct rye_err *err)
{
	int r = threads_registry(threads, false, &ret->db, err);

	/* a project that has never had a thread */
	if (r && err && err->sys == ENOENT)
		return rye_fail(err, RYE_NOT_FOUND, "Thread not found: %s", id);
	if (!r)
		r = registry_get(ret->db, id, false, &ret->row, err);
	if (r != -(int)RYE_NOT_FOUND)
		return r;
	r = view_make_row(ret, id, err);
	return r ? r : registry_get(ret->db, id, false, &ret->row, err);
}

int thread_view_row(struct threads *threads, const char *id, struct thread_view *ret,
		    struct rye_err *err)
{
	struct rye_err why = { 0 };
	auto_close int root = -1;
	int r = thread_id_check(id, err);

	*ret = THREAD_VIEW_INIT;
	if (r)
		return r;
	root = thread_root(threads->env.opt->project, false, &why);
	ret->dir = root < 0 ? root : thread_dir(root, id, false, &why);
	r = view_get_row(threads, id, ret, err);
	/* damaged while it was open: there is another one now */
	if (r == -(int)RYE_UNPARSABLE)
		r = view_get_row(threads, id, ret, err);
	if (r)
		return r;
	/* a directory that cannot be opened for now is there: without it a living thread looks lost */
	r = ret->dir < 0 && root >= 0 ? thread_run_walked(root, id) : -ENOENT;
	if (proc_is_short(r))
		rye_fail_sys(&why, -r, "graphs/%s", id);
	if (ret->dir < 0 && err_scarce(&why)) {
		if (err)
			*err = why;
		return -(int)why.code;
	}
	ret->walked = r > 0;
	ret->there = ret->dir >= 0 || thread_registry_there(root);
	return 0;
}

int thread_view_open(struct threads *threads, const char *id, struct thread_view *ret,
		     struct rye_err *err)
{
	int r = thread_view_row(threads, id, ret, err);

	if (!r && !ret->there)
		r = rye_fail(err, RYE_NOT_FOUND, "Thread not found: %s", id);
	return r;
}

bool thread_marked(int dir, const char *mark)
{
	return !faccessat(dir, mark, F_OK, AT_SYMLINK_NOFOLLOW);
}

/* Takes the lock if it is free: the process that records an end holds it. */
static bool is_locked(struct thread_view *view)
{
	int lock;

	/* other implementations have none: their directories are left as they are */
	if (!thread_marked(view->dir, ".lock"))
		return false;
	lock = thread_lock(view->dir);
	/* readers alone: two processes may record the end then, and the registry keeps the first */
	if (lock < 0)
		return lock != -EBUSY;
	view->lock = lock;
	return false;
}

/* One that cannot be looked at for now is believed to live. */
static bool is_pid_alive(pid_t pid)
{
	struct proc_stat stat;
	int r = pid > 1 ? proc_stat(pid, &stat) : -ESRCH;

	return r ? proc_is_short(r) : stat.state != 'Z' && stat.state != 'X';
}

enum thread_state thread_view_state(struct thread_view *view)
{
	struct thread_facts facts = { .terminal = registry_terminal(view->row.status) };
	struct thread_read read;
	bool told = facts.terminal && thread_marked(view->dir, THREAD_RESULT_FILE);

	if (!told && view->dir >= 0) {
		/* Before runner.json is read: a launcher writes it while it holds the lock. */
		facts.locked = is_locked(view);
		/* a row that another program has ended: what works on it is not done yet */
		facts.terminal &= !facts.locked;
	}
	if (!facts.terminal && view->dir >= 0) {
		thread_read(view->dir, view->row.thread_id, HAS_RUNNER, &read);
		view->runner = read.runner;
		facts.named = read.named;
		facts.here = read.named && read.runner.here;
		view->pidfd = read.named ? runner_pidfd(&read.runner) : -ESRCH;
		facts.alive = view->pidfd >= 0 || proc_is_short(view->pidfd);
		facts.carried = read.has & HAS_ADOPTED;
	}
	/* a process of another container is not seen here, but what it has locked is */
	facts.pid_alive = view->walked || is_pid_alive((pid_t)view->row.pid);
	return thread_state_of(&facts);
}
