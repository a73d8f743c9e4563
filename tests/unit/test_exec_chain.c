/* SPDX-License-Identifier: MIT */
/*
 * Chains and their integrity: cases 57 to 74, 97 to 102 and 104 of the tool format, T54 and T98 of
 * the item format, each test named by its number.
 */
#include "exec_tools.h"

#include "plan/plan.h"

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

static void drop(const char *root, const char *file)
{
	char path[400];

	snprintf(path, sizeof(path), "%s/.ai/%s", root, file);
	assert_int_equal(unlink(path), 0);
}

static void case_57_metadata_of_python(void **state)
{
	struct exec_place *p = *state;

	exec_sign(p->place.project, RYE_TOOL, "t/a.py", span_of("x = (\n"));
	exec_wants(p, "{}", "{\"status\":\"error\",\"error\":\"^Cannot read tool metadata: \"}");
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
}

/* Null, missing, empty: all the same to the caller, and a dry run says so too. */
static void case_58_no_executor(void **state)
{
	static const char *const lines[] = { "executor_id: null\n", "", "executor_id: \"\"\n" };
	static const char want[] = "{\"status\":\"error\",\"error\":\"Tool has no executor_id: "
				   "t/a\",\"chain\":[\"t/a\"]}";
	struct exec_place *p = *state;
	char text[200];

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		auto_said struct exec_said said = { 0 };

		snprintf(text, sizeof(text), "tool_type: script\ncategory: t\n%s", lines[i]);
		exec_sign(p->place.project, RYE_TOOL, "t/a.yaml", span_of(text));
		exec_wants(p, "{}", want);
		said = exec_prim(p, RYE_EXECUTE, "{\"item_id\":\"t/a\",\"dry_run\":true}");
		exec_check(&said, want);
	}
}

static void case_59_executor_not_found(void **state)
{
	struct exec_place *p = *state;

	exec_yaml(p, "t/a.yaml", "t/nowhere", "");
	exec_wants(p, "{}",
		   "{\"status\":\"error\",\"error\":\"Executor not found: t/nowhere\","
		   "\"=chain\":[\"t/a\"]}");
}

static void case_60_cycle(void **state)
{
	struct exec_place *p = *state;
	auto_said struct exec_said said = { 0 };

	exec_yaml(p, "t/a.yaml", "t/b", "");
	exec_yaml(p, "t/b.yaml", "t/a", "");
	said = exec_run(p, "t/a", "{}");
	exec_check(&said, "{\"error\":\"Circular dependency detected: t/a\"}");
	assert_int_equal(said.code, RYE_CHAIN_LOOP);
	exec_said_done(&said);
	exec_yaml(p, "t/a.yaml", "t/a", "");
	exec_wants(p, "{}", "{\"error\":\"Circular dependency detected: t/a\"}");
	said = exec_prim(p, RYE_EXECUTE, "{\"item_id\":\"tool:t/a\",\"dry_run\":true}");
	exec_check(&said, "{\"status\":\"error\",\"error\":\"Circular dependency detected: t/a\"}");
}

static void case_61_depth(void **state)
{
	struct exec_place *p = *state;
	auto_said struct exec_said said = { 0 };
	char file[40], next[40];

	for (int i = 0; i < 12; i++) {
		snprintf(file, sizeof(file), "t/d%d.yaml", i);
		snprintf(next, sizeof(next), i == 11 ? "rye/core/primitives/execute" : "t/d%d",
			 i + 1);
		exec_yaml(p, file, next, "config: {command: \"true\"}\n");
	}
	said = exec_run(p, "t/d0", "{}");
	exec_check(&said, "{\"status\":\"error\",\"error\":\"Chain too deep (max 10): t/d0. "
			  "Possible circular dependency or excessive nesting.\"}");
	exec_said_done(&said);
	said = exec_run(p, "t/d3", "{}");
	exec_check(&said, "{\"status\":\"success\"}");
	assert_int_equal(json_array_size(json_object_get(said.reply, "chain")), 10);
	exec_said_done(&said);
	said = exec_prim(p, RYE_EXECUTE, "{\"item_id\":\"tool:t/d3\",\"dry_run\":true}");
	exec_check(&said, "{\"status\":\"validation_passed\","
			  "\"metadata\":{\"validated_pair_count\":9}}");
}

static void case_62_unsigned_tool(void **state)
{
	struct exec_place *p = *state;

	place_text(p->place.project, "tools/t/a.py", "def execute(p, q): return {}\n");
	exec_wants(p, "{}",
		   "{\"status\":\"error\",\"error_type\":\"integrity\",\"error\":\"^Unsigned "
		   "item: /\",\"item_id\":\"t/a\"}");
}

static void case_63_tampered_tool(void **state)
{
	struct exec_place *p = *state;
	auto_said struct exec_said said = { 0 };
	const char *error, *expected, *actual;

	exec_function(p, "t/a.py", "return {}");
	tamper(p->place.project, "tools/t/a.py");
	said = exec_run(p, "t/a", "{}");
	exec_check(&said, "{\"status\":\"error\",\"error_type\":\"integrity\","
			  "\"error\":\"^Content modified since signing: /\"}");
	error = json_str(said.reply, "error");
	expected = strstr(error, "\n  Expected hash: ");
	actual = strstr(error, "\n  Actual hash: ");
	assert_true(expected && actual);
	expected += strlen("\n  Expected hash: ");
	actual += strlen("\n  Actual hash: ");
	assert_int_equal(strspn(expected, "0123456789abcdef"), 16);
	assert_int_equal(strspn(actual, "0123456789abcdef"), 16);
	assert_true(!strncmp(expected + 16, "…\n", 4) && !strncmp(actual + 16, "…\n", 4));
	assert_int_not_equal(strncmp(expected, actual, 16), 0);
}

static void unsigned_runtime(struct exec_place *p)
{
	exec_yaml(p, "t/a.yaml", "t/rt", "");
	place_text(p->place.project, "tools/t/rt.yaml",
		   "tool_type: runtime\nexecutor_id: rye/core/primitives/execute\n");
}

static void case_64_unsigned_runtime(void **state)
{
	struct exec_place *p = *state;

	unsigned_runtime(p);
	exec_wants(p, "{}",
		   "{\"status\":\"error\",\"error\":\"^Unsigned item: /\","
		   "\"error_type\":\"integrity\",\"=chain\":[\"t/a\"]}");
	exec_wants(p, "{}", "{\"error\":\"~/.ai/tools/t/rt.yaml\\n\"}");
}

static void case_65_unsigned_runtime_in_a_dry_run(void **state)
{
	struct exec_place *p = *state;
	auto_said struct exec_said said = { 0 };

	unsigned_runtime(p);
	said = exec_prim(p, RYE_EXECUTE, "{\"item_id\":\"tool:t/a\",\"dry_run\":true}");
	exec_check(&said, "{\"status\":\"error\",\"error\":\"^Unsigned item: /\","
			  "\"error_type\":\"integrity\"}");
}

static void shadow_python(struct exec_place *p)
{
	put(p, p->place.project, "rye/core/runtimes/python/function.yaml",
	    "rye/core/primitives/execute", "config: {command: echo, args: [SHADOWED]}\n");
}

static void case_66_project_runtime_shadows(void **state)
{
	struct exec_place *p = *state;
	auto_said struct exec_said said = { 0 };
	const json_t *shadowed, *detail;

	exec_function(p, "t/a.py", "return {'success': True}");
	shadow_python(p);
	said = exec_run(p, "t/a", "{}");
	exec_check(&said, "{\"status\":\"success\",\"data\":{\"stdout\":\"SHADOWED\\n\"}}");
	shadowed = json_object_get(json_object_get(said.reply, "metadata"), "shadowed");
	assert_int_equal(json_array_size(shadowed), 1);
	assert_string_equal(json_str(json_array_get(shadowed, 0), "item_id"),
			    "rye/core/runtimes/python/function");
	detail = json_object_get(said.reply, "chain_detail");
	assert_string_equal(json_str(json_array_get(detail, 1), "space"), "project");
}

static void case_67_system_tool_is_not_affected(void **state)
{
	struct exec_place *p = *state;
	auto_said struct exec_said said = { 0 };
	const json_t *detail;

	shadow_python(p);
	exec_sign(p->place.system, RYE_TOOL, "sys/s.py",
		  span_of("__executor_id__ = \"rye/core/runtimes/python/function\"\n"
			  "__category__ = \"sys\"\n"
			  "def execute(p, q):\n    return {'success': True, 'own': 1}\n"));
	said = exec_run(p, "sys/s", "{}");
	exec_check(&said, "{\"status\":\"success\",\"data\":{\"own\":1}}");
	detail = json_object_get(said.reply, "chain_detail");
	assert_string_equal(json_str(json_array_get(detail, 1), "space"), "system:bundle");
}

/* A tool of user space never gets at the project's runtime. */
static void executor_above(struct exec_place *p)
{
	exec_sign(p->place.user, RYE_TOOL, "t/a.yaml",
		  span_of("tool_type: script\nexecutor_id: t/rt\ncategory: t\n"));
	put(p, p->place.project, "t/rt.yaml", "rye/core/primitives/execute",
	    "config: {command: \"true\"}\n");
	exec_wants(p, "{}", "{\"status\":\"error\",\"error\":\"Executor not found: t/rt\"}");
}

static void case_68_user_tool(void **state)
{
	executor_above(*state);
}

static void T54_no_executor_upwards(void **state)
{
	struct exec_place *p = *state;

	executor_above(p);
	/* from the project it is found */
	exec_yaml(p, "t/b.yaml", "t/rt", "config: {command: \"true\"}\n");
	{
		auto_said struct exec_said said = exec_run(p, "t/b", "{}");

		exec_check(&said, "{\"status\":\"success\"}");
	}
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

static void case_69_anchored_helper(void **state)
{
	struct exec_place *p = *state;

	anchored(p);
	wants_main(p, "{\"status\":\"success\",\"data\":{\"v\":5}}");
	wants_main(p, "{\"status\":\"success\",\"data\":{\"v\":5}}");
}

static void case_70_tampered_helper(void **state)
{
	struct exec_place *p = *state;

	anchored(p);
	tamper(p->place.project, "tools/anc/helper.py");
	wants_main(p, "{\"status\":\"error\",\"error\":\"^Content modified since signing: /\"}");
	wants_main(p, "{\"error\":\"~/.ai/tools/anc/helper.py\\n\"}");
}

static void case_71_unsigned_data(void **state)
{
	struct exec_place *p = *state;

	anchored(p);
	place_text(p->place.project, "tools/anc/data.json", "{}\n");
	wants_main(p, "{\"status\":\"error\",\"error\":\"^Unsigned item: /\","
		      "\"error_type\":\"integrity\"}");
	wants_main(p, "{\"error\":\"~/.ai/tools/anc/data.json\\n\"}");
	drop(p->place.project, "tools/anc/data.json");
	place_text(p->place.project, "tools/anc/deep/er/data.json", "{}\n");
	wants_main(p, "{\"error\":\"~/anc/deep/er/data.json\\n\"}");
}

/* What a runtime lends to anchored tools is verified as they are, and taken from its source. */
static void library_of_a_runtime(void **state)
{
	static const char lib[] = "rye/core/runtimes/python/lib/lent.py";
	struct exec_place *p = *state;

	exec_python(p, "anc/main.py", "function",
		    "import lent\ndef execute(p, q):\n    return {'success': True, 'v': lent.V}\n");
	exec_sign(p->place.system, RYE_TOOL, lib, span_of("V = 6\n"));
	/* to a tool that is no package it lends nothing */
	wants_main(p, "{\"status\":\"error\",\"error\":\"~No module named 'lent'\"}");
	exec_sign(p->place.project, RYE_TOOL, "anc/__init__.py", span_of("# package\n"));
	wants_main(p, "{\"status\":\"success\",\"data\":{\"v\":6}}");
	place_text(p->place.system, "tools/rye/core/runtimes/python/lib/stray.py", "x = 1\n");
	wants_main(p, "{\"error\":\"~/lib/stray.py\\n\",\"error_type\":\"integrity\"}");
	drop(p->place.system, "tools/rye/core/runtimes/python/lib/stray.py");
	tamper(p->place.system, "tools/rye/core/runtimes/python/lib/lent.py");
	wants_main(p, "{\"status\":\"error\",\"error\":\"^Content modified since signing: /\"}");
}

/* An excluded directory is searched for code all the same: it could be imported. */
static void code_in_excluded_directories(void **state)
{
	struct exec_place *p = *state;

	anchored(p);
	place_text(p->place.project, "tools/anc/config/x.json", "{}\n");
	wants_main(p, "{\"status\":\"success\"}");
	place_text(p->place.project, "tools/anc/config/evil.py", "x = 1\n");
	wants_main(p, "{\"error\":\"~evil.py\",\"error_type\":\"integrity\"}");
}

/* A link in the anchored directory to a target; the answer names link and target. */
static void escapes(struct exec_place *p, const char *name, const char *target)
{
	auto_buf struct rye_buf want = RYE_BUF_INIT;
	char link[300], real[PATH_MAX] = "";

	snprintf(link, sizeof(link), "%s/.ai/tools/anc/%s", p->place.project, name);
	assert_int_equal(symlink(target, link), 0);
	assert_ptr_equal(realpath(link, real), real);
	buf_addf(&want, "{\"status\":\"error\",\"error\":\"Symlink escape: %s resolves to %s\"}",
		 link, real);
	wants_main(p, want.data);
	unlink(link);
}

static void case_72_link_out_of_the_anchor(void **state)
{
	struct exec_place *p = *state;
	char to[300];

	anchored(p);
	place_text(p->place.project, "outside.py", "x = 1\n");
	snprintf(to, sizeof(to), "%s/.ai/outside.py", p->place.project);
	escapes(p, "x.py", to);
	escapes(p, "y", "/usr");
	wants_main(p, "{\"status\":\"success\"}");
}

static void case_73_link_to_a_name_that_begins_alike(void **state)
{
	struct exec_place *p = *state;

	anchored(p);
	exec_sign(p->place.project, RYE_TOOL, "anc2/x.py", span_of("V = 6\n"));
	escapes(p, "x.py", "../anc2/x.py");
}

/* A directory whose verification would be skipped under another name. */
static void link_to_an_excluded_directory(void **state)
{
	struct exec_place *p = *state;

	anchored(p);
	place_text(p->place.project, "tools/anc/.git/y.py", "x = 1\n");
	escapes(p, "y", ".git");
}

static void T98_what_lies_beside_an_anchored_tool(void **state)
{
	struct exec_place *p = *state;

	anchored(p);
	place_text(p->place.project, "tools/anc/stray.py", "x = 1\n");
	wants_main(p, "{\"status\":\"error\",\"error\":\"^Unsigned item: /\"}");
	wants_main(p, "{\"error\":\"~/.ai/tools/anc/stray.py\\n\"}");
	drop(p->place.project, "tools/anc/stray.py");
	escapes(p, "out.py", "/etc/hostname");
	/* without the marker the tool is not anchored, and what lies there is not its business */
	place_text(p->place.project, "tools/anc/stray.py", "x = 1\n");
	drop(p->place.project, "tools/anc/__init__.py");
	exec_python(p, "anc/main.py", "function",
		    "def execute(p, q):\n    return {'success': True}\n");
	wants_main(p, "{\"status\":\"success\"}");
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

static void case_97_deep_merge(void **state)
{
	struct exec_place *p = *state;

	config(p->place.user, "web/z.yaml", "extends: x\na: {b: 1, c: [1, 2]}\nu: 1\n");
	config(p->place.project, "web/z.yaml", "a: {b: 2, d: 3}\nc: null\n");
	exec_python(
		p, "t/a.py", "function",
		"CONFIG_RESOLVE = {'path': 'web/z.yaml', 'mode': 'deep_merge'}\n"
		"def execute(p, q):\n    return {'success': True, 'got': p['resolved_config']}\n");
	exec_wants(
		p, "{\"resolved_config\":1}",
		"{\"status\":\"success\",\"data\":{\"=got\":{\"a\":{\"b\":2,\"c\":[1,2],\"d\":3},"
		"\"u\":1,\"c\":null}}}");
}

static void case_98_list_of_specs(void **state)
{
	struct exec_place *p = *state;

	config(p->place.user, "web/z.yaml", "a: 2\nu: 1\n");
	config(p->place.project, "web/z.yaml", "extends: keep\na: 1\n");
	exec_python(
		p, "t/a.py", "function",
		"CONFIG_RESOLVE = [{'path': 'web/z.yaml', 'mode': 'first_match'},"
		"{'path': 'web/none.yaml'}]\n"
		"def execute(p, q):\n    return {'success': True, 'got': p['resolved_config']}\n");
	exec_wants(p, "{}",
		   "{\"status\":\"success\",\"data\":{\"=got\":{\"web/z.yaml\":{\"extends\":"
		   "\"keep\",\"a\":1},\"web/none.yaml\":{}}}}");
}

static void config_stays_below_config(void **state)
{
	struct exec_place *p = *state;

	exec_python(p, "t/a.py", "function",
		    "CONFIG_RESOLVE = {'path': '../secret.yaml'}\ndef execute(p, q): return {}\n");
	exec_wants(p, "{}", "{\"error\":\"~relative path below .ai/config\"}");
}

static void case_99_tampered_config(void **state)
{
	struct exec_place *p = *state;

	exec_sign(p->place.project, RYE_CONFIG, "web/z.yaml", span_of("a: 1\n"));
	exec_python(
		p, "t/a.py", "function",
		"CONFIG_RESOLVE = {'path': 'web/z.yaml'}\n"
		"def execute(p, q):\n    return {'success': True, 'got': p['resolved_config']}\n");
	exec_wants(p, "{}", "{\"data\":{\"=got\":{\"a\":1}}}");
	tamper(p->place.project, "config/web/z.yaml");
	exec_wants(p, "{}",
		   "{\"status\":\"error\",\"error\":\"^Content modified since signing: /\","
		   "\"error_type\":\"integrity\"}");
	exec_wants(p, "{}", "{\"error\":\"~config/web/z.yaml\\n\"}");
}

/* Configuration that decides about authority has to be signed; the error names the file. */
static void unsigned_authority(void **state)
{
	static const char *const files[] = { "agent/agent.yaml", "limits.yaml",
					     "providers/own/x.toml", "trust.yml" };
	struct exec_place *p = *state;
	char text[300], want[300];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		config(p->place.project, files[i], strstr(files[i], ".toml") ? "a = 1" : "a: 1");
		snprintf(text, sizeof(text),
			 "CONFIG_RESOLVE = {'path': '%s'}\ndef execute(p, q):\n"
			 "    return {'success': True, 'got': p['resolved_config']}\n",
			 files[i]);
		exec_python(p, "t/a.py", "function", text);
		snprintf(want, sizeof(want), "{\"status\":\"error\",\"error\":\"~config/%s\\n\"}",
			 files[i]);
		exec_wants(p, "{}", want);
		exec_wants(p, "{}",
			   "{\"error\":\"^Unsigned item: /\",\"error_type\":\"integrity\"}");
	}
	exec_sign(p->place.project, RYE_CONFIG, "trust.yml", span_of("a: 1\n"));
	exec_wants(p, "{}", "{\"data\":{\"=got\":{\"a\":1}}}");
}

/* What is unsigned is said; a layer that cannot be read is an error, and so is a wrong one. */
static void unsigned_config_is_told(void **state)
{
	struct exec_place *p = *state;
	auto_said struct exec_said said = { 0 };
	json_t *step;
	size_t i;
	int told = 0;

	exec_sign(p->place.user, RYE_CONFIG, "web/z.yaml", span_of("a: 1\n"));
	config(p->place.project, "web/z.yaml", "b: 1\n");
	exec_python(p, "t/a.py", "function",
		    "CONFIG_RESOLVE = {'path': 'web/z.yaml'}\ndef execute(p, q):\n"
		    "    return {'success': True, 'got': p['resolved_config']}\n");
	said = exec_run(p, "t/a", "{\"trace\":true}");
	exec_check(&said, "{\"data\":{\"=got\":{\"a\":1,\"b\":1}}}");
	json_array_foreach(json_object_get(said.reply, "trace"), i, step) {
		json_t *files = json_object_get(step, "files");

		if (json_array_size(files) != 2)
			continue;
		assert_string_equal(json_str(json_array_get(files, 0), "verdict"), "ok");
		assert_string_equal(json_str(json_array_get(files, 0), "space"), "user");
		assert_string_equal(json_str(json_array_get(files, 1), "verdict"), "unsigned");
		told++;
	}
	assert_int_equal(told, 1);
	config(p->place.project, "web/z.yaml", "b: [1\n");
	exec_wants(p, "{}", "{\"status\":\"error\",\"error\":\"~config/web/z.yaml: \"}");
}

static void case_100_limit_of_one_tool(void **state)
{
	struct exec_place *p = *state;
	auto_said struct exec_said said = { 0 };

	config(p->place.project, "execution/execution.yaml", "tools: {t/slow: {timeout: 1}}\n");
	exec_function(p, "t/slow.py", "import time\ntime.sleep(20)");
	said = exec_run(p, "t/slow", "{}");
	exec_check(&said, "{\"status\":\"error\",\"error\":\"Command timed out after 1 "
			  "seconds\\n\"}");
	assert_int_equal(said.code, RYE_TIMEOUT);
	/* the limit is that tool's alone */
	exec_function(p, "t/a.py", "import time\ntime.sleep(1.3)\nreturn {'success': True}");
	exec_wants(p, "{}", "{\"status\":\"success\"}");
}

/* Only a thread's runner is spared the usual limit; a caller cannot say that it is one. */
static void limits_of_threads(void **state)
{
	struct exec_place *p = *state;
	const struct rye_request kept = { .verb = RYE_RUN,
					  .kind = RYE_TOOL,
					  .id = "t/a",
					  .message = SPAN("{}"),
					  .keeps = true };

	put(p, p->place.project, "t/rt.yaml", "rye/core/primitives/execute",
	    "config: {timeout: 1}\n");
	exec_yaml(p, "t/a.yaml", "t/rt", "config: {command: sleep, args: ['1.6']}\n");
	{
		auto_said struct exec_said said =
			exec_prim(p, RYE_EXECUTE, "{\"item_id\":\"tool:t/a\",\"detached\":true}");

		exec_check(&said,
			   "{\"status\":\"error\",\"error\":\"^Command timed out after 1 \"}");
	}
	{
		auto_said struct exec_said said = exec_ask(p, &kept);

		exec_check(&said, "{\"status\":\"success\"}");
	}
	/* What was said of this tool counts for a thread as well. */
	exec_yaml(p, "t/a.yaml", "t/rt", "config: {command: sleep, args: ['9'], timeout: 1}\n");
	{
		auto_said struct exec_said said = exec_ask(p, &kept);

		exec_check(&said, "{\"error\":\"^Command timed out after 1 \"}");
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
	usleep(150000); /* the same */
	exec_wants(p, "{}", "{\"data\":{\"stdout\":\"project\\n\"}}");
	tamper(p->place.project, "tools/t/rt.yaml");
	exec_wants(p, "{}", "{\"error_type\":\"integrity\"}");
}

static void case_102_same_stem(void **state)
{
	struct exec_place *p = *state;
	auto_said struct exec_said said = { 0 };
	const json_t *warnings;

	exec_function(p, "t/a.py", "return {'success': True, 'which': 'py'}");
	exec_shell(p, "t/a.yaml", "echo yaml", "");
	said = exec_run(p, "t/a", "{}");
	exec_check(&said, "{\"status\":\"success\",\"data\":{\"which\":\"py\"}}");
	warnings = json_object_get(json_object_get(said.reply, "metadata"), "warnings");
	assert_int_equal(json_array_size(warnings), 1);
	assert_non_null(strstr(json_string_value(json_array_get(warnings, 0)), "ambiguous"));
	assert_non_null(strstr(json_string_value(json_array_get(warnings, 0)), ".yaml"));
}

static void case_104_no_utf8(void **state)
{
	static const char text[] = "__executor_id__ = \"x\" # \xff\n";
	struct exec_place *p = *state;
	auto_buf struct rye_buf want = RYE_BUF_INIT;

	exec_sign(p->place.project, RYE_TOOL, "t/a.py",
		  (struct rye_span){ text, sizeof(text) - 1 });
	buf_addf(&want,
		 "{\"status\":\"error\",\"error\":\"^Not valid UTF-8: %s/.ai/tools/t/a.py\"}",
		 p->place.project);
	exec_wants(p, "{}", want.data);
}

/* Which neighbours of a chain go from a space to a higher one. */
static void spaces_go_downwards(void **state)
{
	static const enum rye_space types[] = { RYE_SYSTEM, RYE_USER, RYE_PROJECT };
	struct space child = { .label = "a" }, parent = { .label = "b" };
	char ids[2][8] = { "t/a", "t/rt" };
	struct rye_item tool = { .space = &child, .id = ids[0] },
			runtime = { .space = &parent, .id = ids[1] };
	struct chain chain = { .n = 2, .v = { { .item = &tool }, { .item = &runtime } } };

	for (size_t of = 0; of < ARRAY_SIZE(types); of++)
		for (size_t to = 0; to < ARRAY_SIZE(types); to++) {
			child.type = types[of];
			parent.type = types[to];
			assert_int_equal(!chain_check(&chain, &told_err), of >= to);
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

/* What requires: [entry] opens, a letter each. */
static void opens(const char *entry, const char *want)
{
	auto_json json_t *list = json_pack("[s]", entry);
	const struct tool_meta meta = { .requires_list = list };
	const struct confine confine = plan_confine(&meta, &(struct rye_options){ .scan = false });
	char found[8];

	snprintf(found, sizeof(found), "%s%s%s%s%s%s%s", confine.net ? "n" : "",
		 confine.write ? "w" : "", confine.shown & SHOW_GIT ? "g" : "",
		 confine.shown & SHOW_ENV ? "e" : "", confine.shown & SHOW_STATE ? "s" : "",
		 confine.calls ? "c" : "", confine.keys ? "k" : "");
	assert_string_equal(found, want);
}

static void what_requires_opens(void **state)
{
	const struct tool_meta none = { .requires_list = NULL };
	struct rye_options opt = { .sandbox = RYE_SANDBOX_AUTO };

	(void)state;
	assert_true(plan_confine(&none, &opt).net && plan_confine(&none, &opt).write);
	opt.sandbox = RYE_SANDBOX_STRICT;
	assert_true(!plan_confine(&none, &opt).net && plan_confine(&none, &opt).write);
	opens("fs.read", "");
	opens("fs.write", "w");
	opens("fs.*", "w");
	opens("net.http", "n");
	opens("net.anything", "n");
	opens("git.config", "g");
	opens("env.read", "e");
	opens("threads.read", "s");
	opens("rye.execute.tool.*", "c");
	opens("shell.execute", "");
	opens("keys.manage", "k");
	opens("secrets.manage", "k");
	opens("threads.manage", "sk");
	/* what is kept for a person is meant by its whole name alone */
	opens("*.manage", "");
	opens("threads.*", "s");
	opens("*", "nwges");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		exec_test(case_57_metadata_of_python),
		exec_test(case_58_no_executor),
		exec_test(case_59_executor_not_found),
		exec_test(case_60_cycle),
		exec_test(case_61_depth),
		exec_test(case_62_unsigned_tool),
		exec_test(case_63_tampered_tool),
		exec_test(case_64_unsigned_runtime),
		exec_test(case_65_unsigned_runtime_in_a_dry_run),
		exec_test(case_66_project_runtime_shadows),
		exec_test(case_67_system_tool_is_not_affected),
		exec_test(case_68_user_tool),
		exec_test(T54_no_executor_upwards),
		exec_test(case_69_anchored_helper),
		exec_test(case_70_tampered_helper),
		exec_test(case_71_unsigned_data),
		exec_test(library_of_a_runtime),
		exec_test(code_in_excluded_directories),
		exec_test(case_72_link_out_of_the_anchor),
		exec_test(case_73_link_to_a_name_that_begins_alike),
		exec_test(link_to_an_excluded_directory),
		exec_test(T98_what_lies_beside_an_anchored_tool),
		exec_test(case_74_environment),
		exec_test(case_97_deep_merge),
		exec_test(case_98_list_of_specs),
		exec_test(config_stays_below_config),
		exec_test(unsigned_authority),
		exec_test(unsigned_config_is_told),
		exec_test(case_99_tampered_config),
		exec_test(case_100_limit_of_one_tool),
		exec_test(limits_of_threads),
		exec_test(case_101_new_override),
		exec_test(case_102_same_stem),
		exec_test(case_104_no_utf8),
		cmocka_unit_test(spaces_go_downwards),
		cmocka_unit_test(versions),
		exec_test(pairs_are_checked),
		cmocka_unit_test(what_requires_opens),
	};

	/* for case 74; the engine looks at its environment when it is opened */
	setenv("SECRET_OF_MINE", "s", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
