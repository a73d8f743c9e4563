/* SPDX-License-Identifier: MIT */
/*
 * Streams as servers send them. Of chat completions: cut anywhere, with CRLF and comments, counts in
 * several places or none, calls in pieces. Of steps and blocks: those that begin whole, or as nothing.
 */
#include "rye_json.h"

#include "base/json.h"
#include "provider/provider_inner.h"
#include "wire/wire_inner.h"
#include "str.h"

struct stream {
	json_t *fields, *item;
	struct provider provider;
	struct provider_result got;
};

static void stream_open(struct stream *s)
{
	*s = (struct stream){ .fields = json_object(), .item = json_object() };
	s->provider = (struct provider){
		.id = (char *)"rye/agent/providers/test",
		.name = (char *)"test",
		.model = (char *)"m",
		.wire = wire_named("openai_chat"),
		.wire_name = "openai_chat",
		.max_output = 1000,
		.fields = s->fields,
		.item = s->item,
	};
}

static void stream_close(struct stream *s)
{
	provider_result_done(&s->got);
	json_decref(s->fields);
	json_decref(s->item);
}

/* first bytes, then the rest. */
static void stream_feed(struct stream *s, struct rye_span body, size_t first)
{
	struct answer answer;

	provider_result_done(&s->got);
	s->got = (struct provider_result){ 0 };
	answer_open(&answer, &s->provider, NULL);
	answer_begin(&answer, 200, "text/event-stream");
	assert_true(answer_feed(&answer, (struct rye_span){ body.ptr, first }));
	assert_true(answer_feed(&answer, span_skip(body, first)));
	(void)answer_end(&answer, &s->got);
	answer_close(&answer);
	assert_true(s->got.complete);
}

static json_t *stream_block(const struct stream *s, size_t n)
{
	return json_array_get(json_object_get(s->got.message, "blocks"), n);
}

#define CHUNK(delta, finish, more)                                       \
	"data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":" delta \
	",\"finish_reason\":" finish "}]" more "}\n\n"
#define USED(in, out) ",\"usage\":{\"prompt_tokens\":" #in ",\"completion_tokens\":" #out "}"
#define END "data: [DONE]\n\n"

static void thread_T32_cut_anywhere(void **state)
{
	static const char body[] =
		": hello\r\n\r\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"gr\xc3\xbc\xc3\x9f "
		"\xe2\x82\xac \xf0\x9f\x98\x80\"},\r\ndata: \"finish_reason\":null}]}\r\n\r\n:\r\n"
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c1\","
		"\"function\":{\"name\":\"ls\",\"arguments\":\"{\\\"p\\\":\\\"\xc3\xa4\\\"}\"}}]},"
		"\"finish_reason\":\"tool_calls\"}]}\r\n\r\n: keep-alive\r\n\r\n"
		"data: {\"choices\":[]" USED(7, 3) "}\r\n\r\ndata: [DONE]\r\n\r\n";
	const struct rye_span whole = { body, sizeof(body) - 1 };
	auto_json json_t *wanted = NULL;
	struct stream s;

	stream_open(&s);
	stream_feed(&s, whole, whole.len);
	wanted = json_incref(s.got.message);
	assert_string_equal(json_str(stream_block(&s, 0), "text"),
			    "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80");
	assert_string_equal(json_str(json_object_get(stream_block(&s, 1), "arguments"), "p"),
			    "\xc3\xa4");
	assert_int_equal(s.got.usage.uncached, 7);
	for (size_t cut = 0; cut < whole.len; cut++) {
		stream_feed(&s, whole, cut);
		assert_true(json_equal(s.got.message, wanted));
	}
	stream_close(&s);
}

static void is_used(const char *body, int input, int output, bool estimated)
{
	struct stream s;

	stream_open(&s);
	stream_feed(&s, span_of(body), 0);
	assert_int_equal(s.got.usage.estimated, estimated);
	if (!estimated) {
		assert_int_equal(s.got.usage.uncached, input);
		assert_int_equal(s.got.usage.output, output);
	}
	stream_close(&s);
}

static void thread_T33_usage(void **state)
{
	is_used(CHUNK("{\"content\":\"one\"}", "null", "") CHUNK("{}", "\"stop\"", "") END, 0, 0,
		true);
	is_used(CHUNK("{\"content\":\"one\"}", "null", "") CHUNK("{}", "\"stop\"", USED(7, 3)) END,
		7, 3, false);
	is_used(CHUNK("{\"content\":\"one\"}", "null", USED(7, 1))
			CHUNK("{\"content\":\"two\"}", "null", USED(7, 2))
				CHUNK("{}", "\"stop\"", USED(7, 3)) END,
		7, 3, false);
	is_used(CHUNK("{\"content\":\"one\"}", "null", ",\"usage\":null")
			CHUNK("{}", "\"stop\"", "") "data: {\"choices\":[]" USED(7, 3) "}\n\n" END,
		7, 3, false);
}

/* {"a": "xxx…"} in 500 pieces beside one whose arguments are an object; both without an index. */
static void thread_T34_calls_in_pieces(void **state)
{
	auto_buf struct rye_buf body = RYE_BUF_INIT;
	const json_t *call;
	struct stream s;

	buf_adds(&body, CHUNK("{\"content\":null,\"tool_calls\":null}", "null", ""));
	buf_adds(&body, CHUNK("{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"function\":{\"name\":"
			      "\"ls\",\"arguments\":\"{\\\"a\\\": \\\"\"}}]}",
			      "null", ""));
	for (int i = 0; i < 500; i++)
		buf_adds(&body, CHUNK("{\"content\":null,\"tool_calls\":[{\"index\":0,\"id\":null,"
				      "\"function\":{\"name\":null,\"arguments\":\"x\"}}]}",
				      "null", ""));
	buf_adds(&body,
		 CHUNK("{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\\\"}\"}}]}",
		       "null", ""));
	buf_adds(&body, CHUNK("{\"tool_calls\":[{\"id\":\"c2\",\"function\":{\"name\":\"rm\","
			      "\"arguments\":{\"b\":[1]}}}]}",
			      "null", ""));
	buf_adds(&body, CHUNK("{\"tool_calls\":null}", "\"tool_calls\"", "") END);
	stream_open(&s);
	stream_feed(&s, (struct rye_span){ body.data, body.len }, 0);
	assert_int_equal(json_array_size(json_object_get(s.got.message, "blocks")), 2);
	call = stream_block(&s, 0);
	assert_string_equal(json_str(call, "id"), "c1");
	assert_string_equal(json_str(call, "name"), "ls");
	assert_int_equal(strlen(json_str(json_object_get(call, "arguments"), "a")), 500);
	call = stream_block(&s, 1);
	assert_string_equal(json_str(call, "id"), "c2");
	same_json(json_incref(json_object_get(call, "arguments")), "{\"b\": [1]}");
	stream_close(&s);
}

/* What a call's step begins with is its arguments where no delta brings any; other steps' deltas go back. */
static void steps_that_begin_whole(void **state)
{
	static const char body[] =
		"data: {\"event_type\":\"step.start\",\"index\":0,\"step\":{\"type\":"
		"\"function_call\",\"id\":\"c1\",\"name\":\"ls\",\"arguments\":{\"b\":[1]}}}\n\n"
		"data: {\"event_type\":\"step.stop\",\"index\":0}\n\n"
		"data: {\"event_type\":\"step.start\",\"index\":1,\"step\":{\"type\":"
		"\"url_context_call\",\"arguments\":{}}}\n\n"
		"data: {\"event_type\":\"step.delta\",\"index\":1,\"delta\":{\"type\":"
		"\"arguments_delta\",\"arguments\":\"{\\\"u\\\":1}\"}}\n\n"
		"data: {\"event_type\":\"step.stop\",\"index\":1}\n\n"
		"data: {\"event_type\":\"interaction.completed\",\"interaction\":{\"status\":"
		"\"requires_action\"}}\n\n" END;
	struct stream s;

	stream_open(&s);
	s.provider.wire = wire_named("gemini_interactions");
	stream_feed(&s, SPAN(body), 0);
	same_json(json_incref(json_object_get(stream_block(&s, 0), "arguments")), "{\"b\": [1]}");
	assert_string_equal(json_str(stream_block(&s, 1), "raw"),
			    "{\"type\":\"url_context_call\",\"arguments\":{\"u\":1}}");
	stream_close(&s);
}

/* It would go back to the vendor, and its server refuses the request. */
static void a_block_that_is_none(void **state)
{
	static const char body[] =
		"data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":\"text\"}\n\n"
		"data: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
		"data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n"
		"data: {\"type\":\"message_stop\"}\n\n";
	struct stream s;

	stream_open(&s);
	s.provider.wire = wire_named("anthropic_messages");
	stream_feed(&s, SPAN(body), 0);
	assert_int_equal(json_array_size(json_object_get(s.got.message, "blocks")), 0);
	stream_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(thread_T32_cut_anywhere),
		cmocka_unit_test(thread_T33_usage),
		cmocka_unit_test(thread_T34_calls_in_pieces),
		cmocka_unit_test(steps_that_begin_whole),
		cmocka_unit_test(a_block_that_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
