/* SPDX-License-Identifier: MIT */
/*
 * Runs as they live: cancelling, waiting in the queue, a full queue, which run a process is a child
 * of and what it may call, closing while something runs.
 */
#include "exec_tools.h"

#include "clock.h"
#include "bounds.h"
#include "policy/policy.h"
#include "run/run_inner.h"
#include "scope.h"

#include <fcntl.h>
#include <signal.h>

static struct rye_request asking(const char *id, const char *json)
{
	return (struct rye_request){ .verb = RYE_RUN,
				     .kind = RYE_TOOL,
				     .id = id,
				     .message = span_of(json) };
}

/* Waits until the file has a line; its number. */
static pid_t read_pid(struct exec_place *p, const char *name)
{
	char path[300], text[32] = "";

	snprintf(path, sizeof(path), "%s/%s", p->place.project, name);
	for (int i = 0; i < 2000 && !strchr(text, '\n'); i++) {
		FILE *file = fopen(path, "r");

		if (file) {
			if (!fgets(text, sizeof(text), file))
				text[0] = 0;
			fclose(file);
		}
		usleep(5000);
	}
	assert_true(atoi(text) > 0);
	return atoi(text);
}

static void feed(struct exec_place *p, const char *name, const char *text)
{
	char path[300];
	int fd = -1;

	snprintf(path, sizeof(path), "%s/%s", p->place.project, name);
	for (int i = 0; i < 2000 && fd < 0; i++) {
		fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
		if (fd < 0)
			usleep(5000);
	}
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static void sleeper(struct exec_place *p, const char *file, const char *more)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	buf_addf(&text,
		 "%sconfig:\n  command: /bin/sh\n"
		 "  args: [-c, \"echo $$ >pid.tmp; mv pid.tmp pid; sleep 60 & wait\"]\n",
		 more);
	exec_yaml(p, file, "rye/core/primitives/execute", text.data);
}

static void cancelling(void **state)
{
	struct exec_place *p = *state;
	const struct rye_request req = asking("t/a", "{}");
	struct exec_waiter w;
	struct rye_call *call;
	int64_t start;
	pid_t pid;

	sleeper(p, "t/a.yaml", "");
	exec_begin(p, &req, &w, &call);
	pid = read_pid(p, "pid");
	start = clock_ms();
	rye_call_cancel(call, RYE_INTERRUPTED);
	rye_call_cancel(call, RYE_CANCELLED); /* the first one counts */
	{
		auto_said struct exec_said said = exec_end(&w, call);

		assert_int_equal(said.code, RYE_INTERRUPTED);
		exec_check(&said, "{\"status\":\"error\",\"error\":\"Run was cancelled\"}");
		assert_true(clock_ms() - start < 30000);
		assert_int_equal(kill(pid, 0), -1);
	}
}

static void waiting_calls_are_answered(void **state)
{
	struct exec_place *p = *state;
	const struct rye_request first = asking("t/a", "{}"), second = asking("t/b", "{}");
	struct exec_waiter w1, w2;
	struct rye_call *c1, *c2;

	exec_close(p->exec);
	place_close(&p->place);
	p->opt.jobs = 1;
	exec_place_open(p);
	sleeper(p, "t/a.yaml", "");
	exec_shell(p, "t/b.yaml", "echo b", "");
	exec_begin(p, &first, &w1, &c1);
	read_pid(p, "pid");
	exec_begin(p, &second, &w2, &c2);
	rye_call_cancel(c2, RYE_INTERRUPTED);
	{
		auto_said struct exec_said said = exec_end(&w2, c2);

		assert_int_equal(said.code, RYE_INTERRUPTED);
	}
	exec_begin(p, &second, &w2, &c2);
	rye_call_cancel(c1, RYE_CANCELLED);
	{
		auto_said struct exec_said said = exec_end(&w1, c1);

		assert_int_equal(said.code, RYE_CANCELLED);
	}
	{
		auto_said struct exec_said said = exec_end(&w2, c2);

		exec_check(&said, "{\"data\":{\"stdout\":\"b\\n\"}}");
	}
}

struct tally {
	pthread_mutex_t lock;
	size_t busy, cancelled, other;
};

static void count(void *arg, const struct rye_outcome *outcome)
{
	struct tally *tally = arg;

	pthread_mutex_lock(&tally->lock);
	tally->busy += outcome->code == RYE_BUSY;
	tally->cancelled += outcome->code == RYE_CANCELLED;
	tally->other += outcome->code != RYE_BUSY && outcome->code != RYE_CANCELLED;
	pthread_mutex_unlock(&tally->lock);
}

/* A full queue says so at once; closing answers every call. */
static void a_full_queue(void **state)
{
	struct exec_place *p = *state;
	const struct rye_request req = asking("t/a", "{}");
	struct tally tally = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct rye_call *call;
	size_t busy = 0, n = RYE_QUEUE_MAX + 20;

	exec_close(p->exec);
	place_close(&p->place);
	p->opt.jobs = 1;
	exec_place_open(p);
	sleeper(p, "t/a.yaml", "");
	exec_start(p->exec, &req, count, &tally, &call);
	rye_call_unref(call);
	read_pid(p, "pid");
	for (size_t i = 0; i < n; i++) {
		exec_start(p->exec, &req, count, &tally, &call);
		rye_call_unref(call);
	}
	for (int i = 0; i < 400 && busy < 20; i++) {
		usleep(5000);
		pthread_mutex_lock(&tally.lock);
		busy = tally.busy;
		pthread_mutex_unlock(&tally.lock);
	}
	assert_int_equal(busy, 20);
	exec_close(p->exec);
	assert_int_equal(tally.busy, 20);
	assert_int_equal(tally.cancelled, RYE_QUEUE_MAX + 1);
	assert_int_equal(tally.other, 0);
	place_close(&p->place);
	exec_place_open(p);
}

static void note_thread(void *arg, const struct rye_outcome *outcome)
{
	pthread_t *told_by = arg;

	assert_int_equal(outcome->code, RYE_OK);
	*told_by = pthread_self();
}

/*
 * Text is rendered on the caller's thread, if the request says so; whatever starts a process is
 * not.
 */
static void at_once(void **state)
{
	struct exec_place *p = *state;
	struct rye_request req = asking("t/k", "{}");
	pthread_t told_by = 0;
	struct rye_call *call;
	struct exec_waiter w;

	req.kind = RYE_KNOWLEDGE;
	req.at_once = true;
	exec_sign(p->place.project, RYE_KNOWLEDGE, "t/k.md",
		  span_of("```yaml\nname: k\ntitle: K\nversion: \"1.0.0\"\nentry_type: "
			  "note\n```\n\nText.\n"));
	exec_start(p->exec, &req, note_thread, &told_by, &call);
	rye_call_unref(call);
	assert_true(pthread_equal(told_by, pthread_self()));

	exec_shell(p, "t/a.yaml", "mkfifo fifo 2>&-; read x <fifo; echo $x", "");
	req = asking("t/a", "{}");
	req.at_once = true;
	/* it is still to be fed when exec_begin is back */
	exec_begin(p, &req, &w, &call);
	feed(p, "fifo", "fed\n");
	{
		auto_said struct exec_said said = exec_end(&w, call);

		exec_check(&said, "{\"data\":{\"stdout\":\"fed\\n\"}}");
	}
}

static void told(struct exec_place *p, struct rye_request *req, const char *json, const char *want)
{
	auto_said struct exec_said said = { 0 };

	req->message = span_of(json);
	said = exec_ask(p, req);
	exec_check(&said, want);
}

static void may(struct exec_place *p, uint64_t run)
{
	assert_true(exec_run_may(p->exec, run, RYE_RUN, RYE_TOOL, "t/b"));
	assert_false(exec_run_may(p->exec, run, RYE_RUN, RYE_TOOL, "u/c"));
	assert_false(exec_run_may(p->exec, run, RYE_RUN, RYE_DIRECTIVE, "t/b"));
	assert_true(exec_run_may(p->exec, run, RYE_EXECUTE, RYE_KIND__MAX, ""));
	assert_true(exec_run_may(p->exec, run, RYE_FETCH, RYE_KIND__MAX, ""));
	assert_false(exec_run_may(p->exec, run, RYE_SIGN, RYE_KIND__MAX, ""));
	assert_false(exec_run_may(p->exec, UINT64_MAX, RYE_RUN, RYE_TOOL, "t/b"));
}

static void do_what_they_may(struct exec_place *p, uint64_t run)
{
	struct rye_request child = asking("t/b", "{}");

	child.parent_run = run;
	/* the parent's confinement is kept: its list names no network */
	told(p, &child, "{}", "{\"status\":\"error\",\"error\":\"~PermissionError\"}");
	child.id = "u/c";
	told(p, &child, "{}", "{\"error\":\"~does not name rye.execute.tool.u.c\"}");
	child.verb = RYE_EXECUTE;
	told(p, &child, "{\"item_id\":\"tool:u/c\"}", "{\"error\":\"~does not name\"}");
	child.verb = RYE_FETCH;
	told(p, &child, "{\"item_id\":\"tool:u/c\",\"destination\":\"user\"}",
	     "{\"error\":\"~Permission denied\"}");
	child.verb = RYE_SIGN;
	told(p, &child, "{\"item_id\":\"tool:u/c\"}", "{\"error\":\"~Permission denied\"}");
}

static void children(void **state)
{
	struct exec_place *p = *state;
	const struct rye_request first = asking("t/a", "{}");
	struct exec_waiter w;
	struct rye_call *call;
	uint64_t run;
	pid_t pid, stranger = getppid();

	sleeper(p, "t/a.yaml", "requires: [rye.execute.tool.t.*, fs.write]\n");
	exec_shell(p, "t/b.yaml", "python3 -c 'import socket; socket.socket()' && echo net", "");
	exec_shell(p, "u/c.yaml", "echo c", "");
	exec_begin(p, &first, &w, &call);
	pid = read_pid(p, "pid");
	run = exec_run_of(p->exec, &pid, 1, pid);
	assert_true(run != 0 && run != UINT64_MAX);
	assert_true(exec_run_of(p->exec, (pid_t[]){ 999999, pid }, 2, 999999) == run);
	assert_true(exec_run_of(p->exec, &stranger, 1, getsid(0)) == 0);
	/* an orphan of a run that is not known any more */
	assert_true(exec_run_of(p->exec, (pid_t[]){ 999999, getpid() }, 2, 999999) == UINT64_MAX);
	may(p, run);
	do_what_they_may(p, run);
	rye_call_cancel(call, RYE_CANCELLED);
	{
		auto_said struct exec_said said = exec_end(&w, call);

		assert_int_equal(said.code, RYE_CANCELLED);
	}
	/* over: it may do nothing any more */
	assert_false(exec_run_may(p->exec, run, RYE_RUN, RYE_TOOL, "t/b"));
}

/* A message that is too big is an error, and never ends the daemon. */
static void a_message_of_any_size(void **state)
{
	struct exec_place *p = *state;
	struct rye_request req = asking("t/b", "{}");
	auto_said struct exec_said said = { 0 }, kept = { 0 };
	struct rye_blob *blob = rye_blob_new("{}", 2);

	exec_shell(p, "t/b.yaml", "echo b", "");
	req.message.len = SIZE_MAX / 2;
	said = exec_ask(p, &req);
	assert_int_equal(said.code, RYE_TOO_BIG);
	exec_check(&said, "{\"status\":\"error\",\"error\":\"~bytes is too big\"}");
	req.blob = blob;
	req.message = (struct rye_span){ blob->data, blob->len };
	kept = exec_ask(p, &req);
	exec_check(&kept, "{\"data\":{\"stdout\":\"b\\n\"}}");
	rye_blob_unref(blob);
}

/* ---- runs that children of runs ask for ---- */

#define DEPTH 10

/* A tool that says that it runs, and goes on when its fifo is fed. */
static void waits_for_feed(struct exec_place *p, const char *name)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	char file[32];

	snprintf(file, sizeof(file), "t/%s.yaml", name);
	buf_addf(&text,
		 "requires: [rye.execute.tool.t.*, fs.write]\nconfig:\n  command: /bin/sh\n"
		 "  args: [-c, \"mkfifo %s.in; echo $$ >%s.tmp; mv %s.tmp %s; cat %s.in\"]\n",
		 name, name, name, name, name);
	exec_yaml(p, file, "rye/core/primitives/execute", text.data);
}

struct nested {
	char name[8], id[16];
	struct exec_waiter w;
	struct rye_call *call;
	uint64_t run;
};

/* Each is asked for by a child of the one before, which waits for it: none waits for a place. */
static void a_chain_of_runs(void **state)
{
	struct exec_place *p = *state;
	struct nested chain[DEPTH];
	struct rye_request req = asking("", "{}");
	int64_t begin = clock_ms();

	exec_close(p->exec);
	place_close(&p->place);
	p->opt.jobs = 1;
	exec_place_open(p);
	for (int i = 0; i < DEPTH; i++) {
		struct nested *at = &chain[i];
		pid_t pid;

		snprintf(at->name, sizeof(at->name), "n%d", i);
		snprintf(at->id, sizeof(at->id), "t/n%d", i);
		waits_for_feed(p, at->name);
		req.id = at->id;
		req.parent_run = i ? chain[i - 1].run : 0;
		exec_begin(p, &req, &at->w, &at->call);
		pid = read_pid(p, at->name);
		at->run = exec_run_of(p->exec, &pid, 1, pid);
		assert_true(at->run != 0);
	}
	for (int i = DEPTH - 1; i >= 0; i--) {
		char fifo[16];

		snprintf(fifo, sizeof(fifo), "n%d.in", i);
		feed(p, fifo, "fed\n");
		auto_said struct exec_said said = exec_end(&chain[i].w, chain[i].call);

		exec_check(&said, "{\"data\":{\"stdout\":\"fed\\n\"}}");
	}
	assert_true(clock_ms() - begin < 30000);
}

/* A run lends its one place to one child at a time: more of them wait, and can be cancelled. */
static void siblings_share_a_place(void **state)
{
	struct exec_place *p = *state;
	struct rye_request req = asking("t/n0", "{}");
	struct nested parent = { .name = "n0" }, first = { .name = "n1" }, second = { .name = "" };
	pid_t pid;

	exec_close(p->exec);
	place_close(&p->place);
	p->opt.jobs = 1;
	exec_place_open(p);
	waits_for_feed(p, "n0");
	waits_for_feed(p, "n1");
	exec_shell(p, "t/b.yaml", "echo b", "");
	exec_begin(p, &req, &parent.w, &parent.call);
	pid = read_pid(p, "n0");
	req.parent_run = exec_run_of(p->exec, &pid, 1, pid);
	req.id = "t/n1";
	exec_begin(p, &req, &first.w, &first.call);
	read_pid(p, "n1");
	req.id = "t/b";
	exec_begin(p, &req, &second.w, &second.call);
	usleep(50000); /* it is not told meanwhile */
	assert_int_equal(second.w.told, 0);
	rye_call_cancel(second.call, RYE_CANCELLED);
	{
		auto_said struct exec_said said = exec_end(&second.w, second.call);

		assert_int_equal(said.code, RYE_CANCELLED);
	}
	exec_begin(p, &req, &second.w, &second.call);
	feed(p, "n1.in", "x");
	{
		auto_said struct exec_said one = exec_end(&first.w, first.call);
		auto_said struct exec_said two = exec_end(&second.w, second.call);

		assert_int_equal(one.code, RYE_OK);
		exec_check(&two, "{\"data\":{\"stdout\":\"b\\n\"}}");
	}
	feed(p, "n0.in", "x");
	{
		auto_said struct exec_said said = exec_end(&parent.w, parent.call);

		assert_int_equal(said.code, RYE_OK);
	}
}

/* ---- a run whose caller stops waiting ---- */

struct keeper {
	char ref[64];
	bool ended;
	enum rye_code code;
};

static bool adopt(void *arg, struct rye_call *call, const char *ref, const json_t *request,
		  char thread_id[64])
{
	struct keeper *keeper = arg;

	snprintf(keeper->ref, sizeof(keeper->ref), "%s", ref);
	assert_string_equal(json_str(request, "item_id"), ref);
	snprintf(thread_id, 64, "thread-1");
	return true;
}

static void adopted_end(void *arg, const char *thread_id, const struct rye_outcome *outcome)
{
	struct keeper *keeper = arg;

	assert_string_equal(thread_id, "thread-1");
	keeper->ended = true;
	keeper->code = outcome->code;
}

static void going_on_as_a_thread(void **state)
{
	struct exec_place *p = *state;
	struct keeper keeper = { 0 };
	const struct exec_hooks hooks = { .arg = &keeper,
					  .adopt = adopt,
					  .adopted_end = adopted_end };
	const struct rye_request req = asking("t/a", "{}");
	struct exec_waiter w;
	struct rye_call *call;
	char id[64] = "";

	exec_close(p->exec);
	place_close(&p->place);
	p->env.hooks = &hooks;
	exec_place_open(p);
	sleeper(p, "t/a.yaml", "");
	exec_begin(p, &req, &w, &call);
	read_pid(p, "pid");
	assert_true(rye_call_detach(call, id));
	assert_string_equal(id, "thread-1");
	assert_false(rye_call_detach(call, id));
	assert_string_equal(keeper.ref, "tool:t/a");
	assert_false(keeper.ended);
	rye_call_cancel(call, RYE_CANCELLED);
	{
		auto_said struct exec_said said = exec_end(&w, call);

		assert_int_equal(said.code, RYE_CANCELLED);
		/* recorded before the caller heard of it */
		assert_true(keeper.ended);
		assert_int_equal(keeper.code, RYE_CANCELLED);
	}
	exec_close(p->exec);
	place_close(&p->place);
	p->env.hooks = NULL;
	exec_place_open(p);
}

/* Only what is the short name of a tool is made its id; what has a wildcard or is no tool stays. */
static void whole_names(void **state)
{
	static const char *const rows[][2] = {
		{ "rye.execute.tool.a.b", "rye.execute.tool.a.b.b" },
		{ "rye.fetch.tool.a.b", "rye.fetch.tool.a.b.b" },
		{ "rye.execute.tool.c", "rye.execute.tool.c.c" },
		{ "rye.execute.tool.a.b.b", "rye.execute.tool.a.b.b" },
		/* a file of the shorter name is another tool */
		{ "rye.execute.tool.a.both", "rye.execute.tool.a.both" },
		{ "rye.execute.tool.a.both.both", "rye.execute.tool.a.both.both" },
		{ "rye.execute.tool.a.none", "rye.execute.tool.a.none" },
		{ "rye.execute.tool.a.?", "rye.execute.tool.a.?" },
		{ "rye.execute.directive.a.b", "rye.execute.directive.a.b" },
		{ "rye.execute.directive.x.tool.c", "rye.execute.directive.x.tool.c" },
		{ "rye.execute.tool", "rye.execute.tool" },
		{ "rye.execute.tool.", "rye.execute.tool." },
		{ "rye.", "rye." },
		{ "fs.write", "fs.write" },
	};
	struct exec_place *p = *state;

	exec_shell(p, "a/b/b.yaml", "true", "");
	exec_shell(p, "c/c.yaml", "true", "");
	exec_shell(p, "a/both.yaml", "true", "");
	exec_shell(p, "a/both/both.yaml", "true", "");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_json json_t *list = json_pack("[s]", rows[i][0]);
		auto_json json_t *whole = capabilities_whole(p->env.items, list);

		assert_string_equal(json_string_value(json_array_get(whole, 0)), rows[i][1]);
	}
	assert_null(capabilities_whole(p->env.items, NULL));
}

static void told_nothing(void *arg, const struct rye_outcome *outcome)
{
}

/* More than any array of calls on a stack would hold. */
static void all_are_cancelled(void **state)
{
	static const struct call_ops none = { 0 };
	struct rye_call *calls[600];
	struct living *living[600];
	struct runs *runs = runs_open();

	assert_non_null(runs);
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		calls[i] = call_new(&none, NULL, told_nothing, NULL);
		assert_non_null(calls[i]);
		living[i] = runs_begin(runs, calls[i], 0);
		assert_non_null(living[i]);
	}
	runs_cancel_all(runs);
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		struct rye_outcome outcome = { .code = RYE_CANCELLED, .message = "" };

		assert_int_equal(call_cancelled(calls[i]), RYE_CANCELLED);
		runs_end(runs, living[i]);
		call_finish(calls[i], &outcome);
		rye_call_unref(calls[i]);
	}
	runs_close(runs);
}

/* What holds children of a run: its list and those of all above it, and its own confinement alone. */
static void every_run_above_holds(void **state)
{
	static const struct call_ops none = { 0 };
	static const char *const lists[] = { "[\"rye.execute.tool.t.*\"]", "[\"rye.execute\"]",
					     "[\"rye.execute.tool\"]" };
	const struct exec_place *p = *state;
	struct runs *runs = p->exec->runs;
	struct rye_call *call = call_new(&none, NULL, told_nothing, NULL);
	struct rye_outcome outcome = { .code = RYE_CANCELLED, .message = "" };
	struct living *living[ARRAY_SIZE(lists)];
	auto_authority struct authority asker;
	struct confine limit = { .net = true };
	uint64_t last;

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		auto_json json_t *list = json_loads(lists[i], 0, NULL);

		living[i] = runs_begin(runs, call, i ? living[i - 1]->number : 0);
		runs_item(runs, living[i], list, (struct confine){ .write = i == 2 });
	}
	authority_init(&asker, ASKER_RUN);
	runs_authority(p->exec, living[2]->number, &asker, &limit);
	assert_int_equal(json_array_size(asker.running), ARRAY_SIZE(lists));
	assert_true(limit.write && !limit.net);
	assert_true(exec_run_may(p->exec, living[2]->number, RYE_RUN, RYE_TOOL, "t/b"));
	assert_false(exec_run_may(p->exec, living[2]->number, RYE_RUN, RYE_TOOL, "u/c"));
	/* one above is over: what is below may read, but run nothing any more */
	runs_end(runs, living[0]);
	assert_false(exec_run_may(p->exec, living[2]->number, RYE_RUN, RYE_TOOL, "t/b"));
	assert_true(exec_run_may(p->exec, living[2]->number, RYE_FETCH, RYE_KIND__MAX, ""));
	last = living[2]->number;
	runs_end(runs, living[1]);
	runs_end(runs, living[2]);
	assert_false(exec_run_may(p->exec, last, RYE_FETCH, RYE_KIND__MAX, ""));
	call_finish(call, &outcome);
	rye_call_unref(call);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		exec_test(cancelling),
		exec_test(waiting_calls_are_answered),
		exec_test(a_full_queue),
		exec_test(children),
		exec_test(a_message_of_any_size),
		exec_test(a_chain_of_runs),
		exec_test(siblings_share_a_place),
		exec_test(going_on_as_a_thread),
		cmocka_unit_test(all_are_cancelled),
		exec_test(every_run_above_holds),
		exec_test(whole_names),
		exec_test(at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
