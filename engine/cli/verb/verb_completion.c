/* SPDX-License-Identifier: MIT */
/*
 * ryefs completion SHELL: the file of scripts/completion that an installation puts where the shell looks,
 * from the program alone. The build embeds all three.
 */
#include "cli/cli.h"

#include "near.h"
#include "scope.h"

#include <string.h>

extern const char completion_bash[], completion_zsh[], completion_fish[];

static const struct {
	const char *shell, *text;
} completions[] = {
	{ "bash", completion_bash },
	{ "fish", completion_fish },
	{ "zsh", completion_zsh },
};

int verb_completion(struct cli *cli)
{
	const char *word = cli->argv[0];
	auto_free char *mend = NULL;
	struct near_word near;

	near_start(&near, word);
	for (size_t i = 0; i < ARRAY_SIZE(completions); i++) {
		near_offer(&near, completions[i].shell, completions[i].shell);
		if (strcmp(completions[i].shell, word) != 0)
			continue;
		fputs(completions[i].text, stdout);
		return CLI_OK;
	}
	mend = mend_with("ryefs completion %s", near.best ? near.best : "bash");
	return cli_complain(cli, CLI_USAGE, mend,
			    "\"%s\" is no shell that is known: bash, fish or zsh", word);
}
