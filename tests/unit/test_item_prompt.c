/* SPDX-License-Identifier: MIT */
/* The prompt (cases T99 to T101) and what reading an item's file gives. */
#include "scope.h"
#include "told.h"
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
		assert_works(&err, directive_shape(item.body, &item.shape, &err));
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

#define XML_OF(name)                                                                     \
	"```xml\n<directive name=\"" name "\"><inputs><input name=\"a\" default=\"D\"/>" \
	"<input name=\"b\" required=\"true\"/></inputs></directive>\n```\n"
#define XML XML_OF("{input:a}")

/* A directive is filled in wherever it names an input, its XML and what stands before it too. */
static void render(void **state)
{
	rendered(RYE_DIRECTIVE, "sig\n{input:a}\n" XML "\n{input:a} {input:b}\n", "",
		 "D\n" XML_OF("D") "\nD {input:b}\n");
	rendered(RYE_DIRECTIVE, "sig\n" XML "{input:a} {input:b}", "a=1&b=2", XML_OF("1") "1 2");
	rendered(RYE_DIRECTIVE, "sig\n" XML, "", XML_OF("D"));
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

	assert_works(&err, render_prompt(&item, NULL, "I", &blob, &err));
	assert_string_equal(blob->data,
			    "I\n\n<directive name=\"{input:a}\">\n\nD {input:b}\n\n</directive>");
	rye_blob_unref(blob);
	rye_blob_unref(item.text);
	json_decref(item.meta);
}

/* ---- as threads send it ---- */

#define H_PREAMBLE                                                                               \
	"# Heading\n\n<!-- rye:signed:2026-02-22T02:41:03Z:00:AA==:00 -->\nGreets somebody.\n\n" \
	"Kindly.\n\n"
#define H_PERMISSIONS "<permissions><execute><tool>t.secret</tool></execute></permissions>"
#define H(inside, outputs)                                                                \
	"sig\n" H_PREAMBLE "```xml\n<directive name=\"H\" version=\"1.0.0\">\n"           \
	"<metadata>" inside "<category>t</category><author>a</author>" H_PERMISSIONS      \
	"</metadata>\n<inputs><input name=\"who\" type=\"string\" required=\"true\">Whom" \
	"</input></inputs>\n" outputs "</directive>\n```\n\n  Greet {input:who}.\n\n"

static void sent(const char *text, const char *want)
{
	struct rye_item item = item_of(RYE_DIRECTIVE, text, strchr(text, '\n') - text + 1);
	auto_json json_t *inputs = json_pack("{s:s}", "who", "Bob");
	const struct interp in = { .inputs = inputs };
	struct rye_blob *blob = NULL;
	struct rye_err err = { 0 };

	if (render_prompt(&item, &in, "INSTRUCTION", &blob, &err))
		fail_msg("%s", err.msg);
	assert_string_equal(blob->data, want);
	rye_blob_unref(blob);
	rye_blob_unref(item.text);
	json_decref(item.meta);
}

#define H_RETURN "When you have completed all steps, return structured results:\n`rye_execute("
#define H_BEGIN                                                                        \
	"INSTRUCTION\n\n<directive name=\"H\">\n<description>Greet.</description>\n\n" \
	"Greets somebody.\n\nKindly.\n\nGreet Bob.\n\n"

static void thread_T10_golden_prompt(void **state)
{
	sent(H("<description>Greet.</description>", ""), H_BEGIN "</directive>");
	sent(H("<description>Greet.</description>",
	       "<outputs><output name=\"greeting\" type=\"string\" required=\"true\">the greeting"
	       "</output><output name=\"count\" type=\"integer\">how many</output></outputs>\n"),
	     H_BEGIN
	     "<returns>\n  <output name=\"greeting\">the greeting</output>\n"
	     "  <output name=\"count\">how many</output>\n</returns>\n\n" H_RETURN
	     "item_type=\"tool\", item_id=\"rye/agent/threads/directive_return\", "
	     "parameters={\"greeting\": \"<the greeting>\", \"count\": \"<how many>\"})`\n\n"
	     "</directive>");
}

/* A list and an object; one without description, one without name, and nothing that has a name. */
static void thread_T11_outputs(void **state)
{
	prompt("{\"outputs\": [{\"name\": \"directive_path\", \"description\": \"Path to the created "
	       "file\"}, {\"description\": \"nameless\"}, {\"name\": \"count\"}]}",
	       "{}",
	       "INSTR\n\n<returns>\n  <output name=\"directive_path\">Path to the created file"
	       "</output>\n  <output name=\"count\" />\n</returns>\n\n" H_RETURN
	       "item_type=\"tool\", item_id=\"rye/agent/threads/directive_return\", parameters={"
	       "\"directive_path\": \"<Path to the created file>\", \"count\": \"<count>\"})`");
	prompt("{\"outputs\": {\"score\": \"Numeric score 0-100\", \"tier\": \"hot, warm, cold\"}}",
	       "{}",
	       "INSTR\n\n<returns>\n  <output name=\"score\">Numeric score 0-100</output>\n"
	       "  <output name=\"tier\">hot, warm, cold</output>\n</returns>\n\n" H_RETURN
	       "item_type=\"tool\", item_id=\"rye/agent/threads/directive_return\", parameters={"
	       "\"score\": \"<Numeric score 0-100>\", \"tier\": \"<hot, warm, cold>\"})`");
	prompt("{\"outputs\": [{\"description\": \"nameless\"}]}", "{}", "INSTR");
}

/* What is closed was opened. */
static void thread_T12_tags(void **state)
{
	prompt("{\"name\": \"n\", \"body\": \"B\"}", "{}",
	       "INSTR\n\n<directive name=\"n\">\n\nB\n\n</directive>");
	prompt("{\"description\": \"d\", \"body\": \"B\"}", "{}",
	       "INSTR\n\n<directive>\n<description>d</description>\n\nB\n\n</directive>");
	prompt("{\"name\": \"\", \"description\": \"\", \"body\": \"B\"}", "{}", "INSTR\n\nB");
	sent(H("", ""), "INSTRUCTION\n\n<directive name=\"H\">\n\nGreets somebody.\n\nKindly.\n\n"
			"Greet Bob.\n\n</directive>");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(T99_whole_prompt),
		cmocka_unit_test(T100_body_alone),
		cmocka_unit_test(T101_outputs_as_object),
		cmocka_unit_test(thread_T10_golden_prompt),
		cmocka_unit_test(thread_T11_outputs),
		cmocka_unit_test(thread_T12_tags),
		cmocka_unit_test(instruction_is_the_bundles),
		cmocka_unit_test(render),
		cmocka_unit_test(prompt_of_item),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
