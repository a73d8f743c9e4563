/* SPDX-License-Identifier: MIT */
/*
 * ryefs complete WORD: what a reference that begins so may become, with its kind or without, one
 * candidate a line, for the shells' completions. One directory of the merged view is listed, nothing is verified,
 * nothing is ever said on stderr.
 */
#include "cli/cli.h"

#include "base/id.h"
#include "scope.h"

#include <string.h>

struct completing {
	enum rye_kind kind;
	const char *dir; /* "" or "a/b/" */
	const char *begin; /* of the last component */
	bool bare; /* without the kind in front */
};

static int complete_take(void *arg, const struct rye_entry *entry)
{
	const struct completing *c = arg;
	const char *ext = kind_extension_of(c->kind, entry->name);
	int len = (int)strlen(entry->name);

	if (strncmp(entry->name, c->begin, strlen(c->begin)))
		return 0;
	if (!entry->is_dir && !ext)
		return 0;
	if (!entry->is_dir)
		len -= (int)strlen(ext);
	printf("%s%s%s%.*s%s\n", c->bare ? "" : rye_kind_name(c->kind), c->bare ? "" : ":", c->dir,
	       len, entry->name, entry->is_dir ? "/" : "");
	return 0;
}

static void complete_kinds(const char *word)
{
	for (int kind = 0; kind < RYE_KIND__MAX; kind++)
		if (!strncmp(rye_kind_name((enum rye_kind)kind), word, strlen(word)))
			printf("%s:\n", rye_kind_name((enum rye_kind)kind));
}

static void complete_id(struct cli *cli, enum rye_kind kind, const char *id, bool bare)
{
	const char *slash = strrchr(id, '/');
	size_t len = slash ? (size_t)(slash - id) : 0;
	auto_free char *dir = strndup(id, len);
	auto_free char *below = strndup(id, slash ? len + 1 : 0);
	struct completing c = { kind, below, id + (slash ? len + 1 : 0), bare };
	struct rye_walk walk = { .kind = kind, .dir = dir, .fn = complete_take, .arg = &c };

	if (dir && below)
		rye_list(cli->rye, &walk, NULL);
}

int verb_complete(struct cli *cli)
{
	const char *word = cli->argc ? cli->argv[0] : "", *id;
	enum rye_kind kind = id_kind(word, &id);
	int status;

	if (kind == RYE_KIND__MAX)
		complete_kinds(word);
	if (kind == RYE_KIND__MAX && (!*word || strchr(word, ':') || *word == '.' || *word == '/'))
		return CLI_OK;
	cli->opt.quiet = true;
	status = cli_open(cli, CLI_ANY_PLACE);
	for (int k = 0; k < RYE_KIND__MAX && status == CLI_OK; k++)
		if (kind == RYE_KIND__MAX || k == (int)kind)
			complete_id(cli, (enum rye_kind)k, kind == RYE_KIND__MAX ? word : id,
				    kind == RYE_KIND__MAX);
	return status;
}
