/* SPDX-License-Identifier: MIT */
/*
 * ctl_rows.c - the table of the files in an item's own directory, and of the primitives at the
 * root: name, mode, which kinds have it, what looks it up, one line of help.
 *
 * No state, no lock. Read by the tree's grammar, the lookups and listings, the conversations,
 * README.md of the mount and the lint that compares it with docs/files.md. The verbs come first, in
 * their own order (rye/rows.h), then the other files by name.
 */
#include "core/ctl.h"

#include "scope.h"

#include <string.h>

/* A conversation for each verb, at the root for one that names its item. */
#define VERB(verb_, name_, traits, ways_, function, help_) \
	[RYE_##verb_] = { .name = name_,                   \
			  .of = traits,                    \
			  .mode = 0600,                    \
			  .listed = true,                  \
			  .enter = ctl_enter_talk,         \
			  .verb = RYE_##verb_,             \
			  .ways = ways_,                   \
			  .help = help_ },

static const struct ctl rows[] = {
	[RYE_VERB__MAX] = { .name = "calls",
			    .of = RYE_KIND_RUNS,
			    .mode = 0700,
			    .enter = ctl_enter_named,
			    .help = "calls/NAME/request.json: saving parameters there runs it" },
	{ .name = "chain.json",
	  .of = RYE_KIND_PROCESS,
	  .mode = 0444,
	  .listed = true,
	  .others = true,
	  .enter = ctl_enter_view,
	  .view = RYE_VIEW_CHAIN,
	  .help = "the resolved chain: spaces, hashes, signers, environment" },
	{ .name = "data.json",
	  .of = RYE_KIND_FRONT,
	  .mode = 0444,
	  .listed = true,
	  .enter = ctl_enter_view,
	  .view = RYE_VIEW_DATA,
	  .help = "front matter and body, parsed" },
	{ .name = "info.json",
	  .of = RYE_KIND_RUNS,
	  .mode = 0444,
	  .listed = true,
	  .others = true,
	  .enter = ctl_enter_view,
	  .view = RYE_VIEW_INFO,
	  .help = "id, space, path, signer, hash, verdict, coverage, version, what it shadows" },
	{ .name = "output",
	  .of = RYE_KIND_RUNS,
	  .mode = 0400,
	  .listed = true,
	  .enter = ctl_enter_own,
	  .own = own_output,
	  .help = "your own last reply as plain text" },
	{ .name = "prompt.md",
	  .of = RYE_KIND_INPUTS,
	  .mode = 0444,
	  .listed = true,
	  .inputs = true,
	  .others = true,
	  .enter = ctl_enter_view,
	  .view = RYE_VIEW_PROMPT,
	  .help = "what a model would be sent" },
	{ .name = "replies",
	  .of = RYE_KIND_RUNS,
	  .mode = 0500,
	  .enter = ctl_enter_named,
	  .help = "replies/NAME/output, reply.json: the reply of calls/NAME, for any process of yours" },
	{ .name = "schema.json",
	  .of = RYE_KIND_PARAMETERS,
	  .mode = 0444,
	  .listed = true,
	  .enter = ctl_enter_view,
	  .view = RYE_VIEW_SCHEMA,
	  .help = "JSON Schema of the parameters" },
	{ .name = "source",
	  .of = RYE_KIND_RUNS,
	  .mode = 0777,
	  .link = true,
	  .listed = true,
	  .enter = ctl_enter_source,
	  .help = "link to the source in spaces/" },
	{ .name = "trace.json",
	  .of = RYE_KIND_PROCESS,
	  .mode = 0400,
	  .listed = true,
	  .enter = ctl_enter_own,
	  .own = own_trace,
	  .help = "steps of your own last run, when its request said \"trace\": true" },
	{ .name = "verify",
	  .of = RYE_KIND_RUNS,
	  .mode = 0444,
	  .listed = true,
	  .enter = ctl_enter_view,
	  .view = RYE_VIEW_VERIFY,
	  .help = "one line: ok, or the reason of the refusal and what mends it" },
	{ .name = "calls",
	  .mode = 0700,
	  .enter = ctl_enter_named,
	  .help = "calls/NAME/request.json for execute, calls/fetch/NAME/…, calls/sign/NAME/…" },
	{ .name = "replies",
	  .mode = 0500,
	  .enter = ctl_enter_named,
	  .help = "their replies: replies/NAME/output, replies/sign/NAME/output" },
	{ .name = "load",
	  .mode = 0600,
	  .enter = ctl_enter_talk,
	  .verb = RYE_FETCH,
	  .ways = RYE_WAY_READS,
	  .help = "another name of fetch" },
	RYE_VERBS(VERB)
};

const struct ctl *ctl_find(enum rye_kind kind, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rye_kind_has(kind, rows[i].of) && strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

const struct ctl *ctl_root_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!rows[i].of && strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

bool ctl_is_name(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].of && strlen(rows[i].name) == len && !memcmp(rows[i].name, name, len))
			return true;
	return false;
}

const struct ctl *ctl_rows(size_t *ret_n)
{
	*ret_n = ARRAY_SIZE(rows);
	return rows;
}

const struct ctl *ctl_of_verb(enum rye_verb verb)
{
	return &rows[verb];
}
