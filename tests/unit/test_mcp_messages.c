/* SPDX-License-Identifier: MIT */
/*
 * Messages of the Model Context Protocol: every recording of tests/vectors/mcp is read, what a client
 * of it wrote is made again, what a server answered becomes a result.
 */
#include "rye_test.h"

#include "bounds.h"
#include "mcp/client/client_inner.h"
#include "scope.h"
#include "str.h"

#include <stdio.h>

static const char *const recordings[] = {
	"http-2026-07-28",     "http-legacy-on-dual",	 "http-legacy-session",
	"stdio-2025-06-18",    "stdio-2025-11-25",	 "stdio-2026-07-28",
	"stdio-content-kinds", "stdio-probe-everything", "stdio-probe-filesystem",
};

typedef void (*row_fn)(const json_t *row, const char *where, void *arg);

/* All rows of all recordings; how many. */
static size_t each_row(row_fn fn, void *arg)
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(recordings); i++) {
		char path[4096], where[128];
		auto_file FILE *file = NULL;
		auto_free char *line = NULL;
		size_t size = 0, at = 0;
		ssize_t len;

		snprintf(path, sizeof(path), "%s/vectors/mcp/%s.jsonl", getenv("RYE_TEST_SRC"),
			 recordings[i]);
		file = fopen(path, "re");
		assert_non_null(file);
		while ((len = getline(&line, &size, file)) > 0) {
			auto_json json_t *row =
				json_parse((struct rye_span){ line, (size_t)len }, 0, "row", NULL);

			assert_non_null(row);
			snprintf(where, sizeof(where), "%s:%zu", recordings[i], ++at);
			fn(row, where, arg);
			n++;
		}
	}
	return n;
}

static enum mcp_kind read_json(const json_t *value, struct mcp_message *ret)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	json_put(&text, value, false);
	return mcp_read((struct rye_span){ text.data, text.len }, ret);
}

static enum mcp_kind kind_as_recorded(const json_t *msg)
{
	if (!json_object_get(msg, "method"))
		return MCP_RESPONSE;
	return json_object_get(msg, "id") ? MCP_REQUEST : MCP_NOTICE;
}

static void check_kind(const json_t *row, const char *where, void *arg)
{
	const json_t *msg = json_object_get(row, "msg"), *raw = json_object_get(row, "raw");
	struct mcp_message got;

	(void)where;
	if (json_is_object(msg)) {
		assert_int_equal(read_json(msg, &got), kind_as_recorded(msg));
		++*(int *)arg;
		mcp_message_done(&got);
	} else if (json_is_array(msg)) {
		assert_int_equal(read_json(msg, &got), MCP_JUNK); /* a batch */
	}
	if (raw)
		assert_int_equal(mcp_read(span_of(json_string_value(raw)), &got), MCP_JUNK);
}

static void MCP10_every_recorded_message_is_read(void **state)
{
	int n = 0;

	(void)state;
	assert_true(each_row(check_kind, &n) > 300);
	assert_true(n > 200);
}

/* A request of ours, with what is its own taken out of the recorded one. */
static void check_made(const json_t *row, const char *where, void *arg)
{
	const json_t *msg = json_object_get(row, "msg");
	const json_t *meta = json_object_get(json_object_get(msg, "params"), "_meta");
	const char *version = json_str(meta, MCP_META "protocolVersion");
	auto_json json_t *params = NULL, *made = NULL, *wanted = NULL;
	struct mcp_frame frame = { .era = MCP_LEGACY, .version = version };

	(void)where;
	if (strcmp(json_str(row, "dir"), "c") || !json_object_get(msg, "id") || !*version ||
	    json_object_size(json_object_get(meta, MCP_META "clientCapabilities")) ||
	    !json_object_get(meta, MCP_META "clientCapabilities"))
		return;
	frame.era = MCP_MODERN;
	wanted = json_deep_copy(msg);
	json_object_del(json_object_get(json_object_get(wanted, "params"), "_meta"),
			"progressToken");
	params = json_deep_copy(json_object_get(wanted, "params"));
	json_object_del(params, "_meta");
	made = mcp_request(&frame, json_incref(json_object_get(msg, "id")), json_str(msg, "method"),
			   json_object_size(params) ? json_incref(params) : NULL);
	assert_true(json_equal(made, wanted));
	++*(int *)arg;
}

static void MCP10_every_recorded_modern_request_is_made_again(void **state)
{
	int n = 0;

	(void)state;
	each_row(check_made, &n);
	assert_true(n > 20);
}

static void check_result(const json_t *row, const char *where, void *arg)
{
	json_t *msg = json_object_get(row, "msg"), *result = json_object_get(msg, "result");
	struct mcp_answer answer = { .result = result, .era = MCP_LEGACY };
	struct mcp_outcome got;

	(void)where;
	if (strcmp(json_str(row, "dir"), "s") || !json_is_array(json_object_get(result, "content")))
		return;
	mcp_outcome_of(&answer, "t", &got);
	assert_int_equal(json_flag(got.data, "success", false),
			 !json_flag(result, "isError", false));
	assert_int_equal(got.code == RYE_OK, json_flag(got.data, "success", false));
	assert_true(json_equal(json_object_get(got.data, "content"),
			       json_object_get(result, "content")));
	++*(int *)arg;
	json_decref(got.data);
	free(got.error);
}

static void MCP31_every_recorded_result_keeps_its_content(void **state)
{
	int n = 0;

	(void)state;
	each_row(check_result, &n);
	assert_true(n > 20);
}

/* ---- reading ---- */

static void reads_as(const char *text, enum mcp_kind wanted)
{
	struct mcp_message got;

	assert_int_equal(mcp_read(span_of(text), &got), wanted);
	mcp_message_done(&got);
}

static void what_is_a_message(void **state)
{
	(void)state;
	reads_as("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", MCP_RESPONSE);
	reads_as("{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":null}", MCP_RESPONSE);
	reads_as("{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700}}", MCP_RESPONSE);
	reads_as("{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700}}", MCP_RESPONSE);
	reads_as("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"x\":1}", MCP_REQUEST);
	reads_as("{\"jsonrpc\":\"2.0\",\"method\":\"n\"}", MCP_NOTICE);
	reads_as("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"n\"}", MCP_JUNK);
	reads_as("{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{}}", MCP_JUNK);
	reads_as("{\"jsonrpc\":\"2.0\",\"id\":1.5,\"result\":{}}", MCP_JUNK);
	reads_as("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{\"code\":1}}", MCP_JUNK);
	reads_as("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":\"no\"}", MCP_JUNK);
	reads_as("{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":3}", MCP_JUNK);
	reads_as("{\"id\":1,\"result\":{}}", MCP_JUNK);
	reads_as("[]", MCP_JUNK);
	reads_as("Server listening", MCP_JUNK);
	reads_as("", MCP_JUNK);
}

static void nested_reads_as(int depth, enum mcp_kind wanted)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	/* the message itself is the first level */
	buf_adds(&text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":");
	for (int i = 1; i < depth; i++)
		buf_addc(&text, '[');
	for (int i = 1; i < depth; i++)
		buf_addc(&text, ']');
	buf_addc(&text, '}');
	reads_as(text.data, wanted);
}

static void no_deeper_than_64(void **state)
{
	(void)state;
	nested_reads_as(RYE_MCP_DEPTH, MCP_RESPONSE);
	nested_reads_as(RYE_MCP_DEPTH + 1, MCP_JUNK);
	nested_reads_as(100000, MCP_JUNK);
}

/* ---- lines ---- */

static void lines_come_in_pieces(void **state)
{
	static const char text[] = "a\r\n\nb c\n\r\nlast";

	(void)state;
	for (size_t cut = 0; cut < sizeof(text); cut++) {
		auto_buf struct rye_buf got = RYE_BUF_INIT;
		struct mcp_lines lines = { 0 };
		struct rye_span all = SPAN(text), line,
				pieces[] = { { all.ptr, cut },
					     span_skip(all, MIN_OF(cut, all.len)) };

		pieces[0].len = MIN_OF(cut, all.len);
		for (size_t i = 0; i < 2; i++) {
			mcp_lines_add(&lines, pieces[i]);
			while (mcp_lines_next(&lines, &line))
				buf_addf(&got, "[%.*s]", (int)line.len, line.ptr);
		}
		assert_string_equal(got.data, "[a][][b c][]");
		mcp_lines_done(&lines);
	}
}

/* n bytes and the line end; is it told? */
static bool tells_line_of(size_t n, const char *end)
{
	auto_free char *text = malloc(n);
	struct mcp_lines lines = { 0 };
	struct rye_span line;
	bool told;

	assert_non_null(text);
	memset(text, 'x', n);
	mcp_lines_add(&lines, (struct rye_span){ text, n });
	told = !mcp_lines_next(&lines, &line) && !lines.too_big;
	mcp_lines_add(&lines, span_of(end));
	told = mcp_lines_next(&lines, &line) && told && line.len == n;
	assert_int_equal(lines.too_big, !told);
	mcp_lines_done(&lines);
	return told;
}

static void MCP12_sixteen_megabytes_and_one_byte_more(void **state)
{
	(void)state;
	assert_true(tells_line_of(RYE_MCP_MESSAGE_MAX, "\n"));
	assert_true(tells_line_of(RYE_MCP_MESSAGE_MAX, "\r\n"));
	assert_false(tells_line_of(RYE_MCP_MESSAGE_MAX + 1, "\n"));
}

/* ---- results ---- */

static void outcome_is(const char *result, const char *wanted)
{
	struct mcp_answer answer = { .era = MCP_MODERN, .version = "v" };
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	struct mcp_outcome got;

	answer.result = json_parse(span_of(result), 0, "result", NULL);
	assert_non_null(answer.result);
	mcp_outcome_of(&answer, "t", &got);
	json_put(&text, got.data, false);
	assert_string_equal(text.data, wanted);
	json_decref(got.data);
	free(got.error);
	mcp_answer_done(&answer);
}

#define TAIL "\"protocol\":{\"era\":\"modern\",\"version\":\"v\"}}"

static void what_a_result_becomes(void **state)
{
	(void)state;
	outcome_is("{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}",
		   "{\"success\":true,\"tool\":\"t\",\"content\":[{\"type\":\"text\",\"text\":"
		   "\"hi\"}],\"isError\":false," TAIL);
	outcome_is("{}", "{\"success\":true,\"tool\":\"t\",\"content\":[],\"isError\":false," TAIL);
	/* the only text is JSON: its members are told, but for our names */
	outcome_is(
		"{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"a\\\":1,\\\"success\\\":0}\"}]}",
		"{\"success\":true,\"tool\":\"t\",\"content\":[{\"type\":\"text\",\"text\":"
		"\"{\\\"a\\\":1,\\\"success\\\":0}\"}],\"isError\":false,\"parsed\":{\"a\":1,"
		"\"success\":0},\"a\":1," TAIL);
	/* structured content comes before it */
	outcome_is("{\"content\":[],\"structuredContent\":{\"b\":2,\"protocol\":3}}",
		   "{\"success\":true,\"tool\":\"t\",\"content\":[],\"isError\":false,"
		   "\"structured\":{\"b\":2,\"protocol\":3},\"b\":2," TAIL);
	outcome_is(
		"{\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":"
		"\"b\"}],\"isError\":true}",
		"{\"success\":false,\"tool\":\"t\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},"
		"{\"type\":\"text\",\"text\":\"b\"}],\"isError\":true,\"error\":\"a\\nb\","
		"\"error_type\":\"tool_error\"," TAIL);
}

static void what_a_fault_becomes(void **state)
{
	struct mcp_answer answer = { .fault = MCP_FAULT_RPC };
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	struct mcp_outcome got;

	(void)state;
	answer.error = json_pack("{s:i, s:s, s:[i]}", "code", -32602, "message", "no", "data", 7);
	answer.text = strdup("no (-32602)");
	mcp_outcome_of(&answer, "t", &got);
	json_put(&text, got.data, false);
	assert_string_equal(text.data,
			    "{\"success\":false,\"tool\":\"t\",\"error\":\"no (-32602)\","
			    "\"error_type\":\"mcp_error\",\"code\":-32602,\"data\":[7]}");
	json_decref(got.data);
	free(got.error);
	mcp_answer_done(&answer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(MCP10_every_recorded_message_is_read),
		cmocka_unit_test(MCP10_every_recorded_modern_request_is_made_again),
		cmocka_unit_test(MCP31_every_recorded_result_keeps_its_content),
		cmocka_unit_test(what_is_a_message),
		cmocka_unit_test(no_deeper_than_64),
		cmocka_unit_test(lines_come_in_pieces),
		cmocka_unit_test(MCP12_sixteen_megabytes_and_one_byte_more),
		cmocka_unit_test(what_a_result_becomes),
		cmocka_unit_test(what_a_fault_becomes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
