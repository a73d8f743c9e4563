/* SPDX-License-Identifier: MIT */
/*
 * ctl_rows.c - the table of the files in an item's own directory, and of the primitives at the
 * root: name, mode, which kinds have it, what looks it up, one line of help.
 *
 * No state, no lock. Read by the tree's grammar, the lookups and listings, the conversations,
 * README.md of the mount and the lint that compares it with docs/files.md. Rows are in the
 * order of their names, the primitives last.
 */
#include "core/ctl.h"

#include "scope.h"

#include <string.h>

#define DIRECTIVE KIND_BIT(RYE_DIRECTIVE)
#define TOOL KIND_BIT(RYE_TOOL)
#define KNOWLEDGE KIND_BIT(RYE_KNOWLEDGE)
#define ALL (DIRECTIVE | TOOL | KNOWLEDGE)

static const struct ctl rows[] = {
	{ .name = "async",
	  .kinds = DIRECTIVE | TOOL,
	  .mode = 0600,
	  .listed = true,
	  .enter = ctl_enter_talk,
	  .verb = RYE_ASYNC,
	  .help = "write parameters: starts it and returns; the reply has thread_id and pid" },
	{ .name = "chain.json",
	  .kinds = TOOL,
	  .mode = 0444,
	  .listed = true,
	  .others = true,
	  .enter = ctl_enter_view,
	  .view = RYE_VIEW_CHAIN,
	  .help = "the resolved chain: spaces, hashes, signers, environment" },
	{ .name = "data.json",
	  .kinds = KNOWLEDGE,
	  .mode = 0444,
	  .listed = true,
	  .enter = ctl_enter_view,
	  .view = RYE_VIEW_DATA,
	  .help = "front matter and body, parsed" },
	{ .name = "dry_run",
	  .kinds = DIRECTIVE | TOOL,
	  .mode = 0600,
	  .listed = true,
	  .enter = ctl_enter_talk,
	  .verb = RYE_DRY_RUN,
	  .help = "write parameters: checks them and runs nothing" },
	{ .name = "fork",
	  .kinds = DIRECTIVE,
	  .mode = 0600,
	  .listed = true,
	  .enter = ctl_enter_talk,
	  .verb = RYE_FORK,
	  .help = "write inputs: a model works through it in a thread; waits for the end" },
	{ .name = "info.json",
	  .kinds = ALL,
	  .mode = 0444,
	  .listed = true,
	  .others = true,
	  .enter = ctl_enter_view,
	  .view = RYE_VIEW_INFO,
	  .help = "id, space, path, signer, hash, verdict, coverage, version, what it shadows" },
	{ .name = "output",
	  .kinds = ALL,
	  .mode = 0400,
	  .listed = true,
	  .enter = ctl_enter_own,
	  .own = own_output,
	  .help = "your own last reply as plain text" },
	{ .name = "prompt.md",
	  .kinds = DIRECTIVE,
	  .mode = 0444,
	  .listed = true,
	  .inputs = true,
	  .others = true,
	  .enter = ctl_enter_view,
	  .view = RYE_VIEW_PROMPT,
	  .help = "what a model would be sent" },
	{ .name = "run",
	  .kinds = ALL,
	  .mode = 0600,
	  .listed = true,
	  .enter = ctl_enter_talk,
	  .verb = RYE_RUN,
	  .help = "write parameters: runs it; read: your own last reply" },
	{ .name = "schema.json",
	  .kinds = DIRECTIVE | TOOL,
	  .mode = 0444,
	  .listed = true,
	  .enter = ctl_enter_view,
	  .view = RYE_VIEW_SCHEMA,
	  .help = "JSON Schema of the parameters" },
	{ .name = "source",
	  .kinds = ALL,
	  .mode = 0777,
	  .link = true,
	  .listed = true,
	  .enter = ctl_enter_source,
	  .help = "link to the source in spaces/" },
	{ .name = "trace.json",
	  .kinds = TOOL,
	  .mode = 0400,
	  .listed = true,
	  .enter = ctl_enter_own,
	  .own = own_trace,
	  .help = "steps of your own last run, when its request said \"trace\": true" },
	{ .name = "verify",
	  .kinds = ALL,
	  .mode = 0444,
	  .listed = true,
	  .enter = ctl_enter_view,
	  .view = RYE_VIEW_VERIFY,
	  .help = "one line: ok, or the reason of the refusal and what mends it" },
	/* at the root */
	{ .name = "execute",
	  .mode = 0600,
	  .listed = true,
	  .enter = ctl_enter_talk,
	  .verb = RYE_EXECUTE,
	  .child = CTL_CHILD_LATER,
	  .help = "write {\"item_id\": \"tool:a/b\", \"parameters\": {}}: runs any item" },
	{ .name = "fetch",
	  .mode = 0600,
	  .listed = true,
	  .enter = ctl_enter_talk,
	  .verb = RYE_FETCH,
	  .child = CTL_CHILD_LATER,
	  .help = "write {\"item_id\": \"knowledge:a/b\"}, or query and scope: reads or finds items" },
	{ .name = "load",
	  .mode = 0600,
	  .enter = ctl_enter_talk,
	  .verb = RYE_FETCH,
	  .child = CTL_CHILD_LATER,
	  .help = "another name of fetch" },
	{ .name = "sign",
	  .mode = 0600,
	  .listed = true,
	  .enter = ctl_enter_talk,
	  .verb = RYE_SIGN,
	  .child = CTL_CHILD_NEVER,
	  .help = "write {\"item_id\": \"tool:a/*\"}: checks and signs items of yours" },
};

const struct ctl *ctl_find(enum rye_kind kind, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].kinds & KIND_BIT(kind) && strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

const struct ctl *ctl_root_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!rows[i].kinds && strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

const struct ctl *ctl_rows(size_t *ret_n)
{
	*ret_n = ARRAY_SIZE(rows);
	return rows;
}

const struct ctl *ctl_of_verb(enum rye_verb verb)
{
	const struct ctl *row = rows;

	while (row->enter != ctl_enter_talk || row->verb != verb)
		row++;
	return row;
}
