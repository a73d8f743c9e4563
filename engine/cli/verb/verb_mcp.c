/* SPDX-License-Identifier: MIT */
/*
 * ryefs mcp: the words behind it, one row each.
 */
#include "cli/verb/mcp_words.h"

#include "scope.h"

int verb_mcp(struct cli *cli)
{
	static const struct cli_word words[] = {
		{ "serve", mcp_serve_word, 0, 0, "[serve]" },
		{ "add", mcp_add_word, 2, -1,
		  "add NAME URL [\"HEADER: VALUE\"...] or add NAME [VAR=VALUE...] -- COMMAND [ARG...]" },
		{ "list", mcp_list_word, 0, 0, "list" },
		{ "refresh", mcp_refresh_word, 1, 1, "refresh NAME" },
		{ "remove", mcp_remove_word, 1, 1, "remove NAME" },
	};

	return cli_words(cli, words, ARRAY_SIZE(words));
}
