/* SPDX-License-Identifier: MIT */
/*
 * What `ryefs new` writes: one row for each kind and language, whose text is a file of skeleton/.
 * Rows with the same two words are made together. Pure.
 */
#include "cli/author/author.h"

#include "base/id.h"
#include "scope.h"
#include "str.h"

#include <ctype.h>
#include <string.h>

extern const char skeleton_directive_md[], skeleton_graph_yaml[], skeleton_http_yaml[];
extern const char skeleton_knowledge_md[], skeleton_mcp_server_yaml[], skeleton_mcp_tool_yaml[];
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

/* ---- names in the text ---- */

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

/* ---- what it may be called ---- */

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
		if (!begins && strchr("-_", c) && out->data[out->len - 1] == c && c != part.ptr[i])
			continue;
		buf_addc(out, c);
	}
	while (out->len > from && strchr("-_", out->data[out->len - 1]) &&
	       out->data[out->len - 1] != part.ptr[part.len - 1])
		buf_cut(out, out->len - 1);
}

char *skeleton_id(const struct skeleton *row, const char *id)
{
	bool flat = !strcmp(row->kind, "mcp"); /* a server has a name, and no place */
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
