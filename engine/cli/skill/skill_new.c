/* SPDX-License-Identifier: MIT */
/*
 * A skill that is begun: a folder with one file, written and signed as one that is added, but without a
 * question, for its text is ours. For `ryefs new`.
 */
#include "cli/skill/skill_words.h"

#include "scope.h"
#include "str.h"

int skill_new(struct cli *cli, enum rye_space space, const char *text, bool dry)
{
	auto_skill_adding struct skill_adding adding = { .cli = cli, .silent = true };
	struct rye_blob *blob = rye_blob_new(text, strlen(text));
	struct rye_err err = { 0 };
	int status = skill_place_of(cli, space, &adding.place);

	if (!blob)
		return CLI_FAILED;
	if (folder_add(&adding.folder, SKILL_TEXT, blob, &err))
		return cli_fail(cli, &err, NULL);
	if (status == CLI_OK)
		status = adding_read(&adding, -1);
	return status == CLI_OK && !dry ? adding_put(&adding) : status;
}
