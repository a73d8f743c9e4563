/* SPDX-License-Identifier: MIT */
/*
 * state/threads as files: real ones byte for byte, derived ones from the registry's row.
 * Reading never changes anything; an unknown name is RYE_NOT_FOUND.
 */
#include "thread/thread_inner.h"

#include "base/io.h"
#include "bounds.h"
#include "memory.h"
#include "proc.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

/* What is read in one go lies in memory, several at once (tests/e2e/hostile_items.sh); what grows is read in
 * pieces and may be of any size. */
#define REAL_MAX (24u << 20)

#define RESULT THREAD_RESULT_FILE
#define TRANSCRIPT THREAD_STORY_FILE

static void thread_files_put_line(struct rye_buf *buf, const char *text)
{
	if (*text)
		buf_addf(buf, "%s\n", text);
}

static void put_pid(const struct thread_view *view, struct rye_buf *buf)
{
	int64_t pid = view->row.pid;

	if (registry_terminal(view->row.status))
		pid = registry_pid(view->db, view->row.thread_id);
	if (pid > 0)
		buf_addf(buf, "%lld\n", (long long)pid);
}

static void put_alive(const struct thread_view *view, struct rye_buf *buf)
{
	auto_thread_read struct thread_read read;
	auto_close int pidfd = -1;
	bool alive;

	thread_read(view->dir, view->row.thread_id, HAS_RUNNER, &read);
	pidfd = read.named ? runner_pidfd(&read.runner) : -ESRCH;
	/* another implementation's: its row alone names the process */
	alive = read.named ? pidfd >= 0 : view->row.pid > 1 && proc_start((pid_t)view->row.pid);

	buf_adds(buf, alive && !registry_terminal(view->row.status) ? "1\n" : "0\n");
}

static int fail_too_big(const char *name, uint64_t size, struct rye_err *err)
{
	return rye_fail(err, RYE_TOO_BIG,
			"%s has %llu MiB, at most %u are shown: read it in .ai/state/threads", name,
			(unsigned long long)size >> 20, REAL_MAX >> 20);
}

/* The result as the row of an ended thread has it: other implementations write no file. */
static int read_row_result(const struct thread_view *view, struct rye_blob **ret,
			   struct rye_err *err)
{
	auto_buf struct rye_buf buf = RYE_BUF_INIT;
	auto_free char *result = NULL;
	struct registry_row row = { 0 };
	int r = 0;

	if (registry_terminal(view->row.status))
		r = registry_get(view->db, view->row.thread_id, true, &row, err);
	if (r)
		return r;
	result = row.result;
	if (!result)
		return rye_fail(err, RYE_NOT_FOUND, "thread %s has no file " RESULT,
				view->row.thread_id);
	if (strlen(result) > REAL_MAX)
		return fail_too_big(RESULT, strlen(result), err);
	buf_addf(&buf, "%s%s", result, str_ends(result, "\n") ? "" : "\n");
	*ret = buf_blob(&buf);
	return *ret ? 0 : memory_fail(err);
}

static void put_error(const struct thread_view *view, struct rye_buf *buf)
{
	struct rye_blob *blob = NULL;
	auto_json json_t *doc = NULL;
	struct rye_err err = { 0 };

	if (io_read_at(view->dir, RESULT, REAL_MAX, &blob) < 0 &&
	    read_row_result(view, &blob, &err)) {
		/* one that is too long to be shown says so under its own name */
		buf->failed = err.code != RYE_NOT_FOUND && err.code != RYE_TOO_BIG;
		return;
	}
	doc = json_parse((struct rye_span){ blob->data, blob->len }, JSON_LOAD_LAST_WINS, RESULT,
			 NULL);
	rye_blob_unref(blob);
	thread_files_put_line(buf, json_str(doc, "error"));
}

struct derived {
	const char *name;
	size_t text; /* of the row; 0: */
	void (*put)(const struct thread_view *view, struct rye_buf *buf);
};

#define ROW_TEXT(member) offsetof(struct registry_row, member)

static const struct derived derived[] = {
	{ "alive", 0, put_alive },
	{ "completed", ROW_TEXT(completed_at), NULL },
	{ "created", ROW_TEXT(created_at), NULL },
	{ "directive", ROW_TEXT(directive), NULL },
	{ "error", 0, put_error },
	{ "pid", 0, put_pid },
	{ "status", ROW_TEXT(status), NULL },
	{ "updated", ROW_TEXT(updated_at), NULL },
};

static bool derived_is_there(const struct derived *fact, const struct thread_view *view)
{
	return fact->text != ROW_TEXT(completed_at) || *view->row.completed_at;
}

static void put_derived(const struct derived *fact, const struct thread_view *view,
			struct rye_buf *buf)
{
	if (fact->put)
		fact->put(view, buf);
	else
		thread_files_put_line(buf, (const char *)&view->row + fact->text);
}

/*
 * The record of a graph's run that was waited for: such a run has a row, and no directory among the
 * threads. A descriptor, or -errno.
 */
static int open_graph_run(const struct threads *threads, const char *id)
{
	auto_buf struct rye_buf path = RYE_BUF_INIT;

	buf_addf(&path, ".ai/state/graphs/%s", id);
	if (path.failed || !*id || strchr(id, '/'))
		return -ENOENT;
	return io_open_dir(threads->env.opt->project, path.data, false);
}

/* Which of the real ones there are, wherever they lie. */
static unsigned files_there(struct threads *threads, const struct thread_view *view, unsigned has)
{
	auto_close int run = view->dir < 0 ? open_graph_run(threads, view->row.thread_id) : -1;

	if (!(has & HAS_RESULT) && registry_has_result(view->db, view->row.thread_id))
		has |= HAS_RESULT;
	if (run >= 0 && !faccessat(run, TRANSCRIPT, F_OK, AT_SYMLINK_NOFOLLOW))
		has |= HAS_STORY;
	return has;
}

int threads_names(struct threads *threads, const struct threads_look *look, rye_name_fn fn,
		  void *arg, struct rye_err *err)
{
	const struct thread_view view = { .dir = look->dir, .db = look->db, .row = look->row };
	unsigned long since = memory_failures();
	unsigned has = files_there(threads, &view, look->read.has);

	for (size_t i = 0; i < ARRAY_SIZE(derived); i++)
		if (derived_is_there(&derived[i], &view) && fn(arg, derived[i].name))
			return 0;
	for (const struct thread_file *file = thread_files; file->name; file++)
		if (file->shown && (has & file->bit) && fn(arg, file->name))
			return 0;
	return memory_check(since, err);
}

/* A descriptor of one of the real files and how much of it is shown. */
static int open_real(int dir, const char *name, uint64_t *ret_size, struct rye_err *err)
{
	auto_close int fd = io_open_beneath(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return rye_fail_sys(err, -fd, "%s", name);
	if (fstat(fd, &st) < 0)
		return rye_fail_sys(err, errno, "%s", name);
	*ret_size = (uint64_t)st.st_size;
	return steal_fd(&fd);
}

/* Of a file that grows or shrinks meanwhile: what is there. */
static int read_part(int fd, uint64_t off, size_t len, struct rye_blob **ret, struct rye_err *err)
{
	auto_buf struct rye_buf buf = RYE_BUF_INIT;
	ssize_t n = 0;

	if (buf_reserve(&buf, len))
		n = pread(fd, buf.data, len, (off_t)off);
	if (n < 0)
		return rye_fail_sys(err, errno, "cannot read a thread's file");
	if (buf.data)
		buf.data[buf.len = (size_t)n] = 0;
	*ret = buf_blob(&buf);
	return *ret ? 0 : memory_fail(err);
}

static int read_real(int dir, const char *name, struct rye_blob **ret, struct rye_err *err)
{
	uint64_t size;
	auto_close int fd = open_real(dir, name, &size, err);

	if (fd >= 0 && size > REAL_MAX)
		return fail_too_big(name, size, err);
	return fd < 0 ? fd : read_part(fd, 0, (size_t)size, ret, err);
}

static bool is_real(const char *name)
{
	const struct thread_file *file = thread_file(name);

	return file && file->shown;
}

/* Where the file of that name lies. id "": that of all threads. */
static int thread_files_dir(struct threads *threads, const char *id, const char *name,
			    struct rye_err *err)
{
	auto_close int root = thread_root(threads->env.opt->project, false, err);
	int dir, run;

	if (root < 0 || !*id)
		return steal_fd(&root);
	dir = thread_dir(root, id, false, err);
	run = dir < 0 && !strcmp(name, TRANSCRIPT) ? open_graph_run(threads, id) : -1;
	return run < 0 ? dir : run;
}

static bool files_of_chain(const char *name)
{
	return !strcmp(name, RESULT) || !strcmp(name, "output");
}

/* What came out of a thread is what came out of the last that it handed over to; last: room for an id. */
static const char *thread_with(struct threads *threads, const char *id, const char *name,
			       char last[THREAD_ID_MAX])
{
	return *id && files_of_chain(name) && !threads_last(threads, id, last) ? last : id;
}

int threads_read(struct threads *threads, const struct rye_thread_part *part, struct rye_blob **ret,
		 uint64_t *ret_size, struct rye_err *err)
{
	char last[THREAD_ID_MAX];
	const char *id = thread_with(threads, part->id, part->name, last);
	auto_close int dir = thread_files_dir(threads, id, part->name, err);
	auto_close int fd = -1;
	uint64_t size;
	size_t len = part->len;

	if (dir < 0)
		return dir;
	if (*id ? !is_real(part->name) : strcmp(part->name, REGISTRY_EVENTS) != 0)
		return rye_fail(err, RYE_NOT_FOUND, "thread %s has no file %s", id, part->name);
	fd = open_real(dir, part->name, &size, err);
	if (fd < 0)
		return fd;
	*ret_size = size;
	if (!ret)
		return 0;
	if (part->off >= size)
		len = 0;
	else if (len > size - part->off)
		len = (size_t)(size - part->off);
	return read_part(fd, part->off, len, ret, err);
}

static int read_beside(struct threads *threads, const struct thread_view *view, const char *name,
		       struct rye_blob **ret, struct rye_err *err)
{
	const char *id = view->row.thread_id;
	auto_close int run =
		view->dir < 0 && !strcmp(name, TRANSCRIPT) ? open_graph_run(threads, id) : -1;

	if (is_real(name) && (view->dir >= 0 || run >= 0))
		return read_real(run >= 0 ? run : view->dir, name, ret, err);
	return rye_fail(err, RYE_NOT_FOUND, "thread %s has no file %s", id, name);
}

int threads_file(struct threads *threads, const char *id, const char *name, struct rye_blob **ret,
		 struct rye_err *err)
{
	auto_thread_view struct thread_view view = THREAD_VIEW_INIT;
	auto_buf struct rye_buf buf = RYE_BUF_INIT;
	unsigned long since = memory_failures();
	char last[THREAD_ID_MAX];
	int r = thread_view_open(threads, id, &view, err);

	if (r)
		return r;
	if (strcmp(thread_with(threads, id, name, last), id) != 0)
		return threads_file(threads, last, name, ret, err);
	for (size_t i = 0; i < ARRAY_SIZE(derived); i++) {
		if (strcmp(derived[i].name, name) || !derived_is_there(&derived[i], &view))
			continue;
		put_derived(&derived[i], &view, &buf);
		/* A result that could not be read would be told as none. */
		r = memory_check(since, err);
		if (r)
			return r;
		*ret = buf_blob(&buf);
		return *ret ? 0 : memory_fail(err);
	}
	if (!strcmp(name, RESULT) && faccessat(view.dir, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return read_row_result(&view, ret, err);
	return read_beside(threads, &view, name, ret, err);
}
