/* SPDX-License-Identifier: MIT */
/*
 * ryefs remote: the words behind it, one row each.
 */
#include "cli/remote/remote_words.h"

#include "scope.h"

int verb_remote(struct cli *cli)
{
	static const struct cli_word words[] = {
		{ "list", remote_list_word, 0, 0, "list" },
		{ "add", remote_add_word, 1, 3, "add NAME [URL [PROJECT]]" },
		{ "status", remote_status_word, 0, 1, "status [NAME]" },
		{ "push", remote_push_word, 1, 1, "push NAME" },
		{ "diff", remote_diff_word, 1, 1, "diff NAME" },
		{ "pull", remote_pull_word, 2, 2, "pull NAME ID" },
		{ "gc", remote_gc_word, 1, 1, "gc NAME" },
		{ "rm", remote_rm_word, 1, 1, "rm NAME" },
	};

	return cli_words(cli, words, ARRAY_SIZE(words));
}
