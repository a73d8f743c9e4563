/* SPDX-License-Identifier: MIT */
/* test_exec_message.c - what the engine makes of the bytes of one message. */
#include "rye_test.h"

#include "parse/parse.h"

#include <string.h>

static void read_as(enum rye_form form, const char *text, const char *wanted)
{
	struct rye_err err = { 0 };
	json_t *doc = message_read((struct rye_span){ text, strlen(text) }, form, &err);
	char *json = doc ? json_dumps(doc, JSON_COMPACT) : NULL;

	if (wanted) {
		assert_non_null(json);
		assert_string_equal(json, wanted);
	} else {
		assert_null(json);
		assert_int_equal(err.code, RYE_INVALID);
		assert_true(*err.msg);
	}
	free(json);
	json_decref(doc);
}

static void yaml(const char *text, const char *wanted)
{
	read_as(RYE_FORM_YAML, text, wanted);
}

static void lines(void **state)
{
	yaml("command: ls -la\n", "{\"command\":\"ls -la\"}");
	yaml("command: ls -la  # all\n", "{\"command\":\"ls -la\"}");
	yaml("command: echo a#b\n", "{\"command\":\"echo a#b\"}");
	yaml("command: \"a\\tb\\x41\\u20ac\"\n", "{\"command\":\"a\\tbA\xe2\x82\xac\"}");
	yaml("command: 'it''s'\n", "{\"command\":\"it's\"}");
	yaml("command: it's \"so\"\n", "{\"command\":\"it's \\\"so\\\"\"}");
	yaml("\"a b\": 1\n", "{\"a b\":1}");
	yaml("a:\n", "{\"a\":null}");
	yaml("url: http://x/y?z=1\n", "{\"url\":\"http://x/y?z=1\"}");
	yaml("paths: [a, 'b, c', {d: e}]\n", "{\"paths\":[\"a\",\"b, c\",{\"d\":\"e\"}]}");
	yaml("{a: 1, b: [x y, z], \"c\": 2, d, e: }\n",
	     "{\"a\":1,\"b\":[\"x y\",\"z\"],\"c\":2,\"d\":null,\"e\":null}");
	yaml("{a: 1,}\n", "{\"a\":1}");
	yaml("{}\n", "{}");
	yaml("a: 1\nb: two\n", "{\"a\":1,\"b\":\"two\"}");
	yaml("# first\n---\na: 1\r\n\r\nb: 2\r\n", "{\"a\":1,\"b\":2}");
	yaml("text: |\n  one\n  two\nlist:\n- a\n- b: c\n",
	     "{\"text\":\"one\\ntwo\\n\",\"list\":[\"a\",{\"b\":\"c\"}]}");
	yaml("a: &x {k: v}\nb: *x\n", "{\"a\":{\"k\":\"v\"},\"b\":{\"k\":\"v\"}}");
}

/* A line whose value may stand below it is a part, in whatever tool. */
static void one_line(void **state)
{
	static const char *const open[] = { "a:\n",	"a: |\n", "a: >-\n",
					    "a: # b\n", "- a\n",  "---\n" };

	read_as(RYE_FORM_LINE, "command: ls -la\n", "{\"command\":\"ls -la\"}");
	read_as(RYE_FORM_LINE, "a: ''\n", "{\"a\":\"\"}");
	read_as(RYE_FORM_LINE, "a: \"\"\n", "{\"a\":\"\"}");
	read_as(RYE_FORM_LINE, "a: []\n", "{\"a\":[]}");
	read_as(RYE_FORM_LINE, "{a: }\n", "{\"a\":null}");
	for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++)
		read_as(RYE_FORM_LINE, open[i], NULL);
}

/* By the rules of YAML 1.1, but for readings that surprise a person that types the value. */
static void scalars(void **state)
{
	yaml("{a: ~, b: null, c: True, d: off, e: yes, f: y}\n",
	     "{\"a\":null,\"b\":null,\"c\":true,\"d\":false,\"e\":true,\"f\":\"y\"}");
	yaml("{a: 0, b: -12, c: +3, d: 1_000, e: 0x1F, f: 010, g: 0b101, h: 08}\n",
	     "{\"a\":0,\"b\":-12,\"c\":3,\"d\":1000,\"e\":31,\"f\":8,\"g\":5,\"h\":\"08\"}");
	yaml("{a: 1.5, b: .5, c: 2., d: 1.5e+3, e: 1e3, f: ., h: 1.2.3}\n",
	     "{\"a\":1.5,\"b\":0.5,\"c\":2.0,\"d\":1500.0,\"e\":\"1e3\",\"f\":\".\","
	     "\"h\":\"1.2.3\"}");
	yaml("{a: 12:30, b: 2026-1-02, c: 99999999999999999999, d: 1:30.5}\n",
	     "{\"a\":\"12:30\",\"b\":\"2026-1-02\",\"c\":\"99999999999999999999\","
	     "\"d\":\"1:30.5\"}");
	yaml("a: '1'\n", "{\"a\":\"1\"}");
	yaml("no: 1\n12: 2\n2026-1-2: 3\n", "{\"no\":1,\"12\":2,\"2026-1-2\":3}");
}

static void refused(void **state)
{
	static const char *const texts[] = {
		"a\n",	      "- a\n",		"a: b: c\n",	     "a:b\n",	     "a: *x\n",
		"a: !t b\n",  "a: \"b\n",	"a: 'b\n",	     "a: \"b\" c\n", "a: [b\n",
		"{a: b\n",    "[a, b]\n",	"{a: b} c\n",	     "a: \"\\q\"\n", "a: [b}\n",
		"a: [,]\n",   "# a\n",		"a: \x01\n",	     "a: - b\n",     "",
		"\"a\"\n",    "---\n",		"a: 1\n---\nb: 2\n", "a: 1\na: 2\n", "a: \xff\n",
		"\t- a: 1\n", "no: 1\nno: 2\n",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		yaml(texts[i], NULL);
	read_as(RYE_FORM_JSON, "{\"a\":1,\"a\":2}", NULL);
	read_as(RYE_FORM_JSON, "{\"a\":tru}", NULL);
	read_as(RYE_FORM_JSON, "[1]", NULL);
}

/* An editor that read `run` and saved it. */
static void replies(void **state)
{
	static const char *const texts[] = {
		"{\"status\":\"success\",\"type\":\"tool\",\"data\":{},\"metadata\":{"
		"\"duration_ms\":3}}",
		"{\"status\":\"error\",\"error\":\"it failed\",\"item_id\":\"a\",\"metadata\":{"
		"\"duration_ms\":0}}",
		"{\"status\":\"error\",\"error\":\"message unfinished\"}",
		"{\"status\":\"running\",\"thread_id\":\"t-1\"}",
		"{\"status\":\"running\"}",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		read_as(RYE_FORM_JSON, texts[i], NULL);
		read_as(RYE_FORM_YAML, texts[i], NULL);
	}
	/* parameters of those names are none */
	read_as(RYE_FORM_JSON, "{\"status\":\"open\"}", "{\"status\":\"open\"}");
	read_as(RYE_FORM_JSON, "{\"status\":\"error\",\"error\":\"x\",\"job\":1}",
		"{\"status\":\"error\",\"error\":\"x\",\"job\":1}");
	read_as(RYE_FORM_JSON, "{\"status\":\"running\",\"pid\":1}",
		"{\"status\":\"running\",\"pid\":1}");
	read_as(RYE_FORM_JSON, "{\"metadata\":{\"duration_ms\":3}}",
		"{\"metadata\":{\"duration_ms\":3}}");
}

static void too_big(void **state)
{
	size_t size = (16u << 20) + 1;
	char *text = malloc(size);
	struct rye_err err = { 0 };

	assert_non_null(text);
	memset(text, ' ', size);
	memcpy(text, "{}", 2);
	assert_null(message_read((struct rye_span){ text, size }, RYE_FORM_JSON, &err));
	assert_int_equal(err.code, RYE_TOO_BIG);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines),   cmocka_unit_test(one_line), cmocka_unit_test(scalars),
		cmocka_unit_test(refused), cmocka_unit_test(replies),  cmocka_unit_test(too_big),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
