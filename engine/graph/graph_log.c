/* SPDX-License-Identifier: MIT */
/*
 * The record of a run. Events are gathered and written together: what a step did and the state
 * behind it are one write, so the end of the process leaves both or neither. The lock on the file
 * says that a process works on the run. Owned by the worker that walks; no other lock.
 */
#include "graph/graph_inner.h"

#include "base/io.h"
#include "bounds.h"
#include "clock.h"
#include "memory.h"
#include "scope.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define GRAPHS ".ai/state/graphs"
#define TRANSCRIPT "transcript.jsonl"
/* Runs of one graph that begin in the same moment each take another millisecond. */
#define NAME_TRIES 64
/* A disk takes a millisecond or more to say that it has a line; a step takes less. */
#define SYNC_EVERY_MS 1000

struct graph_log {
	char run[256];
	int fd; /* of the transcript, locked */
	struct rye_buf pending;
	int64_t synced_ms;
	int failed; /* errno of the first write that failed */
};

static int64_t wall_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* False: another process has it. */
static bool lock_transcript(int fd)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

static struct graph_log *log_of(const char *run, int fd)
{
	struct graph_log *log = memory_note(calloc(1, sizeof(*log)));

	if (!log) {
		close(fd);
		return NULL;
	}
	snprintf(log->run, sizeof(log->run), "%s", run);
	log->fd = fd;
	log->synced_ms = clock_ms();
	return log;
}

/* The name for the n-th try; '/' is no part of a name. */
static void name_run(const struct graph_log_new *what, int n, char ret[256])
{
	int64_t ms = wall_us() / 1000;
	char stem[201];

	snprintf(stem, sizeof(stem), "%s", what->stem);
	utf8_mend(stem);
	for (char *p = stem; *p; p++)
		if (*p == '/')
			*p = '-';
	snprintf(ret, 256, "%s-%" PRId64 "%s", stem, n ? ms + n - 1 : ms / 1000, what->suffix);
}

static int make_transcript(int dir)
{
	int fd = openat(dir, TRANSCRIPT,
			O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);

	return fd < 0 ? -errno : fd;
}

/* The directory and its transcript, which is returned; -EEXIST: the name is taken, maybe by a
 * thread that is just being started. A launcher looks the other way, behind its own mkdir. */
static int make_run(int root, const char *run, bool thread)
{
	auto_close int dir = -1, fd = -1;
	char path[300];

	if (mkdirat(root, run, 0700) < 0)
		return -errno;
	snprintf(path, sizeof(path), "../threads/%s", run);
	if (!thread && faccessat(root, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
		unlinkat(root, run, AT_REMOVEDIR);
		return -EEXIST;
	}
	dir = io_open_beneath(root, run, O_RDONLY | O_DIRECTORY);
	fd = dir < 0 ? dir : make_transcript(dir);
	if (fd >= 0 && !lock_transcript(fd))
		return -EBUSY;
	return steal_fd(&fd);
}

/* A run that is a thread's shows its transcript among the thread's files, too. */
static void link_to_thread(int graphs, const char *project, const char *run)
{
	auto_close int threads = io_open_dir(project, ".ai/state/threads", false);
	auto_close int dir = threads < 0 ? -1 :
					   io_open_beneath(threads, run, O_RDONLY | O_DIRECTORY);
	char path[300];

	snprintf(path, sizeof(path), "%s/" TRANSCRIPT, run);
	if (dir >= 0)
		(void)!linkat(graphs, path, dir, TRANSCRIPT, 0);
}

int graph_log_create(const struct graph_log_new *what, struct graph_log **ret, struct rye_err *err)
{
	auto_close int root = io_open_dir(what->project, GRAPHS, true);
	char run[256];
	int fd = root < 0 ? root : -EEXIST;

	for (int n = 0; fd == -EEXIST && n < NAME_TRIES; n++) {
		if (what->wanted)
			snprintf(run, sizeof(run), "%.255s", what->wanted);
		else
			name_run(what, n, run);
		fd = make_run(root, run, what->wanted != NULL);
		if (what->wanted)
			break;
	}
	if (fd < 0)
		return rye_fail_sys(err, -fd, "cannot make a directory for the run in %s/" GRAPHS,
				    what->project);
	if (what->wanted)
		link_to_thread(root, what->project, run);
	*ret = log_of(run, fd);
	return *ret ? 0 : memory_fail(err);
}

/* One component that is no way out. */
static bool run_name_ok(const char *run)
{
	return *run && *run != '.' && strlen(run) <= 255 && !strchr(run, '/') &&
	       utf8_valid(span_of(run));
}

static int open_run(const char *project, const char *run, int flags, struct rye_err *err)
{
	auto_close int root = -1;
	char path[300];
	int fd;

	if (!run_name_ok(run))
		return rye_fail(err, RYE_INVALID, "not the id of a graph's run: %.200s", run);
	root = io_open_dir(project, GRAPHS, false);
	snprintf(path, sizeof(path), "%s/" TRANSCRIPT, run);
	fd = root < 0 ? root : io_open_beneath(root, path, (uint64_t)flags);
	if (fd == -ENOENT)
		return rye_fail(err, RYE_NOT_FOUND, "Cannot resume: no run %s of a graph", run);
	return fd >= 0 ? fd : rye_fail_sys(err, -fd, "run %s", run);
}

/* A line that a full disk, or the end of the machine, has cut. */
static int cut_torn(int fd, struct rye_span text, struct rye_err *err)
{
	const char *last = text.len ? memrchr(text.ptr, '\n', text.len) : NULL;
	size_t whole = last ? (size_t)(last - text.ptr) + 1 : 0;

	if (whole < text.len && ftruncate(fd, (off_t)whole) < 0)
		return rye_fail_sys(err, errno, "cannot mend the run's transcript");
	return 0;
}

int graph_log_resume(const char *project, const char *run, struct graph_log **log,
		     struct graph_past *ret, struct rye_err *err)
{
	auto_close int fd = open_run(project, run, log ? O_RDWR | O_APPEND : O_RDONLY, err);
	struct rye_blob *text = NULL;
	int r;

	if (fd < 0)
		return fd;
	if (log && !lock_transcript(fd))
		return rye_fail(err, RYE_BUSY, "Cannot resume: run %s is still going on", run);
	r = io_read_fd(fd, RYE_BUF_CAP, &text, NULL);
	if (r < 0)
		return rye_fail_sys(err, -r, "run %s", run);
	r = graph_past_read((struct rye_span){ text->data, text->len }, ret, err);
	if (!r && log)
		r = cut_torn(fd, (struct rye_span){ text->data, text->len }, err);
	rye_blob_unref(text);
	if (r || !log)
		return r;
	*log = log_of(run, steal_fd(&fd));
	return *log ? 0 : memory_fail(err);
}

const char *graph_log_run(const struct graph_log *log)
{
	return log->run;
}

void graph_log_event(struct graph_log *log, const char *type, json_t *payload)
{
	auto_json json_t *line = json_object();

	json_set(line, "timestamp", json_real((double)wall_us() / 1e6));
	json_sets(line, "thread_id", log->run);
	json_sets(line, "event_type", type);
	json_set(line, "payload", payload);
	json_put(&log->pending, line, true);
}

/* All of them or none: a reader, and the signature at the end, want whole lines. */
static int append_lines(int fd, const struct rye_buf *lines)
{
	off_t end = lseek(fd, 0, SEEK_END);
	int r = io_write_all(fd, lines->data, lines->len);

	/* if this fails as well, the process that goes on with the run cuts the line off */
	return r && end >= 0 && ftruncate(fd, end) < 0 ? -EIO : r;
}

int graph_log_flush(struct graph_log *log, bool end, struct rye_err *err)
{
	int r = log->failed ? log->failed : log->pending.failed ? -ENOMEM : 0;
	int64_t now = clock_ms();

	if (!r)
		r = append_lines(log->fd, &log->pending);
	buf_clear(&log->pending);
	if (!r && (end || now - log->synced_ms >= SYNC_EVERY_MS)) {
		r = fdatasync(log->fd) < 0 ? -errno : 0;
		log->synced_ms = now;
	}
	log->failed = r;
	return r ? rye_fail_sys(err, -r, "cannot record run %s", log->run) : 0;
}

void graph_log_close(struct graph_log *log)
{
	if (!log)
		return;
	close(log->fd);
	buf_done(&log->pending);
	free(log);
}
