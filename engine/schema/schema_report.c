/* SPDX-License-Identifier: MIT */
/*
 * The sentences of a schema check, and what a schema declares, as replies list it. Also the one
 * rule for what `parameters` of a request may be. Pure.
 */
#include "schema/schema_inner.h"

#include "bounds.h"
#include "scope.h"
#include "str.h"

void schema_warn(struct schema_report *report, const char *format, ...)
{
	char text[512];

	if (json_array_size(report->warnings) >= RYE_SCHEMA_ISSUES)
		return;
	STR_FORMAT(text, format);
	json_array_append_new(report->warnings, json_string(text));
}

static void schema_report_join(struct rye_buf *out, const json_t *texts, const char *separator)
{
	for (size_t i = 0; i < json_array_size(texts); i++) {
		buf_adds(out, i ? separator : "");
		buf_adds(out, json_string_value(json_array_get(texts, i)));
	}
}

static void unknown_text(const json_t *unknown, const json_t *schema, struct rye_buf *out)
{
	json_t *properties = json_object_get(schema, "properties"), *property;
	const char *key, *comma = "";

	buf_adds(out, "Unknown parameters: ");
	schema_report_join(out, unknown, ", ");
	buf_adds(out, ". Valid parameters: ");
	json_object_foreach(properties, key, property) {
		buf_addf(out, "%s%s", comma, key);
		comma = ", ";
	}
}

void schema_message(const struct schema_report *report, const json_t *schema,
		    struct rye_buf *ret_text)
{
	size_t missing = json_array_size(report->missing);
	size_t unknown = json_array_size(report->unknown);
	const char *separator = "";

	if (missing && !unknown && !json_array_size(report->issues)) {
		buf_adds(ret_text, "Missing required parameters: ");
		schema_report_join(ret_text, report->missing, ", ");
		return;
	}
	if (unknown && !missing && !json_array_size(report->issues)) {
		unknown_text(report->unknown, schema, ret_text);
		return;
	}
	buf_adds(ret_text, "Invalid parameters: ");
	schema_report_join(ret_text, report->issues, "; ");
	separator = json_array_size(report->issues) ? "; " : "";
	for (size_t i = 0; i < missing; i++, separator = "; ")
		buf_addf(ret_text, "%s%s: required field missing", separator,
			 json_string_value(json_array_get(report->missing, i)));
	if (!unknown)
		return;
	buf_adds(ret_text, separator);
	unknown_text(report->unknown, schema, ret_text);
}

void schema_faults(const struct schema_report *report, struct rye_buf *ret_text)
{
	schema_report_join(ret_text, report->issues, "; ");
}

json_t *schema_declared(const json_t *schema)
{
	json_t *properties = json_object_get(schema, "properties"), *property;
	const json_t *required = json_object_get(schema, "required");
	json_t *list = json_array();
	const char *key;

	json_object_foreach(properties, key, property) {
		json_t *type = json_object_get(property, "type"), *entry = json_object();
		json_t *fallback = json_object_get(property, "default");
		json_t *description = json_object_get(property, "description");

		json_sets(entry, "name", key);
		json_set(entry, "type", type ? json_incref(type) : json_string("any"));
		json_set(entry, "required", json_boolean(json_lists(required, key)));
		if (fallback)
			json_set(entry, "default", json_incref(fallback));
		if (description)
			json_set(entry, "description", json_incref(description));
		json_array_append_new(list, entry);
	}
	return list;
}
