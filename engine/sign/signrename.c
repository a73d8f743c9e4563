/* SPDX-License-Identifier: MIT */
/*
 * An item's id as texts say it: the fields that have to agree with the file's place, which a move writes
 * anew, and the lines of other items that name it. Both look at bytes and parse nothing: what a move has
 * written is checked as any text that is to be signed. Pure.
 */
#include "sign/sign.h"

#include "base/id.h"
#include "bounds.h"
#include "scope.h"
#include "space/space.h"
#include "str.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ---- fields ---- */

struct rename_value {
	size_t at, len; /* in the text */
	bool quoted; /* or between the tags of XML: it may be any text */
};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.' ||
	       (unsigned char)c >= 0x80;
}

static size_t skip_any(struct rye_span text, size_t at, const char *set)
{
	while (at < text.len && text.ptr[at] && strchr(set, text.ptr[at]))
		at++;
	return at;
}

/* Where an unquoted value ends: before a comment, or what closes it in a line. */
static size_t plain_end(struct rye_span text, size_t at)
{
	while (at < text.len && !strchr("\n,}<;", text.ptr[at]) &&
	       !(text.ptr[at] == '#' && strchr(" \t", text.ptr[at - 1])))
		at++;
	while (strchr(" \t\r", text.ptr[at - 1]))
		at--;
	return at;
}

/* `name: x`, `name="x"`, `__name__ = 'x'`, `<name>x`: the value behind a field's name that ends at `at`. */
static bool value_behind(struct rye_span text, size_t at, struct rename_value *ret)
{
	size_t sep = skip_any(text, skip_any(text, at, "_\"'"), " \t"), from;
	bool xml = sep < text.len && text.ptr[sep] == '>';

	if (sep >= text.len || !strchr(":=>", text.ptr[sep]))
		return false;
	from = skip_any(text, sep + 1, " \t");
	*ret = (struct rename_value){ .at = from, .quoted = xml };
	if (from < text.len && strchr("\"'", text.ptr[from]) && !xml) {
		const char *end = memchr(text.ptr + from + 1, text.ptr[from], text.len - from - 1);

		*ret = (struct rename_value){ from + 1, 0, true };
		ret->len = end ? (size_t)(end - text.ptr) - from - 1 : 0;
		return end;
	}
	at = from < text.len ? plain_end(text, from) : from;
	ret->len = at > from ? at - from : 0;
	return true;
}

/* Letters, digits and what else needs no quotes in YAML; a first letter, so that it is no number. */
static bool is_plain(const char *text)
{
	static const char *const meant[] = { "true", "false", "null", "yes", "no", "on", "off" };
	bool plain = isalpha((unsigned char)*text) != 0;

	for (const char *c = text; *c; c++)
		plain &= isalnum((unsigned char)*c) || strchr("_-/.", *c);
	for (size_t i = 0; i < ARRAY_SIZE(meant); i++)
		plain &= strcasecmp(meant[i], text) != 0;
	return plain;
}

struct rename_field {
	const char *name;
	struct rye_span old; /* or, of an id, its last part alone */
	const char *old_id, *put, *put_id; /* old_id NULL: there is one form only */
};

/* The new value for one that stands there; NULL: it is none of the old ones. */
static const char *field_new(const struct rename_field *field, struct rye_span value)
{
	auto_free char *kebab = span_dup(value), *old = span_dup(field->old);

	for (char *c = kebab; c && *c; c++)
		*c = field->old_id && *c == '_' ? '-' : *c;
	for (char *c = old; c && *c; c++)
		*c = field->old_id && *c == '_' ? '-' : *c;
	if (kebab && old && !strcmp(kebab, old))
		return field->put;
	return field->old_id && span_eq(value, field->old_id) ? field->put_id : NULL;
}

/* The first place where the field says the old one. */
static void field_write(const struct rename_field *field, struct rye_buf *text)
{
	auto_buf struct rye_buf out = RYE_BUF_INIT;
	struct rye_span all = buf_span(text);
	size_t n = strlen(field->name);
	struct rename_value value;

	for (ssize_t at = span_find(all, 0, field->name); at >= 0;
	     at = span_find(all, (size_t)at + 1, field->name)) {
		bool begins = at == 0 || !is_word(all.ptr[at - 1]) || all.ptr[at - 1] == '_';
		const char *put = NULL;
		bool quotes;

		if (begins && value_behind(all, (size_t)at + n, &value))
			put = field_new(field, (struct rye_span){ all.ptr + value.at, value.len });
		if (!put)
			continue;
		quotes = !value.quoted && !is_plain(put);
		buf_add(&out, all.ptr, value.at);
		buf_addf(&out, quotes ? "\"%s\"" : "%s", put);
		buf_addspan(&out, span_skip(all, value.at + value.len));
		buf_clear(text);
		buf_addspan(text, buf_span(&out));
		text->failed |= out.failed;
		return;
	}
}

void sign_renamed(const char *from, const char *to, struct rye_buf *text)
{
	struct rye_span was = space_category(from), is = space_category(to);
	const char *stem = space_stem(from), *put = space_stem(to);
	auto_free char *category = span_dup(is);
	const struct rename_field fields[] = {
		{ "category", was, NULL, category, NULL },
		{ "tool_id", span_of(stem), from, put, to },
		{ "name", span_of(stem), NULL, put, NULL },
		{ "id", span_of(stem), NULL, put, NULL },
	};

	text->failed |= !category;
	for (size_t i = 0; i < ARRAY_SIZE(fields) && !text->failed; i++)
		if (!span_eq(fields[i].old, fields[i].put))
			field_write(&fields[i], text);
}

/* ---- mentions ---- */

/* Fields whose value is an item's id, and elements that have one between their tags. */
static const char *const id_fields[] = { "executor_id", "extends", "item_id",	 "set_extends",
					 "server",	"<tool",   "<knowledge", "<directive" };

/* Does the text end with it, and is what stands before it no part of a name? */
static bool ends_in_word(struct rye_span text, const char *word)
{
	size_t n = strlen(word);

	return span_ends(text, word) && (text.len == n || !is_word(text.ptr[text.len - n - 1]));
}

/* In the line before the id: a field that has an id stands there. */
static bool in_id_field(struct rye_span before)
{
	const char *line = memrchr(before.ptr, '\n', before.len);

	if (line)
		before = span_skip(before, (size_t)(line + 1 - before.ptr));
	for (size_t i = 0; i < ARRAY_SIZE(id_fields); i++)
		if (span_find(before, 0, id_fields[i]) >= 0)
			return true;
	return false;
}

/* What may follow an id that ends here: the end of a file's name, too, but no further part of a name. */
static bool id_ends(enum rye_kind kind, struct rye_span rest, bool path)
{
	const char *const *ext = kind_extensions(kind);

	for (; path && *ext; ext++)
		if (span_starts(rest, *ext))
			return rest.len == strlen(*ext) || !is_word(rest.ptr[strlen(*ext)]);
	if (!rest.len || !(is_word(*rest.ptr) || *rest.ptr == '/'))
		return true;
	/* a sentence's end */
	return *rest.ptr == '.' && (rest.len == 1 || !is_word(rest.ptr[1]));
}

static bool mentions_at(enum rye_kind kind, const char *id, struct rye_span text, size_t at)
{
	struct rye_span before = { text.ptr, at }, rest = span_skip(text, at + strlen(id));
	char prefix[32], dir[32];
	bool path;

	snprintf(prefix, sizeof(prefix), "%s:", rye_kind_name(kind));
	snprintf(dir, sizeof(dir), "%s/", rye_kind_dir(kind));
	path = ends_in_word(before, dir) || span_ends(before, ".ai/") ||
	       (span_ends(before, dir) && before.len > strlen(dir) &&
		before.ptr[before.len - strlen(dir) - 1] == '/');
	if (!id_ends(kind, rest, path))
		return false;
	if (ends_in_word(before, prefix) || path)
		return true;
	if (before.len && (is_word(before.ptr[at - 1]) || strchr("/:", before.ptr[at - 1])))
		return false;
	return strchr(id, '/') || in_id_field(before);
}

/* Capabilities have dots for slashes: "rye.execute.tool.my.hello". */
static ssize_t mention_dotted(enum rye_kind kind, const char *id, struct rye_span text)
{
	char dotted[RYE_ID_MAX + 32];

	if (snprintf(dotted, sizeof(dotted), ".%s.%s", rye_kind_name(kind), id) >=
	    (int)sizeof(dotted))
		return -1;
	for (char *c = dotted; *c; c++)
		*c = *c == '/' ? '.' : *c;
	for (ssize_t at = span_find(text, 0, dotted); at >= 0;
	     at = span_find(text, (size_t)at + 1, dotted))
		if (id_ends(kind, span_skip(text, (size_t)at + strlen(dotted)), false))
			return at;
	return -1;
}

ssize_t sign_mentions(enum rye_kind kind, const char *id, struct rye_span text)
{
	ssize_t dotted = mention_dotted(kind, id, text), at;

	for (at = span_find(text, 0, id); at >= 0; at = span_find(text, (size_t)at + 1, id))
		if (mentions_at(kind, id, text, (size_t)at))
			return dotted >= 0 && dotted < at ? dotted : at;
	return dotted;
}
