/* SPDX-License-Identifier: MIT */
/*
 * Schemas of tools, as items and servers of others have them: told to every wire in every way, they are an
 * object's with known types, and arguments come back as they were. The document is {schema, arguments}.
 */
#include "vendor/vendor.h"

#include "scope.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const wires[] = { "anthropic_messages", "openai_responses", "openai_chat",
				     "gemini_generate", "gemini_interactions" };

static void check_told(const struct tool_telling *how, const json_t *tools)
{
	auto_json json_t *warnings = json_array();
	auto_json json_t *told = tools_told(how, tools, warnings);
	const json_t *schema = json_object_get(json_array_get(told, 0), "schema");

	if (json_array_size(told) + json_array_size(warnings) != 1)
		abort();
	if (schema && strcmp(json_str(schema, "type"), "object") != 0)
		abort();
}

static void check_arguments(const struct tool_telling *how, const json_t *tools,
			    const json_t *arguments)
{
	auto_json json_t *copy = json_deep_copy(arguments);

	arguments_to_wire(how, tools, "t", copy);
	arguments_from_wire(how, tools, "t", copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum rule_words words[] = { WORDS_PLAIN, WORDS_GRAMMAR, WORDS_SUBSET };
	struct rye_err err = { 0 };
	auto_json json_t *doc = NULL, *tools = NULL;

	doc = json_parse((struct rye_span){ (const char *)data, size }, JSON_LOAD_LAST_WINS, "doc",
			 &err);
	if (!json_object_get(doc, "schema"))
		return 0;
	tools = json_pack("[{s:s, s:s, s:b, s:O}]", "name", "t", "description", "", "strict", 1,
			  "schema", json_object_get(doc, "schema"));
	for (size_t i = 0; i < ARRAY_SIZE(wires) * ARRAY_SIZE(words) * 2; i++) {
		const struct tool_telling how = {
			.rules = rules_of(wires[i % ARRAY_SIZE(wires)]),
			.words = words[i / ARRAY_SIZE(wires) % ARRAY_SIZE(words)],
			.strict = i >= ARRAY_SIZE(wires) * ARRAY_SIZE(words),
		};

		check_told(&how, tools);
		check_arguments(&how, tools, json_object_get(doc, "arguments"));
	}
	return 0;
}
