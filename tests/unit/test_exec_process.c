/* SPDX-License-Identifier: MIT */
/*
 * The process primitive end to end: cases 28 to 56 of the tool format (tools 12), each test
 * named by its numbers. Tools are signed YAML items in a private project.
 */
#include "exec_tools.h"

#include "base/clock.h"

#include <poll.h>
#include <signal.h>

static void shell(struct exec_place *p, const char *script)
{
	exec_shell(p, "t/a.yaml", script, "");
}

static void case_28_to_30_exit(void **state)
{
	struct exec_place *p = *state;

	shell(p, "echo out; echo err >&2; exit 3");
	exec_wants(p, "{}",
		   "{\"status\":\"error\",\"error\":\"err\\n\",\"item_id\":\"t/a\","
		   "\"data\":{\"stdout\":\"out\\n\",\"stderr\":\"err\\n\",\"return_code\":3},"
		   "\"chain\":[\"t/a\",\"rye/core/primitives/execute\"]}");
	shell(p, "exit 1");
	exec_wants(p, "{}", "{\"error\":\"Tool exited with code 1\"}");
	shell(p, "kill -9 $$");
	exec_wants(p, "{}",
		   "{\"error\":\"Tool killed by signal 9\",\"data\":{\"return_code\":-1,"
		   "\"signal\":9}}");
}

static void case_31_to_33_bytes(void **state)
{
	struct exec_place *p = *state;

	shell(p, "printf '\\377\\376abc'");
	exec_wants(p, "{}", "{\"status\":\"success\",\"data\":{\"stdout\":\"\\ufffd\\ufffdabc\"}}");
	shell(p, "printf 'a\\000b'");
	exec_wants(p, "{}", "{\"data\":{\"stdout\":\"a\\u0000b\"}}");
	shell(p, "cat; echo done");
	exec_wants(p, "{}", "{\"data\":{\"stdout\":\"done\\n\"}}");
}

static void case_34_input(void **state)
{
	struct exec_place *p = *state;

	exec_shell(p, "t/a.yaml", "cat", "  input_data: \"{params_json}\"\n");
	exec_wants(p, "{\"a\":{\"b\":[1,2.5,null,true]},\"u\":\"é€😀\"}",
		   "{\"data\":{\"a\":{\"b\":[1,2.5,null,true]},\"u\":\"é€😀\"}}");
}

static void case_35_36_arguments(void **state)
{
	struct exec_place *p = *state;
	char want[300];

	exec_yaml(p, "t/a.yaml", "rye/core/primitives/execute",
		  "config:\n  command: printf\n  args: [\"%s|\", \"{name}\", \"${HOME}\", "
		  "\"{missing}\", \"pre-{name}-post\", \"{n}\", \"${NOPE:-dd}\", \"${NOPE}\", "
		  "\"{flag}\", \"{list}\", \"a{b{name}\"]\n");
	snprintf(
		want, sizeof(want),
		"{\"data\":{\"stdout\":\"n|%s|{missing}|pre-n-post|5|dd||true|[1,\\\"x\\\"]|a{bn|\"}}",
		getenv("HOME"));
	exec_wants(p, "{\"name\":\"n\",\"n\":5,\"flag\":true,\"list\":[1,\"x\"]}", want);
	/* what a caller sends is inserted, never read */
	exec_yaml(p, "t/a.yaml", "rye/core/primitives/execute",
		  "config:\n  command: printf\n  args: [\"%s|\", \"{name}\"]\n");
	exec_wants(p, "{\"name\":\"${HOME} {project_path} $(id) {name}\"}",
		   "{\"data\":{\"stdout\":\"${HOME} {project_path} $(id) {name}|\"}}");
}

static void case_37_to_40_documents(void **state)
{
	struct exec_place *p = *state;

	shell(p, "echo 5");
	exec_wants(p, "{}", "{\"status\":\"success\",\"data\":{\"result\":5,\"stdout\":\"5\\n\"}}");
	shell(p, "echo 0");
	exec_wants(p, "{}", "{\"status\":\"success\",\"data\":{\"result\":0}}");
	shell(p, "echo '{}'");
	exec_wants(p, "{}", "{\"status\":\"success\",\"data\":{\"stdout\":\"{}\\n\"}}");
	shell(p, "echo '{\"a\":1}{\"a\":2}'");
	exec_wants(p, "{}", "{\"data\":{\"stdout\":\"{\\\"a\\\":1}{\\\"a\\\":2}\\n\"}}");
	shell(p, "printf '\\n \\t{\"a\":1}  \\n\\n'");
	exec_wants(p, "{}", "{\"data\":{\"a\":1}}");
	shell(p, "printf '\\357\\273\\277{\"a\":1}'");
	exec_wants(p, "{}", "{\"data\":{\"stdout\":\"\\ufeff{\\\"a\\\":1}\"}}");
}

static void case_41_42_whose_error(void **state)
{
	struct exec_place *p = *state;

	shell(p, "echo '{\"error\":\"e1\"}'; echo warn >&2; exit 1");
	exec_wants(p, "{}", "{\"error\":\"warn\\n\",\"data\":{\"error\":\"e1\"}}");
	shell(p, "echo '{\"success\":false,\"error\":\"e1\"}'; echo warn >&2");
	exec_wants(p, "{}", "{\"status\":\"error\",\"error\":\"e1\"}");
}

static int64_t timed(struct exec_place *p, const char *json, const char *want)
{
	int64_t start = clock_ms();

	exec_wants(p, json, want);
	return clock_ms() - start;
}

static void case_43_44_timeout(void **state)
{
	struct exec_place *p = *state;

	shell(p, "sleep 30");
	assert_true(timed(p, "{\"timeout\":1}",
			  "{\"status\":\"error\",\"error\":\"Command timed out after 1 "
			  "seconds\\n\",\"data\":{\"return_code\":-1}}") < 9000);
	shell(p, "sleep 20 & echo started; wait");
	assert_true(timed(p, "{\"timeout\":0.5}",
			  "{\"error\":\"Command timed out after 0.5 seconds\\n\","
			  "\"data\":{\"stdout\":\"started\\n\"}}") < 9000);
	/* deaf to SIGTERM, and so are its children: killed after the grace */
	shell(p, "trap '' TERM; sleep 30 & echo $!; while :; do sleep 1; done");
	{
		auto_said struct exec_said said = exec_run(p, "t/a", "{\"timeout\":1.5}");
		const json_t *data = json_object_get(said.reply, "data");
		pid_t child = atoi(json_str(data, "stdout"));

		assert_int_equal(said.code, RYE_TIMEOUT);
		assert_true(child > 0);
		/* dead at once, but a busy machine's init takes its time to reap it */
		for (int i = 0; i < 100 && kill(child, 0) == 0; i++)
			poll(NULL, 0, 20);
		assert_int_equal(kill(child, 0), -1);
	}
}

static void case_45_46_background(void **state)
{
	struct exec_place *p = *state;

	shell(p, "sleep 5 & echo started");
	assert_true(timed(p, "{}",
			  "{\"status\":\"success\",\"data\":{\"stdout\":\"started\\n\"},"
			  "\"metadata\":{\"background_children\":1}}") < 2500);
	shell(p, "setsid sleep 6 </dev/null >/dev/null 2>&1 & echo started");
	assert_true(timed(p, "{}",
			  "{\"data\":{\"stdout\":\"started\\n\"},"
			  "\"metadata\":{\"background_children\":1}}") < 2500);
}

static void case_47_48_volume(void **state)
{
	struct exec_place *p = *state;
	auto_buf struct rye_buf big = RYE_BUF_INIT;

	shell(p, "head -c 50000000 /dev/zero | tr '\\0' a");
	{
		auto_said struct exec_said said = exec_run(p, "t/a", "{}");
		const json_t *data = json_object_get(said.reply, "data");

		exec_check(&said, "{\"status\":\"success\",\"data\":{\"truncated\":true,"
				  "\"stdout_bytes\":50000000}}");
		assert_int_equal(json_string_length(json_object_get(data, "stdout")), 10 << 20);
	}
	exec_shell(p, "t/a.yaml", "wc -c", "  input_data: \"{params_json}\"\n");
	buf_adds(&big, "{\"data\":\"");
	for (int i = 0; i < 300000; i++)
		buf_adds(&big, "0123456789");
	buf_adds(&big, "\"}");
	exec_wants(p, big.data, "{\"data\":{\"result\":3000012}}");
	/* a child that never reads, and one that answers before it has read */
	shell(p, "exec true");
	exec_shell(p, "t/a.yaml", "head -c 2000000 /dev/zero | tr '\\0' x; cat | wc -c >&2",
		   "  input_data: \"{params_json}\"\n");
	exec_wants(p, big.data, "{\"data\":{\"stderr\":\"3000012\\n\"}}");
}

static void case_49_timeout_text(void **state)
{
	struct exec_place *p = *state;

	shell(p, "echo fine");
	exec_wants(p, "{\"timeout\":\"5\"}", "{\"status\":\"success\"}");
	exec_wants(p, "{\"timeout\":\"x\"}", "{\"error\":\"~Invalid parameters: timeout\"}");
	exec_wants(p, "{\"timeout\":0}",
		   "{\"error\":\"Invalid parameters: timeout: must be > 0\"}");
}

static void case_50_51_no_start(void **state)
{
	struct exec_place *p = *state;

	exec_shell(p, "t/a.yaml", "echo", "  cwd: /nonexist\n");
	exec_wants(p, "{}",
		   "{\"error\":\"Failed to spawn: /nonexist: No such file or directory (os error "
		   "2)\",\"data\":{\"return_code\":-1}}");
	exec_yaml(p, "t/a.yaml", "rye/core/primitives/execute", "config:\n  command: /no/such\n");
	exec_wants(
		p, "{}",
		"{\"error\":\"Failed to spawn: /no/such: No such file or directory (os error 2)\","
		"\"data\":{\"return_code\":-1}}");
	exec_yaml(p, "t/a.yaml", "rye/core/primitives/execute", "");
	exec_wants(p, "{\"command\":\"id\"}",
		   "{\"error\":\"No command specified\",\"data\":{\"return_code\":-1}}");
	exec_yaml(p, "t/a.yaml", "subprocess", "config: {command: echo, args: [hi]}\n");
	exec_wants(p, "{}",
		   "{\"data\":{\"stdout\":\"hi\\n\"},\"chain\":[\"t/a\","
		   "\"rye/core/primitives/subprocess\"]}");
	exec_yaml(p, "t/a.yaml", "http_client", "config: {url: \"http://127.0.0.1/\"}\n");
	exec_wants(p, "{}", "{\"error\":\"http_client is not available yet\"}");
}

static void case_52_53_fixed(void **state)
{
	struct exec_place *p = *state;

	exec_shell(p, "t/a.yaml", "cat",
		   "  input_data: \"x{params_json}\"\n  fixed_params: {k: 1, op: x}\n");
	exec_wants(
		p, "{\"k\":5,\"z\":2}",
		"{\"data\":{\"stdout\":\"x{\\\"z\\\": 2, \\\"k\\\": 1, \\\"op\\\": \\\"x\\\"}\"}}");
	exec_shell(p, "t/a.yaml", "cat",
		   "  input_data: \"x{params_json}\"\n  fixed_params: {k: 1}\n"
		   "  params_key: params\n");
	exec_wants(
		p, "{\"k\":5,\"z\":2}",
		"{\"data\":{\"stdout\":\"x{\\\"k\\\": 1, \\\"params\\\": {\\\"k\\\": 5, \\\"z\\\": "
		"2}}\"}}");
}

static void case_54_to_56_bash(void **state)
{
	static const char script[] = "#!/bin/bash\n# __version__ = \"1.0.0\"\n"
				     "# __tool_type__ = \"script\"\n# __category__ = \"t\"\n"
				     "# __tool_description__ = \"says hi\"\necho hi\ncat\necho\n"
				     "echo \"$1 $2 $RYE_PARAMS\"\n";
	struct exec_place *p = *state;
	char path[300];

	exec_yaml(p, "t/a.yaml", "rye/core/runtimes/bash/bash", "");
	exec_wants(p, "{\"command\":\"echo hi\"}", "{\"data\":{\"stdout\":\"hi\\n\"}}");
	exec_wants(p, "{\"command\":\"true\",\"x\":\"$(touch X)\"}", "{\"status\":\"success\"}");
	snprintf(path, sizeof(path), "%s/X", p->place.project);
	assert_int_equal(access(path, F_OK), -1);
	exec_wants(p, "{}", "{\"error\":\"~needs config.script or config.command\"}");
	exec_yaml(p, "t/a.yaml", "rye/core/runtimes/bash/bash",
		  "config: {script: \"echo {x} $0 $1 {project_path}\"}\n");
	{
		auto_said struct exec_said said = exec_run(p, "t/a", "{\"x\":\"y\"}");
		auto_buf struct rye_buf want = RYE_BUF_INIT;

		buf_addf(&want, "{x} %s/.ai/tools/t/a.yaml %s {project_path}\n", p->place.project,
			 p->place.project);
		assert_string_equal(said.output, want.data);
	}
	snprintf(path, sizeof(path), "%s/.ai/tools/t/a.yaml", p->place.project);
	unlink(path);
	exec_sign(p->place.project, RYE_TOOL, "t/a.sh", span_of(script));
	{
		auto_said struct exec_said said = exec_run(p, "t/a", "{\"x\":\"y\"}");
		auto_buf struct rye_buf want = RYE_BUF_INIT;

		buf_addf(&want, "hi\n{\"x\": \"y\"}\n--project-path %s {\"x\": \"y\"}\n",
			 p->place.project);
		assert_string_equal(said.output, want.data);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		exec_test(case_28_to_30_exit),	    exec_test(case_31_to_33_bytes),
		exec_test(case_34_input),	    exec_test(case_35_36_arguments),
		exec_test(case_37_to_40_documents), exec_test(case_41_42_whose_error),
		exec_test(case_43_44_timeout),	    exec_test(case_45_46_background),
		exec_test(case_47_48_volume),	    exec_test(case_49_timeout_text),
		exec_test(case_50_51_no_start),	    exec_test(case_52_53_fixed),
		exec_test(case_54_to_56_bash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
