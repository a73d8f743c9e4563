/* SPDX-License-Identifier: MIT */
/*
 * The runner process: does what its orders say, by a table of their types; for a tool it opens
 * an engine of its own with the launcher's options, runs one request, and records its end.
 * Unmount or a crash of the daemon does not touch it. SIGTERM, SIGINT and SIGHUP cancel; a second
 * one ends it at once.
 *
 * Order at the end: result.json, then the registry's row; the lock goes with the process.
 */
#include "thread/thread_inner.h"

#include "base/engine_options.h"
#include "base/io.h"
#include "bounds.h"
#include "scope.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>

/* Seconds that a result waits for room on a full disk. */
#define RECORD_TRIES 60

struct runner_job {
	struct rye_outcome outcome;
	struct rye_call *call;
	sigset_t signals;
	bool cancelled;
	/* What follows is of the thread that tells events, until the outcome is there. */
	int live; /* descriptor of the file; -1: it could not be made */
	size_t lived; /* bytes in it */
	char last; /* character of the tool's output; 0: none yet */
	_Atomic bool done; /* the outcome is there */
};

/* Runs on a worker of the engine; the main thread sits in sigwaitinfo until SIGUSR2. */
static void runner_on_done(void *arg, const struct rye_outcome *outcome)
{
	struct runner_job *job = arg;

	job->outcome = *outcome;
	rye_blob_ref(outcome->reply);
	rye_blob_ref(outcome->output);
	job->outcome.trace = NULL;
	job->outcome.message = "";
	atomic_store(&job->done, true);
	kill(getpid(), SIGUSR2);
}

/*
 * What the tool prints, as it comes: into `live` and, among what else the runner prints, into
 * spawn.log. `live` is read through the mount, which shows no more of a file than this.
 */
static void runner_on_event(void *arg, const struct rye_event *event)
{
	struct runner_job *job = arg;
	struct rye_span text = event->bytes;

	if (event->type != RYE_EVENT_OUTPUT)
		return;
	io_write_all(STDOUT_FILENO, text.ptr, text.len);
	job->last = text.ptr[text.len - 1];
	if (job->lived + text.len > RYE_OUTPUT_MAX)
		return;
	if (job->live >= 0 && io_write_all(job->live, text.ptr, text.len) == 0)
		job->lived += text.len;
}

static void wait_for_end(struct runner_job *job)
{
	for (;;) {
		int number = sigwaitinfo(&job->signals, NULL);

		if (atomic_load(&job->done))
			return;
		/* another process may send SIGUSR2, too */
		if (number < 0 || number == SIGUSR2)
			continue;
		if (job->cancelled)
			raise(SIGKILL); /* recovery records it; nothing half-written remains */
		job->cancelled = true;
		rye_call_cancel(job->call, RYE_CANCELLED);
	}
}

/* The project of the orders. */
static const char *project_of(const json_t *doc)
{
	return json_str(json_object_get(doc, "options"), "project");
}

static int record_once(const json_t *doc, const struct runner_job *job, int dir)
{
	const char *id = json_str(doc, "thread_id");
	const char *status = job->outcome.code == RYE_OK ? "completed" :
			     job->cancelled		 ? "cancelled" :
							   "error";
	struct db *db = NULL;
	int r;

	if (registry_of(project_of(doc), false, &db, NULL))
		return 1;
	r = threads_record_end(db, dir, id, status, &job->outcome);
	db_close(db);
	return r ? 1 : 0;
}

static int runner_record(const json_t *doc, const struct runner_job *job, int dir)
{
	int r = 1;

	printf("%s%s", job->last && job->last != '\n' ? "\n" : "", job->outcome.reply->data);
	fflush(stdout);
	for (int i = 0; i < RECORD_TRIES && r; i++) {
		if (i)
			sleep(1);
		r = record_once(doc, job, dir);
	}
	return r;
}

static int fail_early(const json_t *doc, int dir, const struct rye_err *err)
{
	struct runner_job job = { .outcome = { .code = err->code }, .live = -1 };
	auto_json json_t *reply = json_object();
	int r;

	json_sets(reply, "status", "error");
	json_sets(reply, "error", err->msg);
	job.outcome.reply = json_blob(reply, false);
	r = job.outcome.reply ? runner_record(doc, &job, dir) : 1;
	rye_blob_unref(job.outcome.reply);
	return r;
}

/* Orders of the type "tool": one execute request, as its own engine runs it. */
static int run_tool(const json_t *doc, int dir)
{
	auto_close int live = openat(dir, "live", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct runner_job job = { .live = live };
	struct rye_options options;
	auto_buf struct rye_buf message = RYE_BUF_INIT;
	struct rye_request request = { .verb = RYE_EXECUTE,
				       .id = "",
				       .uid = getuid(),
				       .keeps = true,
				       .events = { runner_on_event, &job } };
	struct rye_err err = { 0 };
	struct rye *rye;
	int r;

	options_from_json(json_object_get(doc, "options"), &options);
	options.scan = false; /* for one request */
	umask(options.umask);
	sigemptyset(&job.signals);
	sigaddset(&job.signals, SIGTERM);
	sigaddset(&job.signals, SIGINT);
	sigaddset(&job.signals, SIGHUP);
	sigaddset(&job.signals, SIGUSR2);
	/* Before the engine starts workers: they inherit the mask, sigwaitinfo gets them all. */
	pthread_sigmask(SIG_BLOCK, &job.signals, NULL);
	if (rye_open(&options, &rye, &err))
		return fail_early(doc, dir, &err);
	/*
	 * Engines that decide what its children may do read it in the directory's request.json; it
	 * is no member of a request.
	 */
	json_object_del(json_object_get(doc, "request"), "within");
	json_put(&message, json_object_get(doc, "request"), true);
	request.message = (struct rye_span){ message.data, message.len };
	rye_start(rye, &request, runner_on_done, &job, &job.call);
	wait_for_end(&job);
	r = runner_record(doc, &job, dir);
	rye_call_unref(job.call);
	rye_blob_unref(job.outcome.reply);
	rye_blob_unref(job.outcome.output);
	rye_close(rye);
	return r;
}

struct orders_row {
	const char *type;
	int (*run)(const json_t *doc, int dir); /* records the thread's end; exit status */
};

static const struct orders_row orders_rows[] = {
	{ ORDERS_TOOL, run_tool },
};

static int runner_carry_out(const json_t *doc, int dir)
{
	const char *type = json_str(doc, "type");
	struct rye_err err = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(orders_rows); i++)
		if (!strcmp(orders_rows[i].type, type))
			return orders_rows[i].run(doc, dir);
	rye_fail(&err, RYE_UNSUPPORTED,
		 "this ryefs cannot run threads of the type \"%.40s\": the one that started it is "
		 "another version",
		 type);
	return fail_early(doc, dir, &err);
}

/*
 * Until the launcher watches this process: a tool that wrote to the mount before would be a child
 * of an unknown run there, which may nothing. A launcher that dies lets go of the pipe, too.
 */
static void wait_for_launcher(void)
{
	char byte;

	/* no handler is installed that could interrupt it */
	while (read(GO_FD, &byte, 1) > 0)
		;
	close(GO_FD);
}

int rye_thread_runner(void)
{
	struct rye_blob *blob = NULL;
	auto_json json_t *doc = NULL;
	auto_close int root = -1, dir = -1;
	struct rye_err err = { 0 };
	sigset_t child;

	if (fcntl(ORDERS_FD, F_GETFD) < 0 ||
	    io_read_fd(ORDERS_FD, RYE_MESSAGE_MAX * 2, &blob, NULL) < 0) {
		fprintf(stderr, "ryefs thread-run: is started by the engine, not by hand\n");
		return 2;
	}
	io_cloexec(LOCK_FD);
	close(ORDERS_FD);
	doc = json_parse((struct rye_span){ blob->data, blob->len }, 0, "orders", &err);
	rye_blob_unref(blob);
	root = doc ? thread_root(project_of(doc), false, &err) : -1;
	dir = root < 0 ? -1 : thread_dir(root, json_str(doc, "thread_id"), false, &err);
	if (dir < 0) {
		fprintf(stderr, "ryefs thread-run: %s\n", err.msg);
		return 1;
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	signal(SIGPIPE, SIG_IGN);
	/* the engine's thread that reaps learns by it of dead orphans */
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	setenv("RYE_THREAD_ID", json_str(doc, "thread_id"), 1);
	wait_for_launcher();
	if (runner_write(dir, getpid(), &err))
		fprintf(stderr, "ryefs thread-run: %s\n", err.msg);
	return runner_carry_out(doc, dir);
}
