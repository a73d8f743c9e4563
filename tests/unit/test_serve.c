/* SPDX-License-Identifier: MIT */
/*
 * The pure parts of the server: which era a message is of, the gate before HTTP, headers, and the
 * names of resources.
 */
#include "rye_test.h"

#include "mcp/server/server_inner.h"
#include "str.h"

static int check_era(const char *text, const struct serve_heard *heard, enum mcp_era *ret)
{
	struct serve_fault fault;
	struct serve_frame frame;
	struct mcp_message message;

	assert_int_not_equal(mcp_read(span_of(text), &message), MCP_JUNK);
	if (serve_era(&message, heard, &frame, &fault))
		assert_int_equal(fault.code, 0);
	*ret = frame.era;
	json_decref(fault.data);
	mcp_message_done(&message);
	return (int)fault.code;
}

#define CLAIM(version)                                                           \
	"\"_meta\":{\"" MCP_META "protocolVersion\":\"" version "\",\"" MCP_META \
	"clientCapabilities\":{}}"
#define ASK(method, params) \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":{" params "}}"

static void eras(void **state)
{
	static const struct {
		const char *text;
		struct serve_heard heard;
		int code;
		enum mcp_era era;
	} rows[] = {
		{ ASK("a", CLAIM("2026-07-28")), { .http = false }, 0, MCP_MODERN },
		{ ASK("a", CLAIM("2026-07-28")), { .opened = true }, 0, MCP_MODERN },
		{ ASK("a", CLAIM("2031-01-01")), { .opened = true }, -32022, MCP_MODERN },
		{ ASK("a", CLAIM("2025-11-25")), { .http = false }, -32022, MCP_MODERN },
		{ ASK("a", ""), { .opened = true }, 0, MCP_LEGACY },
		{ ASK("a", ""), { .opened = false }, -32602, MCP_LEGACY },
		{ ASK("initialize", ""), { .opened = false }, 0, MCP_LEGACY },
		{ ASK("initialize", ""), { .http = true, .version = "2026-07-28" }, 0, MCP_LEGACY },
		{ ASK("a", ""), { .http = true }, 0, MCP_LEGACY },
		{ ASK("a", ""), { .http = true, .version = "2025-06-18" }, 0, MCP_LEGACY },
		{ ASK("a", ""), { .http = true, .version = "2025-06-17" }, -32600, MCP_LEGACY },
		{ ASK("a", ""), { .http = true, .version = "" }, -32600, MCP_LEGACY },
		{ ASK("a", ""), { .http = true, .version = "2026-07-28" }, -32602, MCP_MODERN },
		{ ASK("a", ""), { .http = true, .version = "2031-01-01" }, -32602, MCP_MODERN },
		{ ASK("a", CLAIM("2026-07-28")), { .http = true }, -32020, MCP_MODERN },
		{ ASK("a", CLAIM("2026-07-28")),
		  { .http = true, .version = "2025-06-18" },
		  -32020,
		  MCP_MODERN },
		{ ASK("a", CLAIM("2026-07-28")),
		  { .http = true, .version = "2026-07-28" },
		  0,
		  MCP_MODERN },
		{ ASK("a", "\"_meta\":{\"" MCP_META "protocolVersion\":1}"),
		  { .opened = true },
		  -32602,
		  MCP_MODERN },
		{ ASK("a", "\"_meta\":{\"" MCP_META "protocolVersion\":\"2026-07-28\"}"),
		  { .opened = true },
		  -32602,
		  MCP_MODERN },
		{ "{\"jsonrpc\":\"2.0\",\"method\":\"n\"}", { .http = false }, 0, MCP_LEGACY },
	};
	enum mcp_era era;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(check_era(rows[i].text, &rows[i].heard, &era), rows[i].code);
		assert_int_equal(era, rows[i].era);
	}
}

static unsigned pass_gate(const struct serve_head *head)
{
	static const struct serve_gate gate = { 80, "0123456789abcdef" };
	struct serve_fault fault = { 0 };
	unsigned status = serve_gate_check(&gate, head, &fault);

	assert_int_equal(status, fault.status);
	assert_null(fault.data);
	return status;
}

/* The gate looks at one thing after the other: each row mends one more. */
static void gate_order(void **state)
{
	struct serve_head head = { .verb = "GET", .path = "/", .host = "evil", .origin = "null" };

	assert_int_equal(pass_gate(&head), 403);
	head.host = "localhost:80";
	assert_int_equal(pass_gate(&head), 403);
	head.origin = NULL;
	assert_int_equal(pass_gate(&head), 401);
	/* the whole token, and nothing behind it */
	head.authorization = "Bearer 0123456789abcde";
	assert_int_equal(pass_gate(&head), 401);
	head.authorization = "Bearer 0123456789abcdeff";
	assert_int_equal(pass_gate(&head), 401);
	head.authorization = "Bearer 0123456789abcdef";
	assert_int_equal(pass_gate(&head), 404);
	head.path = "/mcp";
	assert_int_equal(pass_gate(&head), 405);
	head.verb = "POST";
	assert_int_equal(pass_gate(&head), 415);
	head.type = "application/json;charset=utf-8";
	head.length = "16777217";
	assert_int_equal(pass_gate(&head), 413);
	head.length = "16777216";
	assert_int_equal(pass_gate(&head), 0);
	head.stranger = true;
	assert_int_equal(pass_gate(&head), 403);
}

/* Only what every reader of HTTP reads alike. */
static void a_body_comes_in_one_form(void **state)
{
	struct serve_head head = { .verb = "POST",
				   .path = "/mcp",
				   .host = "localhost",
				   .authorization = "Bearer 0123456789abcdef",
				   .type = "application/json" };

	assert_int_equal(pass_gate(&head), 0);
	head.transfer = "Chunked";
	assert_int_equal(pass_gate(&head), 0);
	head.transfer = "gzip, chunked";
	assert_int_equal(pass_gate(&head), 501);
	head.transfer = NULL;
	head.encoding = "identity";
	assert_int_equal(pass_gate(&head), 0);
	head.encoding = "gzip";
	assert_int_equal(pass_gate(&head), 415);
}

static void hosts(void **state)
{
	static const struct serve_gate gate = { .port = 8080 };
	static const char *const good[] = { "localhost", "127.0.0.1:8080", "[::1]", "[::1]:8080" };
	static const char *const bad[] = { "",
					   "localhost:",
					   "localhost:80",
					   "127.0.0.1:808",
					   "127.0.0.10",
					   "localhost.",
					   "[::1]x",
					   "::1",
					   "localhost:8080 ",

					   "localhost:-1" };

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_true(serve_host_ok(&gate, good[i]));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(serve_host_ok(&gate, bad[i]));
	assert_false(serve_host_ok(&gate, NULL));
}

static void encoded_headers(void **state)
{
	assert_true(serve_header_is("a b", SPAN("a b")));
	assert_false(serve_header_is("a", SPAN("a ")));
	assert_true(serve_header_is("=?base64?WsO8cmljaA==?=", SPAN("Z\xc3\xbcrich")));
	assert_true(serve_header_is("=?base64?"
				    "?=",
				    SPAN("")));
	assert_false(serve_header_is("=?base64?WsO8cmljaA?=", SPAN("Z\xc3\xbcrich")));
	assert_false(serve_header_is("=?base64?WsO8cmljaA==", SPAN("Z\xc3\xbcrich")));
	assert_false(serve_header_is("=?base64?=", SPAN("")));
}

static void percent(void **state)
{
	static const char *const bad[] = { "%", "%4", "%zz", "%00", "a%ff", "%c3" };
	auto_buf struct rye_buf text = RYE_BUF_INIT, back = RYE_BUF_INIT;

	buf_percent(&text, SPAN("a b/\xc3\xa4?&=%"), true);
	assert_string_equal(text.data, "a%20b/%C3%A4%3F%26%3D%25");
	assert_true(serve_unpercent(text.data, &back));
	assert_string_equal(back.data, "a b/\xc3\xa4?&=%");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		buf_clear(&back);
		assert_false(serve_unpercent(bad[i], &back));
	}
}

static void events_are_taken(void **state)
{
	assert_true(serve_takes_events("application/json, text/event-stream"));
	assert_true(serve_takes_events("*/*"));
	assert_false(serve_takes_events("application/json"));
	assert_false(serve_takes_events(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(eras),
		cmocka_unit_test(gate_order),
		cmocka_unit_test(a_body_comes_in_one_form),
		cmocka_unit_test(hosts),
		cmocka_unit_test(encoded_headers),
		cmocka_unit_test(percent),
		cmocka_unit_test(events_are_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
