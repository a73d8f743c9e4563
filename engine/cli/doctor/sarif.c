/* SPDX-License-Identifier: MIT */
/*
 * Refused items as SARIF 2.1.0, which code hosts show beside a change: a rule for each cause, a result for
 * each item. Pure.
 */
#include "cli/doctor/doctor.h"

#include "scope.h"
#include "str.h"

#include <string.h>

#define SARIF_SCHEMA "https://json.schemastore.org/sarif-2.1.0.json"

/* Of the project's files the path in it, which the reader of the file knows where to look for. */
static json_t *sarif_place(const char *project, const char *path)
{
	auto_buf struct rye_buf uri = RYE_BUF_INIT;
	const char *below = path_below(path, project);
	bool inside = below && *below;

	if (!inside)
		buf_adds(&uri, "file://");
	buf_percent(&uri, span_of(inside ? below : path), true);
	buf_adds(&uri, "");
	return inside ? json_pack("{s:{s:{s:s, s:s}}}", "physicalLocation", "artifactLocation",
				  "uri", uri.data, "uriBaseId", "%SRCROOT%") :
			json_pack("{s:{s:{s:s}}}", "physicalLocation", "artifactLocation", "uri",
				  uri.data);
}

static json_t *sarif_result(const char *project, const json_t *row)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	const char *message = json_str(row, "message");

	buf_addf(&text, "%s: %s", json_str(row, "ref"), message);
	return json_pack("{s:s, s:s, s:{s:s}, s:[o]}", "ruleId", json_str(row, "verdict"), "level",
			 "error", "message", "text", text.failed ? message : text.data, "locations",
			 sarif_place(project, json_str(row, "path")));
}

static void sarif_rule(json_t *rules, const char *verdict)
{
	if (json_find(rules, "id", verdict))
		return;
	for (int code = 0; code < RYE_CODE__MAX; code++)
		if (!strcmp(rye_code_name((enum rye_code)code), verdict))
			json_array_append_new(rules,
					      json_pack("{s:s, s:{s:s}}", "id", verdict,
							"shortDescription", "text",
							rye_code_remedy((enum rye_code)code)));
}

json_t *sarif_of(const char *project, const json_t *rows)
{
	json_t *rules = json_array(), *results = json_array();
	const json_t *row;
	size_t i;

	json_array_foreach((json_t *)rows, i, row) {
		if (json_flag(row, "ok", false))
			continue;
		sarif_rule(rules, json_str(row, "verdict"));
		json_array_append_new(results, sarif_result(project, row));
	}
	return json_pack("{s:s, s:s, s:[{s:{s:{s:s, s:s, s:o}}, s:s, s:o}]}", "$schema",
			 SARIF_SCHEMA, "version", "2.1.0", "runs", "tool", "driver", "name",
			 "ryefs", "version", RYE_VERSION, "rules", rules, "columnKind",
			 "unicodeCodePoints", "results", results);
}
