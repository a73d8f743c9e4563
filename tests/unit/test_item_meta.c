/* SPDX-License-Identifier: MIT */
/* A tool's metadata over all spellings, and the parser table (case 104). */
#include "item/item.h"
#include "parse/parse.h"
#include "format/format.h"

#include "rye_json.h"

static struct rye_item tool(const char *ext, const char *text)
{
	struct rye_item item = { .kind = RYE_TOOL, .ext = ext };
	struct rye_err err;

	item.meta = parse_item(parse_row(RYE_TOOL, ext), span_of(text), "x", &err);
	assert_non_null(item.meta);
	return item;
}

static void same_everywhere(void **state)
{
	static const char *const texts[][2] = {
		{ ".py", "__version__ = '1.0.0'\n__tool_type__ = 'python'\n__executor_id__ = 'e'\n"
			 "__category__ = 'c'\n__tool_description__ = 'd'\n"
			 "CONFIG_SCHEMA = {'type': 'object'}\nCONFIG = {'k': 1}\n"
			 "__requires__ = ['a.b']\n" },
		{ ".yaml", "version: 1.0.0\ntool_type: python\nexecutor_id: e\ncategory: c\n"
			   "description: d\nconfig_schema: {type: object}\nconfig: {k: 1}\n"
			   "requires: [a.b]\n" },
		{ ".js",
		  "const __version__ = '1.0.0', x = 1;\nconst __tool_type__ = 'python'\n"
		  "const __executor_id__ = 'e'\nconst __category__ = 'c'\n"
		  "const __tool_description__ = 'd'\nconst CONFIG_SCHEMA = {type: 'object'}\n"
		  "const CONFIG = {k: 1}; const requires = ['a.b']\n" },
		{ ".sh", "# version: 1.0.0\n# tool_type: python\n# executor_id: e\n# category: c\n"
			 "# description: d\n# config_schema: {type: object}\n# config: {k: 1}\n"
			 "# requires: [a.b]\n" },
		{ ".toml", "version = '1.0.0'\ntool_type = 'python'\nexecutor_id = 'e'\n"
			   "category = 'c'\ndescription = 'd'\nconfig_schema = {type = 'object'}\n"
			   "config = {k = 1}\nrequires = ['a.b']\n" },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct rye_item item = tool(texts[i][0], texts[i][1]);
		struct tool_meta meta;

		parsed_tool(&item.parsed, &meta);
		assert_string_equal(meta.version, "1.0.0");
		assert_string_equal(meta.tool_type, "python");
		assert_string_equal(meta.executor_id, "e");
		assert_true(meta.executor_present && !meta.executor_null);
		assert_string_equal(meta.category, "c");
		assert_string_equal(meta.description, "d");
		same_json(meta_schema(&item), "{\"type\": \"object\"}");
		same_json(json_deep_copy(meta.config), "{\"k\": 1}");
		same_json(json_deep_copy(meta.requires_list), "[\"a.b\"]");
		json_decref(item.meta);
	}
}

static void absent_and_odd(void **state)
{
	struct rye_item item = tool(".yaml", "version: 1.0\nexecutor_id: null\nrequires: fs.write\n"
					     "timeout: 12.7\nconfig: [1]\n");
	struct tool_meta meta;

	parsed_tool(&item.parsed, &meta);
	assert_string_equal(meta.version, "");
	assert_true(meta.executor_present && meta.executor_null);
	assert_null(meta.requires_list);
	assert_true(meta.requires_bad);
	assert_null(meta.config);
	assert_int_equal(meta.timeout, 12);
	same_json(meta_schema(&item), "{\"type\": \"object\", \"properties\": {}}");
	json_decref(item.meta);
	item = tool(".yaml", "executor_id: \"a\\0b\"\ntimeout: -1\n");
	parsed_tool(&item.parsed, &meta);
	assert_string_equal(meta.executor_id, "");
	assert_false(meta.executor_null);
	assert_int_equal(meta.timeout, 0);
	json_decref(item.meta);
	item = tool(".sh", "echo\n");
	parsed_tool(&item.parsed, &meta);
	assert_string_equal(meta.executor_id, "rye/core/runtimes/bash/bash");
	json_decref(item.meta);
}

static void schemas(void **state)
{
	struct rye_item item = tool(".yaml", "input_schema: {type: object, required: [x]}\n");

	same_json(meta_schema(&item), "{\"type\": \"object\", \"required\": [\"x\"]}");
	json_decref(item.meta);
	item = (struct rye_item){ .kind = RYE_DIRECTIVE };
	item.meta = json_loads("{\"inputs\": [{\"name\": \"a\", \"type\": \"string\", "
			       "\"required\": true}]}",
			       0, NULL);
	same_json(meta_schema(&item),
		  "{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"string\"}}, "
		  "\"required\": [\"a\"], \"additionalProperties\": false}");
	json_decref(item.meta);
}

/* T68: a syntax error leaves an empty mapping and says what is wrong. */
static void T68_broken_yaml(void **state)
{
	faults(parse_yaml_tool, "a: b: c\n", "mapping values are not allowed", "{\"data\": {}}");
	parses(parse_yaml_tool, "- a\n", "{\"data\": {}}");
}

static void case_104_no_utf8(void **state)
{
	struct rye_err err = { .code = RYE_IO };

	assert_null(parse_item(parse_row(RYE_TOOL, ".py"), SPAN("x = '\xff'\n"),
			       "/p/.ai/tools/x.py", &err));
	assert_int_equal(err.code, RYE_UNPARSABLE);
	assert_string_equal(err.msg, "Not valid UTF-8: /p/.ai/tools/x.py");
	same_json(parse_item(parse_row(RYE_TOOL, ".py"), SPAN("x = (\n"), "x.py", &err), "{}");
	assert_string_equal(err.msg, "x.py: Syntax error: a bracket was never closed (line 2)");
	same_json(parse_item(parse_row(RYE_TOOL, ".py"), SPAN("x = 1\n"), "x.py", &err),
		  "{\"x\": 1}");
	assert_int_equal(err.code, RYE_OK);
}

static void rows(void **state)
{
	assert_string_equal(parse_row(RYE_DIRECTIVE, ".md")->name, "markdown_xml");
	assert_string_equal(parse_row(RYE_KNOWLEDGE, ".yml")->name, "markdown_frontmatter");
	assert_string_equal(parse_row(RYE_CONFIG, ".toml")->name, "toml");
	assert_string_equal(parse_row(RYE_TOOL, ".ts")->name, "javascript");
	assert_null(parse_row(RYE_TOOL, ".json"));
	assert_null(parse_row(RYE_TOOL, ".md"));
	assert_null(parse_row(RYE_CONFIG, ".md"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_everywhere),  cmocka_unit_test(absent_and_odd),
		cmocka_unit_test(schemas),	    cmocka_unit_test(T68_broken_yaml),
		cmocka_unit_test(case_104_no_utf8), cmocka_unit_test(rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
