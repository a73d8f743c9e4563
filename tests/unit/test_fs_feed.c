/* SPDX-License-Identifier: MIT */
/*
 * test_fs_feed.c - the messages a control file takes, as shells and languages cut them.
 */
#include "rye_test.h"

#include "err.h"
#include "scope.h"
#include "talk/talk_inner.h"

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

/* In one write. */
static void whole(const char *bytes, const char *wanted)
{
	char text[4096];

	transcribe(bytes, strlen(bytes), strlen(bytes), text, sizeof(text));
	assert_string_equal(text, wanted);
}

static void blank_lines(void **state)
{
	char text[64];

	whole("\n", "{}|");
	whole("\r\n", "{}|");
	whole(" \t\n", "{}|");
	whole("   ", "");
	/* a write of several is one message, several writes are several */
	whole("\n\n", "{}|");
	transcribe("\n\n", 2, 1, text, sizeof(text));
	assert_string_equal(text, "{}|{}|");
	/* before a message they belong to it */
	whole("\n \r\n{\"a\":1}", "{\"a\":1}|");
	whole("\n\na: 1\n", "a: 1\n|");
	/* those behind a message are its own */
	expect("{\"a\":1}\n\n\n", "{\"a\":1}|");
	expect("{\"a\":1}\n\n{\"b\":2}", "{\"a\":1}|{\"b\":2}|");
}

static void yaml(void **state)
{
	whole("a: 1\n", "a: 1\n|");
	whole("a: 1\nb: 2\n\n", "a: 1\nb: 2\n\n|");
	whole("text: |\r\n  x\r\n", "text: |\r\n  x\r\n|");
	/* its indentation is a part of it */
	whole("\n  a: 1\n  b: 2\n", "  a: 1\n  b: 2\n|");
	whole("{\"a\":1}\n  b: 1\n", "{\"a\":1}|  b: 1\n|");
	whole("{a: 1}\n", "{a: 1}\n|");
	whole("{\n a: 1\n}\n", "{\n a: 1\n}\n|");
	whole("[1]\n", "[1]\n|");
	/* an object frames itself, so text behind its brace is another message */
	whole("{\"a\":1} b: 1\n", "{\"a\":1}| b: 1\n|");
	/* blank lines behind it are its own */
	whole("a: 1\n", "a: 1\n|");
}

static void marks(void **state)
{
	expect("\xef\xbb\xbf{\"a\":1}\n", "{\"a\":1}|");
	expect("\xef\xbb\xbf{}\xef\xbb\xbf{\"a\":1}", "{}|{\"a\":1}|");
	whole("\xef\xbb\xbf"
	      "a: 1\n",
	      "a: 1\n|");
	whole("\xef\xbb\xbf\n", "{}|");
	whole("\xef\xbb\xbf\xef\xbb\xbf{}", "!");
	whole("\xef\xbb", "");
	/* a letter that only begins like one */
	whole("\xef\xbc\x81: 1\n", "\xef\xbc\x81: 1\n|");
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
	expect("{\"a\":\"x\n", "!");
	whole("a: 1", "!");
	whole("{\"a\":1}\nb: 1", "{\"a\":1}|!");
	whole("{a: 1}", "!");
}

/* Only the newline is wanted: with it the text is taken at the same place. */
static void yaml_unended(void **state)
{
	struct feed feed;
	size_t used;

	feed_init(&feed);
	assert_int_equal(feed_step(&feed, (struct rye_span){ "command: make", 13 }, &used),
			 FEED_GARBAGE);
	assert_int_equal(feed.sys, EINVAL);
	assert_non_null(strstr(feed.why, "end it with a newline"));
	assert_false(feed_broken(&feed));
	assert_int_equal(feed_step(&feed, (struct rye_span){ "command: make\n", 14 }, &used),
			 FEED_COMPLETE);
	assert_int_equal(feed.form, RYE_FORM_LINE);
	/* an object that was begun by an earlier write goes on as JSON only */
	assert_int_equal(feed_step(&feed, (struct rye_span){ "{\n", 2 }, &used), FEED_MORE);
	assert_int_equal(feed_step(&feed, (struct rye_span){ " a: 1\n", 6 }, &used), FEED_GARBAGE);
	assert_true(feed_broken(&feed));
	feed_done(&feed);
}

static enum feed_verdict step(struct feed *feed, const char *text)
{
	size_t used;

	return feed_step(feed, (struct rye_span){ text, strlen(text) }, &used);
}

/* One line may be a part of a message; where it was none, the next ones are none. */
static void yaml_line(void **state)
{
	static const char *const several[] = { "a: 1\nb: 2\n", "# both\na: 1\n", "a:\n- 1\n" };
	static const char *const single[] = { "a: 1\n", "a: 1\n\n \r\n", "\na: 1\n", "{a: 1}\n" };
	struct feed feed;

	feed_init(&feed);
	for (size_t i = 0; i < ARRAY_SIZE(several); i++) {
		assert_int_equal(step(&feed, several[i]), FEED_COMPLETE);
		assert_int_equal(feed.form, RYE_FORM_YAML);
	}
	for (size_t i = 0; i < ARRAY_SIZE(single); i++) {
		feed_restart(&feed);
		assert_int_equal(step(&feed, single[i]), FEED_COMPLETE);
		assert_int_equal(feed.form, RYE_FORM_LINE);
	}
	feed_refuse(&feed);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(step(&feed, i == 1 ? "\n" : "b: 2\n"), FEED_GARBAGE);
		assert_string_equal(feed.why, ERR_SEVERAL);
	}
	assert_int_equal(step(&feed, "{\"a\":1}\n"), FEED_COMPLETE);
	assert_int_equal(step(&feed, "b: 2\n"), FEED_COMPLETE);
	/* its reply was read: what comes now was written with that in mind */
	feed_refuse(&feed);
	feed_fresh(&feed);
	assert_int_equal(step(&feed, "b: 2\n"), FEED_COMPLETE);
	feed_done(&feed);
}

/* What the kernel may have cut out of a longer write is not run by half. */
static void yaml_cut(void **state)
{
	struct feed feed;
	size_t used;

	feed_init(&feed);
	feed.cut = true;
	assert_int_equal(feed_step(&feed, (struct rye_span){ "a: 1\n", 5 }, &used), FEED_GARBAGE);
	assert_int_equal(feed.sys, EFBIG);
	feed_restart(&feed);
	assert_int_equal(feed_step(&feed, (struct rye_span){ "{}\n", 3 }, &used), FEED_COMPLETE);
	feed_done(&feed);
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
	transcribe("{\"]\n{}\n", 7, 4, text, sizeof(text));
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
}

static void take(struct feed *feed, const char *text, size_t size)
{
	struct rye_blob *blob;
	size_t used;

	assert_int_equal(feed_step(feed, (struct rye_span){ text, size }, &used), FEED_COMPLETE);
	blob = feed_take(feed);
	assert_null(feed->room);
	assert_non_null(blob);
	assert_int_equal(blob->len, size);
	assert_memory_equal(blob->data, text, size);
	assert_int_equal(blob->data[size], 0);
	rye_blob_unref(blob);
}

/* A message is given away with the room it lies in: the next one has its own. */
static void taken(void **state)
{
	static const size_t sizes[] = { 5, 100, 5000, 1 << 20 };
	struct feed feed;
	size_t used;

	feed_init(&feed);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char *text = malloc(sizes[i]);

		assert_non_null(text);
		memset(text, ' ', sizes[i]);
		text[0] = '{';
		text[sizes[i] - 1] = '}';
		take(&feed, text, sizes[i]);
		assert_int_equal(feed.form, RYE_FORM_JSON);
		assert_int_equal(feed_step(&feed, (struct rye_span){ "\n{}", 3 }, &used),
				 FEED_COMPLETE);
		feed_restart(&feed);
		memcpy(text, "a: 1", 4);
		text[sizes[i] - 1] = '\n';
		take(&feed, text, sizes[i]);
		assert_int_equal(feed.form, RYE_FORM_LINE);
		free(text);
	}
	feed_done(&feed);
}

/* Verbs for a thread: a write that is not blank is one, with its newline or without. */
static void lines(void **state)
{
	static const char *const verbs[] = { "cancel", "say {a: b\n", "limit turns=3\nand more" };
	char longest[FEED_LINE_MAX + 1];
	struct feed feed;
	size_t used;

	feed_init(&feed);
	feed.lines = true;
	assert_int_equal(feed_step(&feed, (struct rye_span){ " \n", 2 }, &used), FEED_MORE);
	assert_int_equal(used, 2);
	memset(longest, 'x', sizeof(longest));
	assert_int_equal(feed_step(&feed, (struct rye_span){ longest, sizeof(longest) }, &used),
			 FEED_GARBAGE);
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
		struct rye_span verb = { verbs[i], strlen(verbs[i]) };

		assert_int_equal(feed_step(&feed, verb, &used), FEED_COMPLETE);
		assert_int_equal(used, verb.len);
		assert_int_equal(feed_message(&feed).len, verb.len);
		assert_memory_equal(feed_message(&feed).ptr, verb.ptr, verb.len);
	}
	feed_done(&feed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects),
		cmocka_unit_test(blank_lines),
		cmocka_unit_test(yaml),
		cmocka_unit_test(marks),
		cmocka_unit_test(taken),
		cmocka_unit_test(fresh),
		cmocka_unit_test(garbage),
		cmocka_unit_test(yaml_unended),
		cmocka_unit_test(yaml_cut),
		cmocka_unit_test(yaml_line),
		cmocka_unit_test(nul),
		cmocka_unit_test(tail_of_garbage),
		cmocka_unit_test(deep),
		cmocka_unit_test(too_big),
		cmocka_unit_test(what_is_missing),
		cmocka_unit_test(lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
