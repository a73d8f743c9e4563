/* SPDX-License-Identifier: MIT */
/*
 * The client's pure parts of HTTP and of pins: headers and the values that they can hold, annotations
 * of a schema, challenges, what of a definition is signed; and what is said of commands.
 */
#include "rye_test.h"

#include "mcp/client/client_inner.h"
#include "scope.h"
#include "mcp/items/items_inner.h"
#include "str.h"

static json_t *parsed(const char *text)
{
	json_t *doc = json_parse(span_of(text), JSON_LOAD_NUL, "test", NULL);

	assert_non_null(doc);
	return doc;
}

static void mcp18_values(void **state)
{
	static const char *const rows[][2] = {
		{ "us-west1", "us-west1" },
		{ "", "" },
		{ "a\tb", "a\tb" },
		{ "us west", "us west" },
		{ "Z\xc3\xbcrich", "=?base64?WsO8cmljaA==?=" },
		{ " a", "=?base64?IGE=?=" },
		{ "a ", "=?base64?YSA=?=" },
		{ "a\r\nX-Evil: b", "=?base64?YQ0KWC1FdmlsOiBi?=" },
		{ "=?base64?eA==?=", "=?base64?PT9iYXNlNjQ/ZUE9PT89?=" },
		{ "=?base64?", "=?base64?" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_buf struct rye_buf out = RYE_BUF_INIT;

		buf_adds(&out, "");
		mcp_header_value(&out, span_of(rows[i][0]));
		assert_string_equal(out.data, rows[i][1]);
	}
}

static void mcp19_annotations(void **state)
{
#define AT(what) "{\"type\":\"object\",\"properties\":{\"a\":" what "}}"
	static const struct {
		const char *schema;
		bool fine;
	} rows[] = {
		{ AT("{\"type\":\"string\",\"x-mcp-header\":\"A\"}"), true },
		{ AT("{\"type\":\"integer\",\"x-mcp-header\":\"A\"}"), true },
		{ AT("{\"type\":\"number\",\"x-mcp-header\":\"A\"}"), false },
		{ AT("{\"type\":\"string\",\"x-mcp-header\":\"\"}"), false },
		{ AT("{\"type\":\"string\",\"x-mcp-header\":\"a b\"}"), false },
		{ AT("{\"type\":\"string\",\"x-mcp-header\":\"a:b\"}"), false },
		{ AT("{\"type\":\"string\",\"x-mcp-header\":7}"), false },
		{ AT("{\"type\":\"string\",\"x-mcp-header\":\"a\\r\\nb\"}"), false },
		{ AT("{\"type\":\"string\",\"x-mcp-header\":\"a\\u0000\"}"), false },
		{ AT("{\"type\":\"string\",\"x-mcp-header\":\"A\"},\"b\":{\"type\":\"string\","
		     "\"x-mcp-header\":\"a\"}"),
		  false },
		{ AT("{\"type\":\"object\",\"properties\":{\"b\":{\"type\":\"boolean\","
		     "\"x-mcp-header\":\"B\"}}}"),
		  true },
		{ AT("{\"type\":\"array\",\"items\":{\"type\":\"string\",\"x-mcp-header\":\"B\"}}"),
		  false },
		{ AT("{\"oneOf\":[{\"type\":\"string\",\"x-mcp-header\":\"B\"}]}"), false },
		{ "{\"$defs\":{\"d\":{\"type\":\"string\",\"x-mcp-header\":\"B\"}}}", false },
		{ AT("{\"type\":\"string\",\"default\":{\"x-mcp-header\":1}}"), true },
	};
#undef AT

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_json json_t *schema = parsed(rows[i].schema);
		const char *why = NULL;

		if (mcp_mirror_check(schema, &why) != rows[i].fine)
			fail_msg("%s: %s", rows[i].schema, why ? why : "taken");
		assert_int_equal(!why, rows[i].fine);
	}
}

static bool has_row(char **rows, const char *wanted)
{
	for (; *rows; rows++)
		if (!strcmp(*rows, wanted))
			return true;
	return false;
}

static void headers_of_each_era(void **state)
{
	auto_json json_t *call =
		parsed("{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\","
		       "\"arguments\":{\"a\":true},\"_meta\":{\"" MCP_META
		       "protocolVersion\":\"2026-07-28\"}}}");
	auto_json json_t *old =
		parsed("{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}");
	auto_json json_t *open = parsed("{\"id\":1,\"method\":\"initialize\",\"params\":{}}");
	auto_json json_t *schema =
		parsed("{\"properties\":{\"a\":{\"type\":\"boolean\",\"x-mcp-header\":\"A\"}}}");
	char *own[] = { (char *)"X-One: 1", NULL }, *bad[] = { (char *)"X: a\r\nY: b", NULL };
	struct mcp_header_ask ask = { own, call, "2025-11-25", "s", NULL, schema };
	char **rows = mcp_headers_make(&ask);

	(void)state;
	assert_true(has_row(rows, "MCP-Protocol-Version: 2026-07-28"));
	assert_true(has_row(rows, "Mcp-Method: tools/call"));
	assert_true(has_row(rows, "Mcp-Name: t"));
	assert_true(has_row(rows, "Mcp-Param-A: true"));
	assert_true(has_row(rows, "X-One: 1"));
	assert_false(has_row(rows, "Mcp-Session-Id: s"));
	mcp_headers_free(rows);
	ask.message = old;
	rows = mcp_headers_make(&ask);
	assert_true(has_row(rows, "MCP-Protocol-Version: 2025-11-25"));
	assert_true(has_row(rows, "Mcp-Session-Id: s"));
	assert_false(has_row(rows, "Mcp-Method: tools/call"));
	mcp_headers_free(rows);
	ask.message = open;
	rows = mcp_headers_make(&ask);
	assert_false(has_row(rows, "MCP-Protocol-Version: 2025-11-25"));
	mcp_headers_free(rows);
	ask.own = bad;
	assert_null(mcp_headers_make(&ask));
}

static void challenges(void **state)
{
	static const char *const rows[][2] = {
		{ "Bearer realm=\"x\", error=\"invalid_token\", scope=\"a b\"",
		  "{\"error\":\"invalid_token\",\"scope\":\"a b\"}" },
		{ "Bearer", "{}" },
		{ "Basic realm=\"x\", Bearer scope=a", "{\"scope\":\"a\"}" },
		{ "bearer scope = \"q\\\"q\" , Basic realm=x", "{\"scope\":\"q\\\"q\"}" },
		{ "Bearer scope=\"open", "{\"scope\":\"open\"}" },
	};

	(void)state;
	assert_null(mcp_challenge("Basic realm=\"x\""));
	assert_null(mcp_challenge(NULL));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_json json_t *got = mcp_challenge(rows[i][0]);
		auto_buf struct rye_buf text = RYE_BUF_INIT;

		json_put(&text, got, false);
		assert_string_equal(text.data, rows[i][1]);
	}
}

#define TOOL                                                                        \
	"{\"name\":\"t\",\"title\":\"T\",\"description\":\"d\",\"inputSchema\":{}," \
	"\"outputSchema\":{},\"annotations\":{},\"execution\":{},\"icons\":[],\"_meta\":{}}"

static void mcp34_each_member(void **state)
{
	static const char *const members[] = { "name",	      "title",	      "description",
					       "inputSchema", "outputSchema", "annotations",
					       "execution" };
	auto_json json_t *tool = parsed(TOOL), *before = mcp_definition(tool);
	auto_json json_t *old = mcp_members(before);
	char pin[MCP_PIN_SIZE], now[MCP_PIN_SIZE];

	(void)state;
	mcp_pin(before, pin);
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		auto_json json_t *other = json_deep_copy(tool), *after = NULL, *fresh = NULL;
		auto_json json_t *names = NULL;

		json_set(other, members[i], json_pack("{s:i}", "x", 1));
		after = mcp_definition(other);
		mcp_pin(after, now);
		assert_string_not_equal(pin, now);
		fresh = mcp_members(after);
		names = mcp_changes(old, fresh);
		assert_int_equal(json_array_size(names), 1);
		assert_string_equal(json_string_value(json_array_get(names, 0)), members[i]);
	}
	json_set(tool, "icons", json_pack("[s]", "other"));
	json_decref(before);
	before = mcp_definition(tool);
	mcp_pin(before, now);
	assert_string_equal(pin, now);
}

static void a_member_that_is_null_is_none(void **state)
{
	auto_json json_t *tool = parsed(TOOL), *without = NULL, *with = NULL;

	(void)state;
	json_object_del(tool, "execution");
	without = mcp_definition(tool);
	json_set(tool, "execution", json_null());
	with = mcp_definition(tool);
	assert_true(json_equal(without, with));
}

static void what_is_said_of_commands(void **state)
{
	static const struct {
		const char *config;
		size_t warnings;
	} rows[] = {
		{ "{\"command\":\"npx\",\"args\":[\"-y\",\"some-server\"]}", 1 },
		{ "{\"command\":\"npx\",\"args\":[\"-y\",\"@a/some-server\"]}", 1 },
		{ "{\"command\":\"npx\",\"args\":[\"-y\",\"@a/some-server@latest\"]}", 1 },
		{ "{\"command\":\"npx\",\"args\":[\"-y\",\"@a/some-server@1.2.3\"]}", 0 },
		{ "{\"command\":\"uvx\",\"args\":[\"some==1.0\"]}", 0 },
		{ "{\"command\":\"/usr/bin/uvx\",\"args\":[\"some\"]}", 1 },
		{ "{\"command\":\"npm\",\"args\":[\"exec\",\"--\",\"some\"]}", 1 },
		{ "{\"command\":\"bash\",\"args\":[\"-c\",\"true\"]}", 1 },
		{ "{\"command\":\"sudo\",\"args\":[\"x\"]}", 1 },
		{ "{\"command\":\"/opt/server\",\"args\":[\"http://x\"]}", 1 },
		{ "{\"command\":\"/opt/server\",\"args\":[\"--fast\",7]}", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_json json_t *config = parsed(rows[i].config), *warnings = json_array();

		server_warn_command(config, warnings);
		if (json_array_size(warnings) != rows[i].warnings)
			fail_msg("%s", rows[i].config);
	}
}

static void mcp37_what_cannot_be_seen(void **state)
{
	size_t unseen = 0;
	auto_free char *shown = server_visible("a\xe2\x80\xae"
					       "b\x01\n\tc\xf3\xa0\x81\x81",
					       &unseen);
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_free char *cut = NULL;

	(void)state;
	assert_string_equal(shown, "a\\u{202e}b\\u{1}\n\tc\\u{e0041}");
	assert_int_equal(unseen, 3);
	for (int i = 0; i < 5000; i++)
		buf_addc(&text, 'x');
	cut = server_visible(text.data, &unseen);
	assert_true(strlen(cut) < 4200);
	assert_non_null(strstr(cut, "904 bytes more"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mcp18_values),
		cmocka_unit_test(mcp19_annotations),
		cmocka_unit_test(headers_of_each_era),
		cmocka_unit_test(challenges),
		cmocka_unit_test(mcp34_each_member),
		cmocka_unit_test(a_member_that_is_null_is_none),
		cmocka_unit_test(what_is_said_of_commands),
		cmocka_unit_test(mcp37_what_cannot_be_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
