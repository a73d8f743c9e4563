/* SPDX-License-Identifier: MIT */
/*
 * The bundled bash tool (cases 85 to 90 of the tool format, T85 of the item format) and one tool of
 * every shape that the tool format's own page shows: Python function and program, TypeScript,
 * shell, YAML with a command, a schema, actions, retries, a container. Each is signed and run.
 */
#include "exec_tools.h"

#include "clock.h"

static void bash(struct exec_place *p, const char *json, const char *want)
{
	auto_said struct exec_said said = exec_run(p, "rye/bash/bash", json);

	exec_check(&said, want);
}

static void case_85_true(void **state)
{
	bash(*state, "{\"command\":\"true\"}",
	     "{\"status\":\"success\",\"=data\":{\"success\":true,\"output\":\"\",\"stdout\":\"\","
	     "\"stderr\":\"\",\"exit_code\":0,\"truncated\":false}}");
}

static void case_86_exit_code(void **state)
{
	bash(*state, "{\"command\":\"echo hi; exit 3\"}",
	     "{\"status\":\"error\",\"error\":\"Command exited with code 3\",\"data\":{"
	     "\"success\":false,\"stdout\":\"hi\\n\",\"exit_code\":3}}");
}

static void T85_output_and_stderr(void **state)
{
	bash(*state, "{\"command\":\"echo hi; echo err >&2; exit 3\"}",
	     "{\"status\":\"error\",\"error\":\"err\\n\",\"data\":{\"output\":\"hi\\n\\n[stderr]\\n"
	     "err\\n\",\"exit_code\":3}}");
}

static void case_88_no_command(void **state)
{
	bash(*state, "{}",
	     "{\"status\":\"error\",\"error\":\"Missing required parameters: command\"}");
}

static void case_89_truncated(void **state)
{
	auto_buf struct rye_buf want = RYE_BUF_INIT;

	buf_adds(&want, "{\"status\":\"success\",\"data\":{\"truncated\":true,\"stdout\":\"");
	for (int i = 0; i < 51200; i++)
		buf_addc(&want, 'x');
	buf_adds(&want, "\\n... [output truncated, 60000 bytes total]\"}}");
	bash(*state, "{\"command\":\"head -c 60000 /dev/zero | tr '\\\\000' x\"}", want.data);
}

static void case_90_timeout(void **state)
{
	bash(*state, "{\"command\":\"sleep 5\",\"timeout\":1}",
	     "{\"status\":\"error\",\"error\":\"Command timed out after 1 seconds\",\"=data\":{"
	     "\"success\":false,\"error\":\"Command timed out after 1 seconds\",\"timeout\":1}}");
}

static void python_standard(void **state)
{
	struct exec_place *p = *state;

	exec_python(p, "category/path/tool.py", "function",
		    "CONFIG_SCHEMA = {\n    \"type\": \"object\",\n    \"properties\": {\n"
		    "        \"param_name\": {\n            \"type\": \"string\",\n"
		    "            \"description\": \"What this param does\",\n        },\n    },\n"
		    "    \"required\": [\"param_name\"],\n}\n\n\n"
		    "from pathlib import Path\n\n"
		    "def execute(params: dict, project_path: str) -> dict:\n"
		    "    project = Path(project_path).resolve()\n"
		    "    file_path = Path(params[\"param_name\"])\n"
		    "    if not file_path.is_absolute():\n        file_path = project / file_path\n"
		    "    file_path = file_path.resolve()\n"
		    "    if not file_path.is_relative_to(project):\n"
		    "        return {\"success\": False, \"error\": \"Path is outside the project "
		    "workspace\"}\n"
		    "    return {\"success\": True, \"output\": file_path.name}\n");
	{
		auto_said struct exec_said said =
			exec_run(p, "category/path/tool", "{\"param_name\":\"x/y.txt\"}");

		exec_check(&said, "{\"status\":\"success\",\"data\":{\"output\":\"y.txt\"}}");
		assert_string_equal(said.output, "y.txt");
	}
	{
		auto_said struct exec_said said =
			exec_run(p, "category/path/tool", "{\"param_name\":\"/etc/passwd\"}");

		exec_check(&said, "{\"error\":\"Path is outside the project workspace\"}");
	}
}

static void yaml_standard(void **state)
{
	struct exec_place *p = *state;

	/* the page's example names nothing to run: a sentence says so */
	exec_yaml(p, "t/a.yaml", "rye/core/runtimes/python/script",
		  "tool_id: category/tool_name\nparameters:\n"
		  "  - {name: param_name, type: string, required: true}\n"
		  "  - {name: optional_param, type: integer, required: false, default: 10}\n"
		  "config:\n  key: value\n");
	exec_wants(p, "{\"param_name\":\"x\"}",
		   "{\"error\":\"~needs config.script or config.command\"}");
	exec_yaml(p, "t/a.yaml", "rye/core/runtimes/python/script",
		  "parameters:\n  - {name: service_name, type: string, required: true}\n"
		  "  - {name: replicas, type: integer, required: false, default: 3, minimum: 1, "
		  "maximum: 10}\n"
		  "config:\n  command: python3\n  args: [deploy.py]\n"
		  "  env: {KUBECONFIG: /etc/kubernetes/config, LOG_LEVEL: INFO}\n");
	{
		char path[300];
		FILE *file;

		snprintf(path, sizeof(path), "%s/deploy.py", p->place.project);
		file = fopen(path, "w");
		assert_non_null(file);
		fputs("import json, os, sys\np = json.load(sys.stdin)\n"
		      "print(json.dumps({'success': True, 'p': p, 'k': os.environ['KUBECONFIG'],"
		      " 'l': os.environ['LOG_LEVEL']}))\n",
		      file);
		fclose(file);
	}
	exec_wants(
		p, "{\"service_name\":\"s\"}",
		"{\"status\":\"success\",\"data\":{\"p\":{\"service_name\":\"s\",\"replicas\":3},"
		"\"k\":\"/etc/kubernetes/config\",\"l\":\"INFO\"}}");
	exec_wants(p, "{\"service_name\":\"s\",\"replicas\":11}",
		   "{\"error\":\"Invalid parameters: replicas: must be <= 10, got 11\"}");
	exec_yaml(p, "t/a.yaml", "rye/core/runtimes/python/script",
		  "config:\n  script: \"import sys; print(sys.argv[1:], sys.stdin.read())\"\n");
	exec_wants(p, "{\"a\":1}", "{\"data\":{\"stdout\":\"~['--project-path', '/\"}}");
}

static void yaml_schema(void **state)
{
	struct exec_place *p = *state;

	exec_yaml(p, "t/a.yaml", "python_runtime",
		  "input_schema:\n  type: object\n  properties:\n"
		  "    service_name: {type: string, minLength: 3, pattern: \"^[a-z][a-z0-9-]*$\"}\n"
		  "    replicas: {type: integer, minimum: 1, maximum: 10}\n"
		  "  required: [service_name]\n  additionalProperties: false\n"
		  "config: {command: echo, args: [\"{service_name}\"]}\n");
	exec_wants(p, "{\"service_name\":\"web-1\"}",
		   "{\"data\":{\"stdout\":\"web-1\\n\"},\"metadata\":{\"warnings\":[\"executor_id "
		   "python_runtime was read as rye/core/runtimes/python/script\"]}}");
	exec_wants(p, "{\"service_name\":\"W\"}",
		   "{\"error\":\"~Invalid parameters: service_name\"}");
	exec_wants(
		p, "{\"service_name\":\"web\",\"x\":1}",
		"{\"error\":\"Unknown parameters: x. Valid parameters: service_name, replicas\"}");
}

static void case_108_cost(void **state)
{
	struct exec_place *p = *state;

	exec_shell(p, "t/a.yaml", "echo hi",
		   "cost: {per_invocation: 0.01, per_minute: 0.05, estimated_duration: 60, "
		   "currency: USD}\n");
	exec_wants(
		p, "{}",
		"{\"status\":\"success\",\"metadata\":{\"cost_estimate\":{\"per_invocation\":0.01,"
		"\"per_minute\":0.05,\"estimated_duration\":60,\"currency\":\"USD\"}}}");
}

/* A map is set, over what the environment has; of a list only the names that are there. */
static void case_115_config_env(void **state)
{
	static const char print[] = "echo \"$GIVEN|$ONE|${TWO-none}|${THREE-none}\"";
	struct exec_place *p = *state;

	exec_close(p->exec);
	place_close(&p->place);
	setenv("GIVEN", "given", 1);
	setenv("TWO", "two", 1);
	setenv("THREE", "three", 1);
	exec_place_open(p);
	exec_shell(p, "t/a.yaml", print, "  env: {ONE: \"<${GIVEN}>\", TWO: mine}\n");
	exec_wants(p, "{}", "{\"data\":{\"stdout\":\"given|<given>|mine|none\\n\"}}");
	exec_shell(p, "t/a.yaml", print, "  env: [TWO, NOBODY]\n");
	exec_wants(p, "{}", "{\"data\":{\"stdout\":\"||two|none\\n\"}}");
}

static void case_107_output_schema(void **state)
{
	struct exec_place *p = *state;

	exec_shell(p, "t/a.yaml", "echo '{\"success\": true, \"status\": \"odd\"}'",
		   "output_schema:\n  type: object\n  properties:\n"
		   "    status: {type: string, enum: [success, failed]}\n"
		   "  required: [deployment_id]\n");
	{
		auto_said struct exec_said said = exec_run(p, "t/a", "{}");
		const json_t *warnings =
			json_object_get(json_object_get(said.reply, "metadata"), "warnings");
		const char *text = json_string_value(json_array_get(warnings, 0));

		exec_check(&said, "{\"status\":\"success\"}");
		assert_non_null(text);
		assert_non_null(strstr(text, "does not fit output_schema"));
	}
}

static void javascript(void **state)
{
	struct exec_place *p = *state;

	if (access("/usr/bin/node", X_OK) && access("/usr/local/bin/node", X_OK))
		test_skip("no node");
	exec_sign(p->place.project, RYE_TOOL, "utility/hello_node.ts",
		  span_of("export const __version__ = \"1.0.0\";\n"
			  "export const __tool_type__ = \"javascript\";\n"
			  "export const __executor_id__ = \"rye/core/runtimes/node/node\";\n"
			  "export const __category__ = \"utility\";\n"
			  "export const __tool_description__ = \"Greet a user by name\";\n\n"
			  "export const CONFIG_SCHEMA = {\n  type: \"object\",\n  properties: {\n"
			  "    name: { type: \"string\", description: \"Name to greet\" },\n  },\n"
			  "  required: [\"name\"],\n};\n\n"
			  "function main(params: Record<string, unknown>) {\n"
			  "  return { success: true, output: `Hello, ${params.name}!` };\n}\n"
			  "export default main;\n"));
	{
		auto_said struct exec_said said =
			exec_run(p, "utility/hello_node", "{\"name\":\"you\"}");

		if (said.code != RYE_OK && strstr(said.message, "TypeScript needs Node"))
			test_skip("no TypeScript");
		exec_check(&said, "{\"status\":\"success\",\"data\":{\"output\":\"Hello, you!\"}}");
	}
	exec_sign(p->place.project, RYE_TOOL, "t/a.js",
		  span_of("const __executor_id__ = \"rye/core/runtimes/node/node\";\n"
			  "const __category__ = \"t\";\n"
			  "module.exports = async (params, project) => ({success: true, params, "
			  "project});\n"));
	exec_wants(p, "{\"a\":\"${HOME} é\"}",
		   "{\"status\":\"success\",\"data\":{\"params\":{\"a\":\"${HOME} é\"}}}");
}

static void runtimes_refuse_foreign_files(void **state)
{
	struct exec_place *p = *state;

	exec_sign(p->place.project, RYE_TOOL, "t/a.sh",
		  span_of("# __executor_id__ = \"rye/core/runtimes/python/function\"\necho hi\n"));
	exec_wants(p, "{}",
		   "{\"error\":\"rye/core/runtimes/python/function cannot run .sh files: t/a\"}");
}

/* The page's table gives shell tools to `subprocess`: without a command it is the file itself. */
static void shell_through_subprocess(void **state)
{
	static const char *const names[] = { "subprocess", "rye/core/primitives/subprocess",
					     "rye/core/primitives/execute" };
	struct exec_place *p = *state;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		auto_buf struct rye_buf text = RYE_BUF_INIT;

		buf_addf(&text, "# __executor_id__ = \"%s\"\ncat; echo \"$1\"\n", names[i]);
		exec_sign(p->place.project, RYE_TOOL, "t/a.sh",
			  (struct rye_span){ text.data, text.len });
		exec_wants(
			p, "{\"a\":1}",
			"{\"data\":{\"stdout\":\"{\\\"a\\\": 1}--project-path\\n\"},\"chain\":["
			"\"t/a\",\"rye/core/runtimes/bash/bash\",\"rye/core/primitives/execute\"]}");
	}
	exec_sign(p->place.project, RYE_TOOL, "t/a.sh",
		  span_of("# executor_id: subprocess\n# config: {command: echo, args: [own]}\n"));
	exec_wants(p, "{}",
		   "{\"data\":{\"stdout\":\"own\\n\"},\"chain\":[\"t/a\","
		   "\"rye/core/primitives/subprocess\"]}");
}

/* Where nothing is called python, python3 is meant. */
static void python_by_its_older_name(void **state)
{
	struct exec_place *p = *state;
	char *old = strdup(getenv("PATH"));

	exec_close(p->exec);
	place_close(&p->place);
	setenv("PATH", "/nonexistent", 1);
	exec_place_open(p);
	exec_yaml(p, "t/a.yaml", "subprocess",
		  "config: {command: python, args: [-c, \"print(6 * 7)\"]}\n");
	exec_wants(p, "{}", "{\"data\":{\"result\":42}}");
	exec_yaml(p, "t/a.yaml", "subprocess", "config: {command: perl}\n");
	exec_wants(p, "{}", "{\"error\":\"~Failed to spawn: perl: \"}");
	setenv("PATH", old, 1);
	free(old);
}

/* Runs a tool of this policy, whose shell notes each try; how many there were, *ret_ms how long. */
static int tries_of(struct exec_place *p, const char *policy, const char *script, int64_t *ret_ms)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_said struct exec_said said = { 0 };
	struct stat found;
	char path[300];
	int64_t start;
	int n;

	buf_addf(
		&text,
		"retry_policy: {%s}\nconfig:\n  command: /bin/sh\n  timeout: 1\n  args:\n  - -c\n  - |\n"
		"    echo try >>n\n    %s\n",
		policy, script);
	exec_yaml(p, "t/a.yaml", "rye/core/primitives/execute", text.data);
	snprintf(path, sizeof(path), "%s/n", p->place.project);
	unlink(path);
	start = clock_ms();
	said = exec_run(p, "t/a", "{}");
	*ret_ms = clock_ms() - start;
	assert_int_equal(stat(path, &found), 0);
	n = (int)found.st_size / 4; /* "try" */
	assert_int_equal(json_int(json_object_get(said.reply, "metadata"), "attempts", 1), n);
	return n;
}

static void case_106_retry_policy(void **state)
{
	static const struct {
		const char *policy, *script;
		int want, least_ms;
	} rows[] = {
		/* until it goes well */
		{ "max_attempts: 3, backoff_type: fixed, initial_delay: 0.1",
		  "test $(wc -l <n) -ge 2", 2, 100 },
		{ "max_attempts: 3, initial_delay: 0", "exit 3", 3, 0 },
		/* 100 and 100, 100 and 200, 100 and 300 ms; no more than max_delay */
		{ "max_attempts: 3, backoff_type: fixed, initial_delay: 0.1", "exit 3", 3, 200 },
		{ "max_attempts: 3, backoff_type: linear, initial_delay: 0.1", "exit 3", 3, 300 },
		{ "max_attempts: 3, initial_delay: 0.1, backoff_multiplier: 3", "exit 3", 3, 400 },
		{ "max_attempts: 4, initial_delay: 0.1, max_delay: 0.2, backoff_multiplier: 30",
		  "exit 3", 4, 500 },
		/* what is worth it */
		{ "max_attempts: 2, initial_delay: 0", "exec sleep 9", 2, 2000 },
		{ "max_attempts: 2, initial_delay: 0", "kill -9 $$", 2, 0 },
		{ "max_attempts: 2, initial_delay: 0", "echo '{\"success\": false}'", 2, 0 },
		{ "max_attempts: 2, initial_delay: 0",
		  "echo '{\"success\": false, \"retryable\": true}'", 2, 0 },
		{ "max_attempts: 2, initial_delay: 0", "echo '{\"error\": \"e\"}'; exit 1", 2, 0 },
		{ "max_attempts: 2, initial_delay: 0, retry_on: [timeout]", "exit 3", 1, 0 },
		{ "max_attempts: 2, initial_delay: 0, retry_on: [exit]", "exec sleep 9", 1, 1000 },
		{ "max_attempts: 2, initial_delay: 0, retry_on: [exit]", "exit 3", 2, 0 },
		{ "max_attempts: 2, initial_delay: 0, retry_on: [spawn]", "exit 3", 1, 0 },
		{ "max_attempts: 2, initial_delay: 0, retry_on: [exit]",
		  "echo '{\"success\": false}'", 1, 0 },
		{ "max_attempts: 2, initial_delay: 0, retry_on: [exit]",
		  "echo '{\"retryable\": true}'; exit 1", 2, 0 },
		{ "max_attempts: 2, initial_delay: 0, retry_on: [exit]",
		  "echo '{\"success\": false, \"return_code\": 5}'", 1, 0 },
		{ "max_attempts: 2, initial_delay: 0, retry_on: [error]",
		  "echo '{\"success\": false}'", 2, 0 },
	};
	struct exec_place *p = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int64_t ms;
		int n = tries_of(p, rows[i].policy, rows[i].script, &ms);

		if (n != rows[i].want || ms < rows[i].least_ms)
			fail_msg("%s: %s: %d tries in %lld ms", rows[i].policy, rows[i].script, n,
				 (long long)ms);
	}
	exec_yaml(
		p, "t/a.yaml", "rye/core/primitives/execute",
		"retry_policy: {max_attempts: 2, initial_delay: 0}\nconfig: {command: /no/such}\n");
	exec_wants(p, "{}", "{\"status\":\"error\",\"metadata\":{\"attempts\":2}}");
}

/* What stands for a client of containers in that directory, and says what it was asked. */
static void put_client(const char *dir, const char *name)
{
	char path[300];
	FILE *file;

	mkdir(dir, 0755);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs("#!/bin/sh\nfor a; do case $a in --name=ryefs-*) ;; *) printf '%s|' "
	      "\"$a\" ;; esac; done\necho \"$KUBECONFIG\"\n/bin/cat\n",
	      file);
	fclose(file);
	chmod(path, 0755);
}

static void reopen_with(struct exec_place *p, const char *path)
{
	exec_close(p->exec);
	place_close(&p->place);
	setenv("PATH", path, 1);
	exec_place_open(p);
}

static void case_110_docker(void **state)
{
	struct exec_place *p = *state;
	char dir[200], path[10000];
	auto_free char *old = strdup(getenv("PATH"));

	snprintf(dir, sizeof(dir), "%s/bin", p->place.base);
	put_client(dir, "docker");
	snprintf(path, sizeof(path), "%s:%s", dir, old);
	setenv("KUBECONFIG", "/my/kube", 1);
	reopen_with(p, path);
	exec_yaml(p, "t/a.yaml", "rye/core/primitives/execute",
		  "config:\n  image: python:3.11\n  command: python\n  args: [\"{x}\"]\n"
		  "  entrypoint: /app/deploy.py\n  env: [KUBECONFIG, AWS_CREDENTIALS]\n");
	exec_wants(
		p, "{\"x\":\"a b\"}",
		"{\"data\":{\"stdout\":\"run|--rm|-i|--entrypoint|/app/deploy.py|-e|KUBECONFIG|-e|"
		"AWS_CREDENTIALS|--|python:3.11|python|a b|/my/kube\\n{\\\"x\\\": \\\"a b\\\"}\"}}");
	/* a parameter that chooses the image is never an option of the client */
	exec_yaml(p, "t/a.yaml", "rye/core/primitives/execute",
		  "config: {image: \"{x}\", command: sh, input_data: none}\n");
	exec_wants(p, "{\"x\":\"-v/:/host\"}",
		   "{\"data\":{\"stdout\":\"run|--rm|-i|--|-v/:/host|sh|\\nnone\"}}");
	setenv("PATH", old, 1);
}

/* Podman's client is told of its service, which the sandbox lets it ask. */
static void podman_by_its_service(void **state)
{
	struct exec_place *p = *state;
	char dir[200], path[300], want[900];
	auto_free char *old = strdup(getenv("PATH"));

	snprintf(dir, sizeof(dir), "%s/bin", p->place.base);
	put_client(dir, "podman");
	snprintf(path, sizeof(path), "%s/podman", p->place.base);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/podman/podman.sock", p->place.base);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	setenv("XDG_RUNTIME_DIR", p->place.base, 1);
	reopen_with(p, dir);
	unsetenv("XDG_RUNTIME_DIR");
	exec_yaml(p, "t/a.yaml", "rye/core/primitives/execute",
		  "config: {image: i, input_data: none}\n");
	snprintf(want, sizeof(want),
		 "{\"data\":{\"stdout\":\"--remote|--url|unix://%s|run|--rm|-i|--|i|"
		 "\\nnone\"}}",
		 path);
	exec_wants(p, "{}", want);
	setenv("PATH", old, 1);
}

/* The tool's item says `server` alone: its id is looked for as an executor's is. */
static void case_96_server_of_an_mcp_tool(void **state)
{
	struct exec_place *p = *state;
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	exec_bundle(p, "rye/core/primitives/mcp.yaml");
	exec_bundle(p, "rye/core/runtimes/mcp/stdio.yaml");
	exec_yaml(p, "t/a.yaml", "rye/core/runtimes/mcp/stdio",
		  "config: {server: mcp/servers/s, tool_name: echo}\n");
	exec_wants(p, "{}", "{\"status\":\"error\",\"error\":\"~mcp/servers/s\"}");
	buf_addf(
		&text,
		"tool_type: mcp_server\nexecutor_id: null\ncategory: mcp/servers\nconfig:\n"
		"  transport: stdio\n  command: python3\n  args: ['%s/e2e/mcp_server.py', '%s/notes', "
		"modern]\n",
		getenv("RYE_TEST_SRC"), p->place.project);
	exec_sign(p->place.user, RYE_TOOL, "mcp/servers/s.yaml",
		  (struct rye_span){ text.data, text.len });
	exec_wants(p, "{\"text\":\"hi\"}",
		   "{\"status\":\"success\",\"data\":{\"content\":[{\"type\":\"text\",\"text\":"
		   "\"hi\"}]}}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		exec_test(case_85_true),
		exec_test(case_86_exit_code),
		exec_test(T85_output_and_stderr),
		exec_test(case_88_no_command),
		exec_test(case_89_truncated),
		exec_test(case_90_timeout),
		exec_test(case_96_server_of_an_mcp_tool),
		exec_test(python_standard),
		exec_test(yaml_standard),
		exec_test(yaml_schema),
		exec_test(case_107_output_schema),
		exec_test(case_108_cost),
		exec_test(case_115_config_env),
		exec_test(javascript),
		exec_test(runtimes_refuse_foreign_files),
		exec_test(shell_through_subprocess),
		exec_test(python_by_its_older_name),
		exec_test(case_106_retry_policy),
		exec_test(case_110_docker),
		exec_test(podman_by_its_service),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
