/* SPDX-License-Identifier: MIT */
/*
 * Attempts that fail: what the failure is, what is done about it, and what must not be told.
 */
#include "provider_model.h"

#include "provider/provider_inner.h"
#include "wire/wire_inner.h"

#include <pthread.h>

static void is_retry(const struct provider_place *p, unsigned relief, struct retry_decision *ret)
{
	const struct retry_state state = { .failures = 1, .relief = relief, .max_tokens = 4096 };

	provider_retry(p->provider, &p->got.failure, &state, ret);
}

/* ---- failures ---- */

static void P63_history_once_without_reasoning(void **state)
{
	struct provider_place *p = *state;
	auto_buf struct rye_buf sent = RYE_BUF_INIT;
	struct retry_decision decision;

	provider_serve(p,
		       "[{\"text\":\"a\",\"reasoning\":\"secret thought\"},"
		       "{\"status\":400,\"error\":{\"type\":\"invalid_request_error\",\"message\":"
		       "\"Invalid `signature` in `thinking` block\"}},"
		       "{\"status\":400,\"error\":{\"type\":\"invalid_request_error\",\"message\":"
		       "\"Invalid `signature` in `thinking` block\"}}]");
	model_open(p, "anthropic_messages", "");
	model_attempt(p);
	model_keep(p, user_message("more"));
	model_attempt(p);
	assert_int_equal(p->got.failure.class, FAULT_HISTORY);
	is_retry(p, 0, &decision);
	assert_int_equal(decision.step, RETRY_RELIEVED);
	assert_int_equal(decision.relief, RELIEF_NO_REASONING);
	p->request.relief = decision.relief;
	model_attempt(p);
	is_retry(p, decision.relief, &decision);
	assert_int_equal(decision.step, RETRY_FINAL);
	model_sent(p, 3, &sent);
	assert_null(strstr(sent.data, "secret thought"));
}

struct waiter {
	struct provider_place *p;
	const struct provider *provider;
	const struct provider_request *request;
	int64_t end;
};

static void *attempt_later(void *arg)
{
	struct waiter *waiter = arg;
	struct provider_result got = provider_attempt(waiter->p, waiter->provider, waiter->request);

	waiter->end = clock_ms();
	provider_result_done(&got);
	return NULL;
}

/* Told to pause, then two answers. */
#define PAUSED(ms)                                                               \
	"{\"status\":429,\"headers\":{\"retry-after-ms\":\"" ms "\"},\"error\":" \
	"{\"type\":\"rate_limit_error\"}},{\"text\":\"a\"},{\"text\":\"b\"}"

/* A machine so busy that another key's answer comes later than the pause is long has a longer one. */
static void P64_a_pause_holds_for_all_of_one_key(void **state)
{
	struct provider_place *p = *state;
	auto_provider struct provider *other = NULL;
	bool meanwhile = false;

	provider_serve(p, "[" PAUSED("1000") "," PAUSED("4000") "," PAUSED("16000") "]");
	provider_place_open(p);
	p->env.shared = p->place.base;
	model_open(p, "anthropic_messages", "");
	other = provider_at(p, "anthropic_messages", "headers: {x-api-key: another}\n");
	for (int64_t pause = 1000; pause <= 16000 && !meanwhile; pause *= 4) {
		struct waiter held = { p, p->provider, &p->request, 0 };
		struct waiter free = { p, other, &p->request, 0 };
		int64_t told = clock_ms();
		pthread_t thread;

		model_attempt(p);
		assert_int_equal(p->got.failure.class, FAULT_RATE);
		assert_int_equal(p->got.failure.wait_ms, pause);
		pthread_create(&thread, NULL, attempt_later, &held);
		attempt_later(&free);
		pthread_join(thread, NULL);
		assert_true(held.end >= told + pause);
		meanwhile = free.end < told + pause;
	}
	assert_true(meanwhile);
}

static void places_of_one_key(void **state)
{
	struct provider_place *p = *state;
	struct waiter waiters[3];
	pthread_t threads[3];
	int64_t begun;

	provider_serve(p, "{\"by\":\"turn\",\"answers\":[{\"text\":\"a\",\"delay\":0.3}]}");
	provider_place_open(p);
	p->env.shared = p->place.base;
	model_open(p, "openai_chat", "limits: {requests_in_flight: 1}\n");
	begun = clock_ms();
	for (int i = 0; i < 3; i++) {
		waiters[i] = (struct waiter){ p, p->provider, &p->request, 0 };
		pthread_create(&threads[i], NULL, attempt_later, &waiters[i]);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	assert_true(clock_ms() - begun >= 900);
}

static void P65_a_spend_limit_is_final(void **state)
{
	struct provider_place *p = *state;
	struct retry_decision decision;

	provider_serve(p, "[{\"status\":429,\"headers\":{\"x-should-retry\":\"false\"},\"error\":"
			  "{\"type\":\"insufficient_quota\",\"message\":\"spent\","
			  "\"code\":\"project_spend_limit_exceeded\"}}]");
	model_open(p, "openai_responses", "");
	model_attempt(p);
	is_retry(p, 0, &decision);
	assert_int_equal(decision.step, RETRY_FINAL);
	assert_non_null(strstr(p->got.failure.sentence,
			       "Provider 'rye/agent/providers/test' failed (HTTP 429): spent"));
	assert_int_equal(p->got.usage.known, false);
}

static void P66_overflow(void **state)
{
	struct provider_place *p = *state;
	struct retry_decision decision;

	provider_serve(p, "[{\"status\":400,\"error\":{\"type\":\"BadRequestError\",\"message\":"
			  "\"This model's maximum context length is 16384 tokens. However, you "
			  "requested 20012 tokens (12012 in the messages, 8000 in the completion). "
			  "Please reduce\"}},"
			  "{\"status\":400,\"error\":{\"message\":"
			  "\"prompt is too long: 1000012 tokens > 1000000 maximum\"}}]");
	model_open(p, "openai_chat", "");
	model_attempt(p);
	is_retry(p, 0, &decision);
	assert_int_equal(decision.step, RETRY_RELIEVED);
	assert_int_equal(decision.max_tokens, 16384 - 12012);
	is_retry(p, RELIEF_SMALLER, &decision);
	assert_int_equal(decision.step, RETRY_HAND_OVER);
	model_attempt(p);
	is_retry(p, 0, &decision);
	assert_int_equal(decision.step, RETRY_HAND_OVER);
}

static void P67_a_failure_in_the_stream_is_charged(void **state)
{
	struct provider_place *p = *state;
	struct retry_decision decision;

	serve_vector(p, "P04-error-in-stream", "{\"text\":\"fine\"}");
	model_open(p, "anthropic_messages", "pricing: {m: {input: 1, output: 2}}\n");
	model_attempt(p);
	assert_false(p->got.complete);
	assert_int_equal(p->got.failure.class, FAULT_OVERLOADED);
	assert_true(p->got.spend > 0);
	is_retry(p, 0, &decision);
	assert_int_equal(decision.step, RETRY_WAIT);
	assert_int_equal(decision.wait_ms, 5000);
	model_attempt(p);
	assert_true(p->got.complete);
}

static void P68_calls_that_were_cut(void **state)
{
	static const char *const names[] = { "P06-cut-in-tool", "P10-length-in-tool", NULL };
	struct provider_place *p = *state;
	auto_buf struct rye_buf sent = RYE_BUF_INIT;

	serve_vectors(p, names, "{\"text\":\"fine\"}");
	model_open(p, "anthropic_messages", "");
	model_attempt(p);
	assert_false(p->got.complete);
	assert_int_equal(p->got.failure.class, FAULT_CUT);
	assert_true(json_is_null(json_object_get(block_of(&p->got, "tool_call"), "arguments")));
	model_attempt(p);
	assert_true(p->got.complete);
	assert_true(json_is_null(json_object_get(block_of(&p->got, "tool_call"), "arguments")));
	assert_true(strlen(json_str(block_of(&p->got, "tool_call"), "fault")) > 0);
	model_keep(p, tool_result("toolu_5", "write", "not run"));
	model_attempt(p);
	model_sent(p, 3, &sent);
	assert_non_null(strstr(sent.data, "\"name\":\"write\",\"input\":{}"));
}

static void P70_a_rejected_field(void **state)
{
	struct provider_place *p = *state;
	auto_json json_t *row = NULL;
	auto_json json_t *options = json_pack("{s:f, s:{s:s}, s:i}", "temperature", 0.5,
					      "tool_choice", "type", "any", "seed", 7);
	const json_t *body;

	provider_serve(p, "[{\"text\":\"fine\"}]");
	model_open(p, "anthropic_messages",
		   "default_model_fields: {reject: [temperature, tool_choice.any]}\n");
	p->request.options = options;
	model_attempt(p);
	assert_true(p->got.complete);
	assert_true(json_lists(p->got.warnings, "not_sent:temperature"));
	assert_true(json_lists(p->got.warnings, "not_sent:tool_choice.any"));
	row = logged_request(p, 1);
	body = json_object_get(row, "body");
	assert_null(json_object_get(body, "temperature"));
	assert_null(json_object_get(body, "tool_choice"));
	assert_int_equal(json_int(body, "seed", 0), 7);
}

static void P71_comments_keep_alive_what_has_begun(void **state)
{
	static const char limits[] = "timeouts: {connect: 5, first_byte: 1, idle: 1}\n";
	struct provider_place *p = *state;

	provider_serve(p, "[{\"text\":\"a\",\"first\":3,\"comments\":0.1},"
			  "{\"text\":[\"a\",\"b\"],\"gap\":1.6,\"comments\":0.1},"
			  "{\"text\":[\"a\",\"b\"],\"gap\":1.6}]");
	model_open(p, "openai_chat", limits);
	model_attempt(p);
	assert_int_equal(p->got.failure.class, FAULT_TIMEOUT);
	assert_true(p->got.failure.retryable && p->got.ms < 2900);
	model_attempt(p);
	if (!p->got.complete)
		fail_msg("%s", p->got.failure.sentence);
	model_attempt(p);
	assert_int_equal(p->got.failure.class, FAULT_TIMEOUT);
}

/* ---- cancelled ---- */

struct canceller {
	int fd;
};

static void *cancel_soon(void *arg)
{
	const struct canceller *canceller = arg;

	usleep(300000); /* the answer hangs by then */
	assert_int_equal(write(canceller->fd, "x", 1), 1);
	return NULL;
}

static bool log_says_gone(const struct provider_place *p)
{
	struct rye_blob *blob = place_read(p->log);
	bool gone = strstr(blob->data, "\"end\": \"gone\"") != NULL;

	rye_blob_unref(blob);
	return gone;
}

static void P72_a_cancelled_attempt(void **state)
{
	struct provider_place *p = *state;
	int pipes[2];
	struct canceller canceller;
	struct provider_call call;
	pthread_t thread;
	int64_t begun;

	provider_serve(p, "[{\"text\":[\"a\",\"b\",\"c\"],\"hang\":3}]");
	model_open(p, "anthropic_messages", "");
	assert_int_equal(pipe(pipes), 0);
	canceller.fd = pipes[1];
	call = (struct provider_call){ .http = p->http,
				       .provider = p->provider,
				       .request = &p->request,
				       .cancel = pipes[0] };
	begun = clock_ms();
	pthread_create(&thread, NULL, cancel_soon, &canceller);
	provider_exchange(&call, &p->got);
	pthread_join(thread, NULL);
	assert_true(clock_ms() - begun < 30000);
	assert_int_equal(p->got.failure.class, FAULT_CANCELLED);
	assert_false(p->got.failure.retryable);
	assert_false(p->got.complete);
	for (int i = 0; i < 1500 && !log_says_gone(p); i++)
		usleep(20000);
	assert_true(log_says_gone(p));
	close(pipes[0]);
	close(pipes[1]);
}

/* ---- broken lines, and keys ---- */

static void cut_and_reset(void **state)
{
	struct provider_place *p = *state;
	auto_json json_t *messages = conversation("go");
	const struct provider_request request = { .messages = messages };

	provider_serve(p,
		       "{\"by\":\"turn\",\"lanes\":{\"CUT\":[{\"text\":[\"a\",\"b\"],\"cut\":2}],"
		       "\"RESET\":[{\"text\":[\"a\",\"b\"],\"reset\":2}]}}");
	for (size_t i = 0; i < ARRAY_SIZE(provider_wires); i++)
		for (int k = 0; k < 2; k++) {
			auto_provider struct provider *provider =
				provider_at(p, provider_wires[i], "");
			struct provider_result got;

			json_array_set_new(messages, 0, user_message(k ? "CUT" : "RESET"));
			got = provider_attempt(p, provider, &request);
			if (got.failure.class != FAULT_CUT)
				fail_msg("%s %d: %s", provider_wires[i], k, got.failure.sentence);
			assert_true(got.failure.retryable);
			provider_result_done(&got);
		}
}

static void no_server(void **state)
{
	struct provider_place *p = *state;

	snprintf(p->port, sizeof(p->port), "1");
	model_open(p, "openai_chat", "");
	model_attempt(p);
	assert_int_equal(p->got.failure.class, FAULT_NETWORK);
	assert_true(p->got.failure.retryable);
	assert_false(p->got.usage.known);
}

#define TEST_SECRET "sk-very-secret-0123456789"

/* Neither answers that repeat the key nor anything else shows it; the server alone has seen it. */
static void a_key_is_never_told(void **state)
{
	struct provider_place *p = *state;
	auto_json json_t *row = NULL;
	auto_buf struct rye_buf all = RYE_BUF_INIT;

	provider_serve(p,
		       "[{\"status\":401,\"error\":{\"type\":\"authentication_error\",\"message\":"
		       "\"bad key " TEST_SECRET "!\"}}]");
	env_put(&p->own, "TEST_KEY", TEST_SECRET);
	model_open(p, "anthropic_messages",
		   "env_config: {env: {TEST_KEY: \"${TEST_KEY}\"}}\n"
		   "auth: {type: bearer, token: \"${TEST_KEY}\"}\n");
	model_attempt(p);
	assert_int_equal(p->got.failure.class, FAULT_AUTH);
	json_put(&all, p->got.message, false);
	json_put(&all, p->got.warnings, false);
	json_put(&all, p->provider->item, false);
	buf_addf(&all, "%s%s", p->got.failure.sentence, p->got.failure.message);
	assert_null(strstr(all.data, "very-secret"));
	assert_non_null(strstr(all.data, "bad key ***!"));
	row = logged_request(p, 1);
	assert_string_equal(json_str(json_object_get(row, "headers"), "authorization"),
			    "Bearer " TEST_SECRET);
}

/* ---- a person's own rules, and dice ---- */

static void own_rules(void **state)
{
	struct provider_place *p = *state;
	struct retry_decision decision;

	provider_serve(p, "[{\"status\":418,\"error\":{\"message\":\"short and stout\"}}]");
	provider_put_config(
		p, "error_classification",
		"version: \"1.0.0\"\ncategory: agent\n"
		"retry: {max_retries: 1}\n"
		"patterns:\n"
		"  - id: tea\n    match: {path: error.message, op: contains, value: stout}\n"
		"    retryable: true\n    retry_policy: {type: fixed, delay: 3}\n");
	model_open(p, "openai_chat", "");
	model_attempt(p);
	assert_int_equal(p->got.failure.class, FAULT_INVALID);
	assert_true(p->got.failure.retryable);
	is_retry(p, 0, &decision);
	assert_int_equal(decision.step, RETRY_WAIT);
	assert_int_equal(decision.wait_ms, 3000);
	provider_retry(p->provider, &p->got.failure, &(struct retry_state){ .failures = 2 },
		       &decision);
	assert_int_equal(decision.step, RETRY_FINAL);
}

static int64_t wait_of(const char *name, const char *value, const char *message)
{
	static const struct provider provider = { .id = (char *)"test" };
	struct fault_said said = { .delay_ms = -1, .message = (char *)message };
	auto_json json_t *headers =
		json_pack("{s:s, s:s}", name, value, "anthropic-ratelimit-tokens-remaining", "0");
	const struct fault_in in = { .provider = &provider,
				     .said = &said,
				     .headers = headers,
				     .status = 429,
				     .now = 1000 };
	struct provider_result result = { 0 };
	int64_t ms;

	fault_classify(&in, &result.failure);
	ms = result.failure.wait_ms;
	provider_result_done(&result);
	return ms;
}

/* What a provider asks for, in all its spellings; nonsense is nothing, and endless is very long. */
static void what_is_asked_to_wait(void **state)
{
	static const struct {
		const char *name, *value;
		int64_t ms;
	} rows[] = {
		{ "retry-after", "7", 7000 },
		{ "retry-after", "0.5", 500 },
		{ "retry-after", "Thu, 01 Jan 1970 00:20:00 GMT", 200000 },
		{ "retry-after", "Thu, 01 Jan 1970 00:00:00 GMT", 0 },
		{ "retry-after", "soon", -1 },
		{ "retry-after", "-3", -1 },
		{ "retry-after", "nan", -1 },
		{ "retry-after", "1e300", 10000000000 },
		{ "retry-after-ms", "2500", 2500 },
		{ "retry-after-ms", "x", -1 },
		{ "anthropic-ratelimit-tokens-reset", "6m0s", 360000 },
		{ "anthropic-ratelimit-tokens-reset", "250ms", 250 },
		{ "anthropic-ratelimit-tokens-reset", "1970-01-01T00:17:00Z", 20000 },
		{ "anthropic-ratelimit-tokens-reset", "999999999h999999999h", 10000000000 },
		{ "anthropic-ratelimit-tokens-reset", "5 days", -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int64_t ms = wait_of(rows[i].name, rows[i].value, "");

		if (ms != rows[i].ms)
			fail_msg("%s: %s: %lld", rows[i].name, rows[i].value, (long long)ms);
	}
	assert_int_equal(wait_of("x", "", "Please try again in 11.5s."), 11500);
	assert_int_equal(wait_of("x", "", "try again in 99999999999999999999999999999s"),
			 10000000000);
}

static void pauses(void **state)
{
	auto_json json_t *rules = json_object();
	const struct provider provider = { .rules = rules };
	struct provider_failure failure = { .class = FAULT_SERVER,
					    .retryable = true,
					    .wait_ms = -1 };
	struct retry_state now = { .failures = 1 };
	struct retry_decision decision;

	(void)state;
	provider_retry(&provider, &failure, &now, &decision);
	assert_int_equal(decision.wait_ms, 2000);
	now = (struct retry_state){ .failures = 3, .jitter = 1 };
	provider_retry(&provider, &failure, &now, &decision);
	assert_int_equal(decision.wait_ms, 9600);
	now.failures = 4;
	provider_retry(&provider, &failure, &now, &decision);
	assert_int_equal(decision.step, RETRY_FINAL);
	now = (struct retry_state){ .failures = 1, .jitter = 0.5 };
	failure.wait_ms = 7000;
	provider_retry(&provider, &failure, &now, &decision);
	assert_true(decision.wait_ms >= 7000 && decision.wait_ms <= 8400);
	failure.wait_ms = 3600000; /* an hour is too long to wait */
	provider_retry(&provider, &failure, &now, &decision);
	assert_int_equal(decision.step, RETRY_FINAL);
}

/* ---- tools in the text ---- */

static void calls_in_the_text(void **state)
{
	struct provider_place *p = *state;
	auto_json json_t *tools = one_tool();
	auto_buf struct rye_buf sent = RYE_BUF_INIT;
	const json_t *call;

	provider_serve(p,
		       "[{\"text\":[\"I look. <invoke name=\\\"ls\\\">\\n<parameter name=\\\"p\\\""
		       ">. </parameter></inv\",\"oke>\"]},{\"text\":\"Done.\"}]");
	model_open(p, "openai_chat", "tool_use: {mode: text_parsed}\n");
	p->request.system = "Be brief.";
	p->request.tools = tools;
	model_attempt(p);
	call = block_of(&p->got, "tool_call");
	assert_int_equal(p->got.stop, STOP_TOOL);
	assert_string_equal(json_str(call, "name"), "ls");
	assert_string_equal(json_str(json_object_get(call, "arguments"), "p"), ".");
	model_keep(p, tool_result(json_str(call, "id"), "ls", "a.c"));
	model_attempt(p);
	assert_int_equal(p->got.stop, STOP_END);
	model_sent(p, 2, &sent);
	assert_null(strstr(sent.data, "tool_calls"));
	assert_null(strstr(sent.data, "\"role\":\"tool\""));
	assert_non_null(strstr(sent.data, "Result of ls (call_r1_1):\\na.c"));
	assert_non_null(strstr(sent.data, "Lists."));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		provider_test(P63_history_once_without_reasoning),
		provider_test(P64_a_pause_holds_for_all_of_one_key),
		provider_test(places_of_one_key),
		provider_test(P65_a_spend_limit_is_final),
		provider_test(P66_overflow),
		provider_test(P67_a_failure_in_the_stream_is_charged),
		provider_test(P68_calls_that_were_cut),
		provider_test(P70_a_rejected_field),
		provider_test(P71_comments_keep_alive_what_has_begun),
		provider_test(P72_a_cancelled_attempt),
		provider_test(cut_and_reset),
		provider_test(no_server),
		provider_test(a_key_is_never_told),
		provider_test(own_rules),
		provider_test(calls_in_the_text),
		cmocka_unit_test(what_is_asked_to_wait),
		cmocka_unit_test(pauses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
