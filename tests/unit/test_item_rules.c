/* SPDX-License-Identifier: MIT */
/* What signing says of an item: issues, which refuse it, and warnings (docs/items.md). */
#include "item_signed.h"

struct rule {
	enum rye_kind kind;
	const char *path, *text;
	const char *issues[6]; /* all of them, in order; none: it can be signed */
	const char *warning;
};

#define FENCED(yaml) "```yaml\n" yaml "```\n\nText.\n"
#define XML(attrs, meta, more)                                                   \
	"# T\n\n```xml\n<directive " attrs "><metadata>" meta "</metadata>" more \
	"</directive>\n```\nB\n"
#define META "<description>d</description><category>a</category><author>me</author>"
#define FUNCTION "__executor_id__ = \"x/runtimes/python/function\"\n"
#define NO_NULL(type)                                                                           \
	"Field 'executor_id' may be null only for primitive, runtime, library and mcp_server, " \
	"not for tool_type '" type "'"
#define UNRUN(type)                                                                                \
	{                                                                                          \
		RYE_TOOL, "tools/a/b.yaml",                                                        \
			"tool_id: b\ntool_type: " type "\nversion: \"1.0.0\"\nexecutor_id: null\n" \
			"category: a\ndescription: d\n",                                           \
			{ NULL }, NO_NULL(type)                                                    \
	}
#define RUNS "def execute(params, project_path):\n    return {}\n"
#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"
#define SIGNED_BY(fp)                                                                                 \
	"# rye:signed:2026-01-01T00:00:00Z:" ZEROS                                                    \
	":AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA:" fp \
	"\n"

static const struct rule rules[] = {
	/* directives */
	{ RYE_DIRECTIVE, "directives/a/b.md", XML("name='b' version='1.0.0'", META, "") },
	{ RYE_DIRECTIVE,
	  "directives/a/b.md",
	  XML("name='B-x' version='1.0'", "<description>d</description><category>c</category>", ""),
	  { "Field 'name' must be snake_case (lowercase letters, numbers, underscores, starting "
	    "with letter), got 'B-x'",
	    "Field 'name' value 'B-x' must match filename 'b'",
	    "Field 'version' must be semver format (X.Y.Z), got '1.0'",
	    "Field 'category' value 'c' must match path category 'a'",
	    "Missing required field: author" } },
	{ RYE_DIRECTIVE,
	  "directives/a/b.md",
	  XML("name='b' version='1.0.0'",
	      META "<limits turns='x' spend='1' depth='2.5'/><model tier='fast' parallel='yes'/>",
	      "<inputs><input type='string'/></inputs>"),
	  { "Field 'model.parallel' must be one of ['true', 'false'], got 'yes'",
	    "Field 'limits.turns' must be an integer, got str",
	    "Field 'limits.depth' must be an integer, got float",
	    "Field 'inputs[0]' missing required key 'name'" } },
	{ RYE_DIRECTIVE, "directives/b.md",
	  XML("name='b' version='1.0.0'",
	      "<description>d</description><category></category><author>me</author>", "") },
	/* tools: fields */
	{ RYE_TOOL, "tools/a/b.py", PY("\"1.0.0\"", "\"python\"", EXEC, "\"a\"", "") },
	{ RYE_TOOL,
	  "tools/a/b.py",
	  "x = 1\n",
	  { "Missing required field: category", "Missing required field: tool_type",
	    "Missing required field: version", "Missing required field: description",
	    "Missing required field: executor_id" } },
	{ RYE_TOOL,
	  "tools/a/b.py",
	  PY("1.0", "[]", EXEC, "\"c\"", ""),
	  { "Field 'category' value 'c' must match path category 'a'",
	    "Missing required field: tool_type",
	    "Field 'version' must be a string (semver), got float" } },
	{ RYE_TOOL,
	  "tools/b.py",
	  PY("\"1.0.0\"", "5", EXEC, "\"\"", ""),
	  { "Field 'tool_type' must be a string, got int" } },
	/* tools: the executor */
	{ RYE_TOOL,
	  "tools/a/b.py",
	  PY("\"1.0.0\"", "\"python\"", "", "\"a\"", RUNS),
	  { "Missing required field: executor_id" } },
	{ RYE_TOOL,
	  "tools/a/b.py",
	  PY("\"1.0.0\"", "\"python\"", "__executor_id__ = None\n", "\"a\"", RUNS),
	  { NO_NULL("python") } },
	/* modules that others import, and what others read, may be signed all the same */
	{ RYE_TOOL,
	  "tools/a/b.py",
	  PY("\"1.0.0\"", "\"python\"", "", "\"a\"", "def helper():\n    def execute(): pass\n"),
	  { NULL },
	  "Missing required field: executor_id" },
	UNRUN("http"),
	UNRUN("config-schema"),
	UNRUN("email_provider"),
	/* the line of a trusted key makes faults warnings, that of an unknown one does not */
	{ RYE_TOOL,
	  "tools/a/b.py",
	  SIGNED_BY("f0ff50dacf109dea")
		  PY("\"1.0.0\"", "\"python\"", "__requires__ = [\"shell\"]\n", "\"a\"", RUNS),
	  { NULL },
	  "Missing required field: executor_id" },
	{ RYE_TOOL,
	  "tools/a/b.py",
	  SIGNED_BY("f0ff50dacf109deb") PY("\"1.0.0\"", "\"python\"", "", "\"a\"", RUNS),
	  { "Missing required field: executor_id" } },
	{ RYE_TOOL, "tools/a/b.py",
	  PY("\"1.0.0\"", "\"library\"", "__executor_id__ = None\n", "\"a\"", "") },
	/* tools: tool_id */
	{ RYE_TOOL, "tools/a/b-c.yaml",
	  "tool_id: a/b_c\ntool_type: yaml\nversion: \"1.0.0\"\nexecutor_id: x\ncategory: a\n"
	  "description: d\n" },
	{ RYE_TOOL,
	  "tools/a/b-c.yaml",
	  "tool_type: yaml\nversion: \"1.0.0\"\nexecutor_id: x\ncategory: a\ndescription: d\n",
	  { NULL },
	  "No tool_id; write tool_id: b-c" },
	{ RYE_TOOL,
	  "tools/a/b/c.yaml",
	  "tool_id: a/c\ntool_type: yaml\nversion: \"1.0.0\"\nexecutor_id: x\ncategory: a/b\n"
	  "description: d\n",
	  { NULL },
	  "Field 'tool_id' value 'a/c' is short for 'a/b/c'" },
	{ RYE_TOOL,
	  "tools/a/b/c.yaml",
	  "tool_id: b/c\ntool_type: yaml\nversion: \"1.0.0\"\nexecutor_id: x\ncategory: a/b\n"
	  "description: d\n",
	  { "Field 'tool_id' value 'b/c' must match filename 'c'" } },
	{ RYE_TOOL,
	  "tools/a/b-c.yaml",
	  "tool_id: other\ntool_type: yaml\nversion: \"1.0.0\"\nexecutor_id: x\ncategory: a\n"
	  "description: d\n",
	  { "Field 'tool_id' value 'other' must match filename 'b-c'" } },
	{ RYE_TOOL,
	  "tools/a/b_c.py",
	  PY("\"1.0.0\"", "\"python\"", EXEC, "\"a\"", ""),
	  { NULL },
	  "Tool name 'b_c' is not kebab-case" },
	{ RYE_TOOL,
	  "tools/a/b.py",
	  PY("\"1.0.0\"", "\"python\"", EXEC, "\"a\"",
	     "__requires__ = [\"fs.read\", \"fs.wirte\", \"net.call\", \"rye.execute.tool.x\"]\n"),
	  { NULL },
	  "requires names 'fs.wirte', which lets it do nothing: is fs.write meant?" },
	{ RYE_TOOL,
	  "tools/a/b.py",
	  PY("\"1.0.0\"", "\"python\"", FUNCTION, "\"a\"", "def executed(params):\n    pass\n"),
	  { NULL },
	  "No execute(params, project_path) is in it, which is what x/runtimes/python/function calls" },
	{ RYE_TOOL,
	  "tools/a/b.py",
	  PY("\"1.0.0\"", "\"python\"", FUNCTION, "\"a\"", "from a import execute\n"),
	  { NULL } },
	/* tools: schemas */
	{ RYE_TOOL,
	  "tools/a/b.py",
	  PY("\"1.0.0\"", "\"python\"", EXEC, "\"a\"",
	     "CONFIG_SCHEMA = {\"type\": \"object\", \"properties\": {\"x\": {\"type\": \"text\"}}}\n"),
	  { "Parameter 'x': unknown type 'text', wanted one of string, integer, number, boolean, "
	    "object, array, null" } },
	{ RYE_TOOL,
	  "tools/a/b.py",
	  PY("\"1.0.0\"", "\"python\"", EXEC, "\"a\"",
	     "CONFIG_SCHEMA = {\"properties\": {\"x\": {\"type\": \"string\", \"pattern\": \"(\"}}}\n"),
	  { "?Parameter 'x': " } },
	{ RYE_TOOL,
	  "tools/a/b.py",
	  PY("\"1.0.0\"", "\"python\"", EXEC, "\"a\"",
	     "CONFIG_SCHEMA = {\"properties\": {\"x\": {\"type\": \"string\", \"enum\": []}}}\n"),
	  { "?Parameter 'x': " } },
	/* tools: requires */
	{ RYE_TOOL,
	  "tools/a/b.yaml",
	  "tool_id: b\ntool_type: yaml\nversion: \"1.0.0\"\nexecutor_id: x\ncategory: a\n"
	  "description: d\nrequires: [fs.write, \"rye.execute.tool.*\", net, 5, \"a..b\"]\n",
	  { "Field 'requires[2]' must use dotted notation (fs.write)",
	    "Field 'requires[3]' must use dotted notation (fs.write)",
	    "Field 'requires[4]' must use dotted notation (fs.write)" } },
	/* tools: parameters of an action; an answer's schema only warns */
	{ RYE_TOOL,
	  "tools/a/b.py",
	  PY("\"1.0.0\"", "\"python\"", EXEC, "\"a\"",
	     RUNS) "actions = {'go': {'parameters': [{'name': 'n', 'enum': []}]}}\n",
	  { "Action 'go': Parameter 'n': enum must have at least one value" } },
	{ RYE_TOOL,
	  "tools/a/b.py",
	  PY("\"1.0.0\"", "\"python\"", EXEC, "\"a\"", RUNS) "output_schema = {'pattern': 5}\n",
	  { NULL },
	  "output_schema: pattern must be a string" },
	/* knowledge */
	{ RYE_KNOWLEDGE, "knowledge/a/b.md",
	  FENCED("name: b\ntitle: T\nversion: \"1.0.0\"\nentry_type: note\n") },
	{ RYE_KNOWLEDGE,
	  "knowledge/a/b.md",
	  FENCED("id: b\ntitle: T\nversion: \"1.0.0\"\nentry_type: note\n"),
	  { NULL },
	  "Field 'id' is read as 'name'; write name: b" },
	{ RYE_KNOWLEDGE,
	  "knowledge/a/b.md",
	  FENCED("name: c\ntitle: 5\nversion: 1.0\nentry_type: note\ncategory: x\n"),
	  { "Field 'name' value 'c' must match filename 'b'",
	    "Field 'title' must be a string, got int",
	    "Field 'version' must be a string (semver), got float",
	    "Field 'category' value 'x' must match path category 'a'" } },
	/* configuration */
	{ RYE_CONFIG, "config/a/b.yaml", "category: a\nversion: \"1.0.0\"\n" },
	{ RYE_CONFIG,
	  "config/a/b.yaml",
	  "category: 1\n",
	  { "Field 'category' must be a string, got int", "Missing required field: version" } },
	/* names */
	{ RYE_KNOWLEDGE,
	  "knowledge/run.md",
	  FENCED("name: run\ntitle: T\nversion: \"1.0.0\"\nentry_type: note\n"),
	  { NULL },
	  "The name 'run' is a control file's: where both meet, that wins" },
};

static bool is_issue(const json_t *list, size_t i, const char *wanted)
{
	const char *got = json_string_value(json_array_get(list, i));

	if (!got)
		return false;
	return *wanted == '?' ? !strncmp(got, wanted + 1, strlen(wanted) - 1) :
				!strcmp(got, wanted);
}

static void check_rule(const struct rule *rule)
{
	const char *slash = strchr(rule->path, '/');
	auto_json json_t *reply = NULL;
	const json_t *issues;
	struct test_place p;
	char id[100];
	size_t n = 0;

	snprintf(id, sizeof(id), "%s", slash + 1);
	*strrchr(id, '.') = 0;
	place_vectors(&p);
	place_text(p.project, rule->path, rule->text);
	place_open(&p, false);
	sign(&p, rule->kind, id, &reply);
	issues = json_object_get(reply, "issues");
	while (n < 6 && rule->issues[n]) {
		if (!is_issue(issues, n, rule->issues[n]))
			fail_msg("%s: wanted %s, got %s", rule->text, rule->issues[n],
				 json_dumps(reply, 0));
		n++;
	}
	if (json_array_size(issues) != n || (!n && strcmp(json_str(reply, "status"), "signed")))
		fail_msg("%s: %s", rule->text, json_dumps(reply, 0));
	if (rule->warning && !has_text(json_object_get(reply, "warnings"), rule->warning))
		fail_msg("%s: wanted %s, got %s", rule->text, rule->warning, json_dumps(reply, 0));
	if (n)
		assert_string_equal(json_str(reply, "status"), "error");
	place_drop(&p);
}

static void T91_rules(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		check_rule(&rules[i]);
}

static void case_117_dots_of_requires(void **state)
{
	static const char plain[] = "tool_id: b\ntool_type: yaml\nversion: \"1.0.0\"\n"
				    "executor_id: x\ncategory: a\ndescription: d\n";
	char text[300];
	struct rule rule = { RYE_TOOL, "tools/a/b.yaml", text };

	snprintf(text, sizeof(text), "%srequires: [net.http, rye.execute]\n", plain);
	check_rule(&rule);
	snprintf(text, sizeof(text), "%srequires: [net.http, shell]\n", plain);
	rule.issues[0] = "Field 'requires[1]' must use dotted notation (fs.write)";
	check_rule(&rule);
}

static void schema_of_a_configuration(void **state)
{
	struct test_place *p = *state;
	static const char schema[] =
		"tool_id: app.config-schema\ntool_type: library\nversion: \"1.0.0\"\n"
		"executor_id: null\ncategory: s\ndescription: d\ntarget_config: a/app.yaml\n"
		"input_schema:\n  type: object\n  required: [z]\n  properties:\n"
		"    port: {type: integer}\n    log: {type: object, properties: {level: {type: string}}}\n";
	auto_json json_t *reply = NULL;
	auto_json json_t *second = NULL;
	const json_t *issues;

	place_text(p->project, "tools/s/app.config-schema.yaml", schema);
	place_text(p->project, "config/a/app.yaml",
		   "category: a\nversion: \"1.0.0\"\nport: \"x\"\nlog: {level: 5}\n");
	place_open(p, false);
	assert_int_equal(sign(p, RYE_TOOL, "s/app.config-schema", &reply), RYE_OK);
	assert_int_equal(sign(p, RYE_CONFIG, "a/app", &second), RYE_INVALID);
	issues = json_object_get(second, "issues");
	assert_int_equal(json_array_size(issues), 2);
	assert_true(has_text(issues, "port: expected integer, got str"));
	assert_true(has_text(issues, "log.level: expected string, got int"));
}

/* ---- globs ---- */

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(T91_rules),
		cmocka_unit_test(case_117_dots_of_requires),
		place_test(schema_of_a_configuration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
