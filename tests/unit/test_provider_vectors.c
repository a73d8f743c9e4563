/* SPDX-License-Identifier: MIT */
/*
 * Every case of tests/vectors/providers at every split of its bytes: the answer, the failure, and what
 * the next request makes of it.
 */
#include "item_files.h"
#include "told.h"

#include "base/json.h"
#include "provider/provider_inner.h"
#include "wire/wire_inner.h"
#include "str.h"

struct vector {
	json_t *doc; /* of NAME.json */
	const json_t *wanted; /* its result */
	struct rye_blob *body;
	struct provider provider;
};

static struct rye_blob *vector_file(const char *name, const char *ext)
{
	char path[200];

	snprintf(path, sizeof(path), "providers/%s%s", name, ext);
	return place_read(path);
}

static void vector_open(struct vector *v, const char *name)
{
	struct rye_blob *text = vector_file(name, ".json");
	const json_t *item;

	*v = (struct vector){ .doc = json_loadb(text->data, text->len, 0, NULL),
			      .body = vector_file(name, ".sse") };
	rye_blob_unref(text);
	assert_non_null(v->doc);
	v->wanted = json_object_get(v->doc, "result");
	item = json_object_get(v->wanted, "item");
	v->provider = (struct provider){
		.id = (char *)"rye/agent/providers/test",
		.name = (char *)"test",
		.model = (char *)"m",
		.wire = wire_named(json_str(v->doc, "wire")),
		.wire_name = json_str(v->doc, "wire"),
		.window = json_int(item, "context_window", 0),
		.max_output = 1000,
		.fields = json_object(),
		.item = json_object(),
	};
	if (json_flag(item, "think_tags", false))
		json_set(v->provider.fields, "reasoning", json_pack("{s:b}", "think_tags", 1));
}

static void vector_close(struct vector *v)
{
	json_decref(v->doc);
	json_decref(v->provider.fields);
	json_decref(v->provider.item);
	rye_blob_unref(v->body);
}

/* ---- comparing ---- */

static void vector_fault(const char *what, const json_t *got, const json_t *wanted)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	buf_addf(&text, "%s: got ", what);
	json_put(&text, got, false);
	buf_adds(&text, ", wanted ");
	json_put(&text, wanted, false);
	fail_msg("%s", text.data);
}

static void same_value(const char *what, const json_t *got, const json_t *wanted)
{
	if (json_is_string(wanted) && !strcmp(json_string_value(wanted), "@gen")) {
		assert_true(json_string_length(got) > 0);
		return;
	}
	if ((!wanted || json_is_null(wanted)) && !got)
		return;
	if (!json_equal(got, wanted))
		vector_fault(what, got, wanted);
}

static void same_block(const json_t *got, const json_t *wanted)
{
	json_t *own = (json_t *)wanted, *value;
	const char *key;

	json_object_foreach(own, key, value) {
		const char *raw = json_str(got, "raw");
		bool exact = !strcmp(key, "arguments_text") && !json_object_get(got, key);

		if (exact && !strstr(raw, json_string_value(value)))
			vector_fault("arguments as text", got, wanted);
		if (!exact)
			same_value(key, json_object_get(got, key), value);
	}
	if (!json_object_get(wanted, "incomplete") && json_object_get(got, "incomplete"))
		vector_fault("a call that is whole", got, wanted);
}

static void same_blocks(const json_t *got, const json_t *wanted)
{
	json_t *own = (json_t *)wanted, *block;
	size_t i;

	if (json_array_size(got) != json_array_size(wanted))
		vector_fault("blocks", got, wanted);
	json_array_foreach(own, i, block)
		same_block(json_array_get(got, i), block);
}

static void same_usage(const json_t *got, const json_t *wanted)
{
	json_int_t output = json_int(wanted, "output", 0), own = json_int(got, "output", 0);
	json_t *counts = (json_t *)wanted, *value;
	const char *key;

	if (json_flag(wanted, "estimated", false)) {
		assert_true(json_flag(got, "estimated", false));
		assert_true(own <= 2 * output && output <= 2 * own);
		return;
	}
	if (json_is_null(wanted)) {
		assert_true(json_is_null(got));
		return;
	}
	json_object_foreach(counts, key, value)
		if (!json_equal(json_object_get(got, key), value))
			vector_fault(key, got, wanted);
}

static void same_warnings(const json_t *got, const json_t *wanted)
{
	json_t *own = (json_t *)wanted, *word;
	size_t i;

	if (json_array_size(got) != json_array_size(wanted))
		vector_fault("warnings", got, wanted);
	json_array_foreach(own, i, word)
		if (!json_lists(got, json_string_value(word)))
			vector_fault("warnings", got, wanted);
}

static void same_text(const json_t *wanted, const char *key, const char *got)
{
	if (json_object_get(wanted, key))
		assert_string_equal(got, json_str(wanted, key));
}

static void same_failure(const struct vector *v, const struct answer *answer)
{
	const json_t *wanted = json_object_get(v->wanted, "error");
	const json_t *http = json_object_get(v->doc, "http");
	const struct fault_in in = { .provider = &v->provider,
				     .said = &answer->said,
				     .headers = json_object_get(http, "headers"),
				     .status = (long)json_int(http, "status", 0),
				     .cut = !answer->failed,
				     .now = 1795312800 };
	struct provider_result result = { 0 };
	struct provider_failure *got = &result.failure;

	fault_classify(&in, got);
	assert_string_equal(provider_class_name(got->class), json_str(wanted, "class"));
	assert_int_equal(got->retryable, json_flag(wanted, "retryable", false));
	same_text(wanted, "type", got->type);
	same_text(wanted, "code", got->code);
	same_text(wanted, "param", got->param);
	same_text(wanted, "message", got->message);
	if (json_object_get(wanted, "tokens")) {
		assert_int_equal(got->tokens, json_int(wanted, "tokens", 0));
		assert_int_equal(got->limit, json_int(wanted, "limit", 0));
	}
	if (json_object_get(wanted, "wait_s"))
		assert_int_equal(
			got->wait_ms,
			(int64_t)(json_number_value(json_object_get(wanted, "wait_s")) * 1000));
	provider_result_done(&result);
}

/* ---- the next request ---- */

static json_t *replayed(const struct vector *v, const json_t *body)
{
	const char *wire = v->provider.wire_name;
	json_t *list = json_object_get(body, "input"), *rest = json_array(), *item;
	size_t i;

	if (!strcmp(wire, "anthropic_messages"))
		list = json_object_get(json_array_get(json_object_get(body, "messages"), 1),
				       "content");
	if (!strcmp(wire, "gemini_generate"))
		list = json_object_get(json_array_get(json_object_get(body, "contents"), 1),
				       "parts");
	json_array_foreach(list, i, item)
		if (i || list != json_object_get(body, "input"))
			json_array_append(rest, item);
	return rest;
}

static void check_replay(const struct vector *v, const json_t *message)
{
	auto_json json_t *messages = json_pack("[{s:s, s:[{s:s, s:s}]}, O]", "role", "user",
					       "blocks", "kind", "text", "text", "go", message);
	const struct provider_request request = { .messages = messages };
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_json json_t *body = NULL, *got = NULL;
	struct rye_err err = { 0 };

	assert_works(&err, provider_request_make(&v->provider, &request, NULL, &text, &err));
	body = json_parse((struct rye_span){ text.data, text.len }, 0, "request", &err);
	if (!body)
		fail_msg("%s: %s", err.msg, text.data);
	if (!json_object_get(v->wanted, "replay"))
		return;
	got = replayed(v, body);
	same_value("replay", got, json_object_get(v->wanted, "replay"));
}

static void check_spend(struct vector *v, const struct provider_usage *usage)
{
	const json_t *spend = json_object_get(v->wanted, "spend");
	double got, wanted = json_number_value(json_object_get(spend, "value"));

	if (!spend)
		return;
	json_object_set(v->provider.fields, "pricing", json_object_get(spend, "price"));
	got = provider_cost(&v->provider, usage, "2026-11-22");
	assert_true(got - wanted < 1e-9 && wanted - got < 1e-9);
}

static void check_result(struct vector *v, const struct answer *answer,
			 const struct provider_result *got)
{
	const json_t *message = got->message, *wanted = v->wanted;

	same_blocks(json_object_get(message, "blocks"), json_object_get(wanted, "blocks"));
	same_value("stop", json_object_get(message, "stop"), json_object_get(wanted, "stop"));
	same_value("stop_raw", json_object_get(message, "stop_raw"),
		   json_object_get(wanted, "stop_raw"));
	same_value("complete", json_object_get(message, "complete"),
		   json_object_get(wanted, "complete"));
	same_usage(json_object_get(message, "usage"), json_object_get(wanted, "usage"));
	same_warnings(got->warnings, json_object_get(wanted, "warnings"));
	same_value("refusal", json_object_get(message, "refusal"),
		   json_object_get(wanted, "refusal"));
	if (json_object_get(wanted, "continuation_token"))
		assert_string_equal(json_str(message, "continuation"),
				    json_str(wanted, "continuation_token"));
	if (!json_is_null(json_object_get(wanted, "error")))
		same_failure(v, answer);
	check_spend(v, &got->usage);
	if (got->complete)
		check_replay(v, message);
}

/* first bytes, then pieces of `step`. */
static void run_vector(struct vector *v, size_t first, size_t step)
{
	const json_t *http = json_object_get(v->doc, "http");
	struct rye_span rest = { v->body->data, v->body->len };
	struct provider_result got = { 0 };
	struct answer answer;

	answer_open(&answer, &v->provider, NULL);
	answer_begin(&answer, (long)json_int(http, "status", 0), json_str(http, "content_type"));
	for (size_t n = first; rest.len; n = step) {
		struct rye_span piece = { rest.ptr, MIN_OF(MAX_OF(n, 1), rest.len) };

		assert_true(answer_feed(&answer, piece));
		rest = span_skip(rest, piece.len);
	}
	(void)answer_end(&answer, &got);
	check_result(v, &answer, &got);
	provider_result_done(&got);
	answer_close(&answer);
}

static void run_case(const char *name)
{
	static const size_t steps[] = { 1, 2, 3, 7, 64 };
	struct vector v;

	vector_open(&v, name);
	assert_non_null(v.provider.wire);
	for (size_t cut = 1; cut <= v.body->len; cut++)
		run_vector(&v, cut, v.body->len);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		run_vector(&v, steps[i], steps[i]);
	vector_close(&v);
}

/* ---- the cases ---- */

static void P01_utf8(void **state)
{
	(void)state;
	run_case("P01-utf8");
}

static void P02_thinking_two_calls(void **state)
{
	(void)state;
	run_case("P02-thinking-two-calls");
}

static void P03_hidden_thinking_empty_input(void **state)
{
	(void)state;
	run_case("P03-hidden-thinking-empty-input");
}

static void P04_error_in_stream(void **state)
{
	(void)state;
	run_case("P04-error-in-stream");
}

static void P05_refusal(void **state)
{
	(void)state;
	run_case("P05-refusal");
}

static void P06_cut_in_tool(void **state)
{
	(void)state;
	run_case("P06-cut-in-tool");
}

static void P07_cumulative_usage(void **state)
{
	(void)state;
	run_case("P07-cumulative-usage");
}

static void P08_unknown_and_pause(void **state)
{
	(void)state;
	run_case("P08-unknown-and-pause");
}

static void P09_window_full(void **state)
{
	(void)state;
	run_case("P09-window-full");
}

static void P10_length_in_tool(void **state)
{
	(void)state;
	run_case("P10-length-in-tool");
}

static void P11_interleaved_calls(void **state)
{
	(void)state;
	run_case("P11-interleaved-calls");
}

static void P12_no_usage(void **state)
{
	(void)state;
	run_case("P12-no-usage");
}

static void P13_nulls_and_empty_choices(void **state)
{
	(void)state;
	run_case("P13-nulls-and-empty-choices");
}

static void P14_sloppy_server_calls(void **state)
{
	(void)state;
	run_case("P14-sloppy-server-calls");
}

static void P15_reasoning_fields(void **state)
{
	(void)state;
	run_case("P15-reasoning-fields");
}

static void P16_error_in_stream(void **state)
{
	(void)state;
	run_case("P16-error-in-stream");
}

static void P17_sse_syntax(void **state)
{
	(void)state;
	run_case("P17-sse-syntax");
}

static void P18_refusal(void **state)
{
	(void)state;
	run_case("P18-refusal");
}

static void P19_content_filter(void **state)
{
	(void)state;
	run_case("P19-content-filter");
}

static void P20_cut(void **state)
{
	(void)state;
	run_case("P20-cut");
}

static void P21_reset(void **state)
{
	(void)state;
	run_case("P21-reset");
}

static void P22_usage_every_chunk(void **state)
{
	(void)state;
	run_case("P22-usage-every-chunk");
}

static void P23_think_tags(void **state)
{
	(void)state;
	run_case("P23-think-tags");
}

static void P24_empty_answer_window(void **state)
{
	(void)state;
	run_case("P24-empty-answer-window");
}

static void P25_reasoning_and_calls(void **state)
{
	(void)state;
	run_case("P25-reasoning-and-calls");
}

static void P26_phases(void **state)
{
	(void)state;
	run_case("P26-phases");
}

static void P27_quota(void **state)
{
	(void)state;
	run_case("P27-quota");
}

static void P28_overloaded(void **state)
{
	(void)state;
	run_case("P28-overloaded");
}

static void P29_incomplete_call(void **state)
{
	(void)state;
	run_case("P29-incomplete-call");
}

static void P30_refusal(void **state)
{
	(void)state;
	run_case("P30-refusal");
}

static void P31_done_only(void **state)
{
	(void)state;
	run_case("P31-done-only");
}

static void P32_cut(void **state)
{
	(void)state;
	run_case("P32-cut");
}

static void P33_thought_and_calls(void **state)
{
	(void)state;
	run_case("P33-thought-and-calls");
}

static void P34_late_signature(void **state)
{
	(void)state;
	run_case("P34-late-signature");
}

static void P35_prompt_blocked(void **state)
{
	(void)state;
	run_case("P35-prompt-blocked");
}

static void P36_malformed_call(void **state)
{
	(void)state;
	run_case("P36-malformed-call");
}

static void P37_partial_args(void **state)
{
	(void)state;
	run_case("P37-partial-args");
}

static void P38_error_in_stream(void **state)
{
	(void)state;
	run_case("P38-error-in-stream");
}

static void P39_continuation(void **state)
{
	(void)state;
	run_case("P39-continuation");
}

static void P40_steps(void **state)
{
	(void)state;
	run_case("P40-steps");
}

static void P41_error(void **state)
{
	(void)state;
	run_case("P41-error");
}

static void P42_overflow_anthropic(void **state)
{
	(void)state;
	run_case("P42-overflow-anthropic");
}

static void P43_overflow_openai(void **state)
{
	(void)state;
	run_case("P43-overflow-openai");
}

static void P44_overflow_llamacpp(void **state)
{
	(void)state;
	run_case("P44-overflow-llamacpp");
}

static void P45_overflow_vllm(void **state)
{
	(void)state;
	run_case("P45-overflow-vllm");
}

static void P46_overflow_gemini(void **state)
{
	(void)state;
	run_case("P46-overflow-gemini");
}

static void P47_rate_anthropic(void **state)
{
	(void)state;
	run_case("P47-rate-anthropic");
}

static void P48_rate_openai(void **state)
{
	(void)state;
	run_case("P48-rate-openai");
}

static void P49_spend_openai(void **state)
{
	(void)state;
	run_case("P49-spend-openai");
}

static void P50_rate_gemini(void **state)
{
	(void)state;
	run_case("P50-rate-gemini");
}

static void P51_spend_anthropic(void **state)
{
	(void)state;
	run_case("P51-spend-anthropic");
}

static void P52_thinking_mismatch(void **state)
{
	(void)state;
	run_case("P52-thinking-mismatch");
}

static void P53_parameter(void **state)
{
	(void)state;
	run_case("P53-parameter");
}

static void P54_plain_error(void **state)
{
	(void)state;
	run_case("P54-plain-error");
}

static void P55_gateway_html(void **state)
{
	(void)state;
	run_case("P55-gateway-html");
}

static void P56_no_output_index(void **state)
{
	(void)state;
	run_case("P56-no-output-index");
}

static void P57_foreign_error_event(void **state)
{
	(void)state;
	run_case("P57-foreign-error-event");
}

static void P58_foreign_overflow(void **state)
{
	(void)state;
	run_case("P58-foreign-overflow");
}

static const struct CMUnitTest vectors[] = {
	cmocka_unit_test(P01_utf8),
	cmocka_unit_test(P02_thinking_two_calls),
	cmocka_unit_test(P03_hidden_thinking_empty_input),
	cmocka_unit_test(P04_error_in_stream),
	cmocka_unit_test(P05_refusal),
	cmocka_unit_test(P06_cut_in_tool),
	cmocka_unit_test(P07_cumulative_usage),
	cmocka_unit_test(P08_unknown_and_pause),
	cmocka_unit_test(P09_window_full),
	cmocka_unit_test(P10_length_in_tool),
	cmocka_unit_test(P11_interleaved_calls),
	cmocka_unit_test(P12_no_usage),
	cmocka_unit_test(P13_nulls_and_empty_choices),
	cmocka_unit_test(P14_sloppy_server_calls),
	cmocka_unit_test(P15_reasoning_fields),
	cmocka_unit_test(P16_error_in_stream),
	cmocka_unit_test(P17_sse_syntax),
	cmocka_unit_test(P18_refusal),
	cmocka_unit_test(P19_content_filter),
	cmocka_unit_test(P20_cut),
	cmocka_unit_test(P21_reset),
	cmocka_unit_test(P22_usage_every_chunk),
	cmocka_unit_test(P23_think_tags),
	cmocka_unit_test(P24_empty_answer_window),
	cmocka_unit_test(P25_reasoning_and_calls),
	cmocka_unit_test(P26_phases),
	cmocka_unit_test(P27_quota),
	cmocka_unit_test(P28_overloaded),
	cmocka_unit_test(P29_incomplete_call),
	cmocka_unit_test(P30_refusal),
	cmocka_unit_test(P31_done_only),
	cmocka_unit_test(P32_cut),
	cmocka_unit_test(P33_thought_and_calls),
	cmocka_unit_test(P34_late_signature),
	cmocka_unit_test(P35_prompt_blocked),
	cmocka_unit_test(P36_malformed_call),
	cmocka_unit_test(P37_partial_args),
	cmocka_unit_test(P38_error_in_stream),
	cmocka_unit_test(P39_continuation),
	cmocka_unit_test(P40_steps),
	cmocka_unit_test(P41_error),
	cmocka_unit_test(P42_overflow_anthropic),
	cmocka_unit_test(P43_overflow_openai),
	cmocka_unit_test(P44_overflow_llamacpp),
	cmocka_unit_test(P45_overflow_vllm),
	cmocka_unit_test(P46_overflow_gemini),
	cmocka_unit_test(P47_rate_anthropic),
	cmocka_unit_test(P48_rate_openai),
	cmocka_unit_test(P49_spend_openai),
	cmocka_unit_test(P50_rate_gemini),
	cmocka_unit_test(P51_spend_anthropic),
	cmocka_unit_test(P52_thinking_mismatch),
	cmocka_unit_test(P53_parameter),
	cmocka_unit_test(P54_plain_error),
	cmocka_unit_test(P55_gateway_html),
	cmocka_unit_test(P56_no_output_index),
	cmocka_unit_test(P57_foreign_error_event),
	cmocka_unit_test(P58_foreign_overflow),
};

int main(void)
{
	return cmocka_run_group_tests(vectors, NULL, NULL);
}
