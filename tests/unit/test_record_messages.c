/* SPDX-License-Identifier: MIT */
/* The conversation of a transcript: what is part of it, and what of it fits. */
#include "record_place.h"
#include "messages_read.h"
#include "told.h"
#include "rye_json.h"

#include "bounds.h"
#include "record/record_inner.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#define LINE(type, payload) "{\"event_type\":\"" type "\",\"payload\":{" payload "}}\n"
#define SAID(text) LINE("cognition_in", "\"text\":\"" text "\",\"role\":\"user\"")
#define ANSWER(text, more) LINE("cognition_out", "\"text\":\"" text "\"" more)

typedef int (*messages_fn)(struct rye_span transcript, json_t **ret, struct rye_err *err);

static void read_as(messages_fn fn, const char *transcript, const char *want)
{
	json_t *list = NULL;

	assert_works(&told_err, fn(span_of(transcript), &list, &told_err));
	same_json(list, want);
}

/* What was cut, refused or unreadable is no part of a conversation; a pause is sent back as it is. */
static void messages_that_are_none(void **state)
{
	static const char text[] = SAID("a") ANSWER("b", ",\"is_partial\":true") SAID(
		"a") ANSWER("c", ",\"finish_reason\":\"refusal\"")
		ANSWER("d", ",\"finish_reason\":\"bad_call\"") ANSWER("e", ",\"raw\":{\"x\":1}")
			LINE("cognition_in", "\"text\":\"e\",\"role\":\"assistant\"");

	read_as(messages_of, text,
		"[{\"role\":\"user\",\"content\":\"a\"},"
		"{\"role\":\"assistant\",\"content\":\"e\"}]");
	read_as(messages_replay, text,
		"[{\"role\":\"user\",\"content\":\"a\"},"
		"{\"role\":\"assistant\",\"content\":\"e\",\"raw\":{\"x\":1}}]");
}

/* thread F01: an input that was logged again for a retry is one message. */
static void thread_F01_retried_input(void **state)
{
	read_as(messages_of,
		SAID("a") SAID("a") ANSWER("b", "") SAID("a") LINE("tool_call_start",
								   "\"tool\":\"x\"")
			LINE("tool_call_result", "\"error\":\"no\"") "{\"event_type\":\"cogni",
		"[{\"role\":\"user\",\"content\":\"a\"},"
		"{\"role\":\"assistant\",\"content\":\"b\"},"
		"{\"role\":\"user\",\"content\":\"a\"},"
		"{\"role\":\"tool\",\"tool_call_id\":\"\",\"content\":\"no\"}]");
}

/* thread T29: the ceiling never parts a call and its result. */
static void thread_T29_trimming(void **state)
{
	auto_json json_t *list = json_loads(
		"[{\"role\":\"user\",\"content\":\"aaaaaaaa\"},"
		"{\"role\":\"assistant\",\"content\":\"bbbb\",\"tool_calls\":[{\"id\":\"c\"}]},"
		"{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"cccc\"},"
		"{\"role\":\"user\",\"content\":\"dddd\"},{\"role\":\"assistant\",\"content\":\"e\"}]",
		0, NULL);

	for (int tokens = 0; tokens < 20; tokens++) {
		auto_json json_t *kept = messages_trim(list, tokens);
		size_t n = json_array_size(kept);

		assert_true(n == 2 || n == 5);
		assert_string_equal(json_str(json_array_get(kept, 0), "role"), "user");
		assert_int_equal(n == 5, tokens >= 9);
	}
	json_array_clear(list);
	same_json(messages_trim(list, 100), "[]");
}

/* thread T29: a directive is one message and many turns; its newest turns stay with it. */
static void thread_T29_one_message_and_many_turns(void **state)
{
	auto_json json_t *list = json_loads("[{\"role\":\"user\",\"content\":\"aaaa\"}]", 0, NULL);

	for (int i = 0; i < 9; i++) {
		json_array_append_new(list,
				      json_pack("{s:s, s:s, s:[{s:i}]}", "role", "assistant",
						"content", "bbbbbbbbb", "tool_calls", "id", i));
		json_array_append_new(list,
				      json_pack("{s:s, s:i, s:s}", "role", "tool", "tool_call_id",
						i, "content", "cccccccccccc"));
	}
	for (int tokens = 0; tokens < 100; tokens++) {
		auto_json json_t *kept = messages_trim(list, tokens);
		size_t n = json_array_size(kept), turns = (size_t)MAX_OF((tokens - 1) / 8, 1);

		/* a turn is eight tokens: five of the answer, three of its result */
		assert_int_equal(n, 1 + 2 * MIN_OF(turns, 9u));
		assert_string_equal(json_str(json_array_get(kept, 0), "role"), "user");
		assert_string_equal(json_str(json_array_get(kept, 1), "role"), "assistant");
		assert_ptr_equal(json_array_get(kept, n - 1), json_array_get(list, 18));
	}
}

/* What is nearly as long as can be read back takes no event any more, but what ends its thread. */
static void a_full_transcript_can_end(void **state)
{
	static const char call[] = LINE("tool_call_start", "\"call_id\":\"b\"");
	auto_free char *line = malloc(1 << 20);
	struct record_place r;
	struct chronicle *t = NULL;
	int fd;

	record_place_make(&r, RECORD_ID);
	fd = openat(r.dir, TRANSCRIPT_FILE, O_WRONLY | O_CREAT, 0600);
	memset(line, ' ', 1 << 20);
	memcpy(line, "{}", 2);
	line[(1 << 20) - 1] = '\n';
	for (size_t size = 0; size < TRANSCRIPT_MAX; size += 1 << 20)
		assert_int_equal(write(fd, line, 1 << 20), 1 << 20);
	close(fd);
	assert_works(&told_err, chronicle_open(&r.record, &t, &told_err));
	assert_refused(&told_err, RYE_TOO_BIG,
		       chronicle_event(t, "cognition_out", json_object(), &told_err));
	assert_string_equal(told_err.msg,
			    RECORD_ID "/transcript.jsonl has the 63 MiB that a thread writes at "
				      "most; mend with: ryefs threads resume " RECORD_ID " go on");
	assert_int_equal(chronicle_close_calls(t, CHRONICLE_TEXT(span_of(call)), "no room", NULL),
			 1);
	assert_works(&told_err, chronicle_event(t, "thread_error", json_object(), &told_err));
	assert_works(&told_err, chronicle_checkpoint(t, 1, &told_err));
	chronicle_close(t);
	record_place_drop(&r);
}

/* {text: …}, so long. */
static json_t *said(size_t size)
{
	auto_free char *text = malloc(size + 1);

	memset(text, 'x', size);
	text[size] = 0;
	return json_pack("{s:s}", "text", text);
}

/* Heard in pieces and then told whole, one answer may take all the room that there is. */
static void what_is_too_long_is_named(void **state)
{
	struct record_place r;
	struct chronicle *t = NULL;

	record_place_make(&r, RECORD_ID);
	assert_works(&told_err, chronicle_open(&r.record, &t, &told_err));
	for (int i = 0; i < 2; i++)
		assert_works(&told_err,
			     chronicle_event(t, "token_delta", said(20 << 20), &told_err));
	assert_refused(&told_err, RYE_TOO_BIG,
		       chronicle_event(t, "token_delta", said(30 << 20), &told_err));
	assert_string_equal(
		told_err.msg,
		"the model's answer is too long: it takes 70 MiB of transcript.jsonl, for "
		"the whole of which a thread has 63; the directive has to ask for less at "
		"once");
	assert_refused(&told_err, RYE_TOO_BIG,
		       chronicle_event(t, "tool_call_start", said(30 << 20), &told_err));
	assert_non_null(
		strstr(told_err.msg, "a call of the model's is too long: it takes 30 MiB "));
	assert_works(&told_err, chronicle_event(t, "thread_error", json_object(), &told_err));
	chronicle_close(t);
	record_place_drop(&r);
}

/* thread T29: a word that was put in later does not push out all that was done before it. */
static void thread_T29_a_word_behind_many_turns(void **state)
{
	auto_json json_t *list = json_loads("[{\"role\":\"user\",\"content\":\"aaaa\"}]", 0, NULL);

	for (int i = 0; i < 9; i++)
		json_array_append_new(list, json_pack("{s:s, s:s}", "role", "assistant", "content",
						      "bbbbbbbb"));
	json_array_append_new(list, json_pack("{s:s, s:s}", "role", "user", "content", "dddd"));
	for (int tokens = 0; tokens < 30; tokens++) {
		auto_json json_t *kept = messages_trim(list, tokens);
		size_t n = json_array_size(kept), turns = tokens < 4 ? 0 : (size_t)(tokens - 2) / 2;

		/* a token of each message of the user's, two of each answer */
		assert_int_equal(n, turns ? 2 + MIN_OF(turns, 9u) : 1);
		assert_ptr_equal(json_array_get(kept, n - 1), json_array_get(list, 10));
		if (turns)
			assert_ptr_equal(json_array_get(kept, 0), json_array_get(list, 0));
	}
}

/* What was cut where it was taken is not all there is: the model is told. */
static void results_that_were_cut(void **state)
{
	auto_free char *words = calloc(1, GUARD_LIMIT + 2);
	struct record_place r;
	auto_json json_t *reply = NULL, *clean = NULL, *brief = json_string("brief");
	auto_buf struct rye_buf out = RYE_BUF_INIT;
	struct guard_ask ask = { .artifact = { "c9", "t", 1, 0 } };
	json_t *data;

	record_place_make(&r, RECORD_ID);
	memset(words, 'w', GUARD_LIMIT + 1);
	reply = json_pack("{s:s, s:{s:s, s:b, s:i}}", "status", "success", "data", "stdout", words,
			  "truncated", 1, "stdout_bytes", 9000);
	data = json_object_get(reply, "data");
	ask.result = clean = guard_clean(reply);
	ask.lost = guard_lost(reply);

	assert_int_equal(ask.lost, 9000 - GUARD_LIMIT - 1);
	assert_works(&told_err, guard_put(&r.record, &ask, &out, &told_err));
	assert_true(out.len <= GUARD_LIMIT);
	assert_ptr_equal(strstr(out.data, "[2401 bytes of at least 9000: the rest was cut and is "
					  "lost; what was kept is .ai/state/objects/blobs/"),
			 out.data);
	buf_clear(&out);
	ask.result = brief;
	assert_works(&told_err, guard_put(&r.record, &ask, &out, &told_err));
	assert_string_equal(out.data,
			    "[5 bytes of at least 6604: the rest was cut and is lost]\nbrief");
	json_object_set_new(data, "stdout_bytes", json_integer(3));
	assert_int_equal(guard_lost(reply), 1);
	json_object_del(data, "truncated");
	assert_int_equal(guard_lost(reply), 0);
	record_place_drop(&r);
}

/* A megabyte of what a model said bit by bit, as another program would write it. */
static void add_deltas(const struct record_place *r, size_t n)
{
	static const char begin[] = "{\"thread_id\":\"" RECORD_ID
				    "\",\"event_type\":\"token_delta\",\"payload\":{\"text\":\"";
	auto_free char *line = malloc(1 << 20);
	int fd = openat(r->dir, TRANSCRIPT_FILE, O_WRONLY | O_APPEND);

	memset(line, 'w', 1 << 20);
	memcpy(line, begin, sizeof(begin) - 1);
	memcpy(line + (1 << 20) - 4, "\"}}\n", 4);
	while (n--)
		assert_int_equal(write(fd, line, 1 << 20), 1 << 20);
	close(fd);
}

static long peak_mb(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss >> 10;
}

/* One that no thread of ours would write is checked, read and closed line by line. */
static void a_long_transcript_is_read(void **state)
{
	const struct resumed next = { "t/next-1", "t/next", "more" };
	struct chronicle_check check;
	struct chronicle *t = NULL;
	struct messages *messages = messages_begin(true);
	const struct chronicle_hearer hearer = { messages_event, messages };
	auto_json json_t *list = NULL;
	struct record_place r;
	long before;

	record_place_make(&r, RECORD_ID);
	assert_works(&told_err, chronicle_open(&r.record, &t, &told_err));
	record_talk(&r, t);
	chronicle_close(t);
	before = peak_mb();
	add_deltas(&r, 65);
	assert_works(&told_err, chronicle_open(&r.record, &t, &told_err));
	assert_refused(&told_err, RYE_TOO_BIG,
		       chronicle_event(t, "cognition_out", json_object(), &told_err));
	assert_works(&told_err, chronicle_checkpoint(t, 9, &told_err));
	assert_works(&told_err,
		     chronicle_audit(&r.record, chronicle_head(t), &hearer, &check, &told_err));
	chronicle_close(t);
	assert_int_equal(check.code, RYE_OK);
	assert_works(&told_err, messages_end(messages, &list, &told_err));
	assert_string_equal(json_str(json_array_get(list, 0), "role"), "user");
	assert_works(&told_err, chronicle_resumed(&r.record, &next, &told_err));
	/* a line, its text, what it is parsed into; a sanitizer keeps what was freed for a while */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	assert_in_range(peak_mb() - before, 0, 24);
#else
	(void)before;
#endif
	record_place_drop(&r);
}

/* Nor is a line of any length. */
static void a_line_without_end(void **state)
{
	struct chronicle_check check;
	struct record_place r;
	int fd;

	record_place_make(&r, RECORD_ID);
	fd = openat(r.dir, TRANSCRIPT_FILE, O_WRONLY | O_CREAT, 0600);
	assert_int_equal(ftruncate(fd, RYE_BUF_CAP * 2ll), 0);
	close(fd);
	assert_works(&told_err, chronicle_audit(&r.record, NULL, NULL, &check, &told_err));
	assert_int_equal(check.code, RYE_TOO_BIG);
	assert_string_equal(check.why.msg,
			    RECORD_ID "/transcript.jsonl has a line of more than 64 MiB");
	record_place_drop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(results_that_were_cut),
		cmocka_unit_test(a_long_transcript_is_read),
		cmocka_unit_test(a_line_without_end),
		cmocka_unit_test(a_full_transcript_can_end),
		cmocka_unit_test(what_is_too_long_is_named),
		cmocka_unit_test(messages_that_are_none),
		cmocka_unit_test(thread_F01_retried_input),
		cmocka_unit_test(thread_T29_trimming),
		cmocka_unit_test(thread_T29_a_word_behind_many_turns),
		cmocka_unit_test(thread_T29_one_message_and_many_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
