/* SPDX-License-Identifier: MIT */
/*
 * The watching worker: one epoll set of pidfds. A runner that ends wakes it; it reaps the
 * child, makes sure that the row has a terminal status, and tells the waiters. Rows of other
 * processes' making are looked at every 30 seconds, those with a waiter twice a second.
 *
 * Lock: threads->lock for the tables only; callbacks, files and the database without it.
 */
#include "thread/thread_inner.h"

#include "base/io.h"
#include "bounds.h"
#include "clock.h"
#include "memory.h"
#include "proc.h"
#include "scope.h"

#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

#define SCAN_MS 30000
/* A mount that begins gives the ends that it finds to record so long: each takes some writes to the disk. */
#define BEGIN_MS 500
/*
 * While a thread has waiters: a runner of another process may be starting, or only its pid may be
 * known.
 */
#define LOOK_MS 500
/* After the end of a runner its dead children are looked for; the second look takes them. */
#define SWEEP_MS 1000
#define SWEEPS 2

void threads_notify(struct threads *threads, const char *id)
{
	struct rye_change change = { .type = RYE_CHANGE_THREAD, .path = id, .kind = RYE_KIND__MAX };

	if (threads->env.changed)
		threads->env.changed(threads->env.changed_arg, &change);
}

static struct thread_waiter *take_waiters(struct threads *threads, const char *id)
{
	struct thread_waiter *taken = NULL;

	GUARD(&threads->lock);
	for (struct thread_waiter **at = &threads->waiters; *at;) {
		struct thread_waiter *waiter = *at;

		if (strcmp(waiter->id, id)) {
			at = &waiter->next;
			continue;
		}
		*at = waiter->next;
		waiter->next = taken;
		taken = waiter;
	}
	return taken;
}

static void waiter_free(struct thread_waiter *waiter)
{
	if (waiter)
		rye_blob_unref(waiter->line);
	free(waiter);
}

/* It brings along what it is told in: telling it cannot fail for lack of memory. */
static struct thread_waiter *waiter_new(const char *id, const struct rye_listener *who)
{
	struct thread_waiter *waiter = calloc(1, sizeof(*waiter));

	if (!waiter)
		return NULL;
	snprintf(waiter->id, sizeof(waiter->id), "%s", id);
	waiter->fn = who->fn;
	waiter->arg = who->arg;
	waiter->line = rye_blob_new(NULL, WAITER_LINE);
	if (waiter->line)
		return waiter;
	waiter_free(waiter);
	return NULL;
}

static void thread_watch_tell(struct thread_waiter *waiters, enum rye_code code, const char *status)
{
	while (waiters) {
		struct thread_waiter *next = waiters->next;
		struct rye_blob *line = waiters->line;
		const struct rye_outcome outcome = { .code = code,
						     .message = "",
						     .reply = line,
						     .output = line };

		line->len = (size_t)snprintf(line->data, WAITER_LINE, "%.*s\n", WAITER_LINE - 2,
					     status);
		waiters->fn(waiters->arg, &outcome);
		waiter_free(waiters);
		waiters = next;
	}
}

/* One look at a thread, which may have ended or lost its runner. */
static void thread_watch_look_at(struct threads *threads, const char *id, int exit_status)
{
	const struct thread_control what = { id, THREAD_LOOK, exit_status };

	threads_apply(threads, &what, NULL);
}

/* The waiters of a thread that handed over wait for the one that goes on. */
static void follow_chain(struct threads *threads, struct thread_waiter *waiters, const char *next)
{
	if (!waiters)
		return;
	{
		GUARD(&threads->lock);
		struct thread_waiter *last = waiters;

		for (;; last = last->next) {
			snprintf(last->id, sizeof(last->id), "%s", next);
			if (!last->next)
				break;
		}
		last->next = threads->waiters;
		threads->waiters = waiters;
	}
	thread_watch_look_at(threads, next, -1);
}

void threads_ended(struct threads *threads, const char *id)
{
	char next[THREAD_ID_MAX] = "";
	struct registry_row row;
	struct rye_err err = { 0 };
	struct db *db;
	int r = threads_registry(threads, false, &db, &err);

	if (!r)
		r = registry_last(db, id, next, &err);
	if (!r)
		r = registry_get(db, id, false, &row, &err);
	if (r)
		snprintf(row.status, sizeof(row.status), "not_found");
	if (!r && strcmp(next, id) != 0)
		follow_chain(threads, take_waiters(threads, id), next);
	else if (!r || !err_scarce(&err)) /* else the worker looks again while there are waiters */
		thread_watch_tell(take_waiters(threads, id), RYE_OK, row.status);
	threads_notify(threads, id);
}

void watched_free(struct watched *watched)
{
	free(watched->ref);
	json_decref(watched->request);
	free(watched);
}

static struct watched *watched_new(const struct watch_ask *ask)
{
	struct watched *watched = calloc(1, sizeof(*watched));

	if (!watched)
		return NULL;
	snprintf(watched->id, sizeof(watched->id), "%s", ask->id);
	watched->pid = ask->pid;
	watched->pidfd = ask->pidfd;
	watched->ref = ask->ref ? strdup(ask->ref) : NULL;
	watched->request = ask->request ? json_deep_copy(ask->request) : NULL;
	return watched;
}

void threads_watch(struct threads *threads, const struct watch_ask *ask)
{
	int pidfd = ask->pidfd;
	struct watched *watched = pidfd >= 0 ? watched_new(ask) : NULL;
	struct epoll_event event = { .events = EPOLLIN, .data.fd = pidfd };
	bool known = false;

	if (!watched) {
		if (pidfd >= 0)
			close(pidfd);
		return;
	}
	{
		GUARD(&threads->lock);
		for (struct watched *w = threads->watched; w; w = w->next) {
			if (strcmp(w->id, ask->id) != 0)
				continue;
			known = true;
			/* A look at all rows was faster: now it is known better. */
			if (!w->ref && ask->ref) {
				w->ref = steal(&watched->ref);
				w->request = steal(&watched->request);
			}
		}
		if (!known) {
			watched->number = THREADS_RUN_BIT | ++threads->last_number;
			watched->next = threads->watched;
			threads->watched = watched;
		}
	}
	if (known) {
		close(pidfd);
		watched_free(watched);
		return;
	}
	epoll_ctl(threads->epoll, EPOLL_CTL_ADD, pidfd, &event);
	threads_worker_start(threads);
}

static void on_exit_of(struct threads *threads, int pidfd)
{
	struct watched *ended = NULL;
	int status = -1;

	{
		GUARD(&threads->lock);
		for (struct watched **at = &threads->watched; *at; at = &(*at)->next)
			if ((*at)->pidfd == pidfd) {
				ended = *at;
				*at = ended->next;
				break;
			}
	}
	if (!ended)
		return;
	epoll_ctl(threads->epoll, EPOLL_CTL_DEL, pidfd, NULL);
	/* Fails with ECHILD when another process started it: then there is nothing to reap. */
	if (waitpid(ended->pid, &status, WNOHANG) != ended->pid)
		status = -1;
	close(pidfd);
	thread_watch_look_at(threads, ended->id, status);
	watched_free(ended);
}

static int thread_watch_collect(void *arg, const struct registry_row *row)
{
	buf_add(arg, row->thread_id, strlen(row->thread_id) + 1);
	return 0;
}

/* Each with its NUL. */
static void active_ids(struct threads *threads, struct rye_buf *ids)
{
	struct db *db;

	if (threads_registry(threads, false, &db, NULL) ||
	    registry_each(db, true, thread_watch_collect, ids, NULL))
		buf_clear(ids);
}

void threads_recover(struct threads *threads, const char *id)
{
	thread_watch_look_at(threads, id, -1);
}

/*
 * A registry may come with a clone, and a row without a directory is no thread of ours: to record the
 * end of each one cost milliseconds and a directory, and there may be 100 000. It stays as it is until
 * a command or a program asks for that thread. The run of a graph that is waited for has its own.
 */
static bool has_dir(int root, const json_t *names, const char *id)
{
	struct rye_err err = { 0 };
	auto_close int dir = -1;

	if (!thread_may_be(names, id))
		return false;
	dir = root < 0 ? -1 : thread_dir(root, id, false, &err);
	return dir >= 0 || err_scarce(&err) || thread_is_run(root, id);
}

static bool is_stopping(struct threads *threads)
{
	GUARD(&threads->lock);
	return threads->stopping;
}

void threads_recover_all(struct threads *threads)
{
	auto_close int root = thread_root(threads->env.opt->project, false, NULL);
	auto_buf struct rye_buf ids = RYE_BUF_INIT;
	auto_json json_t *names = NULL;

	active_ids(threads, &ids);
	names = thread_names(root);
	for (size_t at = 0; at < ids.len && !is_stopping(threads); at += strlen(ids.data + at) + 1)
		if (has_dir(root, names, ids.data + at))
			thread_watch_look_at(threads, ids.data + at, -1);
}

/* What else a look would do is left to the worker. */
static void watch_living(struct threads *threads, const char *id)
{
	auto_thread_view struct thread_view view = THREAD_VIEW_INIT;
	struct watch_ask ask;

	if (thread_view_row(threads, id, &view, NULL) ||
	    thread_step(thread_view_state(&view), THREAD_LOOK)->act != THREAD_WATCH)
		return;
	ask = (struct watch_ask){ id, view.runner.pid, steal_fd(&view.pidfd), NULL, NULL };
	threads_watch(threads, &ask);
}

int threads_begin(struct threads *threads)
{
	auto_close int root = thread_root(threads->env.opt->project, false, NULL);
	auto_buf struct rye_buf ids = RYE_BUF_INIT;
	int64_t until = clock_ms() + BEGIN_MS;
	auto_json json_t *names = NULL;
	bool behind = false;

	active_ids(threads, &ids);
	names = thread_names(root);
	for (size_t at = 0; at < ids.len; at += strlen(ids.data + at) + 1) {
		behind = clock_ms() > until;
		if (!has_dir(root, names, ids.data + at))
			continue;
		if (behind)
			watch_living(threads, ids.data + at);
		else
			thread_watch_look_at(threads, ids.data + at, -1);
	}
	{
		GUARD(&threads->lock);
		threads->behind = behind;
	}
	if (behind)
		(void)!eventfd_write(threads->wake, 1);
	return threads_worker_start(threads);
}

size_t threads_lost(struct threads *threads, rye_name_fn fn, void *arg)
{
	auto_buf struct rye_buf ids = RYE_BUF_INIT;
	size_t n = 0;

	active_ids(threads, &ids);
	for (size_t at = 0; at < ids.len; at += strlen(ids.data + at) + 1) {
		auto_thread_view struct thread_view view = THREAD_VIEW_INIT;

		if (thread_view_row(threads, ids.data + at, &view, NULL) ||
		    thread_view_state(&view) != THREAD_LOST)
			continue;
		n++;
		if (fn && fn(arg, ids.data + at))
			break;
	}
	return n;
}

/* Lock held. Its end will wake the worker. */
static bool is_watched(const struct threads *threads, const char *id)
{
	for (const struct watched *w = threads->watched; w; w = w->next)
		if (!strcmp(w->id, id))
			return true;
	return false;
}

/* The waiters' threads that no event would tell of. False: there are no waiters. */
static bool look_for_waiters(struct threads *threads)
{
	auto_buf struct rye_buf ids = RYE_BUF_INIT;
	bool waiting = false;

	{
		GUARD(&threads->lock);
		waiting = threads->waiters;
		for (struct thread_waiter *w = threads->waiters; w; w = w->next)
			if (!is_watched(threads, w->id))
				buf_add(&ids, w->id, strlen(w->id) + 1);
	}
	for (size_t at = 0; at < ids.len; at += strlen(ids.data + at) + 1)
		thread_watch_look_at(threads, ids.data + at, -1);
	return waiting;
}

static void thread_watch_on_event(struct threads *threads, int fd)
{
	eventfd_t n;

	if (fd == threads->inotify)
		adopted_look(threads);
	else if (fd != threads->wake)
		on_exit_of(threads, fd);
	else
		eventfd_read(fd, &n);
}

/* When the worker does what no event asks it for; monotonic ms. */
struct rounds {
	int64_t scan, look, sweep; /* look: 0 without waiters */
	int sweeps; /* looks for dead children that are left */
	struct zombies zombies;
	struct rye_buf ids; /* of a scan that is under way, each with its NUL */
	size_t at; /* the next one */
};

/* One at a time: the end of a runner is not to wait for those of thousands that are lost. */
static void scan_next(struct threads *threads, struct rounds *rounds)
{
	auto_close int root = thread_root(threads->env.opt->project, false, NULL);
	const char *id = rounds->ids.data + rounds->at;

	if (has_dir(root, NULL, id))
		thread_watch_look_at(threads, id, -1);
	rounds->at += strlen(id) + 1;
	if (rounds->at < rounds->ids.len)
		return;
	buf_clear(&rounds->ids);
	rounds->scan = clock_ms() + SCAN_MS;
}

static int pause_of(const struct rounds *rounds, int64_t now)
{
	int64_t until = rounds->ids.len ? now : rounds->scan;

	if (rounds->look && rounds->look < until)
		until = rounds->look;
	if (rounds->sweeps && rounds->sweep < until)
		until = rounds->sweep;
	return until > now ? (int)(until - now) : 0;
}

static bool take_behind(struct threads *threads)
{
	bool behind;

	GUARD(&threads->lock);
	behind = threads->behind;
	threads->behind = false;
	return behind;
}

static void go_round(struct threads *threads, struct rounds *rounds, bool woken)
{
	int64_t now = clock_ms();

	if (woken) {
		rounds->sweeps = SWEEPS;
		rounds->sweep = now + SWEEP_MS;
	} else if (rounds->sweeps && now >= rounds->sweep) {
		rounds->sweeps = zombies_sweep(&rounds->zombies) ? 1 : rounds->sweeps - 1;
		rounds->sweep = now + SWEEP_MS;
	}
	if (rounds->ids.len) {
		scan_next(threads, rounds);
	} else if (take_behind(threads) || now >= rounds->scan) {
		active_ids(threads, &rounds->ids);
		rounds->at = 0;
		rounds->scan = now + SCAN_MS;
	}
	if (rounds->look && now >= rounds->look)
		rounds->look = look_for_waiters(threads) ? now + LOOK_MS : 0;
	else if (woken && !rounds->look)
		rounds->look = now + LOOK_MS;
}

static void *thread_watch_work(void *arg)
{
	struct threads *threads = arg;
	struct rounds rounds = { .scan = clock_ms() + SCAN_MS, .ids = RYE_BUF_INIT };

	while (!is_stopping(threads)) {
		struct epoll_event events[16];
		int n = epoll_wait(threads->epoll, events, 16, pause_of(&rounds, clock_ms()));

		for (int i = 0; i < n; i++)
			thread_watch_on_event(threads, events[i].data.fd);
		go_round(threads, &rounds, n > 0);
	}
	buf_done(&rounds.ids);
	return NULL;
}

int threads_worker_start(struct threads *threads)
{
	int r = 0;

	GUARD(&threads->lock);
	if (!threads->started && !threads->stopping) {
		r = pthread_create(&threads->worker, NULL, thread_watch_work, threads);
		threads->started = r == 0;
	}
	return -r;
}

void threads_worker_stop(struct threads *threads)
{
	struct thread_waiter *waiters = NULL;
	bool started = false;
	uint64_t one = 1;

	{
		GUARD(&threads->lock);
		threads->stopping = true;
		started = threads->started;
		waiters = steal(&threads->waiters);
	}
	if (started && write(threads->wake, &one, sizeof(one)) == sizeof(one))
		pthread_join(threads->worker, NULL);
	thread_watch_tell(waiters, RYE_CANCELLED, "cancelled");
}

/* NULL: it has been told. */
static struct thread_waiter *waiter_take(struct threads *threads, const void *arg)
{
	struct thread_waiter *found = NULL;

	GUARD(&threads->lock);
	for (struct thread_waiter **at = &threads->waiters; *at; at = &(*at)->next)
		if ((*at)->arg == arg) {
			found = *at;
			*at = found->next;
			found->next = NULL;
			break;
		}
	return found;
}

int threads_wait(struct threads *threads, const char *id, const struct rye_listener *who,
		 struct rye_err *err)
{
	struct thread_waiter *waiter = waiter_new(id, who);
	struct registry_row row;
	struct db *db;
	int r = threads_registry(threads, false, &db, err);

	if (!r)
		r = registry_get(db, id, false, &row, err);
	if (r || !waiter) {
		waiter_free(waiter);
		return r ? r : memory_fail(err);
	}
	{
		GUARD(&threads->lock);
		waiter->next = threads->waiters;
		threads->waiters = waiter;
	}
	/* After queueing: an end between the look and the queue would be missed. */
	thread_watch_look_at(threads, id, -1);
	/* Not every end can be watched; the worker looks again while there are waiters. */
	r = threads_worker_start(threads);
	if (!r)
		(void)!eventfd_write(threads->wake, 1);
	else
		waiter = waiter_take(threads, who->arg);
	if (!r || !waiter)
		return 0;
	waiter_free(waiter);
	return memory_fail(err);
}

void threads_unwait(struct threads *threads, const void *arg)
{
	thread_watch_tell(waiter_take(threads, arg), RYE_CANCELLED, "cancelled");
}

/* Lock held. */
static uint64_t number_of(const struct threads *threads, pid_t pid)
{
	for (const struct watched *w = threads->watched; w; w = w->next)
		if (w->pid == pid)
			return w->number;
	return 0;
}

uint64_t threads_run_of(struct threads *threads, const pid_t *chain, size_t n)
{
	uint64_t number = 0;
	pid_t self = getpid();

	GUARD(&threads->lock);
	/* Children of runs of this process that go on as threads are told apart by run/runs.c. */
	for (size_t i = 0; i < n && !number && chain[i] != self; i++)
		number = number_of(threads, chain[i]);
	return number;
}

pid_t threads_leader(struct threads *threads, uint64_t number, const pid_t *chain, size_t n)
{
	GUARD(&threads->lock);
	for (size_t i = 0; i < n; i++)
		if (number_of(threads, chain[i]) == number)
			return chain[i ? i - 1 : 0];
	return 0;
}

/* What a thread of another process was asked, from its directory; NULL: nothing that is known. */
static json_t *read_request(struct threads *threads, const char *id, pid_t runner)
{
	auto_close int root = thread_root(threads->env.opt->project, false, NULL);
	auto_close int dir = root < 0 ? -1 : thread_dir(root, id, false, NULL);
	auto_blob struct rye_blob *text = NULL;
	auto_json json_t *request = NULL;
	char digest[RUNNER_DIGEST];

	if (dir >= 0 && io_read_at(dir, "request.json", RYE_MESSAGE_MAX, &text) == 0)
		request = json_parse((struct rye_span){ text->data, text->len }, 0, "request.json",
				     NULL);
	runner_digest(id, request, digest);
	return request && *digest && runner_has(runner, digest) ? steal(&request) : NULL;
}

bool threads_owner(struct threads *threads, uint64_t number, char ref[1040], json_t **ret_request)
{
	char id[1025] = "";
	json_t *request = NULL;
	pid_t runner = 0;

	{
		GUARD(&threads->lock);
		for (struct watched *w = threads->watched; w; w = w->next) {
			if (w->number != number)
				continue;
			snprintf(id, sizeof(id), "%s", w->id);
			runner = w->pid;
			snprintf(ref, 1040, "%s", w->ref ? w->ref : "");
			request = w->ref && w->request ? json_deep_copy(w->request) : NULL;
		}
	}
	if (!*id)
		return false;
	if (!request) {
		request = read_request(threads, id, runner);
		snprintf(ref, 1040, "%s", json_str(request, "item_id"));
	}
	*ret_request = request;
	return request;
}
