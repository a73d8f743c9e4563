/* SPDX-License-Identifier: MIT */
/*
 * Requests: cases 22 to 27, 75 to 81 and 87 of the tool format, T81 to T84 and T87 of the item
 * format, the execution matrix, directives and knowledge, and what comes back for each.
 */
#include "exec_tools.h"

#include "run/run_inner.h"

#define SCHEMA                                                                              \
	"CONFIG_SCHEMA = {'type':'object','properties':{'a':{'type':'integer','minimum':3," \
	"'default':7},'b':{'type':'string'}},'required':['b'],'additionalProperties':False}\n"

static void asks(struct exec_place *p, const char *json, const char *want)
{
	auto_said struct exec_said said = exec_prim(p, RYE_EXECUTE, json);

	exec_check(&said, want);
}

static void with_schema(struct exec_place *p)
{
	exec_python(p, "t/a.py", "function",
		    SCHEMA "open('started', 'w').close()\n"
			   "def execute(p, q):\n    return {'success':True,'p':p}\n");
}

/* Leaves a tool whose module was loaded behind itself. */
static bool has_started(struct exec_place *p)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/started", p->place.project);
	return access(path, F_OK) == 0;
}

static void case_22_everything_wrong(void **state)
{
	struct exec_place *p = *state;
	auto_said struct exec_said said = { 0 };

	with_schema(p);
	said = exec_run(p, "t/a", "{\"a\":\"str\",\"zzz\":1}");
	exec_check(&said, "{\"status\":\"error\",\"error\":\"^Invalid parameters: \","
			  "\"item_id\":\"t/a\",\"!data\":0}");
	assert_non_null(strstr(said.message, "a: expected integer, got str"));
	assert_non_null(strstr(said.message, "b: required"));
	assert_non_null(strstr(said.message, "zzz"));
	assert_int_equal(said.code, RYE_INVALID);
	assert_false(has_started(p));
}

static void many_parameters(void **state)
{
	struct exec_place *p = *state;
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_said struct exec_said said = { 0 };

	with_schema(p);
	for (int i = 0; i <= REQUEST_PARAMETERS; i++)
		buf_addf(&text, "%s\"p%d\":1", i ? "," : "{", i);
	buf_adds(&text, "}");
	said = exec_run(p, "t/a", text.data);
	exec_check(&said, "{\"status\":\"error\","
			  "\"error\":\"10001 parameters, wanted at most 10000\"}");
	assert_int_equal(said.code, RYE_TOO_BIG);
	assert_false(has_started(p));
}

static void case_23_default(void **state)
{
	struct exec_place *p = *state;

	with_schema(p);
	exec_wants(p, "{\"b\":\"x\"}",
		   "{\"status\":\"success\",\"data\":{\"=p\":{\"a\":7,\"b\":\"x\"}}}");
	assert_true(has_started(p));
}

static void case_24_missing(void **state)
{
	struct exec_place *p = *state;

	with_schema(p);
	exec_wants(p, "{}",
		   "{\"status\":\"error\",\"error\":\"Missing required parameters: b\","
		   "\"chain\":[\"t/a\",\"rye/core/runtimes/python/function\","
		   "\"rye/core/primitives/execute\"],\"declared_parameters\":[{\"name\":\"a\","
		   "\"type\":\"integer\",\"required\":false,\"default\":7},{\"name\":\"b\","
		   "\"type\":\"string\",\"required\":true}]}");
	assert_false(has_started(p));
}

static void case_25_unknown(void **state)
{
	struct exec_place *p = *state;

	with_schema(p);
	exec_wants(
		p, "{\"b\":\"x\",\"zzz\":1}",
		"{\"status\":\"error\",\"error\":\"Unknown parameters: zzz. Valid parameters: a, "
		"b\"}");
	assert_false(has_started(p));
}

static void with_list(struct exec_place *p)
{
	exec_yaml(
		p, "t/a.yaml", "rye/core/primitives/execute",
		"parameters:\n  - {name: n, type: integer, required: false, default: 10, minimum: "
		"1}\nconfig: {command: echo, args: [\"{n}\"]}\n");
}

static void case_26_list_of_parameters(void **state)
{
	struct exec_place *p = *state;

	with_list(p);
	exec_wants(
		p, "{\"n\":0}",
		"{\"status\":\"error\",\"error\":\"Invalid parameters: n: must be >= 1, got 0\"}");
	exec_wants(p, "{}", "{\"status\":\"success\",\"data\":{\"result\":10}}");
}

static void case_27_parameters_are_no_object(void **state)
{
	struct exec_place *p = *state;

	with_list(p);
	asks(p, "{\"item_id\":\"tool:t/a\",\"parameters\":\"str\"}",
	     "{\"status\":\"error\",\"error\":\"parameters must be an object\"}");
	asks(p, "{\"item_id\":\"tool:t/a\",\"parameters\":[1]}",
	     "{\"status\":\"error\",\"error\":\"parameters must be an object\"}");
	/* the text of an object is one */
	asks(p, "{\"item_id\":\"tool:t/a\",\"parameters\":\"{\\\"n\\\":4}\"}",
	     "{\"item_id\":\"tool:t/a\",\"data\":{\"result\":4}}");
}

static void case_105_actions(void **state)
{
	struct exec_place *p = *state;

	exec_yaml(p, "t/a.yaml", "rye/core/primitives/execute",
		  "actions:\n  up:\n    parameters: [{name: host, type: string, required: true}]\n"
		  "  down: {description: stops}\n"
		  "config: {command: echo, args: [\"{action}\", \"{host}\"]}\n");
	exec_wants(p, "{\"action\":\"left\"}",
		   "{\"error\":\"Unknown action: left. Valid: up, down\"}");
	exec_wants(p, "{}",
		   "{\"status\":\"error\",\"error\":\"Missing required parameters: action. "
		   "Valid: up, down\"}");
	exec_wants(p, "{\"action\":\"up\"}", "{\"error\":\"Missing required parameters: host\"}");
	exec_wants(p, "{\"action\":\"up\",\"host\":\"h\"}", "{\"data\":{\"stdout\":\"up h\\n\"}}");
}

static const char directive[] =
	"# Deploy\n\n```xml\n<directive name=\"deploy\" version=\"1.0.0\">\n  <metadata>\n"
	"    <description>Deploys</description>\n    <category>ops</category>\n"
	"    <author>me</author>\n  </metadata>\n  <inputs>\n"
	"    <input name=\"env\" type=\"string\" required=\"true\">where</input>\n"
	"    <input name=\"n\" type=\"integer\" required=\"false\" default=\"2\">how many</input>\n"
	"  </inputs>\n  <outputs>\n    <output name=\"url\">Where it runs</output>\n"
	"  </outputs>\n  <execute item_id=\"tool:t/push\"><param name=\"to\" value=\"{input:env}\"/>"
	"</execute>\n</directive>\n```\n\n<process>\nTo {input:env}, {input:n} times.\n"
	"</process>\n";

static void case_75_id_goes_up(void **state)
{
	struct exec_place *p = *state;

	exec_shell(p, "t/echo.yaml", "echo hi", "");
	asks(p, "{\"item_id\":\"tool:../tools/t/echo\"}",
	     "{\"status\":\"error\",\"error\":\"Invalid item_id: ../tools/t/echo\"}");
}

static void case_76_id_with_extension_or_root(void **state)
{
	struct exec_place *p = *state;

	exec_shell(p, "t/echo.yaml", "echo hi", "");
	asks(p, "{\"item_id\":\"tool:t/echo.py\"}",
	     "{\"status\":\"error\",\"error\":\"Tool not found: t/echo.py\"}");
	asks(p, "{\"item_id\":\"tool:t/echo.yaml\"}",
	     "{\"status\":\"error\",\"error\":\"Tool not found: t/echo.yaml\"}");
	asks(p, "{\"item_id\":\"tool:/t/echo\"}",
	     "{\"status\":\"error\",\"error\":\"Tool not found: /t/echo\"}");
}

static void case_77_bare_id(void **state)
{
	struct exec_place *p = *state;

	exec_shell(p, "t/echo.yaml", "echo hi", "");
	asks(p, "{\"item_id\":\"t/echo\"}",
	     "{\"status\":\"success\",\"type\":\"tool\",\"item_id\":\"t/echo\","
	     "\"data\":{\"stdout\":\"hi\\n\"},\"metadata\":{\"canonical_ref\":\"tool:t/echo\"}}");
	asks(p, "{\"item_id\":\"t/none\"}",
	     "{\"status\":\"error\",\"error\":\"Item not found: t/none\"}");
}

static void case_78_bare_id_of_two_kinds(void **state)
{
	struct exec_place *p = *state;

	exec_shell(p, "ops/deploy.yaml", "echo hi", "");
	exec_sign(p->place.project, RYE_DIRECTIVE, "ops/deploy.md", span_of(directive));
	asks(p, "{\"item_id\":\"ops/deploy\"}",
	     "{\"status\":\"error\",\"error\":\"Ambiguous item_id 'ops/deploy': matches directive, "
	     "tool. Use a canonical ref: directive:ops/deploy, tool:ops/deploy.\"}");
	asks(p, "{\"item_id\":\"tool:ops/deploy\"}", "{\"status\":\"success\",\"type\":\"tool\"}");
}

static void other_spellings(void **state)
{
	struct exec_place *p = *state;

	exec_shell(p, "t/echo.yaml", "echo hi", "");
	asks(p, "{\"item_id\":\"t/echo\",\"item_type\":\"tool\"}", "{\"status\":\"success\"}");
	asks(p, "{\"item_id\":\"directive:t/echo\",\"item_type\":\"tool\"}",
	     "{\"error\":\"~contradicts\"}");
	asks(p, "{\"item_id\":\"\"}", "{\"error\":\"item_id is required.\"}");
	asks(p, "{\"item_id\":\"tool:\"}",
	     "{\"error\":\"Canonical ref must include an ID after 'tool:' (e.g. "
	     "'tool:my/item')\"}");
	asks(p, "{\"item_id\":\"config:x\"}", "{\"error\":\"~cannot be executed\"}");
	asks(p, "{\"item_id\":\"tool:t/echo\",\"project_path\":\"/usr\"}",
	     "{\"error\":\"~project_path: this is the project /\"}");
}

static void T48_nul_in_an_id(void **state)
{
	struct exec_place *p = *state;

	exec_shell(p, "t/echo.yaml", "echo hi", "");
	asks(p, "{\"item_id\":\"tool:t/echo\\u0000\"}",
	     "{\"status\":\"error\",\"error\":\"~a NUL character is not allowed\"}");
	asks(p, "{\"item_id\":\"t/echo\\u0000.py\"}",
	     "{\"status\":\"error\",\"error\":\"~a NUL character is not allowed\"}");
}

/* ---- what cannot be executed how ---- */

#define FORK_OF_TOOL "^thread=\\\"fork\\\" is not supported for tools."
#define BAD_THREAD(name) "Unknown thread mode: '" name "'. Must be \\\"inline\\\" or \\\"fork\\\"."
#define BAD_TARGET(name)                                                         \
	"Unknown target: '" name "'. Must be \\\"local\\\", \\\"remote\\\", or " \
	"\\\"remote:<name>\\\"."
#define NO_REMOTE_NAME                                                                            \
	"Invalid target \\\"remote:\\\" — remote name cannot be empty. Use \\\"remote\\\" for " \
	"the default remote or \\\"remote:<name>\\\" for a named remote."
#define DRY_ASYNC "async + dry_run is not supported. Validation is instant, nothing to detach."
#define DRY_REMOTE "dry_run + remote is not supported. Dry run validates locally."

/* The call of `ref` with more members is refused with this error. */
static void refuses(struct exec_place *p, const char *ref, const char *more, const char *error)
{
	auto_buf struct rye_buf json = RYE_BUF_INIT, want = RYE_BUF_INIT;

	buf_addf(&json, "{\"item_id\":\"%s\",%s}", ref, more);
	buf_addf(&want, "{\"status\":\"error\",\"error\":\"%s\",\"item_id\":\"%s\"}", error, ref);
	asks(p, json.data, want.data);
}

static void case_79_fork_of_a_tool(void **state)
{
	struct exec_place *p = *state;

	exec_shell(p, "t/a.yaml", "echo hi", "");
	refuses(p, "tool:t/a", "\"thread\":\"fork\"", FORK_OF_TOOL);
	refuses(p, "tool:t/a", "\"thread\":true", FORK_OF_TOOL);
	/* refused before anything is looked up */
	refuses(p, "tool:none", "\"thread\":\"fork\"", FORK_OF_TOOL);
}

static void case_80_unknown_modes(void **state)
{
	struct exec_place *p = *state;

	exec_shell(p, "t/a.yaml", "echo hi", "");
	refuses(p, "tool:t/a", "\"thread\":\"zzz\"", BAD_THREAD("zzz"));
	refuses(p, "tool:t/a", "\"target\":\"mars\"", BAD_TARGET("mars"));
	refuses(p, "tool:t/a", "\"target\":\"remote:\"", NO_REMOTE_NAME);
}

/* Told even where the misspelt member is why the request is refused. */
static void unknown_members_are_told(void **state)
{
	struct exec_place *p = *state;

	exec_shell(p, "t/a.yaml", "echo hi", "");
	asks(p, "{\"item_id\":\"tool:t/a\",\"params\":{}}",
	     "{\"status\":\"success\",\"metadata\":{\"=warnings\":[\"the request's member params is "
	     "unknown and was ignored\"]}}");
	asks(p, "{\"item\":\"tool:t/a\"}",
	     "{\"status\":\"error\",\"error\":\"item_id is required.\",\"metadata\":{\"=warnings\":["
	     "\"the request's member item is unknown and was ignored\"]}}");
}

static void case_81_dry_run(void **state)
{
	struct exec_place *p = *state;

	exec_function(p, "t/b.py", "return {}");
	asks(p, "{\"item_id\":\"tool:t/b\",\"dry_run\":true}",
	     "{\"status\":\"validation_passed\",\"item_id\":\"tool:t/b\",\"message\":\"Tool chain "
	     "validation passed (dry run)\",\"=validated_pairs\":[\"t/b -> "
	     "rye/core/runtimes/python/function\",\"rye/core/runtimes/python/function -> "
	     "rye/core/primitives/execute\"],\"metadata\":{\"validated_pair_count\":2}}");
	refuses(p, "tool:t/b", "\"dry_run\":true,\"target\":\"remote\"", DRY_REMOTE);
	refuses(p, "tool:t/b", "\"dry_run\":true,\"async\":true", DRY_ASYNC);
}

static void rest_of_the_matrix(void **state)
{
	struct exec_place *p = *state;

	exec_shell(p, "t/a.yaml", "echo hi", "");
	refuses(p, "tool:t/a", "\"target\":\"remote:x\"",
		"^Remote execution is not available here");
	refuses(p, "tool:t/a", "\"async\":true", "async is not available yet");
	refuses(p, "tool:t/a", "\"dry_run\":1", "dry_run must be true or false");
	refuses(p, "directive:d", "\"target\":\"remote\"",
		"^Directives on remote must use thread=\\\"fork\\\".");
	refuses(p, "knowledge:k", "\"thread\":\"fork\"", "^Knowledge items only support");
	refuses(p, "knowledge:k", "\"async\":true", "^async + knowledge is not supported.");
}

static void T81_unsigned_directive(void **state)
{
	struct exec_place *p = *state;
	auto_buf struct rye_buf want = RYE_BUF_INIT;

	place_text(p->place.project, "directives/ops/deploy.md", directive);
	buf_addf(&want,
		 "{\"status\":\"error\",\"error_type\":\"integrity\",\"error\":\"Unsigned item: "
		 "%s/.ai/directives/ops/deploy.md\\n  Kind: directive\\n  Expected: rye:signed: "
		 "header\\n  mend with: ryefs sign directive:ops/deploy\"}",
		 p->place.project);
	asks(p, "{\"item_id\":\"directive:ops/deploy\",\"parameters\":{\"env\":\"x\"}}", want.data);
	asks(p, "{\"item_id\":\"directive:ops/deploy\",\"dry_run\":true}", want.data);
}

static void T82_modes_that_are_none(void **state)
{
	struct exec_place *p = *state;

	exec_shell(p, "t/a.yaml", "echo hi", "");
	refuses(p, "tool:t/a", "\"thread\":\"x\"", BAD_THREAD("x"));
	refuses(p, "tool:t/a", "\"target\":\"x\"", BAD_TARGET("x"));
	refuses(p, "tool:t/a", "\"target\":\"remote:\"", NO_REMOTE_NAME);
	refuses(p, "tool:t/a", "\"async\":true,\"dry_run\":true", DRY_ASYNC);
}

static void T83_tool_forked_or_directive_detached(void **state)
{
	struct exec_place *p = *state;

	exec_sign(p->place.project, RYE_DIRECTIVE, "ops/deploy.md", span_of(directive));
	exec_shell(p, "t/a.yaml", "echo hi", "");
	refuses(p, "tool:t/a", "\"thread\":\"fork\"", FORK_OF_TOOL);
	refuses(p, "directive:ops/deploy", "\"async\":true,\"parameters\":{\"env\":\"x\"}",
		"^async + directive + inline is not supported.");
}

/* A tool without an executor is told so (as in case_58_no_executor), not called a primitive. */
static void T84_chains_that_lead_nowhere(void **state)
{
	struct exec_place *p = *state;

	exec_sign(p->place.project, RYE_TOOL, "my/noexec.yaml",
		  span_of("tool_type: script\ncategory: my\n"));
	exec_yaml(p, "my/none.yaml", "rye/none", "");
	exec_yaml(p, "my/loop.yaml", "my/loop", "");
	refuses(p, "tool:my/noexec", "\"parameters\":{}", "Tool has no executor_id: my/noexec");
	refuses(p, "tool:my/none", "\"parameters\":{}", "Executor not found: rye/none");
	refuses(p, "tool:my/loop", "\"parameters\":{}", "Circular dependency detected: my/loop");
}

static void T87_dry_run_starts_nothing(void **state)
{
	struct exec_place *p = *state;

	with_schema(p);
	asks(p, "{\"item_id\":\"tool:t/a\",\"dry_run\":true,\"parameters\":{\"b\":\"x\"}}",
	     "{\"status\":\"validation_passed\",\"=chain\":[\"t/a\","
	     "\"rye/core/runtimes/python/function\",\"rye/core/primitives/execute\"],\"!data\":0}");
	assert_false(has_started(p));
}

static void case_87_directory_tool(void **state)
{
	struct exec_place *p = *state;

	asks(p, "{\"item_id\":\"tool:rye/bash\",\"parameters\":{\"command\":\"true\"}}",
	     "{\"status\":\"success\",\"item_id\":\"tool:rye/bash\",\"data\":{\"exit_code\":0},"
	     "\"metadata\":{\"canonical_ref\":\"tool:rye/bash/bash\"}}");
}

static void directives(void **state)
{
	struct exec_place *p = *state;
	struct rye_request req = { .kind = RYE_DIRECTIVE, .id = "ops/deploy" };

	exec_sign(p->place.project, RYE_DIRECTIVE, "ops/deploy.md", span_of(directive));
	{
		auto_said struct exec_said said = { 0 };

		req.verb = RYE_RUN;
		req.message = span_of("{\"env\":\"prod\"}");
		said = exec_ask(p, &req);
		exec_check(&said, "{\"status\":\"success\",\"type\":\"directive\",\"item_id\":"
				  "\"ops/deploy\",\"your_directions\":\"~To prod, 2 times.\","
				  "\"body\":\"~To prod, 2 times.\",\"instructions\":\"~\","
				  "\"=actions\":[{\"primary\":\"execute\",\"item_id\":"
				  "\"tool:t/push\",\"params\":{\"to\":\"prod\"}}]}");
		assert_non_null(strstr(said.output, "To prod, 2 times."));
		assert_int_equal(json_array_size(json_object_get(said.reply, "outputs")), 1);
	}
	{
		auto_said struct exec_said said = { 0 };

		req.message = span_of("{}");
		said = exec_ask(p, &req);
		exec_check(&said,
			   "{\"status\":\"error\",\"error\":\"Missing required inputs: env\","
			   "\"item_id\":\"ops/deploy\"}");
		assert_int_equal(json_array_size(json_object_get(said.reply, "declared_inputs")),
				 2);
	}
	{
		auto_said struct exec_said said = { 0 };

		req.message = span_of("{\"env\":\"x\",\"model\":\"m\"}");
		said = exec_ask(p, &req);
		exec_check(&said, "{\"error\":\"model requires thread=\\\"fork\\\"\"}");
	}
	{
		auto_said struct exec_said said = { 0 };

		req.verb = RYE_FORK;
		said = exec_ask(p, &req);
		exec_check(&said, "{\"error\":\"~is not available yet\"}");
		assert_int_equal(said.code, RYE_UNSUPPORTED);
	}
	asks(p,
	     "{\"item_type\":\"directive\",\"item_id\":\"ops/deploy\",\"parameters\":{\"env\":"
	     "\"prod\"}}",
	     "{\"body\":\"~To prod\",\"your_directions\":\"~ \"}");
	asks(p,
	     "{\"item_id\":\"directive:ops/deploy\",\"dry_run\":true,\"parameters\":{\"env\":1}}",
	     "{\"status\":\"validation_passed\",\"inputs\":{\"env\":1,\"n\":\"2\"},"
	     "\"data\":{\"body\":\"~To 1, 2\"},\"message\":\"Directive validation passed (dry "
	     "run)\"}");
}

static void knowledge(void **state)
{
	struct exec_place *p = *state;

	exec_sign(p->place.project, RYE_KNOWLEDGE, "t/k.md",
		  span_of("```yaml\nname: k\ntitle: About k\nversion: \"1.0.0\"\nentry_type: "
			  "note\n```\n\nWhat k is.\n"));
	asks(p, "{\"item_id\":\"knowledge:t/k\"}",
	     "{\"status\":\"success\",\"type\":\"knowledge\",\"item_id\":\"knowledge:t/k\","
	     "\"your_directions\":\"Use this knowledge to inform your decisions.\","
	     "\"content\":\"~What k is.\",\"data\":{\"title\":\"About k\",\"name\":\"k\"}}");
}

static void messages(void **state)
{
	struct exec_place *p = *state;
	auto_said struct exec_said said = exec_run(p, "t/none", "{\"a\":");

	exec_check(&said, "{\"status\":\"error\",\"error\":\"~not valid JSON\"}");
	assert_int_equal(said.code, RYE_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		exec_test(case_22_everything_wrong),
		exec_test(many_parameters),
		exec_test(case_23_default),
		exec_test(case_24_missing),
		exec_test(case_25_unknown),
		exec_test(case_26_list_of_parameters),
		exec_test(case_27_parameters_are_no_object),
		exec_test(case_105_actions),
		exec_test(case_75_id_goes_up),
		exec_test(case_76_id_with_extension_or_root),
		exec_test(case_77_bare_id),
		exec_test(case_78_bare_id_of_two_kinds),
		exec_test(other_spellings),
		exec_test(T48_nul_in_an_id),
		exec_test(case_79_fork_of_a_tool),
		exec_test(case_80_unknown_modes),
		exec_test(unknown_members_are_told),
		exec_test(case_81_dry_run),
		exec_test(rest_of_the_matrix),
		exec_test(T81_unsigned_directive),
		exec_test(T82_modes_that_are_none),
		exec_test(T83_tool_forked_or_directive_detached),
		exec_test(T84_chains_that_lead_nowhere),
		exec_test(T87_dry_run_starts_nothing),
		exec_test(case_87_directory_tool),
		exec_test(directives),
		exec_test(knowledge),
		exec_test(messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
