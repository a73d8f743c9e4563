/* SPDX-License-Identifier: MIT */
/*
 * ryefs mcp: the words behind it, one row each.
 */
#include "cli/verb/mcp_words.h"

#include "scope.h"

#include <string.h>

struct mcp_word {
	const char *word;
	int (*run)(struct cli *cli);
	int min, max; /* operands behind the word; max -1: any number */
	const char *usage;
};

static const struct mcp_word mcp_words[] = {
	{ "add", mcp_add_word, 2, -1,
	  "add NAME URL [\"HEADER: VALUE\"...] or add NAME [VAR=VALUE...] -- COMMAND [ARG...]" },
	{ "list", mcp_list_word, 0, 0, "list" },
	{ "refresh", mcp_refresh_word, 1, 1, "refresh NAME" },
	{ "remove", mcp_remove_word, 1, 1, "remove NAME" },
	{ "serve", mcp_serve_word, 0, 0, "[serve]" },
};

int verb_mcp(struct cli *cli)
{
	const char *word = cli->argc ? cli->argv[0] : "serve";
	int operands = cli->argc ? cli->argc - 1 : 0;

	for (size_t i = 0; i < ARRAY_SIZE(mcp_words); i++) {
		const struct mcp_word *row = &mcp_words[i];

		if (strcmp(word, row->word) != 0)
			continue;
		if (operands < row->min || (row->max >= 0 && operands > row->max))
			return cli_complain(cli, CLI_USAGE, "ryefs mcp --help",
					    "wanted: ryefs mcp %s", row->usage);
		return row->run(cli);
	}
	return cli_complain(
		cli, CLI_USAGE, "ryefs mcp --help",
		"this is nothing that ryefs mcp can do: serve, add, list, refresh or remove is "
		"wanted");
}
