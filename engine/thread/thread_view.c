/* SPDX-License-Identifier: MIT */
/*
 * Opening one thread: its row, its directory, and what state that makes. The only place that
 * opens the registry of a project. No lock; `.lock` of the directory is only tried.
 */
#include "thread/thread_inner.h"

#include "proc.h"
#include "scope.h"

#include <errno.h>
#include <fcntl.h>

int registry_of(const char *project, bool create, struct db **ret, struct rye_err *err)
{
	auto_close int root = thread_root(project, create, err);
	char path[THREADS_PATH_MAX];
	int r;

	if (root < 0)
		return root;
	r = thread_registry_path(root, path);
	if (r < 0)
		return rye_fail_sys(err, -r, "state/threads");
	if (!create && access(path, F_OK) < 0)
		return rye_fail(err, RYE_NOT_FOUND, "no threads yet");
	return registry_open(path, ret, err);
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

int thread_view_row(struct threads *threads, const char *id, struct thread_view *ret,
		    struct rye_err *err)
{
	struct rye_err ignored = { 0 };
	auto_close int root = -1;
	int r = thread_id_check(id, err);

	*ret = THREAD_VIEW_INIT;
	if (!r)
		r = threads_registry(threads, false, &ret->db, err);
	/* a project that has never had a thread */
	if (r && err && err->sys == ENOENT)
		return rye_fail(err, RYE_NOT_FOUND, "Thread not found: %s", id);
	if (!r)
		r = registry_get(ret->db, id, false, &ret->row, err);
	if (r)
		return r;
	root = thread_root(threads->env.opt->project, false, &ignored);
	ret->dir = root < 0 ? root : thread_dir(root, id, false, &ignored);
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

enum thread_state thread_view_state(struct thread_view *view)
{
	struct thread_facts facts = { .terminal = registry_terminal(view->row.status) };

	if (!facts.terminal && view->dir >= 0) {
		/* Before runner.json is read: a launcher writes it while it holds the lock. */
		facts.locked = is_locked(view);
		facts.named = runner_read(view->dir, &view->runner);
		facts.here = facts.named && view->runner.here;
		view->pidfd = facts.named ? runner_pidfd(&view->runner) : -1;
		facts.alive = view->pidfd >= 0;
		facts.carried = thread_marked(view->dir, ADOPTED_MARK);
	}
	facts.pid_alive = view->row.pid > 1 && proc_start((pid_t)view->row.pid);
	return thread_state_of(&facts);
}
