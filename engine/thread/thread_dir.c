/* SPDX-License-Identifier: MIT */
/*
 * Thread directories on disk: how they are called, since an id is a path, and where they are. Everything
 * resolves beneath the project's .ai; a link that leads out of it is refused. Nothing here waits: locks
 * are only tried.
 */
#include "thread/thread_inner.h"

#include "base/io.h"
#include "clock.h"
#include "proc.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/pidfd.h>
#include <sys/utsname.h>

#define IDENTITY_MAX 4096 /* runner.json is a line of a few hundred bytes */

int thread_id_check(const char *id, struct rye_err *err)
{
	struct rye_span rest = span_of(id);
	bool ok = rest.len && rest.len <= 1024;

	while (ok) {
		const char *slash = memchr(rest.ptr, '/', rest.len);
		size_t n = slash ? (size_t)(slash - rest.ptr) : rest.len;
		struct rye_span part = { rest.ptr, n };

		ok = n && n <= 255 && part.ptr[0] != '.' && utf8_valid(part);
		for (size_t i = 0; i < n; i++)
			ok = ok && (unsigned char)part.ptr[i] >= 0x20;
		if (!slash)
			break;
		rest = span_skip(rest, n + 1);
	}
	return ok ? 0 : rye_fail(err, RYE_INVALID, "not a thread id: %.200s", id);
}

void thread_id_at(const char *stem, int64_t now_us, int try, char ret[THREAD_ID_MAX])
{
	int64_t at = try ? now_us / 1000 + try - 1 : now_us / 1000000;

	snprintf(ret, THREAD_ID_MAX, "%s-%lld", stem, (long long)at);
}

int thread_root(const char *project, bool create, struct rye_err *err)
{
	static const char path[] = ".ai/state/threads";
	int fd = io_open_dir(project, path, create);

	if (fd < 0)
		return rye_fail_sys(err, -fd, "%s%s/%s", create ? "cannot make " : "", project,
				    path);
	return fd;
}

void thread_keep_uncommitted(const char *project)
{
	auto_close int ai = io_open_dir(project, ".ai", false);

	if (ai >= 0)
		gitignore_complete(ai, NULL);
}

/* SQLite wants a path for its WAL; the descriptor's own one is beneath the project. */
int thread_path(int root, const char *name, char ret[THREADS_PATH_MAX])
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", root);
	n = readlink(link, ret, THREADS_PATH_MAX - strlen(name) - 2);
	if (n < 0)
		return -errno;
	snprintf(ret + n, THREADS_PATH_MAX - (size_t)n, "/%s", name);
	return 0;
}

int threads_path(const char *project, const char *name, char ret[THREADS_PATH_MAX],
		 struct rye_err *err)
{
	auto_close int root = thread_root(project, true, err);
	int r = root < 0 ? root : thread_path(root, name, ret);

	return r < 0 && root >= 0 ? rye_fail_sys(err, -r, "state/threads") : r;
}

bool thread_registry_there(int root)
{
	return root >= 0 && !faccessat(root, "registry.db", F_OK, AT_SYMLINK_NOFOLLOW);
}

/* Ids with a directory above them are directives'. */
static bool thread_run_path(const char *id, const char *file, char ret[THREAD_ID_MAX + 40])
{
	snprintf(ret, THREAD_ID_MAX + 40, "graphs/%s%s", id, file);
	return !thread_id_check(id, NULL) && !strchr(id, '/');
}

bool thread_is_run(int root, const char *id)
{
	char path[THREAD_ID_MAX + 40];
	auto_close int state = openat(root, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return thread_run_path(id, "", path) && state >= 0 &&
	       faccessat(state, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The entries of a directory, added to names; false: they cannot be told. */
static bool thread_add_names(int dir, json_t *names)
{
	auto_dir DIR *list = dir < 0 ? NULL : fdopendir(dir);
	struct dirent *entry;

	if (!list) {
		if (dir >= 0)
			close(dir);
		return false;
	}
	errno = 0;
	while ((entry = readdir(list)))
		json_set(names, entry->d_name, json_true());
	return errno == 0;
}

json_t *thread_names(int root)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	auto_json json_t *names = json_object();
	int graphs;

	if (root < 0 || !thread_add_names(openat(root, ".", flags), names))
		return NULL;
	graphs = openat(root, "../graphs", flags);
	if (graphs < 0 ? errno != ENOENT : !thread_add_names(graphs, names))
		return NULL;
	return steal(&names);
}

bool thread_may_be(const json_t *names, const char *id)
{
	return !names || json_object_getn(names, id, strcspn(id, "/"));
}

int thread_run_walked(int root, const char *id)
{
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	char path[THREAD_ID_MAX + 40];
	auto_close int state = openat(root, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_close int fd = -1;

	if (!thread_run_path(id, "/transcript.jsonl", path))
		return -ENOENT;
	if (state < 0)
		return -errno;
	fd = io_open_beneath(state, path, O_RDONLY | O_NONBLOCK);
	if (fd < 0)
		return fd;
	return fcntl(fd, F_OFD_GETLK, &lock) < 0 ? -errno : lock.l_type != F_UNLCK;
}

int thread_dir(int root, const char *id, bool create, struct rye_err *err)
{
	int r = thread_id_check(id, err), fd;

	if (r)
		return r;
	if (create) {
		r = io_mkdirs_at(root, id, 0700);
		if (r < 0)
			return rye_fail_sys(err, -r, "cannot make the directory of thread %s", id);
	}
	fd = io_open_beneath(root, id, O_RDONLY | O_DIRECTORY);
	if (fd == -ENOENT)
		return rye_fail(err, RYE_NOT_FOUND, "Thread not found: %s", id);
	return fd >= 0 ? fd : rye_fail_sys(err, -fd, "thread %s", id);
}

/* As deep as a tree that is pushed. */
#define CHANGES_DIR "changes"
#define CHANGES_DEPTH 128

void thread_remove(int root, const char *id)
{
	auto_close int dir = thread_dir(root, id, false, NULL);
	auto_dir DIR *list = dir < 0 ? NULL : fdopendir(dir);
	struct dirent *entry;

	if (!list)
		return;
	steal_fd(&dir);
	while ((entry = readdir(list)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			unlinkat(dirfd(list), entry->d_name, 0);
	/* what came back from elsewhere */
	io_remove_tree(dirfd(list), CHANGES_DIR, CHANGES_DEPTH);
	unlinkat(root, id, AT_REMOVEDIR);
}

int thread_lock(int dir)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET }, held = lock;
	auto_close int fd = openat(dir, ".lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return -errno;
	if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
		return steal_fd(&fd);
	if (errno != EACCES && errno != EAGAIN)
		return -errno;
	return fcntl(fd, F_OFD_GETLK, &held) == 0 && held.l_type == F_RDLCK ? -EBUSY : -EAGAIN;
}

int thread_remember(int dir, const char *name, struct rye_span bytes, struct rye_err *err)
{
	int r = io_remember_at(dir, name, bytes, 0600);

	return r ? rye_fail_sys(err, -r, "cannot write %s", name) : 0;
}

/* Where pids mean what we think: host, boot and pid namespace in one text. */
static void put_identity(char ret[256])
{
	auto_close int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	char boot[64] = "", ns[64] = "";
	struct utsname host;
	ssize_t n = fd >= 0 ? read(fd, boot, sizeof(boot) - 1) : -1;

	boot[n > 0 ? n - 1 : 0] = 0;
	n = readlink("/proc/self/ns/pid", ns, sizeof(ns) - 1);
	ns[n > 0 ? n : 0] = 0;
	if (uname(&host) < 0)
		host.nodename[0] = 0;
	snprintf(ret, 256, "%.64s %.40s %.40s", host.nodename, boot, ns);
}

/* A file that names the process `pid` of this machine. Not synced: with the machine's power the process is gone, too. */
static int identity_write(int dir, const char *name, pid_t pid, struct rye_err *err)
{
	auto_json json_t *doc = json_object();
	auto_buf struct rye_buf buf = RYE_BUF_INIT;
	char where[256], now[40];

	put_identity(where);
	clock_iso_us(now);
	json_set(doc, "pid", json_integer(pid));
	json_set(doc, "start", json_integer((json_int_t)proc_start(pid)));
	json_sets(doc, "where", where);
	json_sets(doc, "started_at", now);
	json_put(&buf, doc, true);
	return buf.failed ? rye_fail_sys(err, ENOMEM, "cannot write %s", name) :
			    thread_remember(dir, name, buf_span(&buf), err);
}

/* False: none, or unreadable. */
static bool identity_read(int dir, const char *name, struct runner *ret)
{
	struct rye_blob *blob = NULL;
	auto_json json_t *doc = NULL;
	char where[256];

	if (io_read_at(dir, name, IDENTITY_MAX, &blob) < 0)
		return false;
	doc = json_parse((struct rye_span){ blob->data, blob->len }, 0, name, NULL);
	rye_blob_unref(blob);
	if (!doc)
		return false;
	put_identity(where);
	ret->pid = (pid_t)json_int(doc, "pid", 0);
	ret->start = (uint64_t)json_int(doc, "start", 0);
	ret->here = !strcmp(where, json_str(doc, "where"));
	return ret->pid > 1;
}

int runner_write(int dir, pid_t pid, struct rye_err *err)
{
	return identity_write(dir, "runner.json", pid, err);
}

bool runner_read(int dir, struct runner *ret)
{
	return identity_read(dir, "runner.json", ret);
}

int runner_pidfd(const struct runner *runner)
{
	auto_close int fd = runner->here ? pidfd_open(runner->pid, 0) : -1;
	struct proc_stat stat;
	int r;

	if (fd < 0)
		return runner->here ? -errno : -ESRCH;
	/* The pidfd pins the process; if the start time still fits, it is the right one. */
	r = proc_stat(runner->pid, &stat);
	if (r && proc_is_short(r))
		return r;
	if (r || stat.start != runner->start || stat.state == 'Z' || stat.state == 'X')
		return -ESRCH;
	return steal_fd(&fd);
}

int thread_write(int dir, const char *name, struct rye_span bytes, struct rye_err *err)
{
	int r = io_replace_at(dir, name, bytes, 0600);

	return r ? rye_fail_sys(err, -r, "cannot write %s", name) : 0;
}

/*
 * ---- no new threads ----
 *
 * Those that run go on, with what they start themselves. A file beside the threads names the mount's
 * process that was told so; every process that starts threads looks at it, and it counts for as long
 * as that process lives.
 */

/* Beside the threads; no thread has such a name. */
#define DRAIN_FILE ".drain"

int threads_drain(struct threads *threads, struct rye_err *err)
{
	auto_close int root = thread_root(threads->env.opt->project, true, err);

	return root < 0 ? root : identity_write(root, DRAIN_FILE, getpid(), err);
}

void threads_accept(struct threads *threads)
{
	auto_close int root = thread_root(threads->env.opt->project, false, NULL);

	if (root >= 0)
		unlinkat(root, DRAIN_FILE, 0);
}

int threads_may_start(struct threads *threads, struct rye_err *err)
{
	auto_close int root = thread_root(threads->env.opt->project, false, NULL);
	struct runner drain;
	auto_close int pidfd = -1;

	/* a runner, or what one has started */
	if (root < 0 || getenv("RYE_THREAD_ID") || !identity_read(root, DRAIN_FILE, &drain))
		return 0;
	pidfd = runner_pidfd(&drain);
	if (pidfd < 0)
		return 0;
	return rye_fail(err, RYE_BUSY,
			"no new threads: the mount of process %d was told to drain; " MEND_WITH
			"echo accept > state/threads/ctl in it",
			drain.pid);
}
