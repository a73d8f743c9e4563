/* SPDX-License-Identifier: MIT */
/* Where skills lie, and a verified manifest as the verbs need it. */
#include "cli/skill/skill_words.h"

#include "format/format.h"
#include "scope.h"

#include <string.h>

int skill_place(struct cli *cli, struct skill_place *ret)
{
	const char *word = cli->opt.space ? cli->opt.space : "project";
	int n = rye_space_count(cli->rye);

	if (strcmp(word, "project") != 0 && strcmp(word, "user") != 0)
		return cli_misuse(cli, "--space wants project or user, not %s", word);
	ret->space = !strcmp(word, "user") ? RYE_USER : RYE_PROJECT;
	for (int i = 0; i < n; i++) {
		rye_space_get(cli->rye, i, &ret->info);
		if (ret->info.type == ret->space && ret->info.fd >= 0)
			return CLI_OK;
	}
	return cli_complain(cli, CLI_NOT_FOUND, NULL, "there is no .ai in the %s space", word);
}

int skill_manifest(struct cli *cli, enum rye_space space, const char *name, struct skill *ret)
{
	auto_blob struct rye_blob *text = NULL, *bare = NULL;
	auto_json json_t *data = NULL;
	struct rye_err err = { 0 };

	if (rye_skill_manifest(cli->rye, space, name, &text, &err))
		return cli_fail(cli, &err, NULL);
	bare = rye_bare(RYE_SKILL, ".yaml", (struct rye_span){ text->data, text->len });
	if (bare)
		data = parse_yaml((struct rye_span){ bare->data, bare->len }, &err);
	if (!data || skill_read(data, name, ret, &err))
		return cli_fail(cli, &err, NULL);
	return CLI_OK;
}
