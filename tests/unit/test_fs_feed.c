/* SPDX-License-Identifier: MIT */
/*
 * test_fs_feed.c - the messages a control file takes, as shells and languages cut them, and
 * what a line of YAML becomes.
 */
#include "rye_test.h"

#include "feed.h"

#include <errno.h>
#include <stdio.h>

/* Feeds `bytes` cut into pieces of `cut` and writes down what came: messages between bars,
 * "!" for garbage, "…" for something unfinished. */
static void transcribe(const char *bytes, size_t len, size_t cut, char *text, size_t size)
{
	struct feed feed;
	char why[240];

	feed_init(&feed);
	text[0] = '\0';
	for (size_t i = 0; i < len; i += cut) {
		struct rye_span piece = { bytes + i, len - i < cut ? len - i : cut };

		while (piece.len) {
			size_t used, n = strlen(text);
			enum feed_verdict verdict = feed_step(&feed, piece, &used);
			struct rye_span message = feed_message(&feed);

			assert_in_range(used, 1, piece.len);
			piece = (struct rye_span){ piece.ptr + used, piece.len - used };
			if (verdict == FEED_COMPLETE)
				snprintf(text + n, size - n, "%.*s|", (int)message.len,
					 message.ptr);
			else if (verdict == FEED_GARBAGE)
				snprintf(text + n, size - n, "!");
			if (verdict == FEED_GARBAGE)
				break;
		}
	}
	if (feed_unfinished(&feed, why, sizeof(why)))
		snprintf(text + strlen(text), size - strlen(text), "...");
	feed_done(&feed);
}

static void expect(const char *bytes, const char *wanted)
{
	static const size_t cuts[] = { 1, 2, 3, 7, 4096 };
	char text[4096];

	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		/* what follows garbage in the same write is lost with it: only whole there */
		if (strchr(wanted, '!') && cuts[i] != 4096)
			continue;
		transcribe(bytes, strlen(bytes), cuts[i], text, sizeof(text));
		assert_string_equal(text, wanted);
	}
}

static void objects(void **state)
{
	expect("{\"a\":1}", "{\"a\":1}|");
	expect("{\"a\":1}\n", "{\"a\":1}|");
	expect("  {\"a\":1}\r\n", "{\"a\":1}|");
	expect("{\"a\":\"}\"}\n", "{\"a\":\"}\"}|");
	expect("{\"a\":\"\\\"}\"}\n", "{\"a\":\"\\\"}\"}|");
	expect("{\"a\":[{},[]]}", "{\"a\":[{},[]]}|");
	expect("{\n \"a\": 1\n}\n", "{\n \"a\": 1\n}|");
	expect("{}{}", "{}|{}|");
	expect("{\"a\":1}\n{\"b\":2}\n", "{\"a\":1}|{\"b\":2}|");
	expect("{\"a\":", "...");
	expect("{\"a\":1}\n{", "{\"a\":1}|...");
}

static void blank_lines(void **state)
{
	expect("\n", "{}|");
	expect("\r\n", "{}|");
	expect(" \t\n", "{}|");
	expect("\n\n", "{}|{}|");
	/* those behind a message are its own */
	expect("{\"a\":1}\n\n\n", "{\"a\":1}|");
	expect("a: 1\n\n", "{\"a\":1}|");
	expect("{\"a\":1}\n\n{\"b\":2}", "{\"a\":1}|{\"b\":2}|");
}

/* Once the reader has taken the reply, an empty line is a message again. */
static void fresh(void **state)
{
	struct feed feed;
	size_t used;

	feed_init(&feed);
	assert_int_equal(feed_step(&feed, (struct rye_span){ "{}\n", 3 }, &used), FEED_COMPLETE);
	assert_int_equal(used, 2);
	assert_int_equal(feed_step(&feed, (struct rye_span){ "\n", 1 }, &used), FEED_MORE);
	assert_int_equal(feed_step(&feed, (struct rye_span){ "\n", 1 }, &used), FEED_MORE);
	feed_fresh(&feed);
	assert_int_equal(feed_step(&feed, (struct rye_span){ "\n", 1 }, &used), FEED_COMPLETE);
	feed_done(&feed);
	/* the newline of a closing brace belongs to it whatever happened in between */
	assert_int_equal(feed_step(&feed, (struct rye_span){ "{}", 2 }, &used), FEED_COMPLETE);
	feed_fresh(&feed);
	assert_int_equal(feed_step(&feed, (struct rye_span){ "\n", 1 }, &used), FEED_MORE);
	feed_done(&feed);
}

static void garbage(void **state)
{
	expect("{\"a\":1]", "!");
	expect("[1]\n", "!");
	expect("{\"a\":\"x\n", "!");
	expect("hello\n", "!");
	expect("a:1\n", "!");
	expect("{\n a: 1\n}", "!");
	expect("a: b: c\n", "!");
	expect("\xef\xbb\xbf{}", "!");
}

static void nul(void **state)
{
	char text[256];

	transcribe("\0", 1, 1, text, sizeof(text));
	assert_string_equal(text, "!");
	transcribe("{\"a\":\"\0\"}", 9, 9, text, sizeof(text));
	assert_string_equal(text, "!");
	transcribe("a: \0\n", 5, 5, text, sizeof(text));
	assert_string_equal(text, "!");
}

/* bash goes on line by line after an error: the tail of a broken object must not run. */
static void tail_of_garbage(void **state)
{
	char text[256];
	const char *bytes = "{\n\"a: 1,\n \"b\": 2,\nc: 3\n\n}\n";
	struct feed feed;
	size_t used, broken = 0;

	feed_init(&feed);
	for (const char *p = bytes; *p; p = strchr(p, '\n') + 1) {
		struct rye_span line = { p, strchr(p, '\n') + 1 - p };
		enum feed_verdict verdict = feed_step(&feed, line, &used);

		assert_int_not_equal(verdict, FEED_COMPLETE);
		broken += verdict == FEED_GARBAGE;
	}
	assert_int_equal(broken, 5);
	/* but a corrected one does */
	assert_int_equal(feed_step(&feed, (struct rye_span){ "{}\n", 3 }, &used), FEED_COMPLETE);
	feed_done(&feed);
	transcribe("{]\n{}\n", 6, 3, text, sizeof(text));
	assert_string_equal(text, "!{}|");
}

static void deep(void **state)
{
	char text[256], bytes[600];

	memset(bytes, '[', sizeof(bytes));
	memcpy(bytes, "{\"a\":", 5);
	transcribe(bytes, sizeof(bytes), 64, text, sizeof(text));
	assert_int_equal(text[0], '!');
}

static void too_big(void **state)
{
	struct feed feed;
	size_t used, n = 1 << 20;
	char *piece = malloc(n);
	enum feed_verdict verdict = FEED_MORE;

	assert_non_null(piece);
	memset(piece, 'x', n);
	feed_init(&feed);
	feed_step(&feed, (struct rye_span){ "{\"a\":\"", 6 }, &used);
	for (int i = 0; i < 17 && verdict == FEED_MORE; i++)
		verdict = feed_step(&feed, (struct rye_span){ piece, n }, &used);
	assert_int_equal(verdict, FEED_GARBAGE);
	assert_int_equal(feed.sys, EFBIG);
	feed_done(&feed);
	free(piece);
}

static void unfinished(const char *bytes, const char *wanted)
{
	struct feed feed;
	size_t used;
	char why[240] = "";

	feed_init(&feed);
	feed_step(&feed, (struct rye_span){ bytes, strlen(bytes) }, &used);
	assert_int_equal(feed_unfinished(&feed, why, sizeof(why)), *wanted != '\0');
	assert_string_equal(why, wanted);
	feed_done(&feed);
}

static void what_is_missing(void **state)
{
	unfinished("", "");
	unfinished("{}", "");
	unfinished("{\"a\": [1,\n",
		   "message unfinished: 10 bytes came, wanted ] for what begins in "
		   "line 1, column 7");
	unfinished("{\n \"a\": \"b", "message unfinished: 10 bytes came, wanted \" for what begins "
				     "in line 2, column 7");
	unfinished("command: l", "message unfinished: 10 bytes came, wanted the end of the line");
}

static void yaml(const char *line, const char *wanted)
{
	char *json = NULL, why[240];
	size_t len;
	int sys = feed_yaml((struct rye_span){ line, strlen(line) }, &json, &len, why);

	if (wanted) {
		assert_int_equal(sys, 0);
		assert_string_equal(json, wanted);
		assert_int_equal(len, strlen(wanted));
	} else {
		assert_int_equal(sys, EINVAL);
	}
	free(json);
}

static void yaml_lines(void **state)
{
	yaml("command: ls -la", "{\"command\":\"ls -la\"}");
	yaml("command: ls -la  # all", "{\"command\":\"ls -la\"}");
	yaml("command: echo a#b", "{\"command\":\"echo a#b\"}");
	yaml("command: \"a\\tb\\x41\\u20ac\"", "{\"command\":\"a\\u0009bA\xe2\x82\xac\"}");
	yaml("command: 'it''s'", "{\"command\":\"it's\"}");
	yaml("command: it's \"so\"", "{\"command\":\"it's \\\"so\\\"\"}");
	yaml("\"a b\": 1", "{\"a b\":1}");
	yaml("a:", "{\"a\":null}");
	yaml("yes: no", "{\"yes\":false}");
	yaml("url: http://x/y?z=1", "{\"url\":\"http://x/y?z=1\"}");
	yaml("paths: [a, 'b, c', {d: e}]", "{\"paths\":[\"a\",\"b, c\",{\"d\":\"e\"}]}");
	yaml("{a: 1, b: [x y, z], \"c\":2, d, e: }",
	     "{\"a\":1,\"b\":[\"x y\",\"z\"],\"c\":2,\"d\":null,\"e\":null}");
	yaml("{a: 1,}", "{\"a\":1}");
	yaml("{}", "{}");
}

static void yaml_scalars(void **state)
{
	yaml("{a: ~, b: null, c: True, d: off, e: yes, f: y}",
	     "{\"a\":null,\"b\":null,\"c\":true,\"d\":false,\"e\":true,\"f\":\"y\"}");
	yaml("{a: 0, b: -12, c: +3, d: 1_000, e: 0x1F, f: 010, g: 0b101, h: 08}",
	     "{\"a\":0,\"b\":-12,\"c\":3,\"d\":1000,\"e\":31,\"f\":8,\"g\":5,\"h\":\"08\"}");
	yaml("{a: 1.5, b: .5, c: 2., d: 1.5e+3, e: 1e3, f: ., g: .e+5, h: 1.2.3}",
	     "{\"a\":1.5,\"b\":0.5,\"c\":2.0,\"d\":1500.0,\"e\":\"1e3\",\"f\":\".\",\"g\":\".e+5\","
	     "\"h\":\"1.2.3\"}");
	yaml("{a: 12:30, b: 2026-01-02, c: 99999999999999999999}",
	     "{\"a\":\"12:30\",\"b\":\"2026-01-02\",\"c\":\"99999999999999999999\"}");
	yaml("a: '1'", "{\"a\":\"1\"}");
}

static void yaml_refused(void **state)
{
	static const char *const lines[] = {
		"a",	  "- a",      "a: b: c",	"a:b",
		"a: |",	  "a: &x b",  "a: *x",		"a: !t b",
		"a: \"b", "a: 'b",    "a: \"b\" c",	"a: [b",
		"{a: b",  "{a: b} c", "[a, b]",		"a: \"\\q\"",
		"a: [b}", "a: [,]",   "a: \"\\u0000\"", "? a",
		": a",	  "# a",      "a: \x01",	"a: - b",
		"",	  "\"a\"",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		yaml(lines[i], NULL);
}

/* A long message is given away with the room it lies in, a short one leaves it for the next. */
static void taken(void **state)
{
	static const size_t sizes[] = { 2, 100, 5000, 1 << 20 };
	struct feed feed;

	feed_init(&feed);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char *text = malloc(sizes[i]);
		struct rye_blob *blob;
		size_t used;

		assert_non_null(text);
		memset(text, ' ', sizes[i]);
		text[0] = '{';
		text[sizes[i] - 1] = '}';
		assert_int_equal(feed_step(&feed, (struct rye_span){ text, sizes[i] }, &used),
				 FEED_COMPLETE);
		blob = feed_take(&feed);
		assert_non_null(blob);
		assert_int_equal(blob->len, sizes[i]);
		assert_memory_equal(blob->data, text, sizes[i]);
		assert_int_equal(blob->data[sizes[i]], 0);
		rye_blob_unref(blob);
		free(text);
		assert_int_equal(feed_step(&feed, (struct rye_span){ "\n{}", 3 }, &used),
				 FEED_COMPLETE);
		feed_restart(&feed);
	}
	feed_done(&feed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects),	   cmocka_unit_test(blank_lines),
		cmocka_unit_test(taken),	   cmocka_unit_test(fresh),
		cmocka_unit_test(garbage),	   cmocka_unit_test(nul),
		cmocka_unit_test(tail_of_garbage), cmocka_unit_test(deep),
		cmocka_unit_test(too_big),	   cmocka_unit_test(what_is_missing),
		cmocka_unit_test(yaml_lines),	   cmocka_unit_test(yaml_scalars),
		cmocka_unit_test(yaml_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
