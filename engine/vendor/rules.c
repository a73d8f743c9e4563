/* SPDX-License-Identifier: MIT */
/*
 * What each wire's vendor refuses. A row is about the strictest server that is known to speak the wire;
 * each number names where it is written down, or the refusal that tells it. tests/fake/vendor_rules.py
 * holds requests against the same documents on its own. Pure.
 */
#include "vendor/vendor.h"

#include "base/sha.h"
#include "scope.h"
#include "str.h"

#include <ctype.h>

/*
 * Anthropic Messages. Names: "^[a-zA-Z0-9_-]{1,128}$", keys of parameters: "^[a-zA-Z0-9_.-]{1,64}$",
 * ids of calls: "^[a-zA-Z0-9_-]+$" (its refusals); no limit of a description or of tools is documented.
 * Texts of blanks: "text content blocks must contain non-whitespace text". "The final block in an
 * assistant message cannot be `thinking`." Media types: Base64ImageSource of @anthropic-ai/sdk 1.12.
 * strict: ToolUnion there, platform.claude.com/docs, strict tool use.
 *
 * OpenAI. Names: FunctionDefinition of openai 7.57: a-z, A-Z, 0-9, underscores and dashes, 64 at most. Ids:
 * "string too long. Expected a string with maximum length 64", Chat Completions too since 2026-09. Tools:
 * "Invalid 'tools': array too long. Expected an array with maximum length 128". Descriptions, of Chat
 * Completions alone: 1024. Keys have no rule there, but the servers behind openai_chat pass them on to
 * Anthropic and Bedrock. "provided without its required following item" of reasoning. Media types: the
 * guide of images and vision.
 *
 * Gemini. Names: FunctionDeclaration of @google/genai 3.1: begins with a letter or an underscore, dots,
 * colons and dashes, 128 at most. Keys: the same type's `parameters`: letters, digits and underscores, 64 at
 * most. Tools: the guide of function calling, 128. An id has no rule; what comes from elsewhere is
 * kept to what the others take. Media types: the guide of image understanding; no GIF.
 */
static const struct wire_rules rows[] = {
	{
		.wire = "anthropic_messages",
		.name = { 64, "-", false }, /* of 128: what stands before 2025 took 64 */
		.key = { 64, ".-", false },
		.id = { 64, "-", false },
		.tools = 1024,
		.words = WORDS_PLAIN,
		.strict = true,
		.images = " image/jpeg image/png image/gif image/webp ",
	},
	{
		.wire = "openai_responses",
		.name = { 64, "-", false },
		.key = { 64, ".-", false },
		.id = { 64, "-", false },
		.tools = 128,
		.words = WORDS_PLAIN,
		.strict = true,
		.blank_texts = true,
		.images = " image/png image/jpeg image/webp image/gif ",
	},
	{
		.wire = "openai_chat",
		.name = { 64, "-", false },
		.key = { 64, ".-", false },
		.id = { 64, "-", false },
		.tools = 128,
		.about = 1024,
		.words = WORDS_GRAMMAR,
		.blank_texts = true,
		.reasoning_last = true,
		.images = " image/png image/jpeg image/webp image/gif ",
	},
	{
		.wire = "gemini_generate",
		.name = { 128, ".:-", true },
		.key = { 64, "", true },
		.id = { 64, "-", false },
		.tools = 128,
		.words = WORDS_PLAIN,
		.blank_texts = true,
		.reasoning_last = true,
		.images = " image/png image/jpeg image/webp image/heic image/heif ",
	},
	{
		.wire = "gemini_interactions",
		.name = { 128, ".:-", true },
		.key = { 64, "", true },
		.id = { 64, "-", false },
		.tools = 128,
		.words = WORDS_PLAIN,
		.blank_texts = true,
		.reasoning_last = true,
		.images = " image/png image/jpeg image/webp image/heic image/heif ",
	},
};

const struct wire_rules *rules_of(const char *wire)
{
	size_t i = 0;

	while (i + 1 < ARRAY_SIZE(rows) && strcmp(rows[i].wire, wire) != 0)
		i++;
	return &rows[i];
}

static bool rule_takes(const struct rule_text *rule, char c, bool first)
{
	bool letter = isalpha((unsigned char)c) || c == '_';

	if (letter || (first && rule->letter))
		return letter;
	return isdigit((unsigned char)c) || (c && strchr(rule->more, c));
}

bool rule_fits(const struct rule_text *rule, const char *text)
{
	size_t n = strlen(text);

	for (size_t i = 0; i < n; i++)
		if (!rule_takes(rule, text[i], !i))
			return false;
	return n && n <= rule->max;
}

/* "_" and digits of a digest tell two texts apart that would be spelt alike. */
#define SPELL_MARK 9

void rule_spell(const struct rule_text *rule, const char *text, char ret[RULE_TEXT_SIZE])
{
	size_t n = 0, room = rule->max - SPELL_MARK;
	char hex[SHA_HEX];

	if (rule_fits(rule, text)) {
		memcpy(ret, text, strlen(text) + 1);
		return;
	}
	sha256_hex(span_of(text), hex);
	if (rule->letter && !rule_takes(rule, *text, true))
		ret[n++] = '_';
	for (const char *p = text; *p && n < room; p++, n++)
		ret[n] = rule_takes(rule, *p, !n) ? *p : '_';
	snprintf(ret + n, RULE_TEXT_SIZE - n, "_%.8s", hex);
}
