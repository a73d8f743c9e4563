/* SPDX-License-Identifier: MIT */
/*
 * Answers of model providers. The first byte says which wire, whether it streams, whether reasoning in
 * tags is taken apart and whether it is an error, the second where the rest is cut; whole, cut there and byte by byte it has
 * to give the same answer, and the next request has to be JSON on every wire.
 */
#include "provider/provider_inner.h"
#include "wire/wire_inner.h"

#include "scope.h"
#include "str.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct wire *const fuzz_wires[] = { &wire_anthropic, &wire_responses, &wire_chat,
						 &wire_gemini, &wire_interactions };

/* A fault is asked for its class, too. */
static void tell_failure(struct answer *answer, const struct provider *provider,
			 struct rye_buf *out)
{
	const char *said = answer->said.message ? answer->said.message : "";
	auto_json json_t *headers = json_pack("{s:s, s:s, s:s}", "retry-after", said,
					      "x-ratelimit-remaining-tokens", "0",
					      "x-ratelimit-reset-tokens", said);
	const struct fault_in in = { .provider = provider,
				     .said = &answer->said,
				     .headers = headers,
				     .status = answer->status,
				     .now = 1 };
	struct provider_result result = { 0 };

	fault_classify(&in, &result.failure);
	buf_addf(out, "%s %s", provider_class_name(result.failure.class), result.failure.sentence);
	provider_result_done(&result);
}

struct cutting {
	size_t first, step; /* bytes; step 0: the rest at once */
};

struct heading {
	long status;
	bool streams;
};

static json_t *read_answer(const struct provider *provider, struct heading head,
			   struct rye_span text, struct cutting cut)
{
	struct provider_result result = { 0 };
	auto_buf struct rye_buf why = RYE_BUF_INIT;
	struct answer answer;
	json_t *got;

	answer_open(&answer, provider, NULL);
	answer_begin(&answer, head.status, head.streams ? "text/event-stream" : "application/json");
	for (size_t n = cut.first; text.len; n = cut.step) {
		struct rye_span piece = { text.ptr, n && n < text.len ? n : text.len };

		(void)answer_feed(&answer, piece);
		text = span_skip(text, piece.len);
	}
	if (!answer_end(&answer, &result))
		tell_failure(&answer, provider, &why);
	got = json_pack("{s:O, s:O, s:s}", "message", result.message, "warnings", result.warnings,
			"why", why.data ? why.data : "");
	provider_result_done(&result);
	answer_close(&answer);
	return got;
}

static void check_requests(const struct provider *provider, json_t *message)
{
	auto_json json_t *messages = json_pack("[O]", message);
	const struct provider_request request = { .messages = messages };

	for (size_t i = 0; i < ARRAY_SIZE(fuzz_wires); i++) {
		struct provider other = *provider;
		auto_buf struct rye_buf text = RYE_BUF_INIT;
		auto_json json_t *body = NULL;

		other.wire = fuzz_wires[i];
		if (provider_request_make(&other, &request, NULL, &text, NULL))
			abort();
		body = json_loadb(text.data, text.len, JSON_ALLOW_NUL, NULL);
		if (!body)
			abort();
	}
}

static void check_answer(const struct provider *provider, struct heading head, struct rye_span text,
			 size_t cut)
{
	const struct cutting cuts[] = { { cut, 0 }, { 1, 1 } };
	auto_json json_t *whole = read_answer(provider, head, text, (struct cutting){ 0, 0 });

	for (size_t i = 0; i < ARRAY_SIZE(cuts); i++) {
		auto_json json_t *other = read_answer(provider, head, text, cuts[i]);

		if (!json_equal(whole, other))
			abort();
	}
	if (json_is_true(json_object_get(json_object_get(whole, "message"), "complete")))
		check_requests(provider, json_object_get(whole, "message"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_json json_t *fields = NULL;
	auto_json json_t *item = json_object();
	struct provider provider;

	if (size < 2)
		return 0;
	fields = json_pack("{s:{s:b}}", "reasoning", "think_tags", data[0] >> 6 & 1);
	provider = (struct provider){
		.id = (char *)"test",
		.name = (char *)"test",
		.model = (char *)"m",
		.wire = fuzz_wires[(data[0] & 15) % ARRAY_SIZE(fuzz_wires)],
		.max_output = 100,
		.text_calls = data[0] >> 5 & 1,
		.fields = fields,
		.item = item,
	};
	check_answer(&provider, (struct heading){ data[0] >> 7 ? 429 : 200, !(data[0] >> 4 & 1) },
		     (struct rye_span){ (const char *)data + 2, size - 2 }, data[1]);
	return 0;
}
