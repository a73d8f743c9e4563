/* SPDX-License-Identifier: MIT */
/*
 * vendor.h: what the vendors of models refuse in a request, as data: a row a wire (rules.c); and what
 * is made of tools so that none is refused. Pure.
 */
#ifndef RYE_VENDOR_VENDOR_H
#define RYE_VENDOR_VENDOR_H

#include "base/json.h"

#include <stdbool.h>

/* The longest text that a rule is about, its NUL included. */
#define RULE_TEXT_SIZE 129

/* A name, key or id: ASCII letters, digits, '_' and what else is taken, so many at most. */
struct rule_text {
	size_t max; /* characters; below RULE_TEXT_SIZE */
	const char *more;
	bool letter; /* the first one is a letter or '_' */
};

/* Sets of keywords that a tool's schema is written with. */
enum rule_words {
	WORDS_PLAIN = 1, /* JSON Schema of 2020-12 */
	WORDS_GRAMMAR = 2, /* the same, as servers take it that make a grammar of it */
	WORDS_SUBSET = 4, /* OpenAPI's schema objects, as Gemini's older endpoints know them */
	WORDS_STRICT = 8, /* what both vendors of strict tools take */
};

struct wire_rules {
	const char *wire;
	struct rule_text name; /* of a tool, in its offer and in calls */
	struct rule_text key; /* of a tool's parameter */
	struct rule_text id; /* of a call */
	size_t tools; /* in a request */
	size_t about; /* characters of a tool's description; 0: no limit is known */
	enum rule_words words; /* of a tool's schema */
	bool strict; /* tools may be strict */
	bool blank_texts; /* texts of nothing but blanks are taken */
	bool reasoning_last; /* an answer may end with its reasoning */
	const char *images; /* media types, each between blanks */
};

const struct wire_rules *rules_of(const char *wire);
bool rule_fits(const struct rule_text *rule, const char *text);
/* The text, or one that fits in its place: the same for the same text, another for another. */
void rule_spell(const struct rule_text *rule, const char *text, char ret[RULE_TEXT_SIZE]);

/* How a model is told of tools: its wire's rules, and what its item says. */
struct tool_telling {
	const struct wire_rules *rules;
	enum rule_words words;
	bool strict; /* tools that ask for it are strict */
	bool all_strict; /* all that can be are */
};

/*
 * tool_offer.c: the tools as the model's vendor takes them, in order: [{name, description, schema,
 * strict}]. One that no change makes acceptable is left out, with "tool_left_out:NAME: why" in
 * `warnings` (or NULL).
 */
json_t *tools_told(const struct tool_telling *how, const json_t *tools, json_t *warnings);
/*
 * tool_keys.c: arguments of a call of the tool `name` of `tools`, in place: keys as the model is told of
 * them, and back, without the nulls that a strict schema wants for what is left out.
 */
void arguments_to_wire(const struct tool_telling *how, const json_t *tools, const char *name,
		       json_t *arguments);
void arguments_from_wire(const struct tool_telling *how, const json_t *tools, const char *name,
			 json_t *arguments);

#endif
