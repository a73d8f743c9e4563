/* SPDX-License-Identifier: MIT */
/*
 * What a tool's process is given and what it is kept from (docs/security.md): descriptors, signals,
 * limits, environment, the project's own programs, writing, sockets, namespaces.
 */
#include "exec_tools.h"
#include "told.h"

#include "sandbox/sandbox_inner.h"
#include "sandbox/sandbox.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static const char probe[] =
	"config:\n  command: /bin/sh\n  args:\n    - -c\n    - |\n"
	"      (echo x >inside) 2>/dev/null && echo project\n"
	"      (echo x >\"$OUTSIDE\") 2>/dev/null && echo outside\n"
	"      (echo x >\"$TMPDIR/x\") 2>/dev/null && echo tmp\n"
	"      (echo x >/tmp/rye-probe.$$) 2>/dev/null && rm /tmp/rye-probe.$$ && echo anywhere\n"
	"      echo x >/dev/null && echo null\n"
	"      python3 -c 'import socket; socket.socket()' 2>/dev/null && echo inet\n"
	"      python3 -c 'import socket; socket.socket(socket.AF_UNIX)' && echo unix\n"
	"      unshare -r true 2>/dev/null && echo namespace\n"
	"      true\n"
	"  env: {OUTSIDE: \"{user_space}/outside\"}\n";

static bool landlock(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, 1) >= 1;
}

static void probes(struct exec_place *p, const char *declared, const char *want)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	buf_addf(&text, "%s%s", declared, probe);
	exec_yaml(p, "t/a.yaml", "rye/core/primitives/execute", text.data);
	{
		auto_said struct exec_said said = exec_run(p, "t/a", "{}");

		assert_string_equal(said.output, want);
		if (json_object_get(json_object_get(said.reply, "metadata"), "sandbox_skipped"))
			fail_msg("something was skipped on a kernel that has it all");
	}
}

static void reopen(struct exec_place *p)
{
	exec_close(p->exec);
	place_close(&p->place);
	exec_place_open(p);
}

static void declared_capabilities(void **state)
{
	struct exec_place *p = *state;

	if (!landlock() || !veil_possible())
		test_skip("no Landlock, or no mount namespaces");
	probes(p, "", "project\ntmp\nnull\ninet\nunix\n");
	probes(p, "requires: [fs.write]\n", "project\ntmp\nnull\nunix\n");
	probes(p, "requires: [net.http]\n", "tmp\nnull\ninet\nunix\n");
	probes(p, "requires: []\n", "tmp\nnull\nunix\n");
	probes(p, "requires: shell\n", "tmp\nnull\nunix\n");
	p->opt.sandbox = RYE_SANDBOX_STRICT;
	reopen(p);
	probes(p, "", "project\ntmp\nnull\nunix\n");
}

static void a_fresh_process(void **state)
{
	struct exec_place *p = *state;
	int leak = open("/dev/null", O_RDONLY); /* not close-on-exec, on purpose */
	static const unsigned long ignored[4] = { (unsigned long)SIG_IGN };

	exec_shell(p, "t/a.yaml", "ls /proc/self/fd | tr '\\n' ' '", "");
	exec_wants(p, "{}", "{\"data\":{\"stdout\":\"0 1 2 3 \"}}"); /* 3 is the listing's own */
	exec_shell(p, "t/a.yaml", "kill -PIPE $$; echo survived", "");
	exec_wants(p, "{}", "{\"data\":{\"signal\":13,\"stdout\":\"\"}}");
	exec_shell(p, "t/a.yaml", "ulimit -n; ulimit -c; grep SigBlk /proc/self/status | cut -f2",
		   "");
	exec_wants(p, "{}", "{\"data\":{\"stdout\":\"1024\\n0\\n0000000000000000\\n\"}}");
	/* as posix_spawn leaves libc's own signals, and so the runner of a thread finds them */
	for (int i = SIGRTMIN - 2; i < SIGRTMIN; i++)
		assert_int_equal(syscall(SYS_rt_sigaction, i, ignored, NULL, 8), 0);
	exec_shell(p, "t/a.yaml", "grep SigIgn /proc/self/status | cut -f2", "");
	exec_wants(p, "{}", "{\"data\":{\"stdout\":\"0000000000000000\\n\"}}");
	exec_shell(p, "t/a.yaml", "test $(ps -o sid= -p $$) = $$ && pwd", "");
	{
		auto_said struct exec_said said = exec_run(p, "t/a", "{}");
		auto_buf struct rye_buf want = RYE_BUF_INIT;

		buf_addf(&want, "%s\n", p->place.project);
		assert_string_equal(said.output, want.data);
	}
	close(leak);
}

/* Of root's powers none but these go to what it starts, whether its process has waited or not. */
static void powers_of_root(void **state)
{
	const unsigned long kept = 1ul << CAP_CHOWN | 1ul << CAP_DAC_OVERRIDE | 1ul << CAP_FOWNER;
	struct exec_place *p = *state;

	if (geteuid())
		test_skip("only root can give up a part of the bounding set");
	exec_shell(p, "t/a.yaml", "grep CapBnd /proc/self/status | cut -f2", "");
	for (int i = 0; i < 6; i++) {
		auto_said struct exec_said said = exec_run(p, "t/a", "{}");

		assert_int_equal(said.code, RYE_OK);
		assert_int_equal(strtoul(said.output, NULL, 16) & ~kept, 0);
		usleep(20000); /* the next one is made */
	}
}

static void an_environment_of_its_own(void **state)
{
	struct exec_place *p = *state;
	char path[400];

	exec_shell(p, "t/a.yaml", "env | cut -d= -f1 | sort | tr '\\n' ' '", "");
	{
		auto_said struct exec_said said = exec_run(p, "t/a", "{}");

		assert_null(strstr(said.output, "MY_SECRET"));
		assert_null(strstr(said.output, "RYE_SIGNING"));
		assert_null(strstr(said.output, "RYE_ANCHOR"));
		assert_null(strstr(said.output, "LD_"));
		assert_non_null(strstr(said.output, "HOME "));
		assert_non_null(strstr(said.output, "RYE_RYEFS "));
		assert_non_null(strstr(said.output, "RYE_KEPT "));
		assert_non_null(strstr(said.output, "TMPDIR "));
	}
	snprintf(path, sizeof(path), "%s/bin:.::/usr/bin:/bin", p->place.project);
	setenv("PATH", path, 1);
	p->opt.env_names = "NAMED:OTHER";
	reopen(p);
	exec_shell(p, "t/a.yaml", "echo $PATH $NAMED", "");
	exec_wants(p, "{}", "{\"data\":{\"stdout\":\"/usr/bin:/bin named\\n\"}}");
}

/* An unsigned file of the project is no program, whatever names it. */
static void programs_of_the_project(void **state)
{
	struct exec_place *p = *state;
	char path[300];
	FILE *file;

	snprintf(path, sizeof(path), "%s/evil", p->place.project);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs("#!/bin/sh\necho evil\n", file);
	fclose(file);
	chmod(path, 0755);
	exec_yaml(p, "t/a.yaml", "rye/core/primitives/execute",
		  "config: {command: \"{project_path}/evil\"}\n");
	exec_wants(p, "{}", "{\"error\":\"~a file of the project that nobody signed\"}");
	exec_yaml(p, "t/a.yaml", "rye/core/primitives/execute", "config: {command: ./evil}\n");
	exec_wants(p, "{}", "{\"error\":\"~absolute path or a bare name\"}");
	exec_yaml(p, "t/a.yaml", "rye/core/primitives/execute", "config: {command: evil}\n");
	exec_wants(p, "{}", "{\"error\":\"~Failed to spawn: evil: No such file\"}");
	p->opt.venv = true;
	exec_yaml(p, "t/a.yaml", "rye/core/primitives/execute",
		  "config: {command: \"{project_path}/evil\"}\n");
	exec_wants(p, "{}", "{\"data\":{\"stdout\":\"evil\\n\"}}");
}

/* An interpreter in the project, or named by the environment, does not choose itself. */
static void interpreters(void **state)
{
	struct exec_place *p = *state;
	char path[300], dir[300];
	FILE *file;

	snprintf(dir, sizeof(dir), "%s/.venv", p->place.project);
	mkdir(dir, 0755);
	snprintf(dir, sizeof(dir), "%s/.venv/bin", p->place.project);
	mkdir(dir, 0755);
	snprintf(path, sizeof(path), "%s/.venv/bin/python3", p->place.project);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs("#!/bin/sh\necho '{\"success\": true, \"mine\": 1}'\n", file);
	fclose(file);
	chmod(path, 0755);
	setenv("RYE_PYTHON", path, 1);
	reopen(p);
	exec_function(p, "t/a.py", "return {'success': True, 'mine': 0}");
	exec_wants(p, "{}", "{\"data\":{\"mine\":0}}");
	exec_function(p, "t/b.py", "import no_such_package");
	{
		auto_said struct exec_said said = exec_run(p, "t/b", "{}");

		exec_check(&said, "{\"error\":\"~mounts with -o venv\"}");
	}
	p->opt.venv = true;
	exec_wants(p, "{}", "{\"data\":{\"mine\":1}}");
	unsetenv("RYE_PYTHON");
}

/* What is beside a tool is not importable, nor what lies in the working directory. */
static void modules_of_the_project(void **state)
{
	struct exec_place *p = *state;
	char path[300];
	FILE *file;

	snprintf(path, sizeof(path), "%s/helper.py", p->place.project);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs("V = 1\n", file);
	fclose(file);
	place_text(p->place.project, "tools/t/helper.py", "V = 2\n");
	exec_python(p, "t/a.py", "function", "import helper\ndef execute(p, q): return {}\n");
	exec_wants(p, "{}", "{\"status\":\"error\",\"error\":\"~No module named 'helper'\"}");
	exec_wants(p, "{}", "{\"error\":\"~only when the owner mounts with -o venv\"}");
	exec_python(p, "t/a.py", "script", "import helper\nprint('{}')\n");
	exec_wants(p, "{}", "{\"status\":\"error\",\"error\":\"~No module named 'helper'\"}");
}

static void switched_off(void **state)
{
	struct exec_place *p = *state;

	p->opt.sandbox = RYE_SANDBOX_OFF;
	reopen(p);
	exec_yaml(
		p, "t/a.yaml", "rye/core/primitives/execute",
		"requires: []\nconfig:\n  command: /bin/sh\n"
		"  args: [-c, \"echo x >inside && grep NoNewPrivs /proc/self/status | cut -f2\"]\n");
	exec_wants(p, "{}", "{\"data\":{\"result\":0}}");
}

/* Where the kernel counts processes, in both kinds of hierarchy and below a container's root. */
static void the_group_that_counts_processes(void **state)
{
#define V1 "39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n"
#define V1_CPU "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
#define V2 "30 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
	static const struct {
		const char *mounts, *groups, *want;
	} cases[] = {
		{ V1_CPU V1, "9:cpu:/c\n8:pids:/a/b\n0::/\n", "/sys/fs/cgroup/pids/a/b" },
		{ V1, "8:cpu,pids:/\n", "/sys/fs/cgroup/pids" },
		{ V1 V2, "8:pids:/a\n0::/z\n", "/sys/fs/cgroup/pids/a" },
		{ V2, "0::/user.slice/s.scope\n", "/sys/fs/cgroup/user.slice/s.scope" },
		{ V2, "0::/\n", "/sys/fs/cgroup" },
		{ "1 2 0:3 /docker/x /cg rw - cgroup cgroup rw,pids\n", "8:pids:/docker/x/y\n",
		  "/cg/y" },
		{ "1 2 0:3 /docker/x /cg rw - cgroup cgroup rw,pids\n", "8:pids:/docker/xy\n", "" },
		{ V1_CPU, "9:cpu:/\n", "" },
		{ V2, "8:pids:/a\n", "" },
		{ "", "", "" },
		{ "garbage - cgroup\n - cgroup2 \n1 2 3 4 - cgroup cgroup rw,pids",
		  "8:pids\n0::", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char dir[200] = "";

		if (!pidlimit_dir(cases[i].mounts, cases[i].groups, dir, sizeof(dir)))
			*dir = 0;
		assert_string_equal(dir, cases[i].want);
	}
}

struct sweeping {
	char place[64];
	_Atomic bool over;
};

/* As another process sweeps, without pause. */
static void *sweep_on(void *arg)
{
	struct sweeping *sweeping = arg;

	while (!sweeping->over) {
		auto_dir DIR *dir = opendir(sweeping->place);
		struct dirent *entry;

		while (dir && (entry = readdir(dir))) {
			auto_close int lock = -1;
			char path[400];

			snprintf(path, sizeof(path), "%s/%s", sweeping->place, entry->d_name);
			lock = *entry->d_name == '.' ? -1 : tmpdir_lock(path, false);
			if (lock >= 0)
				tmpdir_remove(path);
		}
	}
	return NULL;
}

static void a_sweep_takes_no_new_directory(void **state)
{
	struct sweeping sweeping = { "/tmp/rye-sweeping-XXXXXX", false };
	pthread_t thread;

	assert_non_null(mkdtemp(sweeping.place));
	assert_int_equal(pthread_create(&thread, NULL, sweep_on, &sweeping), 0);
	for (int i = 0; i < 3000; i++) {
		int lock;
		auto_free char *path = tmpdir_make(sweeping.place, &lock);

		assert_non_null(path);
		assert_true(lock >= 0);
		assert_int_equal(access(path, F_OK), 0);
		tmpdir_remove(path);
		close(lock);
	}
	sweeping.over = true;
	assert_int_equal(pthread_join(thread, NULL), 0);
	tmpdir_remove(sweeping.place);
}

#define BOXES 2000

static void make_boxes(const char *place)
{
	int lock;

	for (int i = 0; i < BOXES; i++) {
		char path[64];

		snprintf(path, sizeof(path), "%s/%d", place, i);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	lock = tmpdir_lock(place, true);
	assert_true(lock >= 0);
	close(lock);
}

/* A removal that is killed when little is left: the directory is known as one that was left. */
static void a_removal_that_is_killed_can_be_finished(void **state)
{
	char place[] = "/tmp/rye-dropped-XXXXXX";
	struct stat st;
	pid_t child;

	assert_non_null(mkdtemp(place));
	make_boxes(place);
	child = fork();
	if (!child) {
		tmpdir_drop(place);
		_exit(0);
	}
	while (lstat(place, &st) == 0 && st.st_nlink > BOXES / 4)
		;
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	if (lstat(place, &st) == 0 && st.st_nlink > 2) {
		auto_close int lock = tmpdir_lock(place, false);

		assert_true(lock >= 0);
	}
	tmpdir_drop(place);
	assert_int_equal(access(place, F_OK), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_removal_that_is_killed_can_be_finished),
		cmocka_unit_test(a_sweep_takes_no_new_directory),
		cmocka_unit_test(the_group_that_counts_processes),
		exec_both(declared_capabilities),
		exec_both(a_fresh_process),
		exec_both(powers_of_root),
		exec_both(an_environment_of_its_own),
		exec_both(programs_of_the_project),
		exec_test(interpreters),
		exec_test(modules_of_the_project),
		exec_both(switched_off),
	};

	setenv("MY_SECRET", "x", 1);
	setenv("RYE_SIGNING_SECRET", "x", 1);
	setenv("RYE_ANCHOR", "/", 1);
	setenv("RYE_KEPT", "x", 1);
	setenv("NAMED", "named", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
