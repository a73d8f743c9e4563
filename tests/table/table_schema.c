/* SPDX-License-Identifier: MIT */
/*
 * schema: input is a schema, context the value, both as JSON; expected "fits", or what is wrong.
 */
#include "schema/schema.h"

#include "scope.h"
#include "table/table.h"

#include <stdio.h>

void table_answer(struct table_text input, struct table_text context, char *out, size_t size)
{
	auto_json json_t *schema = json_loadb(input.bytes, input.len, JSON_DECODE_ANY, NULL);
	auto_json json_t *value = json_loadb(context.bytes, context.len, JSON_DECODE_ANY, NULL);
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	struct schema_report report;

	if (!schema || !value) {
		snprintf(out, size, "not JSON: %s", schema ? context.bytes : input.bytes);
		return;
	}
	if (schema_fit(schema, value, &report))
		buf_adds(&text, "fits");
	else
		schema_faults(&report, &text);
	schema_report_done(&report);
	snprintf(out, size, "%s", text.failed ? "failed" : text.data);
}
