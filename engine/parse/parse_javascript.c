/* SPDX-License-Identifier: MIT */
/*
 * Metadata of JavaScript and TypeScript files: `const|let|var NAME = literal` anywhere in the text
 * (comments included, as other readers of the format do), for `__x__` and the configuration names.
 * A type annotation between name and value is skipped. The last value wins, but null never
 * replaces one. What is not a literal is not there. Linear: failed literals may look at each byte
 * only a few times (WORK_FACTOR).
 */
#include "format/format.h"
#include "parse/parse.h"

#include "bounds.h"
#include "scope.h"
#include "str.h"

#include <ctype.h>

/* A literal that fails is scanned again from behind its name; hostile text nests such. */
#define WORK_FACTOR 8
#define WORK_LEAST 65536
/* A type annotation is short; a longer one is something else. */
#define TYPE_MAX 1024

static bool parse_javascript_is_metadata(struct rye_span name)
{
	static const char *const plain[] = { "CONFIG", "CONFIG_RESOLVE", "CONFIG_SCHEMA",
					     "ENV_CONFIG", "requires" };

	for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
		if (span_eq(name, plain[i]))
			return true;
	return name.len > 4 && span_starts(name, "__") && span_ends(name, "__");
}

/* Over ": Record<string, unknown>" to the '='. False: there is none near. */
static bool skip_type(struct js *j)
{
	size_t end = j->at + TYPE_MAX;

	for (; j->at < end && j->at < j->text.len; j->at++) {
		char c = js_peek(j, 0);

		if (c == '=' && js_peek(j, 1) == '>')
			j->at++;
		else if (c == '=')
			return true;
		else if (c == ';' && js_peek(j, 1) == '\n')
			return false;
	}
	return false;
}

static json_t *assigned(struct js *j)
{
	if (!js_blanks(j))
		return NULL;
	if (js_peek(j, 0) == ':' && !skip_type(j))
		return NULL;
	if (js_peek(j, 0) != '=' || js_peek(j, 1) == '=')
		return NULL;
	j->at++;
	return js_blanks(j) ? js_literal(j, 0) : NULL;
}

/* What may stand behind a literal that is the whole value. */
static bool ends_value(struct js *j)
{
	size_t at = j->at;
	bool ok;

	while (js_peek(j, 0) == ' ' || js_peek(j, 0) == '\t')
		j->at++;
	if (js_peek(j, 0) == '/' && (js_peek(j, 1) == '/' || js_peek(j, 1) == '*'))
		ok = true;
	else
		ok = j->at >= j->text.len || strchr(";,\r\n}", js_peek(j, 0)) ||
		     span_starts(span_skip(j->text, j->at), "as ") ||
		     span_starts(span_skip(j->text, j->at), "satisfies ");
	j->at = at;
	return ok;
}

/* j->at stands behind const, let or var. */
static void read_declaration(struct js *j, json_t *meta)
{
	auto_json json_t *value = NULL;
	auto_free char *name = NULL;
	struct rye_span span;
	size_t behind, nodes = j->nodes;

	if (!isspace((unsigned char)js_peek(j, 0)) || !js_blanks(j))
		return;
	span = js_name(j);
	if (!parse_javascript_is_metadata(span))
		return;
	behind = j->at;
	value = assigned(j);
	j->work += j->at - behind;
	if (!value || !ends_value(j)) {
		j->at = behind;
		j->nodes = nodes;
		return;
	}
	name = span_dup(span);
	if (!name || (json_is_null(value) && json_object_get(meta, name)))
		return;
	json_object_set(meta, name, value);
}

static bool parse_javascript_declares(struct rye_span word)
{
	return span_eq(word, "const") || span_eq(word, "let") || span_eq(word, "var");
}

json_t *parse_javascript(struct rye_span text, struct rye_err *err)
{
	struct js j = { .text = text };
	json_t *meta;

	if (text_guard(text, err))
		return NULL;
	meta = json_object();
	while (j.at < text.len) {
		struct rye_span word = js_name(&j);

		if (!word.len)
			j.at++;
		else if (parse_javascript_declares(word))
			read_declaration(&j, meta);
		if (j.work > WORK_FACTOR * text.len + WORK_LEAST) {
			rye_fail(err, RYE_UNPARSABLE,
				 "declarations are nested in each other without end");
			break;
		}
	}
	return meta;
}
