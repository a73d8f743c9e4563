/* SPDX-License-Identifier: MIT */
/*
 * What an item may be called that is begun: an id that no skeleton of its kind can have is put right. Pure.
 */
#include "skeleton/skeleton.h"

#include "buf.h"
#include "scope.h"
#include "str.h"

#include <ctype.h>
#include <string.h>

/* The longest name that clients of skills take. */
#define SKILL_NAME 64

/* Directories may be called anything that is a word in every format; a file's name, what its kind asks. */
static char fit_char(const struct skeleton *row, bool stem, char c)
{
	bool snake = row->item == RYE_DIRECTIVE, free = row->item == RYE_KNOWLEDGE || !stem;

	if (isascii(c) && (isdigit((unsigned char)c) || islower((unsigned char)c)))
		return c;
	if (free && (!isascii(c) || isalpha((unsigned char)c) || strchr("-_.", c)))
		return c;
	if (isascii(c) && isupper((unsigned char)c))
		return (char)tolower((unsigned char)c);
	return snake && stem ? '_' : '-';
}

static void add_part(const struct skeleton *row, struct rye_buf *out, struct rye_span part,
		     bool stem)
{
	size_t from = out->len;

	for (size_t i = 0; i < part.len; i++) {
		char c = fit_char(row, stem, part.ptr[i]);
		bool begins = out->len == from;

		/* a directive's name begins with a letter, others with no sign of their own */
		if (begins &&
		    (strchr("-_.", c) || (row->item == RYE_DIRECTIVE && stem && isdigit(c))))
			continue;
		if (!begins && strchr("-_", c) && out->data[out->len - 1] == c &&
		    (c != part.ptr[i] || row->item == RYE_SKILL))
			continue;
		buf_addc(out, c);
	}
	if (row->item == RYE_SKILL && out->len - from > SKILL_NAME)
		buf_cut(out, from + SKILL_NAME);
	while (out->len > from && strchr("-_", out->data[out->len - 1]) &&
	       (out->data[out->len - 1] != part.ptr[part.len - 1] || row->item == RYE_SKILL))
		buf_cut(out, out->len - 1);
}

char *skeleton_id(const struct skeleton *row, const char *id)
{
	/* a server and a skill have a name, and no place */
	bool flat = !strcmp(row->kind, "mcp") || row->item == RYE_SKILL;
	auto_buf struct rye_buf out = RYE_BUF_INIT;
	struct rye_span rest = span_of(id);

	if (!utf8_valid(rest))
		return NULL;
	while (rest.len) {
		const char *slash = memchr(rest.ptr, '/', rest.len);
		struct rye_span part = { rest.ptr, slash ? (size_t)(slash - rest.ptr) : rest.len };
		size_t from = out.len;

		rest = span_skip(rest, part.len + (slash != NULL));
		if (flat && rest.len)
			continue;
		if (out.len)
			buf_addc(&out, '/');
		add_part(row, &out, part, !rest.len);
		if (out.len == from + (from != 0))
			buf_cut(&out, from);
	}
	return out.len ? buf_steal(&out) : NULL;
}

const char *skeleton_wanted(const struct skeleton *row)
{
	if (row->item == RYE_DIRECTIVE)
		return "wanted small letters, digits and _ in its last part, and a letter first";
	if (row->item == RYE_KNOWLEDGE)
		return "wanted letters, digits, -, _ and .";
	if (!strcmp(row->kind, "mcp") || row->item == RYE_SKILL)
		return "wanted small letters, digits and -, without a directory";
	return "wanted small letters, digits and - in its last part";
}
