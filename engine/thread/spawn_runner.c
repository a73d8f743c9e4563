/* SPDX-License-Identifier: MIT */
/*
 * Starting the runner process: what it is told (a memfd), what it inherits (orders and lock,
 * nothing else), where its output goes. Among its arguments is the digest of what it was asked: no
 * other process can change them, so by them the request.json in its directory is believed. posix_spawn
 * only: a fork of a big multithreaded process costs tens of milliseconds.
 */
#include "thread/thread_inner.h"

#include "base/engine_options.h"
#include "base/io.h"
#include "base/sha.h"
#include "scope.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* What the runner needs to open the same engine and run the request; no secrets in it. */
static json_t *orders(const struct threads *threads, const char *id, const struct launch *what)
{
	json_t *doc = what->more ? json_copy((json_t *)what->more) : json_object();

	json_sets(doc, "type", what->type);
	json_sets(doc, "thread_id", id);
	json_set(doc, "request", json_incref((json_t *)what->request));
	if (threads->env.uid)
		json_set(doc, "uid", json_integer(threads->env.uid));
	if (threads->env.passing)
		json_set(doc, "passing", json_true());
	json_set(doc, "options", options_to_json(threads->env.opt));
	return doc;
}

int runner_orders(const struct threads *threads, const char *id, const struct launch *what,
		  struct rye_err *err)
{
	auto_json json_t *doc = orders(threads, id, what);
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_close int fd = memfd_create("rye-orders", MFD_CLOEXEC);
	int r;

	json_put(&text, doc, true);
	if (fd < 0 || text.failed)
		return rye_fail_sys(err, fd < 0 ? errno : ENOMEM, "cannot hand over the request");
	r = io_write_all(fd, text.data, text.len);
	if (r < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return rye_fail_sys(err, r < 0 ? -r : errno, "cannot hand over the request");
	return steal_fd(&fd);
}

/* The directory is new: what is there already was put there to be written through. */
static int runner_file(const struct runner_start *start, const char *name)
{
	int how = start->again ? O_APPEND | O_NOFOLLOW : O_EXCL;

	return openat(start->dir, name, O_WRONLY | O_CREAT | O_CLOEXEC | how, 0600);
}

/* A new session of its own, output in spawn.log, nothing inherited but orders and lock. */
int runner_spawn(const struct runner_start *start, pid_t *ret_pid)
{
	char name[] = "ryefs", verb[] = "thread-run";
	char *const argv[] = { name, verb, start->digest, NULL };
	/* Copies above the wanted numbers: dup2 onto 3 and 4 must not hit a source. */
	auto_close int log = runner_file(start, "spawn.log");
	/* Its first follower may come before the runner. */
	auto_close int live = runner_file(start, "live");
	auto_close int grows = start->grows ? runner_file(start, start->grows) : -1;
	auto_close int high_log = log < 0 ? -1 : fcntl(log, F_DUPFD_CLOEXEC, 10);
	auto_close int high_order = fcntl(start->order, F_DUPFD_CLOEXEC, 10);
	auto_close int high_lock = fcntl(start->lock, F_DUPFD_CLOEXEC, 10);
	auto_close int high_go = fcntl(start->go, F_DUPFD_CLOEXEC, 10);
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t kept, all;
	int r;

	if (live < 0 || (start->grows && grows < 0) || high_log < 0 || high_order < 0 ||
	    high_lock < 0 || high_go < 0)
		return errno;
	/* A cancel, or SIGUSR2 of another process, may come before the runner listens: it is pending then. */
	sigemptyset(&kept);
	sigaddset(&kept, SIGTERM);
	sigaddset(&kept, SIGINT);
	sigaddset(&kept, SIGHUP);
	sigaddset(&kept, SIGUSR2);
	sigfillset(&all);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, high_log, 1);
	posix_spawn_file_actions_adddup2(&actions, high_log, 2);
	posix_spawn_file_actions_adddup2(&actions, high_order, ORDERS_FD);
	posix_spawn_file_actions_adddup2(&actions, high_lock, LOCK_FD);
	posix_spawn_file_actions_adddup2(&actions, high_go, GO_FD);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK |
						POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attr, &kept);
	posix_spawnattr_setsigdefault(&attr, &all);
	r = posix_spawn(ret_pid, "/proc/self/exe", &actions, &attr, argv,
			start->lent ? start->lent : environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return r;
}

void runner_digest(const char *id, const json_t *request, char ret[RUNNER_DIGEST])
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	json_canonical(&text, request);
	buf_addf(&text, "\n%s", id);
	memset(ret, 0, RUNNER_DIGEST);
	if (!text.failed)
		sha256_hex(buf_span(&text), ret);
}

bool runner_has(pid_t pid, const char digest[RUNNER_DIGEST])
{
	auto_buf struct rye_buf want = RYE_BUF_INIT;
	char path[40], text[sizeof("ryefs") + sizeof("thread-run") + RUNNER_DIGEST + 1];
	auto_close int fd = -1;
	ssize_t n;

	buf_add(&want, "ryefs\0thread-run", sizeof("ryefs\0thread-run"));
	buf_add(&want, digest, RUNNER_DIGEST);
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text));
	return !want.failed && n == (ssize_t)want.len && !memcmp(text, want.data, want.len);
}
