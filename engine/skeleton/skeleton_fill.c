/* SPDX-License-Identifier: MIT */
/*
 * The names in a skeleton's text: of the item, its place and its author. Pure, but for $USER.
 */
#include "skeleton/skeleton.h"

#include "buf.h"
#include "scope.h"
#include "str.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* "my/first-steps" → "First steps" */
static void add_title(struct rye_buf *out, const char *stem)
{
	for (const char *c = stem; *c; c++) {
		char put = *c == '-' || *c == '_' ? ' ' : *c;

		buf_addc(out, c == stem ? (char)toupper((unsigned char)put) : put);
	}
}

/* A name that needs no quotes in any of the formats. */
static void add_author(struct rye_buf *out)
{
	const char *name = getenv("USER");

	for (const char *c = name; c && *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("-_.", *c))
			name = NULL;
	buf_adds(out, name && *name ? name : "me");
}

static void add_slot(struct rye_buf *out, struct rye_span slot, const char *id)
{
	const char *slash = strrchr(id, '/'), *stem = slash ? slash + 1 : id;

	if (span_eq(slot, "CATEGORY"))
		buf_add(out, id, slash ? (size_t)(slash - id) : 0);
	else if (span_eq(slot, "TITLE"))
		add_title(out, stem);
	else if (span_eq(slot, "AUTHOR"))
		add_author(out);
	else
		buf_adds(out, span_eq(slot, "STEM") ? stem : id);
}

char *skeleton_fill(const char *text, const char *id)
{
	static const char *const slots[] = { "@ID@",	   "@NAME@",  "@STEM@",
					     "@CATEGORY@", "@TITLE@", "@AUTHOR@" };
	auto_buf struct rye_buf out = RYE_BUF_INIT;

	while (*text) {
		size_t n = 0;

		for (size_t i = 0; i < ARRAY_SIZE(slots) && !n; i++)
			n = strncmp(text, slots[i], strlen(slots[i])) ? 0 : strlen(slots[i]);
		if (n)
			add_slot(&out, (struct rye_span){ text + 1, n - 2 }, id);
		else
			buf_addc(&out, *text);
		text += n ? n : 1;
	}
	return buf_steal(&out);
}
