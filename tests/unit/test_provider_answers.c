/* SPDX-License-Identifier: MIT */
/*
 * Answers as servers send them that are not quite what their documents say: halves of characters, other
 * content types, unknown reasons to stop, ids of calls twice or not at all, keys in the text. On every wire.
 */
#include "provider_model.h"

#include "bounds.h"
#include "provider/provider_inner.h"
#include "wire/wire_inner.h"

/* One server for the answers of all cases, in their order. */
static void serve_answers(struct provider_place *p, size_t times, const char *answers)
{
	auto_buf struct rye_buf script = RYE_BUF_INIT;

	buf_adds(&script, "[");
	for (size_t i = 0; i < times; i++)
		buf_addf(&script, "%s%s", i ? ", " : "", answers);
	buf_adds(&script, "]");
	provider_serve_as(p, "vendor_server.py", script.data);
}

static void begin(struct provider_place *p, const char *wire)
{
	provider_free(p->provider);
	json_decref(p->messages);
	p->provider = NULL;
	p->messages = NULL;
	model_open(p, wire, "");
}

static const json_t *block_nth(const struct provider_place *p, size_t n)
{
	return json_array_get(json_object_get(p->got.message, "blocks"), n);
}

static void is_answered(struct provider_place *p)
{
	model_attempt(p);
	if (p->got.failure.class != FAULT_NONE)
		fail_msg("%s: %s", p->provider->wire_name, p->got.failure.sentence);
}

/* ---- halves of surrogate pairs ---- */

static void halves_of_texts(void **state)
{
	struct provider_place *p = *state;

	serve_answers(p, ARRAY_SIZE(provider_wires),
		      "{\"text\": [\"a\\ud83d\", \"\\ude00b\", \"c\\ud83d\", \"d\", "
		      "\"\\ude00e\\ud83d\"]}, {\"text\": \"b\"}");
	for (size_t i = 0; i < ARRAY_SIZE(provider_wires); i++) {
		begin(p, provider_wires[i]);
		is_answered(p);
		assert_string_equal(json_str(block_nth(p, 0), "text"), "a\xf0\x9f\x98\x80"
								       "bc\xef\xbf\xbd"
								       "d\xef\xbf\xbd"
								       "e\xef\xbf\xbd");
		/* and so it goes back */
		model_keep(p, user_message("on"));
		is_answered(p);
	}
}

static void halves_of_arguments(void **state)
{
	struct provider_place *p = *state;
	auto_json json_t *tools = one_tool();
	int n = 0;

	serve_answers(p, ARRAY_SIZE(provider_wires),
		      "{\"calls\": [{\"id\": \"c\", \"name\": \"ls\", \"pieces\": [\"{\\\"p\\\": "
		      "\\\"\\ud83d\", \"\\ude00\\\"}\"]}]}, {\"text\": \"b\"}");
	for (size_t i = 0; i < ARRAY_SIZE(provider_wires); i++) {
		auto_buf struct rye_buf sent = RYE_BUF_INIT;

		/* Gemini's arguments come whole */
		if (!strcmp(provider_wires[i], "gemini_generate"))
			continue;
		begin(p, provider_wires[i]);
		p->request.tools = tools;
		is_answered(p);
		assert_string_equal(json_str(json_object_get(block_nth(p, 0), "arguments"), "p"),
				    "\xf0\x9f\x98\x80");
		model_keep(p, tool_result("c", "ls", "done"));
		is_answered(p);
		n += 2;
		model_sent(p, n, &sent);
		assert_non_null(strstr(sent.data, "\xf0\x9f\x98\x80"));
	}
}

/* ---- what the bytes are ---- */

static void other_types_of_streams(void **state)
{
	static const char *const types[] = { "text/plain", "application/json",
					     "application/octet-stream",
					     "text/html; charset=utf-8" };
	struct provider_place *p = *state;
	auto_buf struct rye_buf script = RYE_BUF_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		buf_addf(&script,
			 "%s{\"text\": [\"a\", \"b\"], \"headers\": {\"content-type\": \"%s\"}}",
			 i ? ", " : "", types[i]);
	serve_answers(p, ARRAY_SIZE(provider_wires), script.data);
	for (size_t i = 0; i < ARRAY_SIZE(provider_wires) * ARRAY_SIZE(types); i++) {
		begin(p, provider_wires[i / ARRAY_SIZE(types)]);
		is_answered(p);
		assert_string_equal(json_str(block_nth(p, 0), "text"), "ab");
	}
}

/* A gateway's page is none, and no reason to ask again and again as for a stream that was cut. */
static void a_page_for_a_stream(void **state)
{
	struct provider_place *p = *state;

	serve_answers(p, 1,
		      "{\"body\": \"<html>Log in.</html>\", \"headers\": {\"content-type\": "
		      "\"text/html\"}}");
	begin(p, "openai_chat");
	model_attempt(p);
	assert_string_equal(p->got.failure.type, "unreadable_answer");
	assert_int_not_equal(p->got.failure.class, FAULT_CUT);
}

static void longer_than_is_read(void **state)
{
	static char piece[1 << 20];
	struct provider_place *p = *state;
	struct provider_failure failure = { 0 };
	struct provider_result got = { 0 };
	struct answer answer;
	bool more = true;

	snprintf(p->port, sizeof(p->port), "1");
	begin(p, "openai_chat");
	memset(piece, 'x', sizeof(piece));
	answer_open(&answer, p->provider, &p->request);
	answer_begin(&answer, 200, "text/event-stream");
	more = answer_feed(&answer, SPAN("data: {\"choices\": \""));
	for (size_t n = 0; n <= RYE_PROVIDER_ANSWER_MAX / sizeof(piece) && more; n++)
		more = answer_feed(&answer, (struct rye_span){ piece, sizeof(piece) });
	assert_false(more);
	assert_false(answer_end(&answer, &got));
	fault_classify(
		&(struct fault_in){ .provider = p->provider, .said = &answer.said, .status = 200 },
		&failure);
	assert_int_equal(failure.class, FAULT_INVALID);
	assert_false(failure.retryable);
	assert_string_equal(failure.message, "the answer is longer than is read");
	free(failure.type);
	free(failure.code);
	free(failure.param);
	free(failure.message);
	free(failure.sentence);
	answer_close(&answer);
	provider_result_done(&got);
}

/* ---- reasons to stop ---- */

static void unknown_reasons(void **state)
{
	struct provider_place *p = *state;

	serve_answers(p, ARRAY_SIZE(provider_wires),
		      "{\"text\": \"a\", \"stop\": \"tired\"}, {\"calls\": [{\"id\": \"c\", "
		      "\"name\": \"ls\", \"arguments\": {\"p\": \".\"}}], \"stop\": \"tired\"}");
	for (size_t i = 0; i < ARRAY_SIZE(provider_wires); i++) {
		begin(p, provider_wires[i]);
		model_attempt(p);
		assert_false(p->got.complete);
		assert_int_equal(p->got.failure.class, FAULT_INVALID);
		assert_false(p->got.failure.retryable);
		assert_non_null(strstr(p->got.failure.sentence,
				       "the model stopped for a reason that is not known: tired"));
		assert_true(p->got.usage.known);
		/* whole calls are run */
		is_answered(p);
		assert_int_equal(p->got.stop, STOP_TOOL);
		assert_false(json_flag(block_nth(p, 0), "incomplete", false));
	}
}

/* ---- ids of calls ---- */

#define LONG_CALL "a-name-of-a-call-that-is-longer-than-a-vendor-takes-back-though-it-made-it-"

/* The two calls that came have an id each; their results are taken. */
static void two_calls(struct provider_place *p, const char *wire)
{
	json_t *results;

	begin(p, wire);
	p->request.tools = one_tool();
	is_answered(p);
	assert_string_not_equal(json_str(block_nth(p, 0), "id"), json_str(block_nth(p, 1), "id"));
	results = tool_result(json_str(block_nth(p, 0), "id"), "ls", "one");
	json_array_append_new(json_object_get(results, "blocks"),
			      json_pack("{s:s, s:s, s:s, s:s}", "kind", "tool_result", "id",
					json_str(block_nth(p, 1), "id"), "name", "ls", "text",
					"two"));
	model_keep(p, results);
	is_answered(p);
	json_decref((json_t *)p->request.tools);
	p->request.tools = NULL;
}

static void ids_of_calls(void **state)
{
	static const char *const ids[][2] = { { "c", "c" },
					      { "", "" },
					      { LONG_CALL "1", LONG_CALL "2" } };
	struct provider_place *p = *state;
	auto_buf struct rye_buf script = RYE_BUF_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		buf_addf(&script,
			 "%s{\"calls\": [{\"id\": \"%s\", \"name\": \"ls\"}, {\"id\": \"%s\", "
			 "\"name\": \"ls\"}]}, {\"text\": \"b\"}",
			 i ? ", " : "", ids[i][0], ids[i][1]);
	serve_answers(p, ARRAY_SIZE(provider_wires), script.data);
	for (size_t i = 0; i < ARRAY_SIZE(provider_wires) * ARRAY_SIZE(ids); i++)
		two_calls(p, provider_wires[i / ARRAY_SIZE(ids)]);
}

/* ---- keys in what is shown as it comes ---- */

static void append_shown(void *arg, const struct provider_event *event)
{
	if (event->type == PROVIDER_TEXT || event->type == PROVIDER_REASONING)
		buf_addspan(arg, event->text);
}

static void shown_of(struct provider_place *p, const char *wanted)
{
	auto_buf struct rye_buf shown = RYE_BUF_INIT;
	struct provider_call call = { .http = p->http,
				      .provider = p->provider,
				      .request = &p->request,
				      .until_ms = clock_ms() + 20000,
				      .cancel = -1,
				      .fn = append_shown,
				      .arg = &shown };

	provider_result_done(&p->got);
	provider_exchange(&call, &p->got);
	assert_string_equal(shown.data, wanted);
	assert_string_equal(json_str(block_nth(p, 0), "text"), wanted);
}

static void keys_in_pieces(void **state)
{
	static const char *const texts[][2] = {
		{ "[\"a sk-te\", \"st-12\", \"34 b\"]", "a *** b" },
		{ "[\"sk-test-1234\"]", "***" },
		{ "[\"sk-\", \"sk-test\", \"-123\", \"5 sk-test-123\"]",
		  "sk-sk-test-1235 sk-test-123" },
		{ "[\"s\", \"k-test-1234sk-test-\", \"1234s\"]", "******s" },
	};
	struct provider_place *p = *state;
	auto_buf struct rye_buf script = RYE_BUF_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		buf_addf(&script, "%s{\"text\": %s}", i ? ", " : "", texts[i][0]);
	serve_answers(p, 1, script.data);
	begin(p, "anthropic_messages");
	json_decref(p->provider->secrets);
	p->provider->secrets = json_pack("[s]", "sk-test-1234");
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		shown_of(p, texts[i][1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		provider_test(halves_of_texts),	       provider_test(halves_of_arguments),
		provider_test(other_types_of_streams), provider_test(a_page_for_a_stream),
		provider_test(longer_than_is_read),    provider_test(unknown_reasons),
		provider_test(ids_of_calls),	       provider_test(keys_in_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
