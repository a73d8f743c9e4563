/* SPDX-License-Identifier: MIT */
/*
 * ryefs diff: what of an item has changed since it was signed, where git, a copy or another space
 * still has it as it was (signed_before.c). Reads only.
 */
#include "cli/cli.h"

#include "scope.h"

#include <string.h>

struct diff_showing {
	struct cli *cli;
	size_t shown, unknown;
};

static int diff_take(void *arg, const struct rye_verdict *verdict, size_t done, size_t total)
{
	struct diff_showing *showing = arg;
	auto_free char *mend = NULL;
	char ref[REF_MAX];
	struct signed_file file = { ref, verdict ? verdict->path : "" };

	(void)done;
	(void)total;
	if (!verdict || strncmp(verdict->space, "system", 6) == 0 || verdict->code == RYE_OK)
		return 0;
	ref_of(verdict, ref);
	fflush(stdout);
	if (signed_diff(showing->cli, &file, stdout) >= 0) {
		showing->shown++;
		return 0;
	}
	showing->unknown++;
	mend = mend_with("${PAGER:-less} %s", verdict->path);
	cli_complain(showing->cli, CLI_NOT_FOUND, mend,
		     "%s: neither git nor a copy has it as it was signed", ref);
	return 0;
}

int verb_diff(struct cli *cli)
{
	struct diff_showing showing = { .cli = cli };
	struct rye_err err = { 0 };
	int status = CLI_OK;

	for (int i = 0; i < (cli->argc ? cli->argc : 1) && status == CLI_OK; i++) {
		char ref[REF_MAX];
		struct rye_batch batch = { .pattern = cli->argc ? ref : NULL,
					   .fn = diff_take,
					   .arg = &showing };

		if (cli->argc)
			status = ref_operand(cli, i, ref);
		if (status == CLI_OK && rye_verify_all(cli->rye, &batch, &err))
			status = cli_fail(cli, &err, batch.pattern);
	}
	if (status == CLI_OK && !showing.shown && !showing.unknown)
		cli_note(cli, "nothing has changed since it was signed");
	return status == CLI_OK && showing.unknown ? CLI_NOT_FOUND : status;
}
