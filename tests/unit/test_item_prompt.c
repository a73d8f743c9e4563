/* SPDX-License-Identifier: MIT */
/* The prompt (cases T99 to T101) and what reading an item's file gives. */
#include "scope.h"
#include "base/io.h"
#include "parse/parse.h"
#include "item/item.h"

#include "rye_json.h"

#include <fcntl.h>

static void prompt(const char *meta_text, const char *inputs_text, const char *want)
{
	auto_json json_t *meta = json_loads(meta_text, 0, NULL);
	auto_json json_t *inputs = json_loads(inputs_text, 0, NULL);
	auto_buf struct rye_buf out = RYE_BUF_INIT;
	struct interp in = { .inputs = inputs };

	prompt_put(meta, &in, "INSTR", &out);
	assert_false(out.failed);
	assert_string_equal(out.data, want);
}

static void T99_whole_prompt(void **state)
{
	prompt("{\"name\": \"n\", \"description\": \"d\", \"preamble\": \"<!-- rye:signed:x "
	       "-->\\n# T\\n\\nIntro\\n## Keep\", \"body\": \"B\", \"outputs\": [{\"name\": \"r\", "
	       "\"description\": \"Res\"}, {\"name\": \"c\"}, {\"description\": \"nameless\"}]}",
	       "{}",
	       "INSTR\n\n<directive name=\"n\">\n<description>d</description>\n\nIntro\n## Keep\n\n"
	       "B\n\n<returns>\n  <output name=\"r\">Res</output>\n  <output name=\"c\" />\n"
	       "</returns>\n\n"
	       "When you have completed all steps, return structured results:\n"
	       "`rye_execute(item_type=\"tool\", item_id=\"rye/agent/threads/directive_return\", "
	       "parameters={\"r\": \"<Res>\", \"c\": \"<c>\"})`\n\n</directive>");
}

static void T100_body_alone(void **state)
{
	prompt("{\"preamble\": \"# T\", \"body\": \" B \"}", "{}", "INSTR\n\nB");
	prompt("{\"description\": \"d\", \"body\": \"\", \"outputs\": []}", "{}",
	       "INSTR\n\n<directive>\n<description>d</description>\n\n</directive>");
	prompt("{\"name\": \"n\", \"body\": \"{input:a} {input:b}\", \"preamble\": \"{input:a}\"}",
	       "{\"a\": true}",
	       "INSTR\n\n<directive name=\"n\">\n\n{input:a}\n\nTrue {input:b}\n\n</directive>");
}

static void T101_outputs_as_object(void **state)
{
	prompt("{\"body\": \"B\", \"outputs\": {\"score\": \"0-100\", \"tier\": \"\"}}", "{}",
	       "INSTR\n\nB\n\n<returns>\n  <output name=\"score\">0-100</output>\n"
	       "  <output name=\"tier\" />\n</returns>\n\n"
	       "When you have completed all steps, return structured results:\n"
	       "`rye_execute(item_type=\"tool\", item_id=\"rye/agent/threads/directive_return\", "
	       "parameters={\"score\": \"<0-100>\", \"tier\": \"<tier>\"})`");
}

/* The compiled-in instruction is the bundle's own. */
static void instruction_is_the_bundles(void **state)
{
	const char *root = getenv("RYE_TEST_SRC");
	auto_buf struct rye_buf path = RYE_BUF_INIT;
	struct rye_blob *blob = NULL;
	struct rye_err err = { 0 };
	auto_json json_t *meta = NULL;
	auto_close int fd = -1;

	assert_non_null(root);
	buf_addf(&path, "%s/../.ai/knowledge/rye/agent/core/DirectiveInstruction.md", root);
	fd = open(path.data, O_RDONLY | O_CLOEXEC);
	assert_int_equal(io_read_fd(fd, 1 << 20, &blob, NULL), 0);
	meta = parse_knowledge((struct rye_span){ blob->data, blob->len }, &err);
	assert_string_equal(prompt_instruction(), json_str(meta, "body"));
	rye_blob_unref(blob);
}

static struct rye_item item_of(enum rye_kind kind, const char *text, size_t head)
{
	struct rye_item item = { .kind = kind, .id = (char *)"x" };
	struct rye_err err = { 0 };

	item.text = rye_blob_new(text, strlen(text));
	item.body = (struct rye_span){ item.text->data + head, item.text->len - head };
	if (kind == RYE_DIRECTIVE) {
		item.meta = parse_directive(item.body, &err);
		assert_int_equal(directive_shape(item.body, &item.shape, &err), 0);
	}
	return item;
}

static void rendered(enum rye_kind kind, const char *text, const char *query, const char *want)
{
	size_t head = strchr(text, '\n') - text + 1;
	struct rye_item item = item_of(kind, text, head);
	struct rye_err err = { 0 };
	auto_json json_t *inputs = inputs_query(query, &err);
	struct interp in = { .inputs = inputs };
	struct rye_blob *blob = NULL;
	int r = render_item(&item, &in, &blob, &err);

	assert_string_equal(r ? err.msg : blob->data, want);
	rye_blob_unref(blob);
	rye_blob_unref(item.text);
	json_decref(item.meta);
}

#define XML                                                                               \
	"```xml\n<directive name=\"{input:a}\"><inputs><input name=\"a\" default=\"D\"/>" \
	"<input name=\"b\" required=\"true\"/></inputs></directive>\n```\n"

static void render(void **state)
{
	rendered(RYE_DIRECTIVE, "sig\n{input:a}\n" XML "\n{input:a} {input:b}\n", "",
		 "{input:a}\n" XML "\nD {input:b}\n");
	rendered(RYE_DIRECTIVE, "sig\n" XML "{input:a} {input:b}", "a=1&b=2", XML "1 2");
	rendered(RYE_DIRECTIVE, "sig\n" XML, "", XML);
	rendered(RYE_DIRECTIVE, "sig\n" XML, "c=1", "Unknown parameters: c. Valid inputs: a, b");
	rendered(RYE_KNOWLEDGE, "sig\n{input:a}\n\n", "", "{input:a}\n\n");
	rendered(RYE_TOOL, "sig\n{input:a}\n", "", "sig\n{input:a}\n");
	rendered(RYE_CONFIG, "sig\na: 1\n", "", "sig\na: 1\n");
}

/* prompt.md: defaults, a missing required input stays. */
static void prompt_of_item(void **state)
{
	struct rye_item item = item_of(RYE_DIRECTIVE, "sig\n" XML "{input:a} {input:b}\n", 4);
	struct rye_blob *blob = NULL;
	struct rye_err err = { 0 };

	assert_int_equal(render_prompt(&item, NULL, "I", &blob, &err), 0);
	assert_string_equal(blob->data,
			    "I\n\n<directive name=\"{input:a}\">\n\nD {input:b}\n\n</directive>");
	rye_blob_unref(blob);
	rye_blob_unref(item.text);
	json_decref(item.meta);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(T99_whole_prompt),
		cmocka_unit_test(T100_body_alone),
		cmocka_unit_test(T101_outputs_as_object),
		cmocka_unit_test(instruction_is_the_bundles),
		cmocka_unit_test(render),
		cmocka_unit_test(prompt_of_item),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
