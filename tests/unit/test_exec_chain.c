/* SPDX-License-Identifier: MIT */
/*
 * Chains and their integrity: cases 57 to 74, 97 to 102 and 104 of the tool format (tools 12),
 * each test named by its numbers.
 */
#include "exec_tools.h"

#include "exec/chain.h"

static void put(struct exec_place *p, const char *root, const char *file, const char *executor,
		const char *more)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	const char *slash = strrchr(file, '/');

	buf_addf(&text,
		 "tool_type: runtime\nversion: \"1.0.0\"\nexecutor_id: %s\ncategory: %.*s\n"
		 "description: a test\n%s",
		 executor, (int)(slash ? slash - file : 0), file, more);
	exec_sign(root, RYE_TOOL, file, (struct rye_span){ text.data, text.len });
}

static void tamper(const char *root, const char *file)
{
	char path[400];
	FILE *out;

	snprintf(path, sizeof(path), "%s/.ai/%s", root, file);
	out = fopen(path, "a");
	assert_non_null(out);
	fputs("# more\n", out);
	fclose(out);
}

static void case_57_58_no_executor(void **state)
{
	struct exec_place *p = *state;

	exec_sign(p->place.project, RYE_TOOL, "t/a.py",
		  span_of("__version__: str = \"1.0.0\"\n__tool_type__ = \"python\"\n"
			  "__executor_id__: str = \"rye/core/runtimes/python/function\"\n"
			  "__category__ = \"t\"\n__tool_description__ = \"d\"\n"
			  "def execute(p, q):\n    return {'success': True}\n"));
	exec_wants(p, "{}", "{\"status\":\"success\"}");
	exec_sign(p->place.project, RYE_TOOL, "t/a.py",
		  span_of("__version__ = \"1.0.0\"\nif True:\n"
			  "    __executor_id__ = \"rye/core/runtimes/python/function\"\n"));
	exec_wants(p, "{}", "{\"status\":\"error\",\"error\":\"Tool has no executor_id: t/a\"}");
	exec_sign(p->place.project, RYE_TOOL, "t/a.py", span_of("x = (\n"));
	exec_wants(p, "{}", "{\"error\":\"~Cannot read tool metadata: \"}");
	for (int i = 0; i < 2; i++) {
		char path[300];

		snprintf(path, sizeof(path), "%s/.ai/tools/t/a.py", p->place.project);
		unlink(path);
		exec_yaml(p, "t/a.yaml", i ? "null" : "\"\"", "");
		exec_wants(p, "{}",
			   "{\"error\":\"Tool has no executor_id: t/a\",\"chain\":[\"t/a\"]}");
	}
}

static void case_59_to_61_links(void **state)
{
	struct exec_place *p = *state;
	char file[40], next[40];

	exec_yaml(p, "t/a.yaml", "t/nowhere", "");
	exec_wants(p, "{}", "{\"error\":\"Executor not found: t/nowhere\",\"chain\":[\"t/a\"]}");
	exec_yaml(p, "t/a.yaml", "t/b", "");
	exec_yaml(p, "t/b.yaml", "t/a", "");
	{
		auto_said struct exec_said said = exec_run(p, "t/a", "{}");

		exec_check(&said, "{\"error\":\"Circular dependency detected: t/a\"}");
		assert_int_equal(said.code, RYE_CHAIN_LOOP);
	}
	exec_yaml(p, "t/a.yaml", "t/a", "");
	exec_wants(p, "{}", "{\"error\":\"Circular dependency detected: t/a\"}");
	for (int i = 0; i < 12; i++) {
		snprintf(file, sizeof(file), "t/d%d.yaml", i);
		snprintf(next, sizeof(next), i == 11 ? "rye/core/primitives/execute" : "t/d%d",
			 i + 1);
		exec_yaml(p, file, next, "config: {command: \"true\"}\n");
	}
	{
		auto_said struct exec_said said = exec_run(p, "t/d0", "{}");

		exec_check(&said, "{\"error\":\"~Chain too deep (max 10): t/d0. Possible\"}");
	}
	{
		auto_said struct exec_said said = exec_run(p, "t/d3", "{}");

		exec_check(&said, "{\"status\":\"success\"}");
		assert_int_equal(json_array_size(json_object_get(said.reply, "chain")), 10);
	}
}

static void case_62_to_65_integrity(void **state)
{
	struct exec_place *p = *state;
	auto_said struct exec_said said = { 0 };

	place_text(p->place.project, "tools/t/a.py", "def execute(p, q): return {}\n");
	exec_wants(p, "{}",
		   "{\"status\":\"error\",\"error_type\":\"integrity\",\"error\":\"~Unsigned "
		   "item:\",\"item_id\":\"t/a\"}");
	exec_function(p, "t/a.py", "return {}");
	tamper(p->place.project, "tools/t/a.py");
	exec_wants(p, "{}",
		   "{\"error_type\":\"integrity\",\"error\":\"~Content modified since signing:\"}");
	exec_yaml(p, "t/b.yaml", "t/rt", "");
	place_text(p->place.project, "tools/t/rt.yaml",
		   "tool_type: runtime\nexecutor_id: rye/core/primitives/execute\n");
	said = exec_run(p, "t/b", "{}");
	exec_check(&said, "{\"error\":\"~Unsigned item:\",\"error_type\":\"integrity\",\"chain\":"
			  "[\"t/b\"]}");
	exec_said_done(&said);
	said = exec_prim(p, RYE_EXECUTE, "{\"item_id\":\"tool:t/b\",\"dry_run\":true}");
	exec_check(&said, "{\"status\":\"error\",\"error_type\":\"integrity\"}");
}

static void case_66_67_shadow(void **state)
{
	struct exec_place *p = *state;
	auto_said struct exec_said said = { 0 };
	const json_t *shadowed, *detail;

	exec_function(p, "t/a.py", "return {'success': True}");
	put(p, p->place.project, "rye/core/runtimes/python/function.yaml",
	    "rye/core/primitives/execute", "config: {command: echo, args: [SHADOWED]}\n");
	said = exec_run(p, "t/a", "{}");
	exec_check(&said, "{\"data\":{\"stdout\":\"SHADOWED\\n\"}}");
	shadowed = json_object_get(json_object_get(said.reply, "metadata"), "shadowed");
	assert_string_equal(json_str(json_array_get(shadowed, 0), "item_id"),
			    "rye/core/runtimes/python/function");
	detail = json_object_get(said.reply, "chain_detail");
	assert_string_equal(json_str(json_array_get(detail, 1), "space"), "project");
	exec_said_done(&said);
	/* a system tool is not affected */
	exec_sign(p->place.system, RYE_TOOL, "sys/s.py",
		  span_of("__executor_id__ = \"rye/core/runtimes/python/function\"\n"
			  "__category__ = \"sys\"\n"
			  "def execute(p, q):\n    return {'success': True, 'own': 1}\n"));
	said = exec_run(p, "sys/s", "{}");
	exec_check(&said, "{\"data\":{\"own\":1}}");
}

static void case_68_user_tool(void **state)
{
	struct exec_place *p = *state;

	exec_sign(p->place.user, RYE_TOOL, "t/a.yaml",
		  span_of("tool_type: script\nexecutor_id: t/rt\ncategory: t\n"));
	put(p, p->place.project, "t/rt.yaml", "rye/core/primitives/execute",
	    "config: {command: \"true\"}\n");
	exec_wants(p, "{}", "{\"error\":\"Executor not found: t/rt\"}");
}

static void anchored(struct exec_place *p)
{
	exec_python(
		p, "anc/main.py", "function",
		"import helper\ndef execute(p, q):\n    return {'success': True, 'v': helper.V}\n");
	exec_sign(p->place.project, RYE_TOOL, "anc/__init__.py", span_of("# package\n"));
	exec_sign(p->place.project, RYE_TOOL, "anc/helper.py", span_of("V = 5\n"));
}

static void wants_main(struct exec_place *p, const char *want)
{
	auto_said struct exec_said said = exec_run(p, "anc/main", "{}");

	exec_check(&said, want);
}

static void case_69_to_71_anchor(void **state)
{
	struct exec_place *p = *state;
	char path[300];

	anchored(p);
	wants_main(p, "{\"status\":\"success\",\"data\":{\"v\":5}}");
	wants_main(p, "{\"status\":\"success\",\"data\":{\"v\":5}}");
	place_text(p->place.project, "tools/anc/data.json", "{}\n");
	wants_main(p, "{\"error\":\"~data.json\",\"error_type\":\"integrity\"}");
	snprintf(path, sizeof(path), "%s/.ai/tools/anc/data.json", p->place.project);
	unlink(path);
	/* an excluded directory is searched for code all the same: it could be imported */
	place_text(p->place.project, "tools/anc/config/x.json", "{}\n");
	wants_main(p, "{\"status\":\"success\"}");
	place_text(p->place.project, "tools/anc/config/evil.py", "x = 1\n");
	wants_main(p, "{\"error\":\"~evil.py\",\"error_type\":\"integrity\"}");
	snprintf(path, sizeof(path), "%s/.ai/tools/anc/config/evil.py", p->place.project);
	unlink(path);
	tamper(p->place.project, "tools/anc/helper.py");
	wants_main(p, "{\"error\":\"~Content modified since signing\"}");
	wants_main(p, "{\"error\":\"~helper.py\"}");
}

static void case_72_73_symlinks(void **state)
{
	struct exec_place *p = *state;
	char link[300], to[300];

	anchored(p);
	place_text(p->place.project, "outside.py", "x = 1\n");
	exec_sign(p->place.project, RYE_TOOL, "anc2/x.py", span_of("V = 6\n"));
	snprintf(link, sizeof(link), "%s/.ai/tools/anc/x.py", p->place.project);
	snprintf(to, sizeof(to), "%s/.ai/outside.py", p->place.project);
	assert_int_equal(symlink(to, link), 0);
	wants_main(p, "{\"error\":\"~Symlink escape: \"}");
	unlink(link);
	assert_int_equal(symlink("../anc2/x.py", link), 0);
	wants_main(p, "{\"error\":\"~Symlink escape: \"}");
	unlink(link);
	/* a directory whose verification would be skipped under another name */
	place_text(p->place.project, "tools/anc/.git/y.py", "x = 1\n");
	snprintf(link, sizeof(link), "%s/.ai/tools/anc/y", p->place.project);
	assert_int_equal(symlink(".git", link), 0);
	wants_main(p, "{\"error\":\"~Symlink escape: \"}");
	unlink(link);
	assert_int_equal(symlink("/usr", link), 0);
	wants_main(p, "{\"error\":\"~Symlink escape: \"}");
}

static void case_74_environment(void **state)
{
	struct exec_place *p = *state;

	put(p, p->place.project, "t/rt.yaml", "rye/core/primitives/execute",
	    "env_config:\n  env: {A: runtime, C: \"${NOPE:-dd}\", D: 5, E: \"{tool_dir}\"}\n"
	    "config:\n  command: /bin/sh\n"
	    "  inline_args: [-c, \"{script}\"]\n");
	exec_yaml(p, "t/a.yaml", "t/rt",
		  "env_config: {env: {A: tool, B: \"${A}-b\"}}\n"
		  "config: {script: \"echo $A $B $C $D ${SECRET_OF_MINE:-none} ${E##*/}\"}\n");
	exec_wants(p, "{}", "{\"data\":{\"stdout\":\"tool tool-b dd 5 none t\\n\"}}");
	/* what a signed element asks for by name it gets, also from the project's .env */
	exec_yaml(p, "t/a.yaml", "t/rt",
		  "env_config: {env: {B: \"${SECRET_OF_MINE}/${FROM_FILE}\"}}\n"
		  "config:\n  script: \"echo $B $L ${NOBODY_ASKED:-no} ${PATH%%:*}\"\n"
		  "  env: {L: \"${FROM_FILE}!\"}\n");
	{
		char path[300];
		FILE *file;

		snprintf(path, sizeof(path), "%s/.env", p->place.project);
		file = fopen(path, "w");
		assert_non_null(file);
		fputs("FROM_FILE= f \nNOBODY_ASKED=x\nPATH=/evil\nLD_PRELOAD=/evil.so\n", file);
		fclose(file);
	}
	exec_wants(p, "{}", "{\"data\":{\"stdout\":\"~s/f f! no /\"}}");
}

static void config(const char *root, const char *file, const char *text)
{
	char path[200];

	snprintf(path, sizeof(path), "config/%s", file);
	place_text(root, path, text);
}

static void case_97_98_config(void **state)
{
	struct exec_place *p = *state;

	config(p->place.user, "web/z.yaml", "extends: x\na: {b: 1, c: [1, 2]}\nu: 1\n");
	config(p->place.project, "web/z.yaml", "a: {b: 2, d: 3}\nc: null\n");
	exec_python(
		p, "t/a.py", "function",
		"CONFIG_RESOLVE = {'path': 'web/z.yaml', 'mode': 'deep_merge'}\n"
		"def execute(p, q):\n    return {'success': True, 'got': p['resolved_config']}\n");
	exec_wants(p, "{\"resolved_config\":1}",
		   "{\"data\":{\"got\":{\"a\":{\"b\":2,\"c\":[1,2],\"d\":3},\"u\":1,\"c\":null}}}");
	exec_python(
		p, "t/a.py", "function",
		"CONFIG_RESOLVE = [{'path': 'web/z.yaml', 'mode': 'first_match'},"
		"{'path': 'web/none.yaml'}]\n"
		"def execute(p, q):\n    return {'success': True, 'got': p['resolved_config']}\n");
	config(p->place.project, "web/z.yaml", "extends: keep\na: 1\n");
	exec_wants(p, "{}",
		   "{\"data\":{\"got\":{\"web/z.yaml\":{\"extends\":\"keep\",\"a\":1},"
		   "\"web/none.yaml\":{}}}}");
	exec_python(p, "t/a.py", "function",
		    "CONFIG_RESOLVE = {'path': '../secret.yaml'}\ndef execute(p, q): return {}\n");
	exec_wants(p, "{}", "{\"error\":\"~relative path below .ai/config\"}");
}

static void case_99_100_config(void **state)
{
	struct exec_place *p = *state;

	exec_sign(p->place.project, RYE_CONFIG, "web/z.yaml", span_of("a: 1\n"));
	tamper(p->place.project, "config/web/z.yaml");
	exec_python(p, "t/a.py", "function",
		    "CONFIG_RESOLVE = {'path': 'web/z.yaml'}\ndef execute(p, q): return {}\n");
	exec_wants(p, "{}", "{\"error\":\"~Content modified\",\"error_type\":\"integrity\"}");
	exec_wants(p, "{}", "{\"error\":\"~config/web/z.yaml\"}");
	config(p->place.project, "execution/execution.yaml", "tools: {t/slow: {timeout: 0.5}}\n");
	exec_function(p, "t/slow.py", "import time\ntime.sleep(20)");
	{
		auto_said struct exec_said said = exec_run(p, "t/slow", "{}");

		exec_check(&said, "{\"error\":\"Command timed out after 0.5 seconds\\n\"}");
		assert_int_equal(said.code, RYE_TIMEOUT);
	}
}

static void case_101_new_override(void **state)
{
	struct exec_place *p = *state;

	exec_yaml(p, "t/a.yaml", "t/rt", "config: {command: echo, args: [\"{who}\"]}\n");
	put(p, p->place.user, "t/rt.yaml", "rye/core/primitives/execute", "config: {who: user}\n");
	exec_yaml(p, "t/a.yaml", "t/rt", "config: {command: echo, args: [\"{who}\"]}\n");
	usleep(150000); /* long enough for the loader to remember */
	for (int i = 0; i < 3; i++)
		exec_wants(p, "{}", "{\"data\":{\"stdout\":\"user\\n\"}}");
	put(p, p->place.project, "t/rt.yaml", "rye/core/primitives/execute",
	    "config: {who: project}\n");
	exec_wants(p, "{}", "{\"data\":{\"stdout\":\"project\\n\"}}");
	usleep(150000);
	exec_wants(p, "{}", "{\"data\":{\"stdout\":\"project\\n\"}}");
	tamper(p->place.project, "tools/t/rt.yaml");
	exec_wants(p, "{}", "{\"error_type\":\"integrity\"}");
}

static void case_102_104_files(void **state)
{
	struct exec_place *p = *state;

	exec_function(p, "t/a.py", "return {'success': True, 'which': 'py'}");
	exec_shell(p, "t/a.yaml", "echo yaml", "");
	{
		auto_said struct exec_said said = exec_run(p, "t/a", "{}");

		exec_check(&said, "{\"data\":{\"which\":\"py\"}}");
		assert_non_null(strstr(
			json_string_value(json_array_get(
				json_object_get(json_object_get(said.reply, "metadata"), "warnings"),
				0)),
			"ambiguous"));
	}
	exec_sign(p->place.project, RYE_TOOL, "t/b.py",
		  (struct rye_span){ "__executor_id__ = \"x\" # \xff\n", 26 });
	{
		auto_said struct exec_said said = exec_run(p, "t/b", "{}");

		exec_check(&said, "{\"error\":\"~Not valid UTF-8: /\"}");
	}
}

static void versions(void **state)
{
	int order;

	assert_true(version_compare("1.2", "1.2.0", &order) && order == 0);
	assert_true(version_compare("1.10.0", "1.9.9", &order) && order > 0);
	assert_true(version_compare("1.0.0rc1", "1.0.0", &order) && order < 0);
	assert_true(version_compare("1.0.0.dev3", "1.0.0a1", &order) && order < 0);
	assert_true(version_compare("1.0.post1", "1.0", &order) && order > 0);
	assert_false(version_compare("one", "1.0", &order));
}

static void pairs_are_checked(void **state)
{
	struct exec_place *p = *state;

	put(p, p->place.project, "t/rt.yaml", "rye/core/primitives/execute",
	    "inputs: [x, y]\nchild_constraints: {t/a: {min_version: \"2.0.0\"}}\n");
	exec_yaml(p, "t/a.yaml", "t/rt", "outputs: [x]\nconfig: {command: \"true\"}\n");
	exec_wants(p, "{}",
		   "{\"error\":\"Chain validation failed: 't/rt' wants input 'y', which 't/a' does "
		   "not give; 't/rt' wants 't/a' from version 2.0.0 on, it is 1.0.0\"}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		exec_test(case_57_58_no_executor),  exec_test(case_59_to_61_links),
		exec_test(case_62_to_65_integrity), exec_test(case_66_67_shadow),
		exec_test(case_68_user_tool),	    exec_test(case_69_to_71_anchor),
		exec_test(case_72_73_symlinks),	    exec_test(case_74_environment),
		exec_test(case_97_98_config),	    exec_test(case_99_100_config),
		exec_test(case_101_new_override),   exec_test(case_102_104_files),
		exec_test(pairs_are_checked),	    cmocka_unit_test(versions),
	};

	/* for case 74; the engine looks at its environment when it is opened */
	setenv("SECRET_OF_MINE", "s", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
