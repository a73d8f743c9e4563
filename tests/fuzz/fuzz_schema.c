/* SPDX-License-Identifier: MIT */
/*
 * fuzz_schema.c - the first line is the schema as JSON, the rest the value. Checking ends
 * soon, patterns included, and says nothing exactly when nothing is wrong.
 */
#include "schema/schema.h"

#include "fuzz_parse.h"

static void check(const json_t *schema, json_t *value)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	struct schema_report report;
	bool ok = schema_check(schema, value, &report);

	schema_message(&report, schema, &text);
	if (text.failed || !utf8_valid((struct rye_span){ text.data, text.len }))
		abort();
	if (!ok && text.len < strlen("Invalid parameters: x"))
		abort();
	fuzz_value(report.warnings);
	schema_report_done(&report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rye_span text = { (const char *)data, size }, line = { 0 };
	auto_json json_t *schema = NULL, *value = NULL, *lint = NULL, *declared = NULL;

	span_line(&text, &line);
	schema = json_parse(line, JSON_LOAD_LAST_WINS, "schema", NULL);
	value = json_parse(text, JSON_LOAD_LAST_WINS | JSON_LOAD_ANY, "value", NULL);
	if (!schema)
		return 0;
	lint = schema_lint(schema);
	declared = schema_declared(schema);
	fuzz_value(lint);
	fuzz_value(declared);
	if (value)
		check(schema, value);
	return 0;
}
