/* SPDX-License-Identifier: MIT */
/*
 * The process primitive end to end: cases 28 to 56 of the tool format and T79, T80, T86 and T96 of
 * the item format, each test named by its number. Tools are signed YAML items in a private project.
 */
#include "exec_tools.h"

#include "clock.h"
#include "process/process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void shell(struct exec_place *p, const char *script)
{
	exec_shell(p, "t/a.yaml", script, "");
}

#define CROWD 20

/* As a run's: a session of its own, children and a child's child. */
static _Noreturn void crowd(int ready)
{
	setsid();
	for (int i = 0; i < CROWD; i++)
		if (fork() == 0) {
			if (i == 0)
				fork();
			(void)!write(ready, "", 1);
			pause();
			_exit(0);
		}
	pause();
	_exit(0);
}

static void too_many_processes_are_ended(void **state)
{
	int ready[2], status;
	char byte;
	pid_t engine;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	engine = fork();
	if (engine == 0) {
		if (fork() == 0)
			crowd(ready[1]);
		pause();
		_exit(0);
	}
	for (int i = 0; i <= CROWD; i++)
		assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(census_enforce(engine, CROWD + 2), 0);
	assert_true(census_enforce(engine, CROWD) >= CROWD + 2);
	assert_int_equal(census_enforce(engine, 0), 0);
	assert_int_equal(waitpid(engine, &status, WNOHANG), 0);
	kill(engine, SIGKILL);
	waitpid(engine, &status, 0);
	close(ready[0]);
	close(ready[1]);
}

/* The sanitizer of the asan job sees what is sorted then. */
static void processes_that_cannot_be_counted_are_none(void **state)
{
	struct rlimit old, none;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = (struct rlimit){ 0, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(census_enforce(getpid(), 0), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
}

static void case_28_exit_code(void **state)
{
	struct exec_place *p = *state;

	shell(p, "echo out; echo err >&2; exit 3");
	exec_wants(p, "{}",
		   "{\"status\":\"error\",\"error\":\"err\\n\",\"item_id\":\"t/a\","
		   "\"=data\":{\"stdout\":\"out\\n\",\"stderr\":\"err\\n\",\"return_code\":3},"
		   "\"chain\":[\"t/a\",\"rye/core/primitives/execute\"]}");
}

static void case_29_silent_exit(void **state)
{
	struct exec_place *p = *state;

	shell(p, "exit 1");
	exec_wants(p, "{}",
		   "{\"status\":\"error\",\"error\":\"Tool exited with code 1\","
		   "\"data\":{\"return_code\":1}}");
}

static void case_30_signal(void **state)
{
	struct exec_place *p = *state;

	shell(p, "kill -9 $$");
	exec_wants(p, "{}",
		   "{\"status\":\"error\",\"error\":\"Tool killed by signal 9\","
		   "\"data\":{\"return_code\":-1,\"signal\":9}}");
}

static void case_31_foreign_bytes(void **state)
{
	struct exec_place *p = *state;

	shell(p, "printf '\\377\\376abc'");
	exec_wants(p, "{}", "{\"status\":\"success\",\"data\":{\"stdout\":\"\\ufffd\\ufffdabc\"}}");
}

static void case_32_nul_byte(void **state)
{
	struct exec_place *p = *state;

	shell(p, "printf 'a\\000b'");
	exec_wants(p, "{}", "{\"status\":\"success\",\"data\":{\"stdout\":\"a\\u0000b\"}}");
}

static void case_33_no_input(void **state)
{
	struct exec_place *p = *state;

	shell(p, "cat; echo done");
	exec_wants(p, "{}", "{\"status\":\"success\",\"data\":{\"stdout\":\"done\\n\"}}");
	shell(p, "readlink /proc/self/fd/0");
	exec_wants(p, "{}", "{\"data\":{\"stdout\":\"/dev/null\\n\"}}");
}

static void case_34_input(void **state)
{
	struct exec_place *p = *state;

	exec_shell(p, "t/a.yaml", "cat", "  input_data: \"{params_json}\"\n");
	exec_wants(p, "{\"a\":{\"b\":[1,2.5,null,true]},\"u\":\"é€😀\"}",
		   "{\"=data\":{\"a\":{\"b\":[1,2.5,null,true]},\"u\":\"é€😀\"}}");
}

static void case_35_placeholders(void **state)
{
	struct exec_place *p = *state;
	char want[300];

	exec_yaml(p, "t/a.yaml", "rye/core/primitives/execute",
		  "config:\n  command: printf\n  args: [\"%s|\", \"{name}\", \"${HOME}\", "
		  "\"{missing}\", \"pre-{name}-post\", \"${NOPE:-dd}\", \"${NOPE}\", "
		  "\"a{b{name}\"]\n");
	snprintf(want, sizeof(want),
		 "{\"data\":{\"stdout\":\"n|%s|{missing}|pre-n-post|dd||a{bn|\"}}", getenv("HOME"));
	exec_wants(p, "{\"name\":\"n\"}", want);
}

static void case_36_values_that_are_no_text(void **state)
{
	struct exec_place *p = *state;

	exec_yaml(p, "t/a.yaml", "rye/core/primitives/execute",
		  "config:\n  command: printf\n  args: [\"%s|\", \"{n}\", \"{flag}\", \"{list}\", "
		  "\"{none}\", \"x{n}\"]\n");
	exec_wants(p, "{\"n\":5,\"flag\":true,\"list\":[1,\"x\"],\"none\":null}",
		   "{\"data\":{\"stdout\":\"5|true|[1,\\\"x\\\"]||x5|\"}}");
}

static void case_37_number(void **state)
{
	struct exec_place *p = *state;

	shell(p, "echo 5");
	exec_wants(p, "{}", "{\"status\":\"success\",\"data\":{\"result\":5,\"stdout\":\"5\\n\"}}");
}

static void case_38_falsy_documents(void **state)
{
	struct exec_place *p = *state;

	shell(p, "echo 0");
	exec_wants(p, "{}", "{\"status\":\"success\",\"data\":{\"result\":0,\"stdout\":\"0\\n\"}}");
	shell(p, "echo '{}'");
	exec_wants(p, "{}",
		   "{\"status\":\"success\",\"=data\":{\"stdout\":\"{}\\n\",\"stderr\":\"\","
		   "\"return_code\":0}}");
}

static void case_39_two_documents(void **state)
{
	struct exec_place *p = *state;

	shell(p, "echo '{\"a\":1}{\"a\":2}'");
	exec_wants(
		p, "{}",
		"{\"status\":\"success\",\"=data\":{\"stdout\":\"{\\\"a\\\":1}{\\\"a\\\":2}\\n\","
		"\"stderr\":\"\",\"return_code\":0}}");
}

static void case_40_around_the_document(void **state)
{
	struct exec_place *p = *state;

	shell(p, "printf '\\n \\t{\"a\":1}  \\n\\n'");
	exec_wants(p, "{}", "{\"status\":\"success\",\"=data\":{\"a\":1}}");
	shell(p, "printf '\\357\\273\\277{\"a\":1}'");
	exec_wants(p, "{}",
		   "{\"status\":\"success\",\"=data\":{\"stdout\":\"\\ufeff{\\\"a\\\":1}\","
		   "\"stderr\":\"\",\"return_code\":0}}");
}

static void case_41_stderr_before_error(void **state)
{
	struct exec_place *p = *state;

	shell(p, "echo '{\"error\":\"e1\"}'; echo warn >&2; exit 1");
	exec_wants(p, "{}",
		   "{\"status\":\"error\",\"error\":\"warn\\n\",\"data\":{\"error\":\"e1\"}}");
}

static void case_42_error_of_the_document(void **state)
{
	struct exec_place *p = *state;

	shell(p, "echo '{\"success\":false,\"error\":\"e1\"}'; echo warn >&2");
	exec_wants(p, "{}", "{\"status\":\"error\",\"error\":\"e1\"}");
}

/* ---- time ---- */

/* The call gives `want`, and that within the time; a busy machine may be late twice. */
static void within(struct exec_place *p, int64_t ms, const char *json, const char *want)
{
	int64_t took = INT64_MAX;

	for (int i = 0; i < 3 && took > ms; i++) {
		int64_t start = clock_ms();

		exec_wants(p, json, want);
		took = clock_ms() - start;
	}
	if (took > ms)
		fail_msg("%lld ms, wanted at most %lld", (long long)took, (long long)ms);
}

/* A number that the tool left in a file of the project. */
static pid_t number_in(struct exec_place *p, const char *name)
{
	char path[300], text[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", p->place.project, name);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	assert_true(atoi(text) > 0);
	return atoi(text);
}

/* No process has this pid (negative: this group); a busy machine's init takes its time to reap. */
static void assert_dead(pid_t pid)
{
	for (int i = 0; i < 100 && kill(pid, 0) == 0; i++)
		poll(NULL, 0, 20);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
}

static void case_43_timeout(void **state)
{
	struct exec_place *p = *state;

	shell(p, "sleep 30");
	within(p, 3500, "{\"timeout\":1}",
	       "{\"status\":\"error\",\"error\":\"Command timed out after 1 seconds\\n\","
	       "\"data\":{\"return_code\":-1}}");
	shell(p, "echo $$ >group; sleep 30 & sleep 30");
	within(p, 3500, "{\"timeout\":1}",
	       "{\"error\":\"Command timed out after 1 seconds\\n\",\"data\":{\"return_code\":-1}}");
	assert_dead(-number_in(p, "group"));
	/* deaf to SIGTERM, and so are its children: killed after the grace */
	shell(p, "trap '' TERM; echo $$ >group; sleep 30 & while :; do sleep 1; done");
	exec_wants(p, "{\"timeout\":1}", "{\"error\":\"Command timed out after 1 seconds\\n\"}");
	assert_dead(-number_in(p, "group"));
}

static void case_44_timeout_of_a_grandchild(void **state)
{
	struct exec_place *p = *state;

	shell(p, "sleep 4 & echo started; wait");
	within(p, 3500, "{\"timeout\":1}",
	       "{\"status\":\"error\",\"error\":\"Command timed out after 1 seconds\\n\","
	       "\"data\":{\"stdout\":\"started\\n\",\"return_code\":-1}}");
}

static void case_45_background_holds_the_pipe(void **state)
{
	struct exec_place *p = *state;

	shell(p, "sleep 3 & echo started");
	within(p, 500, "{}",
	       "{\"status\":\"success\",\"data\":{\"stdout\":\"started\\n\"},"
	       "\"metadata\":{\"background_children\":1}}");
}

/* Often: it may be in the middle of an exec when it is looked at. */
static void case_46_daemon(void **state)
{
	struct exec_place *p = *state;

	shell(p, "setsid sleep 20 </dev/null >/dev/null 2>&1 & echo $! >child; echo started");
	for (int i = 0; i < 100; i++) {
		pid_t child;

		exec_wants(p, "{}",
			   "{\"status\":\"success\",\"data\":{\"stdout\":\"started\\n\"},"
			   "\"metadata\":{\"background_children\":1}}");
		child = number_in(p, "child");
		assert_int_equal(kill(child, 0), 0);
		kill(child, SIGKILL);
	}
}

/* ---- volume ---- */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MEMORY_LIMIT_KB (1 << 20) /* what is freed is kept a while */
#else
#define MEMORY_LIMIT_KB (100 << 10)
#endif

static void case_47_output_is_capped(void **state)
{
	struct exec_place *p = *state;
	struct rusage before, after;

	shell(p, "head -c 50000000 /dev/zero | tr '\\0' a");
	getrusage(RUSAGE_SELF, &before);
	{
		auto_said struct exec_said said = exec_run(p, "t/a", "{}");
		const json_t *data = json_object_get(said.reply, "data");

		exec_check(&said, "{\"status\":\"success\",\"data\":{\"truncated\":true,"
				  "\"stdout_bytes\":50000000}}");
		assert_int_equal(json_string_length(json_object_get(data, "stdout")), 10 << 20);
	}
	getrusage(RUSAGE_SELF, &after);
	assert_true(after.ru_maxrss - before.ru_maxrss < MEMORY_LIMIT_KB);
}

static void big_parameter(struct rye_buf *big)
{
	buf_adds(big, "{\"data\":\"");
	for (int i = 0; i < 300000; i++)
		buf_adds(big, "0123456789");
	buf_adds(big, "\"}");
}

static void case_48_long_input(void **state)
{
	struct exec_place *p = *state;
	auto_buf struct rye_buf big = RYE_BUF_INIT;

	big_parameter(&big);
	exec_shell(p, "t/a.yaml", "wc -c", "  input_data: \"{params_json}\"\n");
	exec_wants(p, big.data, "{\"status\":\"success\",\"data\":{\"result\":3000012}}");
}

/* A child that never reads, and one that answers before it has read. */
static void input_is_read_late_or_never(void **state)
{
	struct exec_place *p = *state;
	auto_buf struct rye_buf big = RYE_BUF_INIT;

	big_parameter(&big);
	exec_shell(p, "t/a.yaml", "exec true", "  input_data: \"{params_json}\"\n");
	exec_wants(p, big.data, "{\"status\":\"success\"}");
	exec_shell(p, "t/a.yaml", "head -c 2000000 /dev/zero | tr '\\0' x; cat | wc -c >&2",
		   "  input_data: \"{params_json}\"\n");
	exec_wants(p, big.data, "{\"data\":{\"stderr\":\"3000012\\n\"}}");
}

static void case_49_timeout_text(void **state)
{
	struct exec_place *p = *state;

	shell(p, "echo fine");
	exec_wants(p, "{\"timeout\":\"5\"}", "{\"status\":\"success\"}");
	exec_wants(p, "{\"timeout\":\"x\"}", "{\"error\":\"^Invalid parameters: timeout\"}");
	exec_wants(p, "{\"timeout\":0}",
		   "{\"error\":\"Invalid parameters: timeout: must be > 0\"}");
	shell(p, "sleep 20");
	exec_wants(p, "{\"timeout\":\"0.5\"}",
		   "{\"error\":\"Command timed out after 0.5 seconds\\n\"}");
}

static void case_50_failed_to_spawn(void **state)
{
	struct exec_place *p = *state;

	exec_shell(p, "t/a.yaml", "echo", "  cwd: /nonexist\n");
	exec_wants(p, "{}",
		   "{\"status\":\"error\",\"error\":\"Failed to spawn: /nonexist: No such file or "
		   "directory (os error 2)\",\"data\":{\"return_code\":-1}}");
	exec_yaml(p, "t/a.yaml", "rye/core/primitives/execute", "config:\n  command: /no/such\n");
	exec_wants(p, "{}",
		   "{\"status\":\"error\",\"error\":\"Failed to spawn: /no/such: No such file or "
		   "directory (os error 2)\",\"data\":{\"return_code\":-1}}");
}

static void case_51_no_command(void **state)
{
	struct exec_place *p = *state;

	exec_yaml(p, "t/a.yaml", "rye/core/primitives/execute", "");
	exec_wants(p, "{\"command\":\"id\"}",
		   "{\"status\":\"error\",\"error\":\"No command specified\","
		   "\"data\":{\"return_code\":-1}}");
}

static void short_names_of_primitives(void **state)
{
	struct exec_place *p = *state;

	exec_yaml(p, "t/a.yaml", "subprocess", "config: {command: echo, args: [hi]}\n");
	exec_wants(p, "{}",
		   "{\"data\":{\"stdout\":\"hi\\n\"},\"chain\":[\"t/a\","
		   "\"rye/core/primitives/subprocess\"]}");
	exec_yaml(p, "t/a.yaml", "http_client", "config: {url: \"http://127.0.0.1:1/\"}\n");
	exec_wants(p, "{}",
		   "{\"data\":{\"status_code\":0},\"chain\":[\"t/a\","
		   "\"rye/core/primitives/http_client\"]}");
}

static void case_52_fixed_params(void **state)
{
	struct exec_place *p = *state;

	exec_shell(p, "t/a.yaml", "cat",
		   "  input_data: \"x{params_json}\"\n  fixed_params: {k: 1, op: x}\n");
	exec_wants(
		p, "{\"k\":5,\"z\":2}",
		"{\"data\":{\"stdout\":\"x{\\\"z\\\": 2, \\\"k\\\": 1, \\\"op\\\": \\\"x\\\"}\"}}");
}

static void case_53_params_key(void **state)
{
	struct exec_place *p = *state;

	exec_shell(p, "t/a.yaml", "cat",
		   "  input_data: \"x{params_json}\"\n  fixed_params: {k: 1}\n"
		   "  params_key: params\n");
	exec_wants(
		p, "{\"k\":5,\"z\":2}",
		"{\"data\":{\"stdout\":\"x{\\\"k\\\": 1, \\\"params\\\": {\\\"k\\\": 5, \\\"z\\\": "
		"2}}\"}}");
}

/* ---- bash ---- */

static bool is_there(struct exec_place *p, const char *name)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/%s", p->place.project, name);
	return access(path, F_OK) == 0;
}

#define TAKES_COMMAND "parameters: [{name: command, type: string, required: false}]\n"

static void case_54_command(void **state)
{
	struct exec_place *p = *state;

	exec_yaml(p, "t/a.yaml", "rye/core/runtimes/bash/bash", TAKES_COMMAND);
	exec_wants(p, "{\"command\":\"echo hi\"}",
		   "{\"status\":\"success\",\"data\":{\"stdout\":\"hi\\n\"}}");
	exec_wants(p, "{}", "{\"error\":\"~needs config.script or config.command\"}");
}

static void case_55_only_the_command_is_interpreted(void **state)
{
	struct exec_place *p = *state;

	exec_yaml(p, "t/a.yaml", "rye/core/runtimes/bash/bash", TAKES_COMMAND);
	exec_wants(p, "{\"command\":\"$(touch X)\",\"x\":\"$(touch Y)\"}",
		   "{\"status\":\"success\"}");
	assert_true(is_there(p, "X"));
	assert_false(is_there(p, "Y"));
}

static void commands_that_are_not_declared_are_data(void **state)
{
	struct exec_place *p = *state;

	exec_yaml(p, "t/a.yaml", "rye/core/runtimes/bash/bash", "");
	exec_wants(p, "{\"command\":\"touch X\"}",
		   "{\"error\":\"~needs config.script or config.command\"}");
	assert_false(is_there(p, "X"));
}

static void a_signed_script_is_not_replaced(void **state)
{
	static const char script[] = "config: {script: \"echo signed; cat\"}\n";
	struct exec_place *p = *state;
	auto_buf struct rye_buf declared = RYE_BUF_INIT;

	exec_yaml(p, "t/a.yaml", "rye/core/runtimes/bash/bash", script);
	exec_wants(p, "{\"command\":\"touch X\"}",
		   "{\"data\":{\"stdout\":\"signed\\n{\\\"command\\\": \\\"touch X\\\"}\"}}");
	buf_addf(&declared, "%s%s", TAKES_COMMAND, script);
	exec_yaml(p, "t/a.yaml", "rye/core/runtimes/bash/bash", declared.data);
	exec_wants(p, "{\"command\":\"touch X\"}", "{\"data\":{\"stdout\":\"^signed\"}}");
	assert_false(is_there(p, "X"));
}

/* ---- runtimes that say nothing of texts, or nothing of files ---- */

/* A bash runtime that was made for {command} alone: its args are for texts. */
#define TEXTS_ONLY                                                               \
	"config:\n  command: /bin/bash\n"                                        \
	"  args: [\"-c\", \"{command}\", \"{tool_path}\", \"{project_path}\"]\n" \
	"  input_data: \"{params_json}\"\n"

static void put_runtime(struct exec_place *p, const char *file, const char *config)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	buf_addf(&text,
		 "tool_type: runtime\nversion: \"1.0.0\"\ncategory: rt\n"
		 "executor_id: rye/core/primitives/execute\ndescription: a test\n%s",
		 config);
	exec_sign(p->place.project, RYE_TOOL, file, (struct rye_span){ text.data, text.len });
}

static void parameters_are_no_script_of_a_file(void **state)
{
	struct exec_place *p = *state;

	put_runtime(p, "rt/old.yaml", TEXTS_ONLY);
	exec_sign(p->place.project, RYE_TOOL, "t/a.sh",
		  span_of("# __executor_id__ = \"rt/old\"\necho file; cat\n"));
	exec_wants(p, "{\"v\":\"$(touch X)\"}", "{\"data\":{\"stdout\":\"^file\\n{\"}}");
	assert_false(is_there(p, "X"));
	exec_sign(p->place.project, RYE_TOOL, "t/b.py",
		  span_of("__executor_id__ = \"rt/old\"\n__category__ = \"t\"\n"));
	{
		auto_said struct exec_said said = exec_run(p, "t/b", "{\"v\":\"$(touch X)\"}");

		exec_check(&said, "{\"error\":\"rt/old cannot run .py files: t/b\"}");
	}
	assert_false(is_there(p, "X"));
}

static void parameters_are_no_script_of_a_data_file(void **state)
{
	struct exec_place *p = *state;

	put_runtime(p, "rt/old.yaml", TEXTS_ONLY);
	exec_yaml(p, "t/a.yaml", "rt/old", "");
	exec_wants(p, "{\"v\":\"$(touch X)\",\"command\":\"touch X\"}",
		   "{\"error\":\"~needs config.script or config.command\"}");
	assert_false(is_there(p, "X"));
	exec_yaml(p, "t/a.yaml", "rt/old", TAKES_COMMAND);
	exec_wants(p, "{\"command\":\"echo hi\"}", "{\"data\":{\"stdout\":\"hi\\n\"}}");
	exec_yaml(p, "t/a.yaml", "rt/old", "config: {script: \"echo own\"}\n");
	exec_wants(p, "{\"command\":\"echo hi\"}", "{\"data\":{\"stdout\":\"own\\n\"}}");
}

/* Its own command and args apply then, with what the tool says of them. */
static void runtimes_without_texts_run_data_files(void **state)
{
	struct exec_place *p = *state;

	put_runtime(p, "rt/echo.yaml", "config: {command: /bin/echo, args: [hi, \"{word}\"]}\n");
	exec_yaml(p, "t/a.yaml", "rt/echo", "");
	exec_wants(p, "{\"word\":\"you\"}", "{\"data\":{\"stdout\":\"hi you\\n\"}}");
	exec_yaml(p, "t/a.yaml", "rt/echo", "config: {script: x, word: we}\n");
	exec_wants(p, "{\"word\":\"you\"}", "{\"data\":{\"stdout\":\"hi we\\n\"}}");
	exec_yaml(p, "t/a.yaml", "rt/echo", "config: {args: [own]}\n");
	exec_wants(p, "{}", "{\"data\":{\"stdout\":\"own\\n\"}}");
	exec_yaml(p, "t/a.yaml", "rye/core/runtimes/python/function", "");
	exec_wants(p, "{}", "{\"error\":\"~needs config.script or config.command\"}");
}

static void case_56_shell_tool(void **state)
{
	static const char script[] = "#!/bin/bash\n# __version__ = \"1.0.0\"\n"
				     "# __tool_type__ = \"script\"\n# __category__ = \"t\"\n"
				     "# __tool_description__ = \"says hi\"\necho hi\ncat\necho\n"
				     "echo \"$1 $2 $RYE_PARAMS\"\n";
	struct exec_place *p = *state;
	auto_buf struct rye_buf want = RYE_BUF_INIT;
	auto_said struct exec_said said = { 0 };

	exec_sign(p->place.project, RYE_TOOL, "t/a.sh", span_of("#!/bin/bash\necho hi\n"));
	exec_wants(p, "{}", "{\"status\":\"success\",\"data\":{\"stdout\":\"hi\\n\"}}");
	exec_sign(p->place.project, RYE_TOOL, "t/a.sh", span_of(script));
	said = exec_run(p, "t/a", "{\"x\":\"y\"}");
	buf_addf(&want, "hi\n{\"x\": \"y\"}\n--project-path %s {\"x\": \"y\"}\n", p->place.project);
	assert_string_equal(said.output, want.data);
}

static void scripts_are_not_templates(void **state)
{
	struct exec_place *p = *state;
	auto_buf struct rye_buf want = RYE_BUF_INIT;
	auto_said struct exec_said said = { 0 };

	exec_yaml(p, "t/a.yaml", "rye/core/runtimes/bash/bash",
		  "config: {script: \"echo {x} $0 $1 {project_path}\"}\n");
	said = exec_run(p, "t/a", "{\"x\":\"y\"}");
	buf_addf(&want, "{x} %s/.ai/tools/t/a.yaml %s {project_path}\n", p->place.project,
		 p->place.project);
	assert_string_equal(said.output, want.data);
}

/* ---- what items.md says of the same ---- */

/* What a caller sends is inserted, never read. */
static void T79_parameters_are_data(void **state)
{
	struct exec_place *p = *state;

	exec_yaml(p, "t/a.yaml", "rye/core/primitives/execute",
		  "config:\n  command: printf\n  args: [\"%s|\", \"{name}\"]\n");
	exec_wants(p, "{\"name\":\"${HOME} {project_path}\"}",
		   "{\"=data\":{\"stdout\":\"${HOME} {project_path}|\",\"stderr\":\"\","
		   "\"return_code\":0}}");
	exec_wants(p, "{\"name\":\"$(id) {name}\"}", "{\"data\":{\"stdout\":\"$(id) {name}|\"}}");
	exec_shell(p, "t/a.yaml", "cat", "  input_data: \"{params_json}\"\n");
	exec_wants(p, "{\"v\":\"${HOME} {project_path}\"}",
		   "{\"=data\":{\"v\":\"${HOME} {project_path}\"}}");
}

/* Their own names do not let parameters into the configuration: undeclared, declared. */
static void T80_names_of_the_configuration(void **state)
{
	static const char echo[] = "  input_data: \"{params_json}\"\n  fixed_params: {k: 1}\n";
	static const char given[] =
		"{\"input_data\":\"HIJACK\",\"fixed_params\":{\"k\":2,\"evil\":3},\"cwd\":\"/\","
		"\"timeout\":99,\"__x\":1,\"params_key\":\"p\"}";
	static const char declared[] =
		"config_schema:\n  type: object\n  properties:\n    input_data: {type: string}\n"
		"    fixed_params: {type: object}\n    cwd: {type: string}\n"
		"    timeout: {type: integer}\n    __x: {type: integer}\n"
		"    params_key: {type: string}\n";
	struct exec_place *p = *state;
	auto_buf struct rye_buf more = RYE_BUF_INIT, want = RYE_BUF_INIT;

	exec_shell(p, "t/a.yaml", "cat", echo);
	exec_wants(p, given,
		   "{\"status\":\"success\",\"=data\":{\"input_data\":\"HIJACK\",\"k\":1}}");
	buf_addf(&more, "%s%s", echo, declared);
	exec_shell(p, "t/a.yaml", "cat", more.data);
	exec_wants(p, given,
		   "{\"status\":\"success\",\"=data\":{\"input_data\":\"HIJACK\","
		   "\"fixed_params\":{\"k\":2,\"evil\":3},\"cwd\":\"/\",\"timeout\":99,\"__x\":1,"
		   "\"params_key\":\"p\",\"k\":1}}");
	exec_shell(p, "t/a.yaml", "pwd", declared);
	buf_addf(&want, "{\"data\":{\"stdout\":\"%s\\n\"}}", p->place.project);
	exec_wants(p, given, want.data);
}

/* What a tool prints with exit 0, and what comes of it. */
static void T86_printed_values(void **state)
{
	static const char *const rows[][2] = {
		{ "printf words", "{\"status\":\"success\",\"=data\":{\"stdout\":\"words\","
				  "\"stderr\":\"\",\"return_code\":0}}" },
		{ "printf null", "{\"status\":\"success\",\"=data\":{\"stdout\":\"null\","
				 "\"stderr\":\"\",\"return_code\":0}}" },
		{ "printf '{}'", "{\"status\":\"success\",\"=data\":{\"stdout\":\"{}\","
				 "\"stderr\":\"\",\"return_code\":0}}" },
		{ "printf '[1]'", "{\"status\":\"success\",\"data\":{\"result\":[1]}}" },
		{ "printf 5", "{\"status\":\"success\",\"data\":{\"result\":5}}" },
		{ "printf '\"s\"'", "{\"status\":\"success\",\"data\":{\"result\":\"s\"}}" },
		{ "printf '{\"success\": false}'",
		  "{\"status\":\"error\",\"error\":\"Tool reported failure\","
		  "\"=data\":{\"success\":false}}" },
		{ "printf '{\"success\": \"no\"}'",
		  "{\"status\":\"success\",\"=data\":{\"success\":\"no\"}}" },
	};
	struct exec_place *p = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		shell(p, rows[i][0]);
		exec_wants(p, "{}", rows[i][1]);
	}
}

static void T96_parameters_are_no_script(void **state)
{
	struct exec_place *p = *state;

	exec_yaml(p, "t/a.yaml", "rye/core/runtimes/bash/bash", "config: {script: \"cat\"}\n");
	exec_wants(p, "{\"v\":\"$(touch x)\"}",
		   "{\"status\":\"success\",\"=data\":{\"v\":\"$(touch x)\"}}");
	assert_false(is_there(p, "x"));
	exec_sign(p->place.project, RYE_TOOL, "t/b.sh", span_of("#!/bin/bash\ncat\n"));
	{
		auto_said struct exec_said said = exec_run(p, "t/b", "{\"v\":\"$(touch x)\"}");

		exec_check(&said, "{\"status\":\"success\",\"=data\":{\"v\":\"$(touch x)\"}}");
	}
	assert_false(is_there(p, "x"));
}

/* Processes that wait for a program end with the engine and leave no zombie. */
static void spares_end(void **state)
{
	struct exec_place *p = *state;
	siginfo_t info;

	exec_close(p->exec);
	p->exec = NULL;
	assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT), -1);
	assert_int_equal(errno, ECHILD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		exec_both(spares_end), /* first: others leave children that live on */
		cmocka_unit_test(too_many_processes_are_ended),
		cmocka_unit_test(processes_that_cannot_be_counted_are_none),
		exec_both(case_28_exit_code),
		exec_both(case_29_silent_exit),
		exec_both(case_30_signal),
		exec_both(case_31_foreign_bytes),
		exec_both(case_32_nul_byte),
		exec_both(case_33_no_input),
		exec_both(case_34_input),
		exec_both(case_35_placeholders),
		exec_both(case_36_values_that_are_no_text),
		exec_both(case_37_number),
		exec_both(case_38_falsy_documents),
		exec_both(case_39_two_documents),
		exec_both(case_40_around_the_document),
		exec_both(case_41_stderr_before_error),
		exec_both(case_42_error_of_the_document),
		exec_both(case_43_timeout),
		exec_both(case_44_timeout_of_a_grandchild),
		/* 46 first: what 45 leaves behind carries the number of a first run, too */
		exec_both(case_46_daemon),
		exec_both(case_45_background_holds_the_pipe),
		exec_both(case_47_output_is_capped),
		exec_both(case_48_long_input),
		exec_both(input_is_read_late_or_never),
		exec_both(case_49_timeout_text),
		exec_both(case_50_failed_to_spawn),
		exec_both(case_51_no_command),
		exec_both(short_names_of_primitives),
		exec_both(case_52_fixed_params),
		exec_both(case_53_params_key),
		exec_both(case_54_command),
		exec_both(case_55_only_the_command_is_interpreted),
		exec_test(commands_that_are_not_declared_are_data),
		exec_test(a_signed_script_is_not_replaced),
		exec_test(parameters_are_no_script_of_a_file),
		exec_test(parameters_are_no_script_of_a_data_file),
		exec_test(runtimes_without_texts_run_data_files),
		exec_both(case_56_shell_tool),
		exec_both(scripts_are_not_templates),
		exec_both(T79_parameters_are_data),
		exec_both(T80_names_of_the_configuration),
		exec_both(T86_printed_values),
		exec_both(T96_parameters_are_no_script),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
