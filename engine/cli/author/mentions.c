/* SPDX-License-Identifier: MIT */
/*
 * Which items name another one that is moved or removed: a line each, with the command that changes the
 * text. One thread.
 */
#include "cli/author/author.h"

#include "base/id.h"
#include "scope.h"

#include <string.h>

static int mentions_take(void *arg, const struct rye_mention *mention)
{
	auto_free char *ref = NULL;
	json_t *row = json_object();

	if (asprintf(&ref, "%s:%s", rye_kind_name(mention->kind), mention->id) < 0)
		ref = NULL;
	json_sets(row, "ref", ref);
	json_sets(row, "space", mention->space);
	json_sets(row, "path", mention->path);
	json_set(row, "line", json_integer((json_int_t)mention->line));
	return row ? json_array_append_new(arg, row) : -1;
}

int mentions_of(struct cli *cli, const char *ref, json_t **ret)
{
	struct rye_err err = { 0 };
	const char *id;
	enum rye_kind kind = id_split(ref, &id);

	*ret = json_array();
	if (!*ret || rye_mentions(cli->rye, kind, id, mentions_take, *ret, &err))
		return cli_fail(cli, &err, ref);
	return CLI_OK;
}

void mentions_tell(struct cli *cli, const json_t *mentions, const char *ref)
{
	const json_t *row;
	size_t i;

	json_array_foreach((json_t *)mentions, i, row) {
		const char *space = json_str(row, "space");
		auto_free char *mend = mend_with(
			strcmp(space, "user") ? "ryefs edit %s" : "ryefs edit --space user %s",
			json_str(row, "ref"));
		char line[32];

		snprintf(line, sizeof(line), "%lld",
			 (long long)json_integer_value(json_object_get(row, "line")));
		if (strncmp(space, "system", strlen("system")))
			cli_note(cli, "%s names %s in line %s; " MEND_WITH "%s",
				 json_str(row, "ref"), ref, line, mend ? mend : "an editor");
		else
			cli_note(cli, "%s of the system space names %s in line %s",
				 json_str(row, "ref"), ref, line);
	}
}
