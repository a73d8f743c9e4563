/* SPDX-License-Identifier: MIT */
/*
 * ctl.c - the table of the files in an item's own directory, and of the primitives at the
 * root: name, mode, which kinds have it, what stands behind it, one line of help.
 *
 * No state, no lock. Read by the tree's grammar, the listing, README.md of the mount and the
 * lint that compares it with docs/files.md. Rows are in the order of their names.
 */
#include "ctl.h"

#include <string.h>

#define DIRECTIVE KIND_BIT(RYE_DIRECTIVE)
#define TOOL KIND_BIT(RYE_TOOL)
#define KNOWLEDGE KIND_BIT(RYE_KNOWLEDGE)
#define ALL (DIRECTIVE | TOOL | KNOWLEDGE)

static const struct ctl rows[] = {
	{ .name = "async",
	  .sort = CTL_TALK,
	  .kinds = DIRECTIVE | TOOL,
	  .mode = 0600,
	  .verb = RYE_ASYNC,
	  .listed = true,
	  .help = "write parameters: starts it and returns; the reply has thread_id and pid" },
	{ .name = "chain.json",
	  .sort = CTL_VIEW,
	  .kinds = TOOL,
	  .mode = 0444,
	  .view = RYE_VIEW_CHAIN,
	  .listed = true,
	  .help = "the resolved chain: spaces, hashes, signers, environment" },
	{ .name = "data.json",
	  .sort = CTL_VIEW,
	  .kinds = KNOWLEDGE,
	  .mode = 0444,
	  .view = RYE_VIEW_DATA,
	  .listed = true,
	  .help = "front matter and body, parsed" },
	{ .name = "dry_run",
	  .sort = CTL_TALK,
	  .kinds = DIRECTIVE | TOOL,
	  .mode = 0600,
	  .verb = RYE_DRY_RUN,
	  .listed = true,
	  .help = "write parameters: checks them and runs nothing" },
	{ .name = "fork",
	  .sort = CTL_TALK,
	  .kinds = DIRECTIVE,
	  .mode = 0600,
	  .verb = RYE_FORK,
	  .listed = true,
	  .help = "write inputs: a model works through it in a thread; waits for the end" },
	{ .name = "info.json",
	  .sort = CTL_VIEW,
	  .kinds = ALL,
	  .mode = 0444,
	  .view = RYE_VIEW_INFO,
	  .listed = true,
	  .help = "id, space, path, signer, hash, verdict, coverage, version, what it shadows" },
	{ .name = "output",
	  .sort = CTL_LAST,
	  .kinds = ALL,
	  .mode = 0400,
	  .last = CTL_OUTPUT,
	  .listed = true,
	  .help = "your own last reply as plain text" },
	{ .name = "prompt.md",
	  .sort = CTL_VIEW,
	  .kinds = DIRECTIVE,
	  .mode = 0444,
	  .view = RYE_VIEW_PROMPT,
	  .listed = true,
	  .help = "what a model would be sent" },
	{ .name = "run",
	  .sort = CTL_TALK,
	  .kinds = ALL,
	  .mode = 0600,
	  .verb = RYE_RUN,
	  .listed = true,
	  .help = "write parameters: runs it; read: your own last reply" },
	{ .name = "schema.json",
	  .sort = CTL_VIEW,
	  .kinds = DIRECTIVE | TOOL,
	  .mode = 0444,
	  .view = RYE_VIEW_SCHEMA,
	  .listed = true,
	  .help = "JSON Schema of the parameters" },
	{ .name = "source",
	  .sort = CTL_LINK,
	  .kinds = ALL,
	  .mode = 0777,
	  .listed = true,
	  .help = "link to the source in spaces/" },
	{ .name = "trace.json",
	  .sort = CTL_LAST,
	  .kinds = TOOL,
	  .mode = 0400,
	  .last = CTL_TRACE,
	  .listed = true,
	  .help = "steps of your own last run, when its request said \"trace\": true" },
	{ .name = "verify",
	  .sort = CTL_VIEW,
	  .kinds = ALL,
	  .mode = 0444,
	  .view = RYE_VIEW_VERIFY,
	  .listed = true,
	  .help = "one line: ok, or the reason of the refusal and what mends it" },
};

static const struct ctl roots[] = {
	{ .name = "execute",
	  .sort = CTL_TALK,
	  .mode = 0600,
	  .verb = RYE_EXECUTE,
	  .listed = true,
	  .help = "write {\"item_id\": \"tool:a/b\", \"parameters\": {}}: runs any item" },
	{ .name = "fetch",
	  .sort = CTL_TALK,
	  .mode = 0600,
	  .verb = RYE_FETCH,
	  .listed = true,
	  .help = "write {\"item_id\": \"knowledge:a/b\"}, or query and scope: reads or finds items" },
	{ .name = "load",
	  .sort = CTL_TALK,
	  .mode = 0600,
	  .verb = RYE_FETCH,
	  .help = "another name of fetch" },
	{ .name = "sign",
	  .sort = CTL_TALK,
	  .mode = 0600,
	  .verb = RYE_SIGN,
	  .listed = true,
	  .help = "write {\"item_id\": \"tool:a/*\"}: checks and signs items of yours" },
};

const struct ctl *ctl_find(enum rye_kind kind, const char *name)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].kinds & KIND_BIT(kind) && strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

const struct ctl *ctl_rows(size_t *ret_n)
{
	*ret_n = sizeof(rows) / sizeof(rows[0]);
	return rows;
}

const struct ctl *ctl_root_find(const char *name)
{
	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++)
		if (strcmp(roots[i].name, name) == 0)
			return &roots[i];
	return NULL;
}

const struct ctl *ctl_root_rows(size_t *ret_n)
{
	*ret_n = sizeof(roots) / sizeof(roots[0]);
	return roots;
}
