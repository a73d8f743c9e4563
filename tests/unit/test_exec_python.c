/* SPDX-License-Identifier: MIT */
/*
 * Python tools: cases 1 to 21 of the tool format, each test named by its number. Every case runs
 * twice: with a process started for the call, and with a warm interpreter; what a tool sees must
 * not tell them apart.
 */
#include "exec_tools.h"

#include <errno.h>
#include <sys/wait.h>

static bool is_warm(struct exec_place *p)
{
	auto_said struct exec_said said = exec_run(p, "t/up", "{\"trace\":true}");
	const json_t *trace = json_object_get(said.reply, "trace");
	json_t *step;
	size_t i;

	assert_int_equal(said.code, RYE_OK);
	assert_non_null(said.trace);
	json_array_foreach(trace, i, step) {
		if (!strcmp(json_str(step, "step"), "spawn"))
			return json_is_true(json_object_get(step, "warm"));
	}
	return false;
}

static int warm_setup(void **state)
{
	struct exec_place *p = test_calloc(1, sizeof(*p));
	int i = 0;

	exec_place_make(p);
	p->opt.scan = true;
	exec_place_open(p);
	exec_function(p, "t/up.py", "return {'success': True}");
	while (!is_warm(p))
		if (++i > 100)
			fail_msg("no warm interpreter after 100 calls");
	*state = p;
	return 0;
}

static void function(struct exec_place *p, const char *body)
{
	exec_function(p, "t/a.py", body);
}

static void case_1_parameters(void **state)
{
	struct exec_place *p = *state;

	function(p, "return {'success':True,'params':p}");
	exec_wants(p, "{\"a\":1,\"s\":\"x\"}",
		   "{\"status\":\"success\",\"type\":\"tool\",\"item_id\":\"t/a\","
		   "\"data\":{\"=params\":{\"a\":1,\"s\":\"x\"}},"
		   "\"=chain\":[\"t/a\",\"rye/core/runtimes/python/function\","
		   "\"rye/core/primitives/execute\"],"
		   "\"metadata\":{\"canonical_ref\":\"tool:t/a\"}}");
}

static void case_2_reserved_names(void **state)
{
	static const char given[] =
		"{\"timeout\":9,\"cwd\":\"/x\",\"env\":{},\"server\":1,\"tool_name\":1,"
		"\"project_path\":1,\"__d\":1,\"command\":\"c\",\"args\":[1]}";
	struct exec_place *p = *state;

	function(p, "return {'success':True,'params':p}");
	exec_wants(p, given, "{\"data\":{\"=params\":{\"command\":\"c\",\"args\":[1]}}}");
	exec_python(p, "t/a.py", "function",
		    "CONFIG_SCHEMA = {'type':'object','properties':{'cwd':{'type':'string'},"
		    "'timeout':{'type':'integer'}}}\n"
		    "def execute(p, q):\n    return {'success':True,'params':p}\n");
	exec_wants(p, given,
		   "{\"data\":{\"=params\":{\"timeout\":9,\"cwd\":\"/x\",\"command\":\"c\","
		   "\"args\":[1]}}}");
}

static void case_3_input_data(void **state)
{
	struct exec_place *p = *state;

	function(p, "return {'success':True,'params':p}");
	exec_wants(p, "{\"input_data\":\"{\\\"hij\\\":1}\"}",
		   "{\"data\":{\"=params\":{\"input_data\":\"{\\\"hij\\\":1}\"}}}");
}

static void case_4_environment_names(void **state)
{
	struct exec_place *p = *state;

	function(p, "return {'success':True,'params':p}");
	exec_wants(p, "{\"v\":\"${MYSECRET} ${NOPE} ${NOPE:-dflt} $HOME ${lower}\"}",
		   "{\"data\":{\"=params\":{\"v\":\"${MYSECRET} ${NOPE} ${NOPE:-dflt} $HOME "
		   "${lower}\"}}}");
}

static void case_5_braces(void **state)
{
	struct exec_place *p = *state;

	function(p, "return {'success':True,'params':p}");
	exec_wants(p, "{\"a\":\"{project_path}\",\"b\":\"}{project_path}\",\"c\":\"{tool_path}\"}",
		   "{\"data\":{\"=params\":{\"a\":\"{project_path}\",\"b\":\"}{project_path}\","
		   "\"c\":\"{tool_path}\"}}}");
}

static void case_6_none(void **state)
{
	struct exec_place *p = *state;

	function(p, "return None");
	exec_wants(p, "{}",
		   "{\"status\":\"success\",\"=data\":{\"stdout\":\"{}\\n\",\"stderr\":\"\","
		   "\"return_code\":0}}");
}

static void case_7_list(void **state)
{
	struct exec_place *p = *state;

	function(p, "return [1,2]");
	exec_wants(p, "{}",
		   "{\"status\":\"success\",\"!error\":0,\"data\":{\"result\":[1,2],"
		   "\"stdout\":\"[1, 2]\\n\",\"return_code\":0}}");
}

static void case_8_empty_list(void **state)
{
	struct exec_place *p = *state;

	function(p, "return []");
	exec_wants(p, "{}",
		   "{\"status\":\"success\",\"data\":{\"result\":[],\"stdout\":\"[]\\n\"}}");
}

static void case_9_text(void **state)
{
	struct exec_place *p = *state;

	function(p, "return 'hi'");
	exec_wants(p, "{}", "{\"status\":\"success\",\"!error\":0,\"data\":{\"result\":\"hi\"}}");
}

static void case_10_noise(void **state)
{
	struct exec_place *p = *state;

	function(p, "print('noise')\nreturn {'success':True}");
	exec_wants(p, "{}",
		   "{\"status\":\"success\",\"=data\":{\"stdout\":\"noise\\n{\\\"success\\\": "
		   "true}\\n\",\"stderr\":\"\",\"return_code\":0}}");
}

static void case_11_exception(void **state)
{
	struct exec_place *p = *state;
	auto_buf struct rye_buf want = RYE_BUF_INIT;
	auto_said struct exec_said said = { 0 };
	const char *error;

	function(p, "raise ValueError('no')");
	buf_addf(&want, "  File \"%s/.ai/tools/t/a.py\", line 10, in execute\n", p->place.project);
	said = exec_run(p, "t/a", "{}");
	error = json_str(said.reply, "error");
	exec_check(&said, "{\"status\":\"error\",\"data\":{\"stdout\":\"\",\"return_code\":1},"
			  "\"error\":\"^Traceback (most recent call last):\\n  File "
			  "\\\"<string>\\\", line \"}");
	exec_check(&said, "{\"error\":\"~ValueError: no\\n\"}");
	assert_string_equal(json_str(json_object_get(said.reply, "data"), "stderr"), error);
	assert_non_null(strstr(error, want.data));
	/* the loader's frame and the tool's, nothing of ours */
	assert_null(strstr(strstr(error, "<string>") + 1, "<string>"));
}

static void case_12_exit_after_the_answer(void **state)
{
	struct exec_place *p = *state;

	function(p, "import sys\nprint('{\"success\": true}')\nsys.exit(3)");
	exec_wants(p, "{}",
		   "{\"status\":\"error\",\"error\":\"Tool exited with code 3\","
		   "\"=data\":{\"success\":true}}");
}

static void other_exits(void **state)
{
	struct exec_place *p = *state;

	function(p, "import sys\nsys.exit('words')");
	exec_wants(p, "{}", "{\"error\":\"words\\n\",\"data\":{\"return_code\":1}}");
	function(p, "import os\nos._exit(7)");
	exec_wants(p, "{}", "{\"data\":{\"return_code\":7}}");
	function(p, "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)");
	exec_wants(p, "{}", "{\"data\":{\"return_code\":-1,\"signal\":9}}");
}

static void case_13_success_false(void **state)
{
	struct exec_place *p = *state;

	function(p, "return {'success': False, 'error': 'bad', 'x': 1}");
	exec_wants(p, "{}",
		   "{\"status\":\"error\",\"error\":\"bad\","
		   "\"=data\":{\"success\":false,\"error\":\"bad\",\"x\":1}}");
}

static void case_14_no_success(void **state)
{
	struct exec_place *p = *state;

	function(p, "return {'x': 1}");
	exec_wants(p, "{}",
		   "{\"status\":\"success\",\"!error\":0,\"=data\":{\"x\":1},\"metadata\":{"
		   "\"warnings\":[\"the result has no member \\\"success\\\"; it counts as success "
		   "unless the exit status says no\"]}}");
}

static void a_result_that_is_no_object(void **state)
{
	struct exec_place *p = *state;

	function(p, "return 'done'");
	exec_wants(p, "{}",
		   "{\"status\":\"success\",\"data\":{\"result\":\"done\"},\"metadata\":{"
		   "\"warnings\":[\"the result is no object with a member \\\"success\\\"; it "
		   "counts as success\"]}}");
}

static void case_15_success_none(void **state)
{
	struct exec_place *p = *state;

	function(p, "return {'success': None}");
	exec_wants(p, "{}",
		   "{\"status\":\"error\",\"error\":\"Tool reported failure\","
		   "\"=data\":{\"success\":null}}");
}

static void case_16_coroutine(void **state)
{
	struct exec_place *p = *state;

	exec_python(p, "t/a.py", "function",
		    "import asyncio\nasync def execute(p, q):\n"
		    "    await asyncio.sleep(0)\n    return {'success': True, 'q': 1}\n");
	exec_wants(p, "{}", "{\"status\":\"success\",\"=data\":{\"success\":true,\"q\":1}}");
}

static void case_17_no_execute(void **state)
{
	struct exec_place *p = *state;
	auto_buf struct rye_buf want = RYE_BUF_INIT;

	exec_python(p, "t/a.py", "function", "def other(): pass\n");
	buf_addf(&want,
		 "{\"status\":\"error\",\"error\":\"No execute() in %s/.ai/tools/t/a.py\\n\","
		 "\"data\":{\"return_code\":1}}",
		 p->place.project);
	exec_wants(p, "{}", want.data);
}

static void case_18_odd_values(void **state)
{
	struct exec_place *p = *state;
	auto_said struct exec_said said = { 0 };
	const json_t *warnings;

	function(p, "return {'success':True,'n':float('nan'),'i':[float('-inf')],'s':{1},"
		    "'b':b'x','big':2**70,'text':'NaN \\ud800 é'}");
	said = exec_run(p, "t/a", "{}");
	exec_check(&said,
		   "{\"status\":\"success\",\"=data\":{\"success\":true,\"n\":null,\"i\":[null],"
		   "\"s\":\"{1}\",\"b\":\"b'x'\",\"big\":1.1805916207174113e21,"
		   "\"text\":\"NaN \\ufffd é\"}}");
	warnings = json_object_get(json_object_get(said.reply, "metadata"), "warnings");
	assert_int_equal(json_array_size(warnings), 1);
	assert_non_null(strstr(json_string_value(json_array_get(warnings, 0)), "NaN"));
}

static void case_19_name_and_argv(void **state)
{
	struct exec_place *p = *state;
	auto_buf struct rye_buf want = RYE_BUF_INIT;

	function(p, "import sys, os\n"
		    "return {'success':True,'name':__name__,'argv':sys.argv,'q':q,"
		    "'cwd':os.getcwd(),'main':sys.modules['__main__'].__name__,"
		    "'mod':'tool' in sys.modules,'path0':sys.path[0],'fd':os.environ.get("
		    "'RYE_TOOL_FD'),'sid':os.getsid(0)==os.getpid(),'file':__file__}");
	buf_addf(&want,
		 "{\"data\":{\"name\":\"tool\",\"argv\":[\"-c\",\"%s/.ai/tools/t/a.py\",\"%s\"],"
		 "\"q\":\"%s\",\"cwd\":\"%s\",\"main\":\"__main__\",\"mod\":false,"
		 "\"fd\":null,\"sid\":true,\"file\":\"%s/.ai/tools/t/a.py\"}}",
		 p->place.project, p->place.project, p->place.project, p->place.project,
		 p->place.project);
	exec_wants(p, "{}", want.data);
}

/* What an ordinary exit does: threads joined, atexit, files of the module's own flushed. */
static void ordinary_exit(void **state)
{
	struct exec_place *p = *state;
	char path[300], text[64] = "";
	FILE *file;

	exec_python(p, "t/a.py", "function",
		    "import atexit, threading, time\n"
		    "out = open('left.txt', 'w')\n"
		    "def late():\n    time.sleep(0.05); out.write('thread ')\n"
		    "atexit.register(lambda: out.write('atexit'))\n"
		    "def execute(p, q):\n    threading.Thread(target=late).start()\n"
		    "    return {'success': True}\n");
	exec_wants(p, "{}", "{\"status\":\"success\"}");
	snprintf(path, sizeof(path), "%s/left.txt", p->place.project);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	assert_string_equal(text, "thread atexit");
}

static void case_20_script(void **state)
{
	struct exec_place *p = *state;
	auto_buf struct rye_buf want = RYE_BUF_INIT;

	exec_python(p, "t/a.py", "script",
		    "import sys, json\n"
		    "print(json.dumps({'argv':sys.argv[1:],'in':json.load(sys.stdin),"
		    "'n':__name__}))\n");
	buf_addf(&want,
		 "{\"status\":\"success\",\"=data\":{\"argv\":[\"--project-path\",\"%s\"],"
		 "\"in\":{\"a\":1},\"n\":\"__main__\"}}",
		 p->place.project);
	exec_wants(p, "{\"a\":1}", want.data);
}

static void case_21_script_wants_params(void **state)
{
	struct exec_place *p = *state;
	auto_buf struct rye_buf want = RYE_BUF_INIT;

	exec_python(p, "t/a.py", "script",
		    "import argparse, json\n"
		    "def execute(params, project_path):\n"
		    "    return {'success': True, 'got': params, 'at': project_path}\n"
		    "if __name__ == '__main__':\n"
		    "    parser = argparse.ArgumentParser()\n"
		    "    parser.add_argument('--params', required=True)\n"
		    "    parser.add_argument('--project-path', required=True)\n"
		    "    args = parser.parse_args()\n"
		    "    print(json.dumps(execute(json.loads(args.params), args.project_path)))\n");
	buf_addf(&want,
		 "{\"status\":\"success\",\"=data\":{\"success\":true,\"got\":{\"a\":1},"
		 "\"at\":\"%s\"}}",
		 p->place.project);
	exec_wants(p, "{\"a\":1}", want.data);
}

static void odd_modules(void **state)
{
	struct exec_place *p = *state;

	exec_python(p, "t/a.py", "function",
		    "__name__ = []\ndef execute(p, q):\n    return {'success': True}\n");
	exec_wants(p, "{}", "{\"status\":\"success\"}");
	exec_python(p, "t/a.py", "function",
		    "def execute(p, q):\n    import sys\n    sys.stdout.close()\n");
	exec_wants(p, "{}", "{\"status\":\"error\",\"data\":{\"return_code\":1}}");
}

/* What a busy machine has not begun within the time is given more. */
static void timeout_keeps_the_output(void **state)
{
	static const char *const times[] = { "0.3", "3", "20" };
	struct exec_place *p = *state;

	function(p, "import time\nprint('x', flush=True)\ntime.sleep(90)");
	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		auto_said struct exec_said said = { 0 };
		char asked[32], want[160];

		snprintf(asked, sizeof(asked), "{\"timeout\":%s}", times[i]);
		snprintf(want, sizeof(want),
			 "{\"error\":\"Command timed out after %s seconds\\n\","
			 "\"data\":{\"stdout\":\"x\\n\",\"return_code\":-1}}",
			 times[i]);
		said = exec_run(p, "t/a", asked);
		if (i + 1 < ARRAY_SIZE(times) &&
		    !*json_str(json_object_get(said.reply, "data"), "stdout"))
			continue;
		exec_check(&said, want);
		return;
	}
}

static void state_is_not_shared(void **state)
{
	struct exec_place *p = *state;

	function(p, "import os, json\n"
		    "seen = [os.environ.get('LEFT'), getattr(json, 'left', None)]\n"
		    "os.environ['LEFT'] = 'x'\njson.left = 'x'\nos.chdir('/')\n"
		    "return {'success': True, 'seen': seen, 'tmp': os.environ['TMPDIR']}");
	exec_wants(p, "{}", "{\"data\":{\"seen\":[null,null]}}");
	exec_wants(p, "{}", "{\"data\":{\"seen\":[null,null]}}");
}

static void background_of_python(void **state)
{
	struct exec_place *p = *state;

	function(p, "import subprocess\nsubprocess.Popen(['sleep', '2'])\n"
		    "return {'success': True}");
	exec_wants(p, "{}", "{\"status\":\"success\",\"metadata\":{\"background_children\":1}}");
}

/* A text that was compiled ahead answers for itself only, however often it comes back. */
static void texts_are_not_mixed_up(void **state)
{
	struct exec_place *p = *state;

	for (int i = 0; i < 12; i++) {
		char body[64], want[64];

		snprintf(body, sizeof(body), "return {'success': True, 'n': %d}", i % 10);
		snprintf(want, sizeof(want), "{\"data\":{\"n\":%d}}", i % 10);
		function(p, body);
		for (int k = 0; k < 4; k++) {
			exec_wants(p, "{}", want);
			usleep(8000);
		}
	}
}

/* Children go through a sample before they wait: nothing of that is to be seen. */
static void rehearsed_calls(void **state)
{
	struct exec_place *p = *state;

	function(p, "import os, sys\nprint('noise', file=sys.stderr)\n"
		    "return {'success': True, 'p': p, 'argv': len(sys.argv), 'at': os.getcwd(),"
		    "'run': 'RYE_RUN' in os.environ, 'x': sys.stdin.read()}");
	for (int i = 0; i < 24; i++) {
		exec_wants(p, "{\"n\":1}",
			   "{\"data\":{\"p\":{\"n\":1},\"argv\":3,\"run\":true,\"x\":\"\"}}");
		usleep(6000);
	}
}

/*
 * A warm interpreter tells the end of its call on a socket, and so can the tool: that ends its own call
 * as an exit does (what goes on behind that is a background process as any), and no other one.
 */
static void a_forged_end_is_of_one_call(void **state)
{
	static const char *const ends[] = { "D0", "D7", "X0", "D", "F", "x" };
	struct exec_place *p = *state;

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		char text[700];
		auto_said struct exec_said said = { 0 };

		snprintf(text, sizeof(text),
			 "import os, socket, time\n"
			 "def execute(p, q):\n"
			 "    for fd in range(3, 64):\n"
			 "        try:\n"
			 "            socket.socket(fileno=os.dup(fd)).send(b'%s\\n')\n"
			 "        except OSError:\n"
			 "            pass\n"
			 "    time.sleep(0.5)\n"
			 "    return {'success': True, 'n': 1}\n",
			 ends[i]);
		exec_python(p, "t/a.py", "function", text);
		said = exec_run(p, "t/a", "{\"timeout\":10}");
		assert_non_null(json_object_get(said.reply, "data"));
		function(p, "return {'success': True, 'n': 2}");
		exec_wants(p, "{}", "{\"data\":{\"n\":2}}");
	}
}

/* What the compiler has to say is said at every call. */
static void words_of_the_compiler(void **state)
{
	struct exec_place *p = *state;

	function(p, "return {'success': p is 1}");
	for (int i = 0; i < 3; i++) {
		exec_wants(p, "{}", "{\"status\":\"error\",\"data\":{\"success\":false}}");
		usleep(15000);
	}
	function(p, "import sys\nsys.exit(p is 1)");
	for (int i = 0; i < 3; i++) {
		exec_wants(p, "{}", "{\"data\":{\"stderr\":\"~SyntaxWarning\"}}");
		usleep(15000);
	}
	exec_python(p, "t/a.py", "function", "def execute(p, q):\n    nonlocal z\n");
	for (int i = 0; i < 3; i++) {
		exec_wants(p, "{}", "{\"error\":\"~SyntaxError\"}");
		usleep(15000);
	}
}

/* No process is left behind, dead or alive, when the interpreters are stopped. */
static void nobody_is_left(void **state)
{
	struct exec_place *p = *state;
	siginfo_t info;

	function(p, "return {'success': True}");
	for (int i = 0; i < 3; i++) {
		exec_wants(p, "{}", "{\"status\":\"success\"}");
		usleep(15000);
	}
	exec_close(p->exec);
	p->exec = NULL;
	assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT), -1);
	assert_int_equal(errno, ECHILD);
}

/*
 * What a runtime lends to a tool of one file is the verified text, of this very call, and leaves nothing
 * in its environment.
 */
static void modules_of_the_runtime(void **state)
{
	static const char lent[] = "rye/core/runtimes/python/lib/rye_files.py";
	struct exec_place *p = *state;

	function(p, "import os, rye_tool, rye_files\n"
		    "return {'success':True,'paths':rye_files.is_secret('x/.env'),"
		    "'left':[name for name in os.environ if 'MODULE' in name]}");
	exec_wants(p, "{}", "{\"status\":\"success\",\"data\":{\"paths\":true,\"=left\":[]}}");
	function(p, "import rye_files\nreturn {'success':True,'v':getattr(rye_files,'V',0)}");
	exec_wants(p, "{}", "{\"data\":{\"v\":0}}");
	exec_sign(p->place.system, RYE_TOOL, lent, span_of("V = 6\n"));
	exec_wants(p, "{}", "{\"data\":{\"v\":6}}");
	place_text(p->place.system, "tools/rye/core/runtimes/python/lib/rye_files.py", "V = 7\n");
	exec_wants(p, "{}",
		   "{\"status\":\"error\",\"error\":\"^Unsigned item: /\","
		   "\"error_type\":\"integrity\"}");
}

#define both(name)                                                        \
	cmocka_unit_test_setup_teardown(name, exec_setup, exec_teardown), \
		cmocka_unit_test_setup_teardown(name, warm_setup, exec_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		both(nobody_is_left), /* first: others leave children that live on */
		both(case_1_parameters),
		both(case_2_reserved_names),
		both(case_3_input_data),
		both(case_4_environment_names),
		both(case_5_braces),
		both(case_6_none),
		both(case_7_list),
		both(case_8_empty_list),
		both(case_9_text),
		both(case_10_noise),
		both(case_11_exception),
		both(case_12_exit_after_the_answer),
		both(other_exits),
		both(case_13_success_false),
		both(case_14_no_success),
		both(a_result_that_is_no_object),
		both(case_15_success_none),
		both(case_16_coroutine),
		both(case_17_no_execute),
		both(case_18_odd_values),
		both(case_19_name_and_argv),
		both(ordinary_exit),
		exec_test(case_20_script),
		exec_test(case_21_script_wants_params),
		both(odd_modules),
		both(modules_of_the_runtime),
		both(timeout_keeps_the_output),
		both(state_is_not_shared),
		both(background_of_python),
		both(texts_are_not_mixed_up),
		both(words_of_the_compiler),
		both(rehearsed_calls),
		both(a_forged_end_is_of_one_call),
	};

	/* for case 4: there to be leaked */
	setenv("MYSECRET", "s", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
