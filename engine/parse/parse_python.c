/* SPDX-License-Identifier: MIT */
/*
 * Metadata of Python files: assignments NAME = literal that stand at the module's level, and the
 * docstring. Statements are told apart by tokens only; there is no syntax check beyond brackets
 * and strings. An annotated assignment counts for metadata names (`__version__: str = "1"`), not
 * for others. A later literal wins, a later expression does not take the earlier value away.
 */
#include "format/format.h"
#include "parse/parse.h"

#include "bounds.h"
#include "scope.h"
#include "str.h"

/* Python's own limit of nested brackets. */
#define BRACKETS_MAX 200

struct module {
	struct py p;
	json_t *meta;
	bool first; /* no statement seen yet: a string here is the docstring */
};

static bool parse_python_is_eol(char c)
{
	return c == '\n' || c == '\r';
}

static bool parse_python_is_metadata(struct rye_span name)
{
	static const char *const plain[] = { "CONFIG",	      "CONFIG_RESOLVE", "CONFIG_SCHEMA",
					     "ENV_CONFIG",    "config",		"config_resolve",
					     "config_schema", "env_config" };

	for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
		if (span_eq(name, plain[i]))
			return true;
	return name.len > 4 && span_starts(name, "__") && span_ends(name, "__");
}

/* Words that begin a statement with a block: what stands behind its colon is not ours. */
static bool opens_block(struct rye_span name)
{
	static const char *const words[] = { "async",	"class", "def", "elif", "else",	 "except",
					     "finally", "for",	 "if",	"try",	"while", "with" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (span_eq(name, words[i]))
			return true;
	return false;
}

static bool track_bracket(struct py *p, char c, char open[BRACKETS_MAX], size_t *depth)
{
	static const char opening[] = "([{", closing[] = ")]}";
	const char *at = strchr(closing, c);

	if (!at) {
		if (*depth == BRACKETS_MAX)
			return py_fail(p, "too many nested parentheses");
		open[(*depth)++] = c;
		return true;
	}
	if (!*depth || open[*depth - 1] != opening[at - closing])
		return py_fail(p, "unmatched bracket");
	(*depth)--;
	return true;
}

/*
 * To the end of the statement: behind its ';' (true when `simple`), or at its line end.
 * False: the line is over, or the text is not Python.
 */
static bool skip_statement(struct py *p, bool simple)
{
	char open[BRACKETS_MAX];
	size_t depth = 0;

	while (p->at < p->text.len) {
		char c = py_peek(p, 0);

		if (c == '"' || c == '\'') {
			if (!py_skip_string(p))
				return false;
			continue;
		}
		if (parse_python_is_eol(c) && !depth)
			return false;
		if (strchr("([{)]}", c) && !track_bracket(p, c, open, &depth))
			return false;
		p->at++;
		if (c == ';' && simple && !depth)
			return true;
		if (c == '\\' && parse_python_is_eol(py_peek(p, 0)))
			p->at += py_peek(p, 0) == '\r' && py_peek(p, 1) == '\n' ? 2 : 1;
		while (c == '#' && p->at < p->text.len && !parse_python_is_eol(py_peek(p, 0)))
			p->at++;
	}
	return depth ? py_fail(p, "a bracket was never closed") : false;
}

static bool is_at_end(const struct py *p)
{
	char c = py_peek(p, 0);

	return p->at >= p->text.len || parse_python_is_eol(c) || c == ';' || c == '#';
}

/* X = 1, 2 is a tuple. */
static json_t *bare_tuple(struct py *p, json_t *first)
{
	json_t *list = json_pack("[o]", first);

	while (list && py_peek(p, 0) == ',') {
		json_t *value;

		p->at++;
		py_blanks(p, false);
		if (is_at_end(p))
			break;
		value = py_literal(p, 0);
		if (!value || json_array_append_new(list, value)) {
			json_decref(list);
			return NULL;
		}
		py_blanks(p, false);
	}
	return list;
}

/* Behind ": annotation" and "="; false: this is no assignment to one name. */
static bool to_value(struct py *p, bool annotated)
{
	int depth = 0; /* of brackets: a "=" in them is the annotation's own */

	py_blanks(p, false);
	if (annotated && py_peek(p, 0) == ':') {
		while (!is_at_end(p) && (depth > 0 || py_peek(p, 0) != '=')) {
			char c = py_peek(p, 0);

			depth += strchr("([{", c) ? 1 : strchr(")]}", c) ? -1 : 0;
			if (!strchr("\"'", c))
				p->at++;
			else if (!py_skip_string(p))
				return false;
		}
	}
	if (py_peek(p, 0) != '=' || py_peek(p, 1) == '=')
		return false;
	p->at++;
	py_blanks(p, false);
	return true;
}

static json_t *assigned_value(struct py *p, bool annotated)
{
	json_t *value;

	if (!to_value(p, annotated))
		return NULL;
	value = py_literal(p, 0);
	if (!value)
		return NULL;
	py_blanks(p, false);
	if (py_peek(p, 0) == ',')
		value = bare_tuple(p, value);
	if (value && is_at_end(p))
		return value;
	json_decref(value);
	return NULL;
}

/* Data tables may not use up what metadata needs. */
static void read_assignment(struct module *m, struct rye_span name)
{
	struct py *p = &m->p;
	bool metadata = parse_python_is_metadata(name);
	size_t before = p->nodes;
	auto_free char *key = span_dup(name);
	json_t *value;

	p->limit = metadata ? RYE_LITERAL_NODES : RYE_LITERAL_NODES / 2;
	value = assigned_value(p, metadata);
	if (!value || !key || json_object_set(m->meta, key, value))
		p->nodes = before;
	json_decref(value);
}

static void docstring(struct module *m)
{
	struct py *p = &m->p;
	auto_json json_t *value = NULL;
	struct rye_span text;

	p->limit = RYE_LITERAL_NODES;
	for (int i = py_string_prefix(p); i-- > 0;)
		if ((py_peek(p, (size_t)i) | 0x20) == 'b')
			return;
	value = py_literal(p, 0);
	if (!json_is_string(value) || !is_at_end(p))
		return;
	text = span_strip_unicode(
		(struct rye_span){ json_string_value(value), json_string_length(value) });
	json_object_set_new(m->meta, "__docstring__", json_stringn(text.ptr, text.len));
}

/* The statements of one logical line at the module's level. */
static void parse_python_line_of(struct module *m)
{
	struct py *p = &m->p;
	bool more = true;

	while (more && !p->failed) {
		size_t from = p->at;
		struct rye_span name = { 0 };
		bool block;

		if (py_string_prefix(p) < 0)
			name = py_name(p);
		else if (m->first)
			docstring(m);
		block = opens_block(name) || py_peek(p, 0) == '@';
		m->first = false;
		if (name.len && !block && !p->failed)
			read_assignment(m, name);
		if (p->failed)
			return;
		p->at = from;
		more = skip_statement(p, !block);
		py_blanks(p, false);
	}
}

static void read_lines_of(struct module *m)
{
	struct py *p = &m->p;

	while (!p->failed && p->at < p->text.len) {
		size_t from = p->at;
		char c;

		py_blanks(p, false);
		c = py_peek(p, 0);
		if (parse_python_is_eol(c))
			p->at++;
		else if (c == '#' || p->at > from)
			skip_statement(p, false);
		else
			parse_python_line_of(m);
	}
}

json_t *parse_python(struct rye_span text, struct rye_err *err)
{
	struct module m = {
		.p = { .text = text, .err = err },
		.first = true,
	};

	if (text_guard(text, err))
		return NULL;
	m.meta = json_object();
	read_lines_of(&m);
	if (m.p.failed)
		json_object_clear(m.meta); /* Python would not have run a line of it */
	return m.meta;
}
