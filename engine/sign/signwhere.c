/* SPDX-License-Identifier: MIT */
/*
 * Where an issue is to be mended, for people: the line on which its field stands, and of a field that is missing the
 * word that the file's language has for it. Pure.
 */
#include "sign/sign_inner.h"

#include "str.h"

#include <ctype.h>

static const char missing_field[] = "Missing required field: ";

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Does the name at p begin a field: name: name= "name": __name__ = <name>? */
static bool is_field(struct rye_span text, const char *p, size_t n)
{
	const char *end = text.ptr + text.len, *q = p + n;
	bool dunder = p - text.ptr >= 2 && p[-1] == '_' && p[-2] == '_';

	if (p > text.ptr && p[-1] == '<')
		return true;
	if (p > text.ptr && is_word(p[-1]) && !dunder)
		return false;
	while (q < end && (*q == '_' || *q == '"' || *q == '\''))
		q++;
	while (q < end && *q == ' ')
		q++;
	return q < end && (*q == ':' || *q == '=');
}

/* The line of the first one behind `from`; 0: there is none. */
static size_t line_of(struct rye_span text, size_t from, struct rye_span name)
{
	size_t line = 1;

	for (size_t i = 0; i + name.len <= text.len; i++) {
		line += text.ptr[i] == '\n';
		if (i >= from && !memcmp(text.ptr + i, name.ptr, name.len) &&
		    is_field(text, text.ptr + i, name.len))
			return line;
	}
	return 0;
}

/* Parameters stand behind one of these words. */
static size_t parameters_at(struct rye_span text)
{
	static const char *const words[] = { "CONFIG_SCHEMA", "config_schema", "parameters",
					     "<inputs" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		const char *at = memmem(text.ptr, text.len, words[i], strlen(words[i]));

		if (at)
			return (size_t)(at - text.ptr) + strlen(words[i]);
	}
	return 0;
}

/* 'a.b[0]': the last of its names. */
static struct rye_span named(const char *issue, const char *behind)
{
	const char *begin = issue + strlen(behind), *end = strchr(begin, '\'');
	struct rye_span name = { begin, end ? (size_t)(end - begin) : 0 };

	while (name.len && !is_word(name.ptr[name.len - 1]))
		name.len--;
	for (size_t i = name.len; i > 0; i--)
		if (!is_word(name.ptr[i - 1]) && name.ptr[i - 1] != '-')
			return span_skip(name, i);
	return name;
}

/* Of tools that are programs, fields are __names__. */
static bool has_dunders(const char *ext)
{
	static const char *const data[] = { ".yaml", ".yml", ".json", ".toml", ".md" };

	for (size_t i = 0; i < ARRAY_SIZE(data); i++)
		if (!strcmp(ext, data[i]))
			return false;
	return true;
}

void sign_where(struct rye_span text, const char *ext, const char *issue, struct rye_buf *out)
{
	bool parameter = !strncmp(issue, "Parameter '", 11);
	size_t line = 0;

	buf_adds(out, issue);
	if (!strncmp(issue, missing_field, strlen(missing_field)) && has_dunders(ext)) {
		const char *field = issue + strlen(missing_field);

		buf_addf(out, " (__%s%s__)", strcmp(field, "description") ? "" : "tool_", field);
		return;
	}
	if (parameter)
		line = line_of(text, parameters_at(text), named(issue, "Parameter '"));
	else if (!strncmp(issue, "Field '", 7))
		line = line_of(text, 0, named(issue, "Field '"));
	if (line)
		buf_addf(out, " (line %zu)", line);
}
