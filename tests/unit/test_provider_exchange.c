/* SPDX-License-Identifier: MIT */
/*
 * Attempts against the scripted provider: what goes over the line, both ways, and what the next
 * request is made of.
 */
#include "provider_model.h"

/* ---- both ways of answering ---- */

#define ROUND                                                                               \
	"{\"by\":\"turn\",\"answers\":["                                                    \
	"{\"text\":[\"Hel\",\"lo \xc3\xbc\"],\"reasoning\":\"Hm.\",\"signature\":\"c2ln\"," \
	"\"calls\":[{\"name\":\"ls\",\"arguments\":{\"p\":\".\"}}],"                        \
	"\"usage\":{\"input\":10,\"output\":5,\"cache_read\":3}},"                          \
	"{\"text\":\"Done.\"}]}"

static void check_first(const struct provider_result *got)
{
	const json_t *call = block_of(got, "tool_call");

	if (got->failure.class != FAULT_NONE)
		fail_msg("%s", got->failure.sentence);
	assert_true(got->complete);
	assert_int_equal(got->stop, STOP_TOOL);
	assert_string_equal(json_str(block_of(got, "text"), "text"), "Hello \xc3\xbc");
	assert_string_equal(json_str(call, "name"), "ls");
	assert_string_equal(json_str(json_object_get(call, "arguments"), "p"), ".");
	assert_int_equal(got->usage.uncached, 10);
	assert_int_equal(got->usage.cache_read, 3);
	assert_int_equal(got->input, 13);
}

static void go_round(struct provider_place *p, const char *wire, bool whole)
{
	auto_provider struct provider *provider = provider_at(p, wire, "");
	auto_json json_t *messages = conversation("go"), *tools = one_tool();
	struct provider_request request = { .system = "Be brief.",
					    .tools = tools,
					    .messages = messages,
					    .whole = whole };
	struct provider_result got = provider_attempt(p, provider, &request);

	check_first(&got);
	json_array_append(messages, got.message);
	json_array_append_new(messages, tool_result(json_str(block_of(&got, "tool_call"), "id"),
						    "ls", "a.c"));
	provider_result_done(&got);
	got = provider_attempt(p, provider, &request);
	assert_true(got.complete);
	assert_int_equal(got.stop, STOP_END);
	assert_string_equal(json_str(block_of(&got, "text"), "text"), "Done.");
	provider_result_done(&got);
}

static void go_all_rounds(struct provider_place *p, const char *script, bool whole)
{
	provider_serve(p, script);
	for (size_t i = 0; i < ARRAY_SIZE(provider_wires); i++)
		go_round(p, provider_wires[i], whole);
}

static void streamed(void **state)
{
	go_all_rounds(*state, ROUND, false);
}

static void whole(void **state)
{
	go_all_rounds(*state, ROUND, true);
}

static void P75_a_server_that_does_not_stream(void **state)
{
	go_all_rounds(*state,
		      "{\"by\":\"turn\",\"answers\":["
		      "{\"stream\":false,\"text\":[\"Hel\",\"lo \xc3\xbc\"],"
		      "\"calls\":[{\"name\":\"ls\",\"arguments\":{\"p\":\".\"}}],"
		      "\"usage\":{\"input\":10,\"output\":5,\"cache_read\":3}},"
		      "{\"stream\":false,\"text\":\"Done.\"}]}",
		      false);
}

static void byte_by_byte(void **state)
{
	go_all_rounds(*state,
		      "{\"by\":\"turn\",\"answers\":["
		      "{\"piece\":1,\"text\":[\"Hel\",\"lo \xc3\xbc\"],"
		      "\"calls\":[{\"name\":\"ls\",\"arguments\":{\"p\":\".\"}}],"
		      "\"usage\":{\"input\":10,\"output\":5,\"cache_read\":3}},"
		      "{\"piece\":1,\"text\":\"Done.\"}]}",
		      false);
}

/* ---- what the next request holds ---- */

static struct rye_span part_between(const struct rye_buf *text, const char *begin, const char *end)
{
	const char *at = strstr(text->data, begin), *to = at ? strstr(at, end) : NULL;

	assert_non_null(to);
	return (struct rye_span){ at, (size_t)(to - at) };
}

static void P60_system_and_tools_stay_as_they_are(void **state)
{
	struct provider_place *p = *state;
	auto_buf struct rye_buf before = RYE_BUF_INIT, after = RYE_BUF_INIT;
	auto_json json_t *tools = one_tool();
	struct rye_span a, b;

	serve_vector(p, "P02-thinking-two-calls", "{\"text\":\"x\"}");
	model_open(p, "anthropic_messages", "");
	p->request.system = "Be brief.";
	p->request.tools = tools;
	put_request(p->provider, &p->request, &before);
	model_attempt(p);
	assert_true(p->got.complete);
	model_keep(p, tool_result("toolu_1", "ls", "x"));
	put_request(p->provider, &p->request, &after);
	a = part_between(&before, "\"system\"", "\"messages\"");
	b = part_between(&after, "\"system\"", "\"messages\"");
	assert_int_equal(a.len, b.len);
	assert_memory_equal(a.ptr, b.ptr, a.len);
	assert_non_null(strstr(after.data,
			       "{\"type\":\"thinking\",\"thinking\":\"List, then read.\","
			       "\"signature\":\"EqQB+/==\"}"));
	assert_non_null(strstr(after.data, "\"input\":{\"file\":\"a.c\",\"n\":1e2}}"));
}

static void P61_the_same_after_a_restart(void **state)
{
	struct provider_place *p = *state;
	auto_buf struct rye_buf stored = RYE_BUF_INIT, one = RYE_BUF_INIT, two = RYE_BUF_INIT;
	auto_json json_t *again = NULL;

	serve_vector(p, "P02-thinking-two-calls", "{\"text\":\"x\"}");
	model_open(p, "anthropic_messages", "");
	model_attempt(p);
	model_keep(p, NULL);
	put_request(p->provider, &p->request, &one);
	json_put(&stored, p->messages, true);
	again = json_loadb(stored.data, stored.len, 0, NULL);
	p->request.messages = again;
	put_request(p->provider, &p->request, &two);
	assert_int_equal(one.len, two.len);
	assert_string_equal(one.data, two.data);
}

/* One answer of which the provider's own form is not known, and all go as any model reads them. */
static void P61_a_history_that_lacks_raw_blocks(void **state)
{
	struct provider_place *p = *state;
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	serve_vector(p, "P02-thinking-two-calls", "{\"text\":\"x\"}");
	model_open(p, "anthropic_messages", "");
	json_array_append_new(p->messages, json_pack("{s:s, s:[{s:s, s:s}]}", "role", "assistant",
						     "blocks", "kind", "text", "text", "Of old."));
	json_array_append_new(p->messages, user_message("more"));
	model_attempt(p);
	model_keep(p, NULL);
	put_request(p->provider, &p->request, &text);
	assert_non_null(strstr(text.data, "Of old."));
	assert_non_null(strstr(text.data, "toolu_1"));
	assert_null(strstr(text.data, "signature"));
	assert_null(strstr(text.data, "\"thinking\""));
}

/* The list of messages, of whatever name; marks of the cache move, and do not count. */
static json_t *take_messages(json_t *body)
{
	static const char *const names[] = { "messages", "input", "contents" };
	json_t *list = NULL, *message, *block;
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(names) && !list; i++) {
		list = json_incref(json_object_get(body, names[i]));
		json_object_del(body, names[i]);
	}
	json_array_foreach(list, i, message)
		json_array_foreach(json_object_get(message, "content"), k, block)
			json_object_del(block, "cache_control");
	return list;
}

static json_t *request_body(const struct provider *provider, const struct provider_request *request)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	put_request(provider, request, &text);
	return json_loadb(text.data, text.len, 0, NULL);
}

/* A tool that has changed is told of; system, tools and what was said stay as they were. */
static void P62_what_is_told_later_changes_nothing_before(void **state)
{
	struct provider_place *p = *state;
	auto_json json_t *tools = one_tool();

	snprintf(p->port, sizeof(p->port), "1");
	for (size_t i = 0; i < ARRAY_SIZE(provider_wires); i++) {
		auto_provider struct provider *provider = provider_at(p, provider_wires[i], "");
		auto_json json_t *messages = conversation("go");
		const struct provider_request request = { .system = "Be brief.",
							  .tools = tools,
							  .messages = messages };
		auto_json json_t *before = request_body(provider, &request), *after = NULL;
		auto_json json_t *said = take_messages(before), *more = NULL;

		json_array_append_new(messages,
				      json_pack("{s:s, s:[{s:s, s:s}]}", "role", "system", "blocks",
						"kind", "text", "text", "ls has a new parameter."));
		after = request_body(provider, &request);
		more = take_messages(after);
		assert_true(json_equal(before, after));
		assert_int_equal(json_array_size(more), json_array_size(said) + 1);
		json_array_remove(more, json_array_size(said));
		assert_true(json_equal(said, more));
	}
}

static void P69_a_pause_is_sent_back(void **state)
{
	struct provider_place *p = *state;
	auto_json json_t *row = NULL, *wanted = NULL;

	serve_vector(p, "P08-unknown-and-pause", "{\"text\":\"x\"}");
	model_open(p, "anthropic_messages", "");
	model_attempt(p);
	assert_int_equal(p->got.stop, STOP_PAUSE);
	model_keep(p, NULL);
	model_attempt(p);
	row = logged_request(p, 2);
	wanted = json_pack("[{s:s, s:s, s:s, s:{s:s}}, {s:s, s:s}, {s:s, s:s}]", "type",
			   "server_tool_use", "id", "srvtoolu_1", "name", "web_search", "input",
			   "q", "x", "type", "future_block", "k", "v", "type", "text", "text",
			   "so");
	assert_true(json_equal(
		json_object_get(
			json_array_get(json_object_get(json_object_get(row, "body"), "messages"), 1),
			"content"),
		wanted));
}

static void P69_a_continuation_is_the_same_request(void **state)
{
	struct provider_place *p = *state;
	auto_json json_t *first = NULL, *second = NULL;
	json_t *body;

	serve_vector(p, "P39-continuation", "{\"text\":\"x\"}");
	model_open(p, "gemini_generate", "");
	model_attempt(p);
	assert_int_equal(p->got.stop, STOP_PAUSE);
	p->request.continuation = json_str(p->got.message, "continuation");
	model_keep(p, NULL);
	model_attempt(p);
	assert_true(p->got.complete);
	first = logged_request(p, 1);
	second = logged_request(p, 2);
	body = json_object_get(second, "body");
	assert_string_equal(json_str(body, "continuationToken"), "dG9r");
	json_object_del(body, "continuationToken");
	assert_true(json_equal(body, json_object_get(first, "body")));
}

static void P76_equal_requests_are_equal_bytes(void **state)
{
	struct provider_place *p = *state;
	auto_json json_t *messages = conversation("go"), *tools = one_tool();
	const struct provider_request request = { .system = "s",
						  .tools = tools,
						  .messages = messages };

	snprintf(p->port, sizeof(p->port), "1");
	for (size_t i = 0; i < ARRAY_SIZE(provider_wires); i++) {
		auto_provider struct provider *one = provider_at(p, provider_wires[i], "");
		auto_provider struct provider *two = provider_at(p, provider_wires[i], "");
		auto_buf struct rye_buf a = RYE_BUF_INIT, b = RYE_BUF_INIT;

		put_request(one, &request, &a);
		put_request(two, &request, &b);
		assert_string_equal(a.data, b.data);
	}
}

/* Of an answer of another wire only what any model can read goes on. */
static void P73_another_wire(void **state)
{
	static const char *const foreign[] = { "EqQB", "signature", "thinking", "List, then",
					       "msg_x" };
	struct provider_place *p = *state;

	serve_vector(p, "P02-thinking-two-calls", "{\"text\":\"x\"}");
	model_open(p, "anthropic_messages", "");
	model_attempt(p);
	model_keep(p, tool_result("toolu_1", "ls", "x"));
	for (size_t i = 1; i < ARRAY_SIZE(provider_wires); i++) {
		auto_provider struct provider *other = provider_at(p, provider_wires[i], "");
		auto_buf struct rye_buf text = RYE_BUF_INIT;

		put_request(other, &p->request, &text);
		assert_non_null(strstr(text.data, "toolu_1"));
		for (size_t k = 0; k < ARRAY_SIZE(foreign); k++) {
			bool skip = !strcmp(foreign[k], "signature") &&
				    strstr(text.data, "skip_thought_signature_validator");

			if (!skip && strstr(text.data, foreign[k]))
				fail_msg("%s: %s in %s", provider_wires[i], foreign[k], text.data);
		}
	}
}

/* ---- what an item says of counts and days ---- */

static void counts_at_other_places(void **state)
{
	struct provider_place *p = *state;

	provider_serve(
		p, "[{\"raw\":\"data: {\\\"choices\\\":[{\\\"delta\\\":{\\\"content\\\":"
		   "\\\"a\\\"},\\\"finish_reason\\\":\\\"stop\\\"}],\\\"meta\\\":{\\\"in\\\":9,"
		   "\\\"hit\\\":4,\\\"out\\\":3,\\\"thought\\\":2}}\\n\\ndata: [DONE]\\n\\n\"}]");
	model_open(p, "openai_chat",
		   "usage: {input: meta.in, cached: meta.hit, cached_included: false, "
		   "output: meta.out, reasoning: meta.thought, "
		   "reasoning_included: false}\n"
		   "default_model_fields: {retires: 2020-01-01}\n");
	model_attempt(p);
	assert_true(p->got.complete);
	assert_int_equal(p->got.usage.uncached, 9);
	assert_int_equal(p->got.usage.cache_read, 4);
	assert_int_equal(p->got.usage.output, 5);
	assert_false(p->got.usage.estimated);
	assert_true(json_lists(p->got.warnings, "model_retires:2020-01-01"));
}

static void a_prompt_that_was_cut(void **state)
{
	struct provider_place *p = *state;

	provider_serve(p, "[{\"text\":\"a\",\"usage\":{\"input\":4000,\"output\":1}},"
			  "{\"text\":\"b\",\"usage\":{\"input\":2048,\"output\":1}}]");
	model_open(p, "openai_chat", "");
	model_attempt(p);
	assert_int_equal(json_array_size(p->got.warnings), 0);
	model_keep(p, user_message("more"));
	model_attempt(p);
	assert_true(json_lists(p->got.warnings, "prompt_truncated"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		provider_test(streamed),
		provider_test(whole),
		provider_test(P75_a_server_that_does_not_stream),
		provider_test(byte_by_byte),
		provider_test(P60_system_and_tools_stay_as_they_are),
		provider_test(P61_the_same_after_a_restart),
		provider_test(P61_a_history_that_lacks_raw_blocks),
		provider_test(P62_what_is_told_later_changes_nothing_before),
		provider_test(P69_a_pause_is_sent_back),
		provider_test(P69_a_continuation_is_the_same_request),
		provider_test(counts_at_other_places),
		provider_test(a_prompt_that_was_cut),
		provider_test(P76_equal_requests_are_equal_bytes),
		provider_test(P73_another_wire),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
