/* SPDX-License-Identifier: MIT */
/*
 * Requests word for word: one conversation on every wire, to the model that made its answer and to
 * another one (tests/vectors/requests: WIRE.json, WIRE-other.json).
 */
#include "provider_model.h"

#define SCHEMA                                                                                 \
	"{\"type\":\"object\",\"properties\":{\"p\":{\"type\":\"string\",\"default\":\".\"}}," \
	"\"additionalProperties\":false}"

/* Answers of each wire in its own JSON, as they are stored. */
static const char *const answers[][2] = {
	{ "anthropic_messages",
	  "[{\"kind\":\"reasoning\",\"text\":\"\",\"signature\":\"c2ln\",\"raw\":\"{\\\"type\\\":"
	  "\\\"thinking\\\",\\\"thinking\\\":\\\"\\\",\\\"signature\\\":\\\"c2ln\\\"}\"},"
	  "{\"kind\":\"tool_call\",\"id\":\"call:1\",\"name\":\"ls\",\"arguments\":{\"p\":\".\"},"
	  "\"raw\":\"{\\\"type\\\":\\\"tool_use\\\",\\\"id\\\":\\\"call:1\\\",\\\"name\\\":\\\"ls\\\","
	  "\\\"input\\\": {\\\"p\\\": \\\".\\\"}}\"}]" },
	{ "openai_responses",
	  "[{\"kind\":\"reasoning\",\"text\":\"Plan\",\"encrypted\":\"RU5D\",\"raw\":\"{\\\"id\\\":"
	  "\\\"rs_1\\\",\\\"type\\\":\\\"reasoning\\\",\\\"summary\\\":[],"
	  "\\\"encrypted_content\\\":\\\"RU5D\\\"}\"},"
	  "{\"kind\":\"tool_call\",\"id\":\"call:1\",\"name\":\"ls\",\"arguments\":{\"p\":\".\"},"
	  "\"raw\":\"{\\\"id\\\":\\\"fc_1\\\",\\\"type\\\":\\\"function_call\\\",\\\"call_id\\\":"
	  "\\\"call:1\\\",\\\"name\\\":\\\"ls\\\",\\\"arguments\\\":\\\"{\\\\\\\"p\\\\\\\": "
	  "\\\\\\\".\\\\\\\"}\\\"}\"}]" },
	{ "openai_chat",
	  "[{\"kind\":\"reasoning\",\"text\":\"Plan\",\"raw\":\"{\\\"reasoning_content\\\":"
	  "\\\"Plan\\\"}\"},{\"kind\":\"text\",\"text\":\"I look.\"},"
	  "{\"kind\":\"tool_call\",\"id\":\"call:1\",\"name\":\"ls\",\"arguments\":{\"p\":\".\"},"
	  "\"raw\":\"{\\\"type\\\":\\\"function\\\",\\\"id\\\":\\\"call:1\\\",\\\"function\\\":"
	  "{\\\"name\\\":\\\"ls\\\",\\\"arguments\\\":\\\"{ }\\\"}}\"}]" },
	{ "gemini_generate",
	  "[{\"kind\":\"reasoning\",\"text\":\"Plan\"},"
	  "{\"kind\":\"tool_call\",\"id\":\"call:1\",\"name\":\"ls\",\"arguments\":{\"p\":\".\"},"
	  "\"own_id\":true,\"signature\":\"c2ln\",\"raw\":\"{\\\"functionCall\\\":{\\\"name\\\":"
	  "\\\"ls\\\",\\\"args\\\":{\\\"p\\\":\\\".\\\"}},\\\"thoughtSignature\\\":\\\"c2ln\\\"}\"}]" },
	{ "gemini_interactions",
	  "[{\"kind\":\"reasoning\",\"text\":\"\",\"signature\":\"c2ln\",\"raw\":\"{\\\"type\\\":"
	  "\\\"thought\\\",\\\"signature\\\":\\\"c2ln\\\"}\"},"
	  "{\"kind\":\"tool_call\",\"id\":\"call:1\",\"name\":\"ls\",\"arguments\":{\"p\":\".\"},"
	  "\"raw\":\"{\\\"type\\\":\\\"function_call\\\",\\\"id\\\":\\\"call:1\\\",\\\"name\\\":"
	  "\\\"ls\\\",\\\"arguments\\\":{\\\"p\\\":\\\".\\\"}}\"}]" },
};

/*
 * A question with a picture, the answer, its result (an error, with a picture, a NUL and a line
 * separator in its text), an answer that was refused without a word, and a later instruction.
 */
static json_t *whole_conversation(const char *wire, const char *blocks)
{
	json_t *messages = json_pack("[{s:s, s:[{s:s, s:s}, {s:s, s:s, s:s}]}]", "role", "user",
				     "blocks", "kind", "text", "text", "What is in \"a\"?", "kind",
				     "image", "media_type", "image/png", "data", "aW1n");
	json_t *result = json_pack("{s:s, s:[{s:s, s:s, s:s, s:s%, s:b, s:[{s:s, s:s}]}]}", "role",
				   "user", "blocks", "kind", "tool_result", "id", "call:1", "name",
				   "ls", "text", "no\0 \xe2\x80\xa8 a", (size_t)9, "is_error", 1,
				   "images", "media_type", "image/png", "data", "aW1n");
	json_t *answer = json_pack("{s:s, s:s, s:s, s:s, s:o}", "role", "assistant", "wire", wire,
				   "provider", "test", "model", "m", "blocks",
				   json_loads(blocks, 0, NULL));

	assert_non_null(result);
	json_array_append_new(messages, answer);
	json_array_append_new(messages, result);
	json_array_append_new(messages,
			      json_pack("{s:s, s:s, s:s, s:s, s:[]}", "role", "assistant", "wire",
					wire, "provider", "test", "model", "m", "blocks"));
	json_array_append_new(messages,
			      json_pack("{s:s, s:[{s:s, s:s}]}", "role", "system", "blocks", "kind",
					"text", "text", "Now in French."));
	return messages;
}

static void is_request(const struct provider *provider, const struct provider_request *request,
		       const char *file)
{
	auto_buf struct rye_buf got = RYE_BUF_INIT;
	char path[100];
	struct rye_blob *wanted;

	put_request(provider, request, &got);
	buf_adds(&got, "\n");
	snprintf(path, sizeof(path), "requests/%s.json", file);
	wanted = place_read(path);
	assert_string_equal(got.data, wanted->data);
	rye_blob_unref(wanted);
}

#define FIELDS                                                           \
	"stream_options: {include_usage: true}\n"                        \
	"default_model_fields:\n"                                        \
	"  context_window: 1000\n  max_output: 300\n  reject: [top_p]\n" \
	"  reasoning: {replay: field}\n  set: {top_p: 1, seed: 7}\n"     \
	"  cache: {ttl: 1h}\n"                                           \
	"  tools: {images_in_results: true}\n"

static void requests_of(struct provider_place *p, const char *wire, const char *blocks)
{
	auto_provider struct provider *provider = provider_at(p, wire, FIELDS);
	auto_json json_t *messages = whole_conversation(wire, blocks);
	auto_json json_t *tools = json_pack("[{s:s, s:s, s:o}]", "name", "ls", "description",
					    "Lists.", "schema", json_loads(SCHEMA, 0, NULL));
	auto_json json_t *options = json_pack("{s:i}", "seed", 8);
	const struct provider_request request = { .system = "Be brief.",
						  .tools = tools,
						  .messages = messages,
						  .max_tokens = 200,
						  .options = options,
						  .conversation = "thread-1" };
	char other[100];

	is_request(provider, &request, wire);
	json_object_set_new(json_array_get(messages, 1), "model", json_string("before"));
	snprintf(other, sizeof(other), "%s-other", wire);
	is_request(provider, &request, other);
}

static void requests(void **state)
{
	struct provider_place *p = *state;

	snprintf(p->port, sizeof(p->port), "1");
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++)
		requests_of(p, answers[i][0], answers[i][1]);
}

/* ---- the same told by hand, from what the providers document ---- */

/* An answer of another wire with two calls; the first has its result, the second was denied. */
static void golden(struct provider_place *p, const char *wire, const char *more, const char *wanted)
{
	auto_provider struct provider *provider = NULL;
	auto_json json_t *messages = conversation("Look.");
	auto_json json_t *tools = one_tool();
	const struct provider_request request = { .system = "Be brief.",
						  .tools = tools,
						  .messages = messages,
						  .max_tokens = 200 };
	auto_buf struct rye_buf got = RYE_BUF_INIT;
	json_t *answer = json_loads(
		"{\"role\":\"assistant\",\"blocks\":[{\"kind\":\"reasoning\",\"text\":\"Plan\"},"
		"{\"kind\":\"text\",\"text\":\"I look.\"},"
		"{\"kind\":\"tool_call\",\"id\":\"c1\",\"name\":\"ls\",\"arguments\":{\"p\":\".\"}},"
		"{\"kind\":\"tool_call\",\"id\":\"c2\",\"name\":\"ls\",\"arguments\":{}}]}",
		0, NULL);
	json_t *results = tool_result("c1", "ls", "a.c");
	json_t *denied = tool_result("c2", "ls", "denied");

	snprintf(p->port, sizeof(p->port), "1");
	provider = provider_at(p, wire, more);
	json_set(json_array_get(json_object_get(denied, "blocks"), 0), "is_error", json_true());
	json_array_extend(json_object_get(results, "blocks"), json_object_get(denied, "blocks"));
	json_decref(denied);
	json_array_append_new(messages, answer);
	json_array_append_new(messages, results);
	put_request(provider, &request, &got);
	assert_string_equal(got.data, wanted);
	assert_null(strstr(got.data, "Plan"));
}

#define GOLDEN_SCHEMA "{\"type\":\"object\",\"properties\":{\"p\":{\"type\":\"string\"}}}"

static void thread_T30_chat(void **state)
{
	golden(*state, "openai_chat",
	       "stream_options: {include_usage: true}\n"
	       "default_model_fields: {context_window: 100000, max_output: 300}\n",
	       "{\"model\":\"m\",\"messages\":["
	       "{\"role\":\"system\",\"content\":\"Be brief.\"},"
	       "{\"role\":\"user\",\"content\":\"Look.\"},"
	       "{\"role\":\"assistant\",\"content\":\"I look.\",\"tool_calls\":["
	       "{\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"ls\","
	       "\"arguments\":\"{\\\"p\\\":\\\".\\\"}\"}},"
	       "{\"id\":\"c2\",\"type\":\"function\",\"function\":{\"name\":\"ls\","
	       "\"arguments\":\"{}\"}}]},"
	       "{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"a.c\"},"
	       "{\"role\":\"tool\",\"tool_call_id\":\"c2\",\"content\":\"Error: denied\"}],"
	       "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"ls\","
	       "\"description\":\"Lists.\",\"parameters\":" GOLDEN_SCHEMA "}}],"
	       "\"stream\":true,\"stream_options\":{\"include_usage\":true},\"max_tokens\":200}");
}

static void thread_T31_messages(void **state)
{
	golden(*state, "anthropic_messages",
	       "default_model_fields: {context_window: 100000, max_output: 300, cache: {mode: none}}\n",
	       "{\"model\":\"m\",\"stream\":true,"
	       "\"system\":[{\"type\":\"text\",\"text\":\"Be brief.\"}],"
	       "\"tools\":[{\"name\":\"ls\",\"description\":\"Lists.\","
	       "\"input_schema\":" GOLDEN_SCHEMA "}],"
	       "\"messages\":["
	       "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Look.\"}]},"
	       "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"I look.\"},"
	       "{\"type\":\"tool_use\",\"id\":\"c1\",\"name\":\"ls\",\"input\":{\"p\":\".\"}},"
	       "{\"type\":\"tool_use\",\"id\":\"c2\",\"name\":\"ls\",\"input\":{}}]},"
	       "{\"role\":\"user\",\"content\":["
	       "{\"type\":\"tool_result\",\"tool_use_id\":\"c1\",\"content\":\"a.c\"},"
	       "{\"type\":\"tool_result\",\"tool_use_id\":\"c2\",\"content\":\"denied\","
	       "\"is_error\":true}]}],\"max_tokens\":200}");
}

/* The window bounds the answer, and never below what is an answer. */
static void the_longest_answer(void **state)
{
	struct provider_place *p = *state;
	auto_provider struct provider *provider = NULL;
	auto_json json_t *messages = json_array();
	struct provider_request request = { .messages = messages };
	static char words[20000];
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	snprintf(p->port, sizeof(p->port), "1");
	provider = provider_at(p, "openai_chat",
			       "default_model_fields: {context_window: 8000, max_output: 4000, "
			       "max_tokens_field: max_completion_tokens}\n");
	memset(words, 'x', sizeof(words) - 1);
	json_array_append_new(messages, user_message(words));
	put_request(provider, &request, &text);
	assert_non_null(strstr(text.data, "\"max_completion_tokens\":2996"));
	buf_clear(&text);
	request.relief = RELIEF_SMALLER;
	request.max_tokens = 3100;
	put_request(provider, &request, &text);
	assert_non_null(strstr(text.data, "\"max_completion_tokens\":3100"));
}

static void schemas_of_tools(void **state)
{
	struct provider_place *p = *state;
	auto_provider struct provider *subset = NULL;
	auto_provider struct provider *strict = NULL;
	auto_json json_t *messages = json_array();
	auto_json json_t *tools = json_pack("[{s:s, s:s, s:o}]", "name", "ls", "description",
					    "Lists.", "schema", json_loads(SCHEMA, 0, NULL));
	const struct provider_request request = { .messages = messages, .tools = tools };
	auto_buf struct rye_buf one = RYE_BUF_INIT, two = RYE_BUF_INIT;

	snprintf(p->port, sizeof(p->port), "1");
	subset = provider_at(p, "gemini_generate",
			     "default_model_fields: {tools: {schema: openapi_subset}}\n");
	put_request(subset, &request, &one);
	assert_non_null(strstr(one.data, "\"parameters\":{\"type\":\"object\",\"properties\":{"
					 "\"p\":{\"type\":\"string\"}}}"));
	strict = provider_at(p, "openai_responses",
			     "default_model_fields: {tools: {schema: strict}}\n");
	put_request(strict, &request, &two);
	assert_non_null(strstr(two.data, "\"required\":[\"p\"]"));
	assert_non_null(strstr(two.data, "\"strict\":true"));
}

/* What the older Gemini endpoints refuse is left out, but not a parameter that bears such a name. */
static void schemas_of_older_endpoints(void **state)
{
	struct provider_place *p = *state;
	auto_provider struct provider *provider = NULL;
	auto_json json_t *messages = json_array();
	json_t *schema = json_loads(
		"{\"type\": \"object\", \"$id\": \"x\", \"properties\": {\"default\": {\"type\": "
		"\"string\", \"default\": \"a\", \"const\": \"a\"}, \"l\": {\"type\": \"array\", "
		"\"uniqueItems\": true, \"items\": {\"anyOf\": [{\"type\": \"number\", "
		"\"multipleOf\": 2}]}}}, \"required\": [\"default\"], \"if\": {}}",
		0, NULL);
	auto_json json_t *tools = json_pack("[{s:s, s:s, s:o}]", "name", "ls", "description",
					    "Lists.", "schema", schema);
	const struct provider_request request = { .messages = messages, .tools = tools };
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	snprintf(p->port, sizeof(p->port), "1");
	provider = provider_at(p, "gemini_generate",
			       "default_model_fields: {tools: {schema: openapi_subset}}\n");
	put_request(provider, &request, &text);
	assert_non_null(strstr(
		text.data,
		"\"parameters\":{\"type\":\"object\",\"properties\":{\"default\":{\"type\":\"string\","
		"\"enum\":[\"a\"]},\"l\":{\"type\":\"array\",\"items\":{\"anyOf\":[{\"type\":\"number\"}]}}},\"required\":["
		"\"default\"]}"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		provider_test(requests),
		provider_test(thread_T30_chat),
		provider_test(thread_T31_messages),
		provider_test(the_longest_answer),
		provider_test(schemas_of_tools),
		provider_test(schemas_of_older_endpoints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
