/* SPDX-License-Identifier: MIT */
/*
 * Requests: cases 22 to 27, 75 to 81 and 87 of the tool format (tools 12), the execution
 * matrix (tools 7.2), directives and knowledge, and what comes back for each.
 */
#include "exec_tools.h"

#define SCHEMA                                                                              \
	"CONFIG_SCHEMA = {'type':'object','properties':{'a':{'type':'integer','minimum':3," \
	"'default':7},'b':{'type':'string'}},'required':['b'],'additionalProperties':False}\n"

static void asks(struct exec_place *p, const char *json, const char *want)
{
	auto_said struct exec_said said = exec_prim(p, RYE_EXECUTE, json);

	exec_check(&said, want);
}

static void case_22_to_25_schema(void **state)
{
	struct exec_place *p = *state;

	exec_python(p, "t/a.py", "function",
		    SCHEMA "def execute(p, q):\n    return {'success':True,'p':p}\n");
	{
		auto_said struct exec_said said = exec_run(p, "t/a", "{\"a\":\"str\",\"zzz\":1}");

		exec_check(&said, "{\"status\":\"error\",\"error\":\"~Invalid parameters: \","
				  "\"item_id\":\"t/a\"}");
		assert_non_null(strstr(said.message, "a: expected integer, got str"));
		assert_non_null(strstr(said.message, "b: required"));
		assert_non_null(strstr(said.message, "zzz"));
		assert_null(json_object_get(said.reply, "data"));
		assert_int_equal(said.code, RYE_INVALID);
	}
	exec_wants(p, "{\"b\":\"x\"}", "{\"data\":{\"p\":{\"a\":7,\"b\":\"x\"}}}");
	exec_wants(p, "{}",
		   "{\"error\":\"Missing required parameters: b\",\"chain\":[\"t/a\","
		   "\"rye/core/runtimes/python/function\",\"rye/core/primitives/execute\"],"
		   "\"declared_parameters\":[{\"name\":\"a\",\"type\":\"integer\",\"required\":"
		   "false,\"default\":7},{\"name\":\"b\",\"type\":\"string\",\"required\":true}]}");
	exec_wants(p, "{\"b\":\"x\",\"zzz\":1}",
		   "{\"error\":\"Unknown parameters: zzz. Valid parameters: a, b\"}");
}

static void case_26_27_yaml_parameters(void **state)
{
	struct exec_place *p = *state;

	exec_yaml(
		p, "t/a.yaml", "rye/core/primitives/execute",
		"parameters:\n  - {name: n, type: integer, required: false, default: 10, minimum: "
		"1}\nconfig: {command: echo, args: [\"{n}\"]}\n");
	exec_wants(p, "{\"n\":0}", "{\"error\":\"Invalid parameters: n: must be >= 1, got 0\"}");
	exec_wants(p, "{}", "{\"data\":{\"result\":10}}");
	asks(p, "{\"item_id\":\"tool:t/a\",\"parameters\":\"str\"}",
	     "{\"error\":\"parameters must be an object\"}");
	asks(p, "{\"item_id\":\"tool:t/a\",\"parameters\":\"{\\\"n\\\":4}\"}",
	     "{\"item_id\":\"tool:t/a\",\"data\":{\"result\":4}}");
}

static void actions(void **state)
{
	struct exec_place *p = *state;

	exec_yaml(p, "t/a.yaml", "rye/core/primitives/execute",
		  "actions:\n  up:\n    parameters: [{name: host, type: string, required: true}]\n"
		  "  down: {description: stops}\n"
		  "config: {command: echo, args: [\"{action}\", \"{host}\"]}\n");
	exec_wants(p, "{\"action\":\"left\"}",
		   "{\"error\":\"Unknown action: left. Valid: up, down\"}");
	exec_wants(p, "{\"action\":\"up\"}", "{\"error\":\"Missing required parameters: host\"}");
	exec_wants(p, "{\"action\":\"up\",\"host\":\"h\"}", "{\"data\":{\"stdout\":\"up h\\n\"}}");
}

static void case_75_to_78_ids(void **state)
{
	struct exec_place *p = *state;

	exec_shell(p, "t/echo.yaml", "echo hi", "");
	asks(p, "{\"item_id\":\"tool:../tools/t/echo\"}",
	     "{\"error\":\"Invalid item_id: ../tools/t/echo\"}");
	asks(p, "{\"item_id\":\"tool:t/echo.py\"}", "{\"error\":\"Tool not found: t/echo.py\"}");
	asks(p, "{\"item_id\":\"tool:/t/echo\"}", "{\"error\":\"Tool not found: /t/echo\"}");
	asks(p, "{\"item_id\":\"t/echo\"}",
	     "{\"status\":\"success\",\"type\":\"tool\",\"item_id\":\"t/echo\","
	     "\"metadata\":{\"canonical_ref\":\"tool:t/echo\"}}");
	asks(p, "{\"item_id\":\"t/echo\",\"item_type\":\"tool\"}", "{\"status\":\"success\"}");
	asks(p, "{\"item_id\":\"directive:t/echo\",\"item_type\":\"tool\"}",
	     "{\"error\":\"~contradicts\"}");
	asks(p, "{\"item_id\":\"\"}", "{\"error\":\"item_id is required.\"}");
	asks(p, "{\"item_id\":\"tool:\"}",
	     "{\"error\":\"Canonical ref must include an ID after 'tool:' (e.g. "
	     "'tool:my/item')\"}");
	asks(p, "{\"item_id\":\"t/none\"}", "{\"error\":\"Item not found: t/none\"}");
	exec_sign(p->place.project, RYE_KNOWLEDGE, "t/echo.md",
		  span_of("```yaml\nname: echo\ntitle: E\nversion: \"1.0.0\"\nentry_type: "
			  "note\n```\n\nText.\n"));
	asks(p, "{\"item_id\":\"t/echo\"}",
	     "{\"error\":\"Ambiguous item_id 't/echo': matches tool, knowledge. Use a canonical "
	     "ref: tool:t/echo, knowledge:t/echo.\"}");
	asks(p, "{\"item_id\":\"config:x\"}", "{\"error\":\"~cannot be executed\"}");
	asks(p, "{\"item_id\":\"tool:t/echo\",\"project_path\":\"/usr\"}",
	     "{\"error\":\"~project_path: this is the project /\"}");
}

static void case_79_to_81_matrix(void **state)
{
	static const struct {
		const char *more, *error;
	} tool[] = {
		{ "\"thread\":\"fork\"", "~thread=\\\"fork\\\" is not supported for tools." },
		{ "\"thread\":true", "~thread=\\\"fork\\\" is not supported for tools." },
		{ "\"thread\":\"zzz\"",
		  "Unknown thread mode: 'zzz'. Must be \\\"inline\\\" or \\\"fork\\\"." },
		{ "\"target\":\"mars\"", "Unknown target: 'mars'. Must be \\\"local\\\", "
					 "\\\"remote\\\", or \\\"remote:<name>\\\"." },
		{ "\"target\":\"remote:\"", "~Invalid target \\\"remote:\\\"" },
		{ "\"target\":\"remote:x\"", "~Remote execution is not available yet" },
		{ "\"dry_run\":true,\"target\":\"remote\"",
		  "dry_run + remote is not supported. Dry run validates locally." },
		{ "\"dry_run\":true,\"async\":true",
		  "async + dry_run is not supported. Validation is "
		  "instant, nothing to detach." },
		{ "\"async\":true", "async is not available yet" },
		{ "\"dry_run\":1", "dry_run must be true or false" },
	};
	static const struct {
		const char *json, *error;
	} others[] = {
		{ "{\"item_id\":\"directive:d\",\"target\":\"remote\"}",
		  "~Directives on remote must use thread=\\\"fork\\\"." },
		{ "{\"item_id\":\"directive:d\",\"async\":true}",
		  "~async + directive + inline is not supported." },
		{ "{\"item_id\":\"knowledge:k\",\"thread\":\"fork\"}",
		  "~Knowledge items only support" },
		{ "{\"item_id\":\"knowledge:k\",\"async\":true}",
		  "~async + knowledge is not supported." },
		/* refused before anything is looked up */
		{ "{\"item_id\":\"tool:none\",\"thread\":\"fork\"}",
		  "~is not supported for tools." },
	};
	struct exec_place *p = *state;
	char json[200], want[300];

	exec_shell(p, "t/a.yaml", "echo hi", "");
	for (size_t i = 0; i < ARRAY_SIZE(tool); i++) {
		snprintf(json, sizeof(json), "{\"item_id\":\"tool:t/a\",%s}", tool[i].more);
		snprintf(want, sizeof(want), "{\"status\":\"error\",\"error\":\"%s\"}",
			 tool[i].error);
		asks(p, json, want);
	}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		snprintf(want, sizeof(want), "{\"status\":\"error\",\"error\":\"%s\"}",
			 others[i].error);
		asks(p, others[i].json, want);
	}
	exec_function(p, "t/b.py", "return {}");
	asks(p, "{\"item_id\":\"tool:t/b\",\"dry_run\":true}",
	     "{\"status\":\"validation_passed\",\"item_id\":\"tool:t/b\",\"message\":\"Tool chain "
	     "validation passed (dry run)\",\"validated_pairs\":[\"t/b -> "
	     "rye/core/runtimes/python/function\",\"rye/core/runtimes/python/function -> "
	     "rye/core/primitives/execute\"],\"metadata\":{\"validated_pair_count\":2}}");
}

static void case_87_alias(void **state)
{
	struct exec_place *p = *state;

	asks(p, "{\"item_id\":\"tool:rye/bash\",\"parameters\":{\"command\":\"true\"}}",
	     "{\"status\":\"success\",\"item_id\":\"tool:rye/bash\","
	     "\"metadata\":{\"canonical_ref\":\"tool:rye/bash/bash\"}}");
}

static const char directive[] =
	"# Deploy\n\n```xml\n<directive name=\"deploy\" version=\"1.0.0\">\n  <metadata>\n"
	"    <description>Deploys</description>\n    <category>ops</category>\n"
	"    <author>me</author>\n  </metadata>\n  <inputs>\n"
	"    <input name=\"env\" type=\"string\" required=\"true\">where</input>\n"
	"    <input name=\"n\" type=\"integer\" required=\"false\" default=\"2\">how many</input>\n"
	"  </inputs>\n  <outputs>\n    <output name=\"url\">Where it runs</output>\n"
	"  </outputs>\n</directive>\n```\n\n<process>\nTo {input:env}, {input:n} times.\n"
	"</process>\n";

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
				  "\"body\":\"~To prod, 2 times.\",\"instructions\":\"~\"}");
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
		exec_test(case_22_to_25_schema),
		exec_test(case_26_27_yaml_parameters),
		exec_test(actions),
		exec_test(case_75_to_78_ids),
		exec_test(case_79_to_81_matrix),
		exec_test(case_87_alias),
		exec_test(directives),
		exec_test(knowledge),
		exec_test(messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
