/* SPDX-License-Identifier: MIT */
/* Knowledge: case T65; and text every parser refuses. */
#include "parse/parse.h"
#include "format/format.h"

#include "rye_json.h"

static void md(const char *text, const char *want)
{
	parses(parse_knowledge, text, want);
}

static void fenced(void **state)
{
	md("```yaml\nname: a\ntags: [x]\n```\n\n# Body\n",
	   "{\"name\": \"a\", \"tags\": [\"x\"], \"body\": \"# Body\"}");
	md("text before\n```yaml  \nname: a\nbody: no\n```  \nB\n```yaml\nname: b\n```\n",
	   "{\"name\": \"a\", \"body\": \"B\\n```yaml\\nname: b\\n```\"}");
	md("```yaml\r\nname: a\r\n```\r\nB\r\n", "{\"name\": \"a\", \"body\": \"B\"}");
	md("```yaml\nraw: kept\nerror: kept\n__warnings__: [no]\n```\n",
	   "{\"raw\": \"kept\", \"error\": \"kept\", \"body\": \"\"}");
	md("```yaml\n```", "{\"body\": \"\"}");
	faults(parse_knowledge, "```yaml\na: b: c\n```\nB", "markdown/frontmatter: mapping values",
	       "{\"body\": \"B\"}");
}

/* Examples in longer fences are text, wherever they stand. */
static void outer_fences(void **state)
{
	md("````md\n```yaml\nname: no\n```\n````\n```yaml\nname: yes1\n```\nB",
	   "{\"name\": \"yes1\", \"body\": \"B\"}");
	md("`````\n````\n```yaml\nname: no\n```\n`````\n", "{\"body\": \"\"}");
	md("````\n```yaml\nname: no\n```\n", "{\"body\": \"\"}");
}

/* T65: ```yml, ---, unclosed, list. */
static void T65_blocks_that_are_none(void **state)
{
	md("```yml\nname: a\n```\nB", "{\"body\": \"\"}");
	md("---\nname: a\n---\nB\n",
	   "{\"name\": \"a\", \"body\": \"B\", \"__warnings__\": [\"metadata between --- lines is "
	   "read, but wants to be a ```yaml block: its signature does not cover it\"]}");
	md("<!-- c -->\n\n---\nname: a\n---", "{\"name\": \"a\", \"body\": \"\", \"__warnings__\": "
					      "[\"metadata between --- lines is read, but wants to "
					      "be a ```yaml block: its signature does not cover "
					      "it\"]}");
	md("```yaml\nname: a\n", "{\"body\": \"\"}");
	md("```yaml\n- a\n```\nB", "{\"body\": \"B\"}");
}

/* A text without a block is YAML as a whole, or nothing. */
static void whole_text(void **state)
{
	md("name: v8\ntitle: T\n", "{\"name\": \"v8\", \"title\": \"T\", \"body\": \"\"}");
	md("<!-- c -->\nname: v8\n", "{\"name\": \"v8\", \"body\": \"\"}");
	md("# Only\n\nprose\n", "{\"body\": \"\"}");
	md("a: b: c\n", "{\"body\": \"\"}");
	md("", "{\"body\": \"\"}");
}

static void refused_bytes(void **state)
{
	static const char nul[] = "a\0b";
	struct rye_err err = { 0 };

	faults(parse_knowledge, "\xef\xbb\xbfname: a", "byte order mark", "!");
	faults(parse_knowledge, "ab\xc3(", "Not valid UTF-8: byte 2", "!");
	faults(parse_knowledge, "\xed\xa0\x80", "Not valid UTF-8: byte 0", "!");
	assert_null(parse_knowledge((struct rye_span){ nul, 3 }, &err));
	assert_string_equal(err.msg, "text has a NUL at byte 1");
}

static void closing_lines(void **state)
{
	struct fence fence;

	assert_true(fence_find(SPAN("x\n```yaml\na\n``` x\n````\n```\ny"), "yaml", &fence));
	assert_int_equal(fence.before.len, 2);
	assert_int_equal(fence.content.len, 13);
	assert_int_equal(fence.after.len, 1);
	assert_false(fence_find(SPAN(" ```yaml\na\n```\n"), "yaml", &fence));
	assert_false(fence_find(SPAN("```yamlx\na\n```\n"), "yaml", &fence));
	assert_false(fence_find(SPAN("```YAML\na\n```\n"), "yaml", &fence));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fenced),
		cmocka_unit_test(outer_fences),
		cmocka_unit_test(T65_blocks_that_are_none),
		cmocka_unit_test(whole_text),
		cmocka_unit_test(refused_bytes),
		cmocka_unit_test(closing_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
