/* SPDX-License-Identifier: MIT */
/*
 * What an item begins with: one row for each kind and language, whose text is a file of text/.
 * Rows with the same two words are made together. Pure.
 */
#include "skeleton/skeleton.h"

#include "buf.h"
#include "scope.h"

#include <string.h>

extern const char skeleton_directive_md[], skeleton_graph_yaml[], skeleton_http_yaml[];
extern const char skeleton_knowledge_md[], skeleton_mcp_server_yaml[], skeleton_mcp_tool_yaml[];
extern const char skeleton_skill_md[];
extern const char skeleton_tool_mjs[], skeleton_tool_pl[], skeleton_tool_py[], skeleton_tool_sh[];
extern const char skeleton_tool_ts[], skeleton_tool_yaml[];

#define RUNS "ryefs execute tool:@ID@ name=Ann"

/* kind, language, other words for it, kind of the item, end of its file's name, id, text, next command */
static const struct skeleton rows[] = {
	{ "tool", "python", " py ", RYE_TOOL, ".py", "@ID@", skeleton_tool_py, RUNS },
	{ "tool", "shell", " sh bash ", RYE_TOOL, ".sh", "@ID@", skeleton_tool_sh, RUNS },
	{ "tool", "javascript", " js mjs node ", RYE_TOOL, ".mjs", "@ID@", skeleton_tool_mjs,
	  RUNS },
	{ "tool", "typescript", " ts ", RYE_TOOL, ".ts", "@ID@", skeleton_tool_ts, RUNS },
	{ "tool", "yaml", " yml ", RYE_TOOL, ".yaml", "@ID@", skeleton_tool_yaml, RUNS },
	{ "tool", "perl", " pl ", RYE_TOOL, ".pl", "@ID@", skeleton_tool_pl, RUNS },
	{ "directive", "markdown", " md ", RYE_DIRECTIVE, ".md", "@ID@", skeleton_directive_md,
	  "ryefs execute directive:@ID@ name=Ann" },
	{ "knowledge", "markdown", " md ", RYE_KNOWLEDGE, ".md", "@ID@", skeleton_knowledge_md,
	  "ryefs execute knowledge:@ID@" },
	{ "skill", "markdown", " md ", RYE_SKILL, "/SKILL.md", "@ID@", skeleton_skill_md,
	  "ryefs verify skill:@ID@" },
	{ "graph", "yaml", " yml ", RYE_TOOL, ".yaml", "@ID@", skeleton_graph_yaml, RUNS },
	{ "http", "yaml", " yml ", RYE_TOOL, ".yaml", "@ID@", skeleton_http_yaml, RUNS },
	{ "mcp", "yaml", " yml ", RYE_TOOL, ".yaml", "mcp/servers/@ID@", skeleton_mcp_server_yaml,
	  NULL },
	{ "mcp", "yaml", " yml ", RYE_TOOL, ".yaml", "mcp/@ID@/hello", skeleton_mcp_tool_yaml,
	  "ryefs execute tool:mcp/@ID@/hello name=Ann" },
};

const struct skeleton *skeleton_rows(size_t *ret_n)
{
	*ret_n = ARRAY_SIZE(rows);
	return rows;
}

static bool skeleton_is(const struct skeleton *row, const char *lang)
{
	char word[32];

	if (!strcasecmp(row->lang, lang) || !strcmp(row->ext, lang))
		return true;
	snprintf(word, sizeof(word), " %s ", *lang == '.' ? lang + 1 : lang);
	return strcasestr(row->also, word);
}

const struct skeleton *skeleton_find(const char *kind, const char *lang)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!strcmp(rows[i].kind, kind) && (!lang || skeleton_is(&rows[i], lang)))
			return &rows[i];
	return NULL;
}

/* "a, b or c" of the kinds, or of the languages of one. */
static char *skeleton_list(const char *kind)
{
	auto_buf struct rye_buf ret = RYE_BUF_INIT;
	const char *last = "", *held = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *word = kind ? rows[i].lang : rows[i].kind;

		if ((kind && strcmp(rows[i].kind, kind) != 0) || !strcmp(word, last))
			continue;
		if (held)
			buf_addf(&ret, "%s%s", ret.len ? ", " : "", held);
		held = last = word;
	}
	buf_addf(&ret, "%s%s", ret.len ? " or " : "", held ? held : "");
	return buf_steal(&ret);
}

char *skeleton_kinds(void)
{
	return skeleton_list(NULL);
}

char *skeleton_langs(const char *kind)
{
	return skeleton_list(kind);
}

const char *skeleton_kind(size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if ((i == 0 || strcmp(rows[i].kind, rows[i - 1].kind) != 0) && !n--)
			return rows[i].kind;
	return NULL;
}
