/* SPDX-License-Identifier: MIT */
/*
 * What execution.yaml and a tool's metadata say about its runs: lockfiles, the order of time limits,
 * the steps of a trace, dry runs, what contributes to a chain.
 */
#include "exec_tools.h"

static void drop_lock(struct exec_place *p, const char *file)
{
	char path[400];

	snprintf(path, sizeof(path), "%s/.ai/%s", p->place.project, file);
	assert_int_equal(unlink(path), 0);
}

static void settings(struct exec_place *p, const char *text)
{
	place_text(p->place.project, "config/execution/execution.yaml", text);
}

static json_t *lock_of(struct exec_place *p, const char *name)
{
	auto_buf struct rye_buf path = RYE_BUF_INIT;
	json_t *doc;

	buf_addf(&path, "%s/.ai/lockfiles/%s.lock.json", p->place.project, name);
	doc = json_load_file(path.data, 0, NULL);
	return doc;
}

static void lockfile_is_made_and_used(void **state)
{
	struct exec_place *p = *state;
	auto_json json_t *doc = NULL;

	/* without the switch there is none, and none is looked at */
	place_text(p->place.project, "lockfiles/t/a@1.0.0.lock.json", "{}");
	exec_shell(p, "t/a.yaml", "echo one", "");
	exec_wants(p, "{}", "{\"status\":\"success\",\"metadata\":{\"!lockfile_used\":1}}");
	drop_lock(p, "lockfiles/t/a@1.0.0.lock.json");
	settings(p, "lockfiles: enforce\n");
	exec_wants(p, "{}", "{\"status\":\"success\",\"metadata\":{\"!lockfile_created\":1}}");
	assert_null(lock_of(p, "t/a@1.0.0"));
	settings(p, "lockfiles: create\n");
	exec_wants(p, "{}", "{\"metadata\":{\"lockfile_created\":\"~/t/a@1.0.0.lock.json\"}}");
	doc = lock_of(p, "t/a@1.0.0");
	assert_int_equal(json_int(doc, "lockfile_version", 0), 1);
	assert_string_equal(json_str(json_object_get(doc, "root"), "tool_id"), "t/a");
	assert_int_equal(json_array_size(json_object_get(doc, "resolved_chain")), 2);
	assert_true(json_is_null(json_object_get(doc, "registry")));
	exec_wants(p, "{}",
		   "{\"status\":\"success\",\"metadata\":{\"lockfile_used\":"
		   "\"~/.ai/lockfiles/t/a@1.0.0.lock.json\"}}");
}

static void lockfile_forbids_another_chain(void **state)
{
	struct exec_place *p = *state;

	settings(p, "lockfiles: create\n");
	exec_yaml(p, "t/a.yaml", "t/rt", "config: {script: \"echo one\"}\n");
	exec_yaml(p, "t/rt.yaml", "rye/core/primitives/execute",
		  "config:\n  command: /bin/sh\n  inline_args: [-c, \"{script}\"]\n");
	exec_wants(p, "{}", "{\"status\":\"success\"}");
	/* the tool, signed anew under the same version */
	exec_yaml(p, "t/a.yaml", "t/rt", "config: {script: \"echo two\"}\n");
	exec_wants(p, "{}",
		   "{\"status\":\"error\",\"error_type\":\"integrity\",\"error\":\"^Lockfile "
		   "integrity mismatch for t/a. Re-sign and delete stale lockfile.\"}");
	{
		auto_said struct exec_said said =
			exec_prim(p, RYE_EXECUTE, "{\"item_id\":\"tool:t/a\",\"dry_run\":true}");

		exec_check(&said, "{\"status\":\"error\",\"error\":\"^Lockfile integrity\"}");
	}
	/* its runtime */
	exec_yaml(p, "t/a.yaml", "t/rt", "config: {script: \"echo one\"}\n");
	exec_wants(p, "{}", "{\"status\":\"success\"}");
	exec_yaml(p, "t/rt.yaml", "rye/core/primitives/execute",
		  "config:\n  command: /bin/bash\n  inline_args: [-c, \"{script}\"]\n");
	exec_wants(p, "{}", "{\"error\":\"^Lockfile integrity mismatch for t/rt.\"}");
	/* another way through */
	exec_yaml(p, "t/rt.yaml", "t/between",
		  "config:\n  command: /bin/sh\n  inline_args: [-c, \"{script}\"]\n");
	exec_yaml(p, "t/between.yaml", "rye/core/primitives/subprocess", "");
	exec_wants(p, "{}", "{\"error\":\"^Lockfile \"}");
	place_text(p->place.project, "lockfiles/t/a@1.0.0.lock.json", "no JSON");
	exec_wants(p, "{}", "{\"error\":\"~lockfiles/t/a@1.0.0.lock.json\"}");
	settings(p, "lockfiles: sometimes\n");
	exec_wants(p, "{}", "{\"error\":\"~enforce or create is wanted, not sometimes\"}");
}

/* A lock that lists what the chain has not, in the user's space. */
static void lockfile_of_the_user(void **state)
{
	struct exec_place *p = *state;
	auto_said struct exec_said said = { 0 };
	auto_buf struct rye_buf lock = RYE_BUF_INIT;

	settings(p, "lockfiles: enforce\n");
	exec_shell(p, "t/a.yaml", "echo one", "");
	said = exec_run(p, "t/a", "{}");
	buf_addf(&lock,
		 "{\"root\":{\"integrity\":\"%s\"},\"resolved_chain\":[{\"item_id\":\"t/gone\"}]}",
		 json_str(json_array_get(json_object_get(said.reply, "chain_detail"), 0),
			  "integrity"));
	place_text(p->place.user, "lockfiles/t/a@1.0.0.lock.json", lock.data);
	exec_wants(p, "{}", "{\"error\":\"^Lockfile chain element not found: t/gone\"}");
}

/* ---- time limits ---- */

/* The limit that a run of t/a got, as its trace tells it. */
static void limit_is(struct exec_place *p, const char *params, double want)
{
	auto_said struct exec_said said = exec_run(p, "t/a", params);
	json_t *step;
	size_t i;
	double got = -1;

	json_array_foreach(json_object_get(said.reply, "trace"), i, step)
		if (!strcmp(json_str(step, "step"), "spawn"))
			got = json_number_value(json_object_get(step, "timeout"));
	if (got < want - 0.001 || got > want + 0.001)
		fail_msg("%s: wanted %g s, got %g: %s", params, want, got, said.message);
}

static void runtime_of(struct exec_place *p, const char *limit)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	buf_addf(&text,
		 "config_resolve: {path: execution/execution.yaml}\n"
		 "config:\n  command: /bin/sh\n  inline_args: [-c, \"{script}\"]\n%s",
		 limit);
	exec_yaml(p, "t/rt.yaml", "rye/core/primitives/execute", text.data);
}

/* Each is beaten by the one behind it: all are added from the last to the first. */
static void case_113_order_of_time_limits(void **state)
{
	struct exec_place *p = *state;

	runtime_of(p, "");
	exec_yaml(p, "t/a.yaml", "t/rt", "config: {script: \"true\"}\n");
	limit_is(p, "{\"trace\":true}", 300);
	settings(p, "defaults: {timeout: 50}\n");
	limit_is(p, "{\"trace\":true}", 50);
	runtime_of(p, "  timeout: 40\n");
	limit_is(p, "{\"trace\":true}", 40);
	exec_yaml(p, "t/a.yaml", "t/rt", "config: {script: \"true\", timeout: 30}\n");
	limit_is(p, "{\"trace\":true}", 30);
	exec_yaml(p, "t/a.yaml", "t/rt", "timeout: 25\nconfig: {script: \"true\"}\n");
	limit_is(p, "{\"trace\":true}", 25);
	settings(p, "defaults: {timeout: 50}\ntools: {t/a: {timeout: 20}}\n");
	limit_is(p, "{\"trace\":true}", 20);
	limit_is(p, "{\"trace\":true,\"timeout\":10}", 10);
	limit_is(p, "{\"trace\":true,\"timeout\":\"9.5\"}", 9.5);
	limit_is(p, "{\"trace\":true,\"timeout\":1e9}", 86400);
}

/* A tool without a runtime has nothing that asks for execution.yaml; it holds all the same. */
static void limits_without_a_runtime(void **state)
{
	struct exec_place *p = *state;

	exec_shell(p, "t/a.yaml", "true", "");
	settings(p, "defaults: {timeout: 50}\n");
	limit_is(p, "{\"trace\":true}", 50);
	settings(p, "tools: {t/a: {timeout: 20}}\n");
	limit_is(p, "{\"trace\":true}", 20);
	/* one that declares a timeout of its own gets ten seconds to tell */
	exec_shell(p, "t/a.yaml", "true",
		   "parameters: [{name: timeout, type: integer, default: 7}]\n");
	limit_is(p, "{\"trace\":true,\"timeout\":5}", 15);
}

/* ---- interpreters ---- */

/* A manager that is not there: the system's own program. One that is there is asked. */
static void version_manager(void **state)
{
	struct exec_place *p = *state;
	char path[300];
	FILE *file;

	exec_yaml(p, "t/a.yaml", "rye/core/primitives/execute",
		  "env_config:\n  interpreter: {type: version_manager, manager: rbenv, version: "
		  "\"3.2\", binary: sh, var: RUBY}\n"
		  "config: {command: echo, args: [\"${RUBY}\"]}\n");
	exec_wants(p, "{}", "{\"status\":\"success\",\"data\":{\"stdout\":\"~/sh\\n\"}}");
	snprintf(path, sizeof(path), "%s/rbenv", getenv("LIMITS_BIN"));
	file = fopen(path, "w");
	assert_non_null(file);
	fputs("#!/bin/sh\n[ \"$RBENV_VERSION $1 $2\" = '3.2 which sh' ] && echo /opt/ruby\n", file);
	fclose(file);
	assert_int_equal(chmod(path, 0755), 0);
	exec_wants(p, "{}", "{\"status\":\"success\",\"data\":{\"stdout\":\"/opt/ruby\\n\"}}");
}

/* ---- traces and dry runs ---- */

/* The spaces that this step of a trace has gone through; until the next call. */
static const char *searched_for(const json_t *steps, size_t step)
{
	static char text[200];
	const json_t *spaces = json_object_get(json_array_get(steps, step), "searched"), *space;
	size_t i;

	text[0] = 0;
	json_array_foreach(spaces, i, space)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "",
			 json_string_value(space));
	return text;
}

static void case_109_trace(void **state)
{
	static const char *const wanted[] = { "resolve",
					      "resolve",
					      "resolve",
					      "verify_integrity",
					      "verify_integrity",
					      "verify_integrity",
					      "verify_deps",
					      "config",
					      "config",
					      "resolve_env",
					      "resolve_env",
					      "spawn",
					      "exit" };
	struct exec_place *p = *state;
	auto_said struct exec_said said = { 0 };
	json_t *steps;

	place_text(p->place.project, "config/web/z.yaml", "a: 1\n");
	exec_sign(p->place.project, RYE_TOOL, "anc/__init__.py", span_of("# package\n"));
	exec_python(p, "anc/main.py", "function",
		    "CONFIG_RESOLVE = {'path': 'web/z.yaml'}\nENV_CONFIG = {'env': {'A': 'b'}}\n"
		    "def execute(p, q):\n    return {'success': True}\n");
	said = exec_run(p, "anc/main", "{\"trace\":true}");
	steps = json_object_get(said.reply, "trace");
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		if (strcmp(json_str(json_array_get(steps, i), "step"), wanted[i]))
			fail_msg("step %zu: wanted %s: %s", i, wanted[i], said.trace);
	assert_int_equal(json_array_size(steps), ARRAY_SIZE(wanted));
	/* what a bundle's runtime names is not looked for in the project */
	assert_string_equal(searched_for(steps, 0), "project");
	assert_string_equal(searched_for(steps, 1), "project user system:bundle");
	assert_string_equal(searched_for(steps, 2), "system:bundle");
	assert_string_equal(json_str(json_array_get(steps, 3), "verdict"), "ok");
	assert_int_equal(strlen(json_str(json_array_get(steps, 3), "key_fp")), 16);
	/* names of variables, not their values */
	assert_null(strstr(said.trace, "\"b\""));
	assert_non_null(strstr(said.trace, "\"A\""));
}

/* What was found out before a failure is told, too. */
static void trace_of_a_failure(void **state)
{
	struct exec_place *p = *state;
	auto_said struct exec_said said = { 0 };

	exec_yaml(p, "t/a.yaml", "t/nowhere", "");
	said = exec_run(p, "t/a", "{\"trace\":true}");
	exec_check(&said, "{\"status\":\"error\",\"error\":\"Executor not found: t/nowhere\"}");
	assert_string_equal(json_str(json_array_get(json_object_get(said.reply, "trace"), 0),
				     "step"),
			    "resolve");
}

/* It fails with what a run would fail with, and starts nothing. */
static void dry_run_finds_what_a_run_would(void **state)
{
	struct exec_place *p = *state;

	exec_shell(p, "t/a.yaml", "touch made",
		   "parameters: [{name: n, type: integer, required: true}]\n");
	{
		auto_said struct exec_said said = exec_prim(
			p, RYE_EXECUTE,
			"{\"item_id\":\"tool:t/a\",\"dry_run\":true,\"parameters\":{\"n\":1}}");

		exec_check(&said,
			   "{\"status\":\"validation_passed\",\"message\":\"Tool chain validation "
			   "passed (dry run)\",\"validated_pairs\":[\"t/a -> "
			   "rye/core/primitives/execute\"],\"!data\":1,"
			   "\"metadata\":{\"validated_pair_count\":1}}");
	}
	{
		auto_said struct exec_said said = exec_prim(
			p, RYE_EXECUTE,
			"{\"item_id\":\"tool:t/a\",\"dry_run\":true,\"parameters\":{\"n\":\"x\"}}");

		exec_check(&said, "{\"status\":\"error\",\"error\":\"~n: expected int\"}");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		exec_test(lockfile_is_made_and_used),
		exec_test(lockfile_forbids_another_chain),
		exec_test(lockfile_of_the_user),
		exec_test(case_113_order_of_time_limits),
		exec_test(version_manager),
		exec_test(limits_without_a_runtime),
		exec_test(case_109_trace),
		exec_test(trace_of_a_failure),
		exec_test(dry_run_finds_what_a_run_would),
	};

	char bin[] = "/tmp/rye-limits-XXXXXX", path[4096];
	int r;

	/* for the version manager; the engine looks at its environment when it is opened */
	if (!mkdtemp(bin))
		return 1;
	snprintf(path, sizeof(path), "%s:%s", bin, getenv("PATH"));
	setenv("PATH", path, 1);
	setenv("LIMITS_BIN", bin, 1);
	r = cmocka_run_group_tests(tests, NULL, NULL);
	snprintf(path, sizeof(path), "%s/rbenv", bin);
	unlink(path);
	rmdir(bin);
	return r;
}
