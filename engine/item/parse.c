/* SPDX-License-Identifier: MIT */
/*
 * The table of parsers: which one reads a kind's files of an extension (items 1.5). A new
 * format is one file parse_NAME.c, its fuzz target and a row here. Pure; called by rye_load
 * and by signing, with text whose header lines are cut.
 */
#include "item/parse.h"

#include "base/str.h"

struct row {
	enum rye_kind kind;
	const char *ext;
	struct parser parser;
};

static const struct row rows[] = {
	{ RYE_CONFIG, ".toml", { "toml", parse_toml } },
	{ RYE_TOOL, ".toml", { "toml", parse_toml } },
};

const struct parser *parse_row(enum rye_kind kind, const char *ext)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].kind == kind && !strcmp(rows[i].ext, ext))
			return &rows[i].parser;
	return NULL;
}
