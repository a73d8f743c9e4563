/* SPDX-License-Identifier: MIT */
/*
 * What a hostile tool tries to get beyond what its item was given: the interpreter it shares with
 * later calls, the processes beside it, what it leaves behind for the next one.
 */
#include "exec_tools.h"

#include "scope.h"
#include "sandbox/sandbox.h"
#include "thread/thread_inner.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <sys/stat.h>
#include <unistd.h>

/* The tool as it was called last: was it a child of a warm interpreter? */
static bool is_warm(const struct exec_said *said)
{
	return said->trace && strstr(said->trace, "\"warm\": true");
}

/* Calls t/a until eight warm children have answered `want`. */
static void all_warm(struct exec_place *p, const char *want)
{
	for (int warm = 0, calls = 0; warm < 8; calls++) {
		auto_said struct exec_said said = exec_run(p, "t/a", "{\"trace\":true}");

		if (calls == 200)
			fail_msg("no warm interpreter after 200 calls");
		exec_check(&said, want);
		warm += is_warm(&said);
		usleep(20000);
	}
}

/* What the interpreter rehearses with is code: a tool that could write it would run in others. */
static void sample_is_out_of_reach(void **state)
{
	struct exec_place *p = *state;

	exec_function(p, "t/a.py",
		      "import os\n"
		      "hits = []\n"
		      "for pid in 'self', str(os.getppid()):\n"
		      "    try:\n"
		      "        fds = os.listdir('/proc/%s/fd' % pid)\n"
		      "    except OSError:\n"
		      "        continue\n"
		      "    for fd in fds:\n"
		      "        path = '/proc/%s/fd/%s' % (pid, fd)\n"
		      "        try:\n"
		      "            if 'memfd:sample' not in os.readlink(path):\n"
		      "                continue\n"
		      "            if pid == 'self':\n"
		      "                hits.append('inherited')\n"
		      "            os.pwrite(os.open(path, os.O_RDWR), b' ', 0)\n"
		      "            hits.append('written')\n"
		      "        except OSError:\n"
		      "            pass\n"
		      "return {'hits': hits}");
	all_warm(p, "{\"data\":{\"hits\":[]}}");
}

/* pidfd_getfd (438): with the interpreter's socket a tool would get the calls of others. */
static void descriptors_of_others_are_out_of_reach(void **state)
{
	struct exec_place *p = *state;

	exec_function(p, "t/a.py",
		      "import ctypes, os\n"
		      "libc = ctypes.CDLL(None, use_errno=True)\n"
		      "fd = os.pidfd_open(os.getppid())\n"
		      "got = libc.syscall(438, fd, 3, 0)\n"
		      "return {'got': got, 'errno': ctypes.get_errno()}");
	all_warm(p, "{\"data\":{\"got\":-1,\"errno\":1}}");
}

/* Neither the interpreter it came from nor its siblings can be looked into or changed. */
static void memory_of_others_is_out_of_reach(void **state)
{
	struct exec_place *p = *state;

	exec_function(p, "t/a.py",
		      "import os\n"
		      "hits = []\n"
		      "for pid in os.listdir('/proc'):\n"
		      "    if not pid.isdigit() or int(pid) == os.getpid():\n"
		      "        continue\n"
		      "    try:\n"
		      "        mark = open('/proc/%s/environ' % pid).read()\n"
		      "        hits.append(['environ', pid, 'RYE_RUN' in mark])\n"
		      "        open('/proc/%s/mem' % pid, 'r+b').close()\n"
		      "        hits.append(['mem', pid])\n"
		      "    except OSError:\n"
		      "        pass\n"
		      "return {'hits': hits}");
	all_warm(p, "{\"data\":{\"hits\":[]}}");
}

/* Errors of the calls that change another process, on the one given and on the tool itself. */
static const char reach[] =
	"import ctypes, os, struct\n"
	"libc = ctypes.CDLL(None, use_errno=True)\n"
	"numbers = {'x86_64': (302, 203, 314, 142, 144, 141, 251),\n"
	"           'aarch64': (261, 122, 274, 118, 119, 140, 30)}[os.uname().machine]\n"
	"limit, cpus, attr, param, policy, nice, io = numbers\n"
	"def call(*args):\n"
	"    ctypes.set_errno(0)\n"
	"    return ctypes.get_errno() if libc.syscall(*args) < 0 else 0\n"
	"def every(pid, group):\n"
	"    return [call(limit, pid, 4, struct.pack('QQ', 0, 0), None),\n"
	"            call(cpus, pid, 8, struct.pack('Q', 1)),\n"
	"            call(attr, pid, struct.pack('IIQiIQQQ', 48, 0, 0, 19, 0, 0, 0, 0), 0),\n"
	"            call(param, pid, struct.pack('i', 0)),\n"
	"            call(policy, pid, 0, struct.pack('i', 0)),\n"
	"            call(nice, 0, pid, 19), call(nice, 1, group, 19),\n"
	"            call(io, 1, pid, 3 << 13), call(io, 2, group, 3 << 13)]\n"
	"others = every(p['pid'], p['pid'])\n"
	"users = [call(nice, 2, 0, 0), call(nice, 2, os.getuid(), 0), call(io, 3, 0, 0)]\n"
	"return {'others': others, 'users': users, 'self': every(0, 0),\n"
	"        'nice': os.nice(1) == 19}";

/* The engine is a process of the same user: a tool changes neither its limits nor its priority. */
static void other_processes_are_not_changed(void **state)
{
	struct exec_place *p = *state;
	auto_buf struct rye_buf asked = RYE_BUF_INIT;

	buf_addf(&asked, "{\"pid\": %d}", (int)getpid());
	exec_function(p, "t/a.py", reach);
	exec_wants(p, asked.data,
		   "{\"data\":{\"others\":[1,1,1,1,1,1,1,1,1],\"users\":[1,1,1],"
		   "\"self\":[0,0,0,0,0,0,0,0,0],\"nice\":true}}");
}

/* ---- what a box keeps in ---- */

static void signals_stay_in_the_box(void **state)
{
	struct exec_place *p = *state;

	if (syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) < 6)
		skip();
	exec_shell(p, "t/a.yaml",
		   "kill -0 $PPID 2>/dev/null && echo out; sleep 9 & kill $! && echo own", "");
	exec_wants(p, "{}", "{\"data\":{\"stdout\":\"own\\n\"}}");
}

static void no_device_is_made(void **state)
{
	struct exec_place *p = *state;

	if (syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) < 1)
		skip();
	exec_shell(p, "t/a.yaml",
		   "for at in $TMPDIR . /dev/shm; do mknod $at/rye-node b 7 0 && echo $at; "
		   "mknod $at/rye-node c 1 3 && echo $at; rm -f $at/rye-node; done; exit 0",
		   "");
	exec_wants(p, "{}", "{\"data\":{\"stdout\":\"\"}}");
}

/* ---- a child that detaches what it starts ---- */

static json_t *handed_over; /* the request of the last thread */

static int detach(void *arg, const struct exec_detach *ask, json_t **ret, struct rye_err *err)
{
	(void)arg;
	(void)err;
	handed_over = json_deep_copy(ask->request);
	*ret = json_object();
	return 0;
}

static int hooked_setup(void **state)
{
	static const struct exec_hooks hooks = { .detach = detach };
	struct exec_place *p = test_calloc(1, sizeof(*p));

	exec_place_make(p);
	p->env.hooks = &hooks;
	exec_place_open(p);
	*state = p;
	return 0;
}

/* The first run of the place asks for t/w as a thread, once it is known what it may. */
static enum rye_code child_asks(struct exec_place *p)
{
	const struct rye_request req = { .verb = RYE_ASYNC,
					 .kind = RYE_TOOL,
					 .id = "t/w",
					 .message = SPAN("{}"),
					 .parent_run = 1 };

	for (int i = 0; !exec_run_may(p->exec, 1, RYE_ASYNC, RYE_TOOL, "t/w"); i++) {
		if (i == 1000)
			fail_msg("the first run does not begin");
		usleep(10000);
	}
	{
		auto_said struct exec_said said = exec_ask(p, &req);

		return said.code;
	}
}

static void a_thread_is_confined_as_its_parent(void **state)
{
	struct exec_place *p = *state;
	const struct rye_request req = { .verb = RYE_RUN,
					 .kind = RYE_TOOL,
					 .id = "t/a",
					 .message = SPAN("{}") };
	struct exec_waiter waiter;
	struct rye_call *call;
	char *text;

	exec_shell(p, "t/w.yaml", "touch made", "");
	exec_shell(p, "t/a.yaml", "sleep 20", "requires: [rye.execute.tool.t.w]\n");
	exec_begin(p, &req, &waiter, &call);
	assert_int_equal(child_asks(p), RYE_OK);
	rye_call_cancel(call, RYE_CANCELLED);
	{
		auto_said struct exec_said ended = exec_end(&waiter, call);

		exec_check(&ended, "{\"status\":\"error\"}");
	}
	text = json_dumps(handed_over, 0);
	json_decref(handed_over);
	{
		auto_said struct exec_said said = exec_prim(p, RYE_EXECUTE, text);

		exec_check(&said, "{\"status\":\"error\"}");
		exec_check(&said, "{\"error\":\"~made\"}");
	}
	free(text);
}

/* Where a thread's directory has just been made, a tool may be quicker than its log. */
static void a_planted_log_is_not_written_through(void **state)
{
	struct exec_place *p = *state;
	auto_close int dir = open(p->place.project, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char path[300];
	struct stat st;
	pid_t pid;

	place_write(p->place.project, "precious", SPAN("precious"));
	assert_int_equal(symlinkat(".ai/precious", dir, "spawn.log"), 0);
	/* Without orders nothing is started. */
	assert_int_not_equal(runner_spawn(&(struct runner_start){ dir, -1, -1, -1 }, &pid), 0);
	snprintf(path, sizeof(path), "%s/.ai/precious", p->place.project);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 8);
}

/* ---- what tidies up /tmp while the mount lives ---- */

static void base_of(struct exec_place *p, char ret[200])
{
	auto_said struct exec_said said = exec_run(p, "t/a", "{}");

	assert_int_equal(said.code, RYE_OK);
	snprintf(ret, 200, "%.*s", (int)strcspn(said.output, "\n"), said.output);
	*strrchr(ret, '/') = 0;
}

static void a_tmpdir_that_was_removed_is_made_again(void **state)
{
	struct exec_place *p = *state;
	char base[200], again[200], last[200], keep[300];

	exec_shell(p, "t/a.yaml", "touch $TMPDIR/x && rm $TMPDIR/x && echo $TMPDIR", "");
	base_of(p, base);
	tmpdir_remove(base);
	base_of(p, again);
	assert_string_not_equal(again, base);
	/* another user's directory of that name is neither used nor removed */
	tmpdir_remove(again);
	snprintf(keep, sizeof(keep), "%s/keep", again);
	assert_int_equal(mkdir(again, 0755) | mkdir(keep, 0755), 0);
	base_of(p, last);
	assert_string_not_equal(last, again);
	exec_close(p->exec);
	p->exec = NULL;
	assert_int_equal(rmdir(keep), 0);
	assert_int_equal(rmdir(again), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		exec_test(sample_is_out_of_reach),
		exec_test(descriptors_of_others_are_out_of_reach),
		exec_test(memory_of_others_is_out_of_reach),
		exec_test(other_processes_are_not_changed),
		exec_test(signals_stay_in_the_box),
		exec_test(no_device_is_made),
		cmocka_unit_test_setup_teardown(a_thread_is_confined_as_its_parent, hooked_setup,
						exec_teardown),
		exec_test(a_planted_log_is_not_written_through),
		exec_test(a_tmpdir_that_was_removed_is_made_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
