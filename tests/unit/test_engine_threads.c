/* SPDX-License-Identifier: MIT */
/*
 * Detached tools: cases 82 to 84 of the tool format, each test named by its number. The runner is
 * this very program, as the engine starts it from /proc/self/exe.
 */
#include "exec_tools.h"
#include "told.h"

#include "clock.h"
#include "base/io.h"
#include "policy/policy.h"
#include "thread/thread_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define THREADS ".ai/state/threads"

struct bench {
	struct exec_place place;
	struct rye *rye;
	struct db *db;
	json_t *reply; /* of the launch */
};

static int registry_insert(struct db *db, const char *id, const char *directive)
{
	return registry_add(db, &(struct registry_new){ .id = id, .directive = directive }, NULL);
}

static int setup(void **state)
{
	struct bench *b = test_calloc(1, sizeof(*b));

	exec_place_make(&b->place);
	b->rye = place_engine(&b->place.place, (struct rye_options){ 0 });
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	db_close(b->db);
	json_decref(b->reply);
	rye_close(b->rye);
	nftw(b->place.place.base, place_remove_, 16, FTW_DEPTH | FTW_PHYS);
	test_free(b);
	return 0;
}

/* Starts tool:t/echo as a thread; its id, from the reply. */
static const char *launch(struct bench *b)
{
	const struct rye_request ask = { .verb = RYE_EXECUTE,
					 .kind = RYE_KIND__MAX,
					 .id = "",
					 .message = SPAN("{\"item_id\":\"tool:t/echo\","
							 "\"async\":true}") };
	struct exec_said said = { 0 };
	struct rye_outcome outcome;
	char path[300];

	rye_call_sync(b->rye, &ask, &outcome);
	b->reply = said.reply = json_loads(outcome.reply->data, 0, NULL);
	rye_outcome_done(&outcome);
	exec_check(&said, "{\"status\":\"success\",\"async\":true,\"type\":\"tool\","
			  "\"item_id\":\"tool:t/echo\",\"execution_mode\":\"inline\","
			  "\"state\":\"running\"}");
	snprintf(path, sizeof(path), "%s/" THREADS "/registry.db", b->place.place.project);
	assert_works(&told_err, registry_open(path, &b->db, &told_err));
	return json_str(b->reply, "thread_id");
}

static struct registry_row row_of(struct bench *b, const char *id)
{
	struct registry_row row;

	if (registry_get(b->db, id, true, &row, NULL))
		fail_msg("no row of %s", id);
	return row;
}

/* The row, once it is no longer open; within this time. */
static struct registry_row ended_row(struct bench *b, const char *id, int64_t ms)
{
	for (int64_t until = clock_ms() + ms;;) {
		struct registry_row row = row_of(b, id);

		if (strcmp(row.status, "created") && strcmp(row.status, "running"))
			return row;
		free(row.result);
		if (clock_ms() > until)
			fail_msg("%s is still %s", id, row.status);
		usleep(5000);
	}
}

/* The row's status and result, which result.json has too, and has these members. */
static void check_result(struct bench *b, struct registry_row *row, const char *status,
			 const char *want)
{
	struct exec_said said = { .reply = json_loads(row->result, 0, NULL) };
	struct rye_blob *file;
	char path[400];

	snprintf(path, sizeof(path), "%s/" THREADS "/%s/result.json", b->place.place.project,
		 json_str(b->reply, "thread_id"));
	file = place_read(path);
	assert_string_equal(row->status, status);
	assert_string_equal(file->data, row->result);
	rye_blob_unref(file);
	exec_check(&said, want);
	json_decref(said.reply);
	free(row->result);
}

/* 8-4-4-4-12 lower-case hex digits, version 4, variant 10. */
static void assert_uuid4(const char *id)
{
	static const char form[] = "xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx";

	assert_int_equal(strlen(id), strlen(form));
	for (size_t i = 0; form[i]; i++) {
		const char *of = form[i] == 'x' ? "0123456789abcdef" :
				 form[i] == 'y' ? "89ab" :
						  (char[2]){ form[i], 0 };

		if (!strchr(of, id[i]))
			fail_msg("%s: no %c at %zu", id, form[i], i);
	}
}

static void case_82_detached_tool(void **state)
{
	struct bench *b = *state;
	struct registry_row row;
	const char *id;

	exec_shell(&b->place, "t/echo.yaml", "echo hi", "");
	id = launch(b);
	assert_uuid4(id);
	row = ended_row(b, id, 30000);
	assert_string_equal(row.directive, "tool:t/echo");
	assert_true(strlen(row.completed_at) > 20);
	assert_int_equal(registry_pid(b->db, id), json_int(b->reply, "pid", 0));
	check_result(b, &row, "completed",
		     "{\"status\":\"success\",\"type\":\"tool\",\"item_id\":\"tool:t/echo\","
		     "\"=data\":{\"stdout\":\"hi\\n\",\"stderr\":\"\",\"return_code\":0},"
		     "\"=chain\":[\"t/echo\",\"rye/core/primitives/execute\"],"
		     "\"metadata\":{\"canonical_ref\":\"tool:t/echo\"}}");
}

/* Its own limit counts for a tool that goes on by itself. */
static void detached_tool_times_out(void **state)
{
	struct bench *b = *state;
	struct registry_row row;

	exec_shell(&b->place, "t/echo.yaml", "echo begun; sleep 60", "  timeout: 1\n");
	row = ended_row(b, launch(b), 20000);
	check_result(b, &row, "error",
		     "{\"status\":\"error\",\"error\":\"^Command timed out after 1 seconds\"}");
}

static void case_83_detached_tool_fails(void **state)
{
	struct bench *b = *state;
	struct registry_row row;

	exec_shell(&b->place, "t/echo.yaml", "echo out; echo why >&2; exit 3", "");
	row = ended_row(b, launch(b), 30000);
	assert_true(strlen(row.completed_at) > 20);
	check_result(b, &row, "error",
		     "{\"status\":\"error\",\"error\":\"why\\n\",\"item_id\":\"tool:t/echo\","
		     "\"=data\":{\"stdout\":\"out\\n\",\"stderr\":\"why\\n\",\"return_code\":3}}");
}

/* Waits for the row to say so and for the tool to have left its number. */
static pid_t tool_of(struct bench *b, const char *id)
{
	char path[300], text[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "%s/begun", b->place.place.project);
	for (int i = 0; i < 6000; i++) {
		struct registry_row row = row_of(b, id);

		free(row.result);
		file = fopen(path, "r");
		if (file && !fgets(text, sizeof(text), file))
			*text = 0;
		if (file)
			fclose(file);
		if (!strcmp(row.status, "running") && strchr(text, '\n'))
			return atoi(text);
		usleep(5000);
	}
	fail_msg("%s does not get to run", id);
	return 0;
}

static void case_84_runner_is_killed(void **state)
{
	struct bench *b = *state;
	struct registry_row row;
	const char *id;
	pid_t tool;

	exec_shell(&b->place, "t/echo.yaml", "echo $$ >begun; exec sleep 30", "");
	id = launch(b);
	tool = tool_of(b, id);
	assert_int_equal(kill((pid_t)json_int(b->reply, "pid", 0), SIGKILL), 0);
	row = ended_row(b, id, 1000);
	check_result(b, &row, "error",
		     "{\"status\":\"error\",\"error\":\"Process died (signal 9)\"}");
	/* and its tool with it, once the process that became its parent has reaped it */
	for (int i = 0; i < 600 && kill(tool, 0) == 0; i++)
		usleep(10000);
	assert_int_equal(kill(tool, 0), -1);
}

#define thread_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* ---- the list, which is kept while nothing changes ---- */

static void add_thread(struct bench *b, const char *id)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/" THREADS "/%s", b->place.place.project, id);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(registry_insert(b->db, id, "tool:t/echo"), 0);
}

static void remove_thread(struct bench *b, const char *id)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/" THREADS "/%s", b->place.place.project, id);
	assert_int_equal(rmdir(path), 0);
}

static int join(void *arg, const char *id)
{
	struct rye_buf *all = arg;

	buf_addf(all, "%s ", id);
	return 0;
}

static void open_registry(struct bench *b)
{
	char path[300];

	for (const char *const *dir = (const char *const[]){ ".ai", ".ai/state", THREADS, NULL };
	     *dir; dir++) {
		snprintf(path, sizeof(path), "%s/%s", b->place.place.project, *dir);
		mkdir(path, 0700);
	}
	snprintf(path, sizeof(path), "%s/" THREADS "/registry.db", b->place.place.project);
	assert_works(&told_err, registry_open(path, &b->db, &told_err));
}

/* The ids as they are told, wanted twice: once from the disk, once from memory. */
static uint64_t list_is(struct bench *b, const char *want)
{
	uint64_t number = rye_thread_list_number(b->rye);

	for (int i = 0; i < 2; i++) {
		auto_buf struct rye_buf all = RYE_BUF_INIT;

		assert_works(&told_err, rye_thread_list(b->rye, join, &all, &told_err));
		assert_string_equal(all.data ? all.data : "", want);
		assert_int_equal(rye_thread_list_number(b->rye), number);
		usleep(30000); /* from now on a change has another time stamp */
	}
	return number;
}

static uint64_t names_of(struct bench *b, const char *path)
{
	struct rye_thread_entry entry = { 0 };

	rye_thread_entry(b->rye, &(struct rye_thread_at){ "", path }, &entry, &told_err);
	return entry.number;
}

/* Of names alone: a thread that goes on where it is makes no directory another one. */
static void a_number_stands_for_names(void **state)
{
	static const char *const paths[] = { "by-id", "by-status", "by-status/running", "active" };
	struct bench *b = *state;
	uint64_t before[ARRAY_SIZE(paths)];

	assert_int_equal(names_of(b, "by-id"), names_of(b, "by-status"));
	open_registry(b);
	add_thread(b, "a");
	assert_works(&told_err, registry_running(b->db, "a", 1, &told_err));
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		before[i] = names_of(b, paths[i]);
	assert_int_not_equal(before[0], before[1]);
	assert_works(&told_err, registry_running(b->db, "a", 2, &told_err));
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		assert_int_equal(names_of(b, paths[i]), before[i]);
	assert_works(&told_err, registry_finish(b->db, "a", "error", NULL, &told_err));
	assert_int_equal(names_of(b, "by-id"), before[0]);
	for (size_t i = 1; i < ARRAY_SIZE(paths); i++)
		assert_int_not_equal(names_of(b, paths[i]), before[i]);
}

static void the_list_follows_others(void **state)
{
	struct bench *b = *state;
	uint64_t number;
	char path[300];

	assert_int_equal(list_is(b, ""), 0);
	open_registry(b);
	snprintf(path, sizeof(path), "%s/" THREADS "/registry.db", b->place.place.project);
	add_thread(b, "a");
	number = list_is(b, "a ");
	assert_works(&told_err, registry_running(b->db, "a", 1, &told_err));
	assert_int_equal(list_is(b, "a "), number);
	add_thread(b, "b");
	assert_int_not_equal(list_is(b, "b a "), number);
	number = rye_thread_list_number(b->rye);
	remove_thread(b, "a");
	assert_int_equal(list_is(b, "b a "), number); /* its row is there */
	assert_works(&told_err, registry_finish(b->db, "a", "error", NULL, &told_err));
	assert_works(&told_err, registry_delete(b->db, "a", &told_err));
	assert_int_not_equal(list_is(b, "b "), number);
	/* a registry that is no longer there lists no rows, only directories */
	assert_int_equal(registry_insert(b->db, "c", "tool:t/echo"), 0);
	list_is(b, "c b ");
	assert_int_equal(unlink(path), 0);
	list_is(b, "b ");
}

/* ---- rows of other implementations, and ends that no event tells of ---- */

static pid_t sleeper(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		execlp("sleep", "sleep", "100", NULL);
		_exit(127);
	}
	assert_true(pid > 0);
	return pid;
}

static void status_is(struct bench *b, const char *id, const char *want)
{
	struct registry_row row = row_of(b, id);

	free(row.result);
	assert_string_equal(row.status, want);
}

struct waiter {
	pthread_mutex_t lock;
	char status[64];
	enum rye_code code;
	int told;
};

static void on_status(void *arg, const struct rye_outcome *outcome)
{
	struct waiter *waiter = arg;

	GUARD(&waiter->lock);
	snprintf(waiter->status, sizeof(waiter->status), "%s", outcome->reply->data);
	waiter->code = outcome->code;
	waiter->told++;
}

static void begin_wait(struct bench *b, const char *id, struct waiter *waiter,
		       struct rye_call **ret)
{
	const struct rye_listener who = { on_status, waiter };

	*waiter = (struct waiter){ .told = 0 };
	pthread_mutex_init(&waiter->lock, NULL);
	assert_works(&told_err, rye_thread_wait(b->rye, id, &who, ret, &told_err));
}

static int told(struct waiter *waiter)
{
	int n = 0;

	GUARD(&waiter->lock);
	n = waiter->told;
	return n;
}

/* Told within ten seconds, once, and this. */
static void end_wait(struct waiter *waiter, struct rye_call *call, const char *want)
{
	for (int i = 0; i < 1000 && !told(waiter); i++)
		usleep(10000);
	assert_int_equal(told(waiter), 1);
	assert_int_equal(waiter->code, RYE_OK);
	assert_string_equal(waiter->status, want);
	rye_call_unref(call);
}

/* Another implementation's thread, with or without a directory, is left as long as it lives. */
static void a_living_foreign_thread_is_respected(void **state)
{
	static const char *const ids[] = { "with", "without" };
	struct bench *b = *state;
	pid_t pid = sleeper();
	struct waiter waiter[2];
	struct rye_call *call[2];
	struct rye_err err;

	open_registry(b);
	add_thread(b, ids[0]);
	assert_int_equal(registry_insert(b->db, ids[1], "directive:x"), 0);
	for (int i = 0; i < 2; i++) {
		assert_works(&told_err, registry_running(b->db, ids[i], pid, &told_err));
		begin_wait(b, ids[i], &waiter[i], &call[i]);
	}
	rye_thread_recover(b->rye, NULL);
	usleep(1200000); /* the waiters are looked for twice */
	for (int i = 0; i < 2; i++) {
		status_is(b, ids[i], "running");
		assert_int_equal(told(&waiter[i]), 0);
	}
	assert_refused(&err, RYE_DENIED, rye_thread_ctl(b->rye, ids[0], SPAN("kill"), NULL, &err));
	assert_non_null(strstr(err.msg, "is run by another program"));
	assert_int_equal(kill(pid, 0), 0);
	/* dead, and its parent has not waited for it */
	kill(pid, SIGKILL);
	for (int i = 0; i < 2; i++)
		end_wait(&waiter[i], call[i], "error\n");
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void fact_is(struct bench *b, const char *id, const char *name, const char *want)
{
	struct rye_blob *blob = NULL;

	assert_works(&told_err, rye_thread_file(b->rye, id, name, &blob, &told_err));
	assert_string_equal(blob->data, want);
	rye_blob_unref(blob);
}

/* Other implementations keep the result in the row, and may make no directory at all. */
static void a_row_alone_is_a_thread(void **state)
{
	struct bench *b = *state;
	auto_buf struct rye_buf names = RYE_BUF_INIT;
	struct rye_blob *blob = NULL;

	open_registry(b);
	assert_int_equal(registry_insert(b->db, "../out", "directive:x"), 0);
	assert_int_equal(registry_insert(b->db, "x/y-1", "directive:x"), 0);
	list_is(b, "x/y-1 ");
	fact_is(b, "x/y-1", "directive", "directive:x\n");
	assert_works(&told_err, registry_running(b->db, "x/y-1", getpid(), &told_err));
	fact_is(b, "x/y-1", "alive", "1\n");
	assert_refused(&told_err, RYE_NOT_FOUND,
		       rye_thread_file(b->rye, "x/y-1", "result.json", &blob, &told_err));
	assert_works(&told_err,
		     registry_finish(b->db, "x/y-1", "error", "{\"error\":\"why\"}", &told_err));
	fact_is(b, "x/y-1", "alive", "0\n");
	fact_is(b, "x/y-1", "result.json", "{\"error\":\"why\"}\n");
	fact_is(b, "x/y-1", "error", "why\n");
	assert_works(&told_err, rye_thread_names(b->rye, "x/y-1", join, &names, &told_err));
	assert_string_equal(
		names.data,
		"alive completed created directive error pid status updated result.json ");
	assert_refused(&told_err, RYE_NOT_FOUND,
		       rye_thread_file(b->rye, "x/y-1", "output", &blob, &told_err));
	assert_works(&told_err, rye_thread_ctl(b->rye, "x/y-1", SPAN("delete"), NULL, &told_err));
	list_is(b, "");
}

/* A thread "a" whose lock is held as `type` says; the descriptor that holds it. */
static int locked_thread(struct bench *b, short type)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET };
	char path[400];
	int fd;

	open_registry(b);
	add_thread(b, "a");
	snprintf(path, sizeof(path), "%s/" THREADS "/a/.lock", b->place.place.project);
	close(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
	fd = open(path, (type == F_RDLCK ? O_RDONLY : O_RDWR) | O_CLOEXEC);
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0);
	return fd;
}

/* What a tool in its box can do to the lock of a dead thread: open it to read, and lock that. */
static void a_read_lock_keeps_no_thread_alive(void **state)
{
	struct bench *b = *state;
	int fd = locked_thread(b, F_RDLCK);
	struct waiter waiter;
	struct rye_call *call;

	begin_wait(b, "a", &waiter, &call);
	end_wait(&waiter, call, "error\n");
	close(fd);
}

/* A launcher that has not named its runner yet: what is asked meanwhile is kept for it. */
static void a_starting_thread_can_be_killed(void **state)
{
	struct bench *b = *state;
	int fd = locked_thread(b, F_WRLCK);
	struct waiter waiter;
	struct rye_call *call;

	begin_wait(b, "a", &waiter, &call);
	assert_works(&told_err, rye_thread_ctl(b->rye, "a", SPAN("kill"), NULL, &told_err));
	status_is(b, "a", "created");
	assert_int_equal(told(&waiter), 0);
	close(fd); /* the launcher dies instead */
	end_wait(&waiter, call, "killed\n");
	status_is(b, "a", "killed");
}

/* A child of a process that never waits for it: dead, it stays a zombie. */
static pid_t neglected_sleeper(pid_t *ret_parent)
{
	int pipe_[2];
	pid_t pid = 0;

	assert_int_equal(pipe(pipe_), 0);
	*ret_parent = fork();
	if (*ret_parent == 0) {
		pid = sleeper();
		if (write(pipe_[1], &pid, sizeof(pid)) == sizeof(pid))
			pause();
		_exit(0);
	}
	assert_int_equal(read(pipe_[0], &pid, sizeof(pid)), sizeof(pid));
	close(pipe_[0]);
	close(pipe_[1]);
	return pid;
}

/* The row and directory that a launcher makes; this process stands for the runner. */
static void add_runner(struct bench *b, const char *id, pid_t pid)
{
	char path[400];
	int dir;

	add_thread(b, id);
	snprintf(path, sizeof(path), "%s/" THREADS "/%s", b->place.place.project, id);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_works(&told_err, runner_write(dir, pid, &told_err));
	close(dir);
	assert_works(&told_err, registry_running(b->db, id, pid, &told_err));
}

static void a_wait_ends_with_a_runner_of_others(void **state)
{
	struct bench *b = *state;
	struct waiter waiter;
	struct rye_call *call;
	pid_t parent, pid;

	open_registry(b);
	for (int i = 0; i < 20; i++) {
		const char *id = (char[2]){ (char)('a' + i), 0 };

		pid = neglected_sleeper(&parent);
		add_runner(b, id, pid);
		begin_wait(b, id, &waiter, &call);
		usleep(20000);
		assert_int_equal(told(&waiter), 0);
		if (i % 2)
			assert_works(&told_err,
				     rye_thread_ctl(b->rye, id, SPAN("kill"), NULL, &told_err));
		else
			kill(pid, SIGKILL);
		end_wait(&waiter, call, i % 2 ? "killed\n" : "error\n");
		kill(parent, SIGKILL);
		assert_int_equal(waitpid(parent, NULL, 0), parent);
	}
}

static _Atomic int refused_threads; /* so many pthread_create to come fail */

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
			  void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
			  void *arg);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
			  void *arg)
{
	if (refused_threads > 0) {
		refused_threads--;
		return EAGAIN;
	}
	return __real_pthread_create(thread, attr, fn, arg);
}

/* The worker that watches cannot be started: a wait begins when it can, or ends with its patience. */
static void a_wait_has_to_begin(void **state)
{
	struct bench *b = *state;
	struct thread_patience patience = { .wake = -1, .wait_ms = 250 };
	struct threads *threads = NULL;
	struct rye_options opt = { .project = b->place.place.project };
	const struct threads_env env = { .opt = &opt };
	struct rye_err err = { 0 };
	pid_t parent, pid = neglected_sleeper(&parent), killer;

	open_registry(b);
	add_runner(b, "a", pid);
	assert_works(&told_err, threads_open(&env, &threads, &told_err));
	refused_threads = 1000;
	assert_refused(&err, RYE_IO, threads_await(threads, "a", &patience, &err));
	assert_string_equal(err.msg, "out of memory");
	refused_threads = 3;
	patience.wait_ms = 10000;
	killer = fork();
	if (!killer) {
		usleep(600000); /* it is waited for by then, if it can be */
		_exit(kill(pid, SIGKILL));
	}
	assert_works(&told_err, threads_await(threads, "a", &patience, &told_err));
	assert_int_equal(waitpid(killer, NULL, 0), killer);
	threads_close(threads);
	kill(parent, SIGKILL);
	assert_int_equal(waitpid(parent, NULL, 0), parent);
}

static _Atomic bool no_blobs; /* there is no memory for one */

struct rye_blob *__real_buf_blob(struct rye_buf *buf);
struct rye_blob *__wrap_buf_blob(struct rye_buf *buf);

struct rye_blob *__wrap_buf_blob(struct rye_buf *buf)
{
	return no_blobs ? NULL : __real_buf_blob(buf);
}

/* What tells of its end has no memory: a wait ends all the same. */
static void a_wait_is_told_without_memory(void **state)
{
	struct bench *b = *state;
	const struct thread_patience patience = { .wake = -1, .wait_ms = 250 };
	struct threads *threads = NULL;
	struct rye_options opt = { .project = b->place.place.project };
	const struct threads_env env = { .opt = &opt };

	open_registry(b);
	add_runner(b, "a", getpid());
	assert_works(&told_err, threads_open(&env, &threads, &told_err));
	no_blobs = true;
	alarm(20);
	assert_int_equal(threads_await(threads, "a", &patience, NULL), -(int)RYE_TIMEOUT);
	alarm(0);
	no_blobs = false;
	threads_close(threads);
}

/* So many descriptors are left that a look at a living thread fails here or there: it is never lost. */
static void a_look_without_descriptors(void **state)
{
	struct bench *b = *state;
	struct threads *threads = NULL;
	struct rye_options opt = { .project = b->place.place.project };
	const struct threads_env env = { .opt = &opt };
	struct rlimit limit;
	int fds[8];

	open_registry(b);
	add_runner(b, "a", getpid());
	assert_works(&told_err, threads_open(&env, &threads, &told_err));
	threads_recover_all(threads);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	for (size_t n = 0; n <= ARRAY_SIZE(fds); n++) {
		struct rlimit low = limit;
		struct registry_row row;

		for (size_t i = 0; i < n; i++)
			fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		low.rlim_cur = n ? (rlim_t)fds[n - 1] + 1 : 1;
		for (size_t i = 0; i < n; i++)
			close(fds[i]);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
		threads_recover_all(threads);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
		row = row_of(b, "a");
		assert_string_equal(row.status, "running");
		free(row.result);
	}
	threads_close(threads);
}

/* Orders that another version wrote: the thread ends with a sentence, not in silence. */
static void unknown_orders_are_told(void **state)
{
	struct bench *b = *state;
	auto_json json_t *doc = json_pack("{s:s, s:s, s:{s:s}}", "type", "dream", "thread_id", "a",
					  "options", "project", b->place.place.project);
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	int order = memfd_create("orders", MFD_CLOEXEC), dir, lock, status;
	auto_close int go = open("/dev/null", O_RDONLY | O_CLOEXEC); /* ends at once */
	struct registry_row row;
	struct budget_row money;
	struct db *ledger = NULL;
	char path[400];
	pid_t pid;

	open_registry(b);
	add_thread(b, "a");
	snprintf(path, sizeof(path), "%s/" THREADS "/budget_ledger.db", b->place.place.project);
	assert_works(&told_err, budget_open(path, &ledger, &told_err));
	assert_works(&told_err, budget_root(ledger, "a", 1, &told_err));
	snprintf(path, sizeof(path), "%s/" THREADS "/a", b->place.place.project);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	lock = thread_lock(dir);
	json_put(&text, doc, true);
	assert_int_equal(io_write_all(order, text.data, text.len), 0);
	assert_int_equal(lseek(order, 0, SEEK_SET), 0);
	assert_int_equal(
		runner_spawn(&(struct runner_start){ dir, order, lock, go, (char[]){ "" } }, &pid),
		0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	row = row_of(b, "a");
	assert_string_equal(row.status, "error");
	assert_non_null(strstr(row.result, "cannot run threads of the type \\\"dream\\\""));
	free(row.result);
	/* what its launcher had reserved for it is given back */
	assert_works(&told_err, budget_get(ledger, "a", &money, &told_err));
	assert_string_equal(money.status, "error");
	db_close(ledger);
	close(order);
	close(lock);
	close(dir);
}

/* Threads of one stem that begin at once: each has its own id, all of one shape. */
static void ids_of_one_stem(void **state)
{
	struct bench *b = *state;
	struct rye_options opt = { .project = b->place.place.project };
	struct log log = { 0 };
	const struct threads_env env = { .opt = &opt, .log = &log };
	auto_json json_t *request = json_pack("{s:s}", "item_id", "directive:a/b");
	const struct launch what = { "dream", "directive:a/b", NULL, "a/b/b", request };
	struct launched launched[3];
	struct threads *threads;

	assert_works(&told_err, threads_open(&env, &threads, &told_err));
	open_registry(b);
	for (size_t i = 0; i < ARRAY_SIZE(launched); i++) {
		assert_works(&told_err, threads_launch(threads, &what, &launched[i], &told_err));
		assert_int_equal(strncmp(launched[i].thread_id, "a/b/b-", 6), 0);
		assert_int_not_equal(strspn(launched[i].thread_id + 6, "0123456789"), 0);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(launched[i].thread_id, launched[j].thread_id);
	}
	for (size_t i = 0; i < ARRAY_SIZE(launched); i++)
		free(ended_row(b, launched[i].thread_id, 5000).result);
	threads_close(threads);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		thread_test(case_82_detached_tool),
		thread_test(case_83_detached_tool_fails),
		thread_test(detached_tool_times_out),
		thread_test(case_84_runner_is_killed),
		thread_test(the_list_follows_others),
		thread_test(a_living_foreign_thread_is_respected),
		thread_test(a_read_lock_keeps_no_thread_alive),
		thread_test(a_row_alone_is_a_thread),
		thread_test(a_starting_thread_can_be_killed),
		thread_test(a_wait_ends_with_a_runner_of_others),
		thread_test(a_wait_has_to_begin),
		thread_test(a_wait_is_told_without_memory),
		thread_test(a_look_without_descriptors),
		thread_test(ids_of_one_stem),
		thread_test(unknown_orders_are_told),
		thread_test(a_number_stands_for_names),
	};

	if (argc > 1 && !strcmp(argv[1], "thread-run"))
		return rye_thread_runner();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
