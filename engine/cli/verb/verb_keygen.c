/* SPDX-License-Identifier: MIT */
/*
 * ryefs keygen: makes the user's signing key and trusts it, because what an untrusted key signs is
 * not served to this user. Never replaces a key without -f.
 */
#include "cli/cli.h"

int verb_keygen(struct cli *cli)
{
	int status = cli_open(cli, CLI_ANY_PLACE);
	struct rye_err err = { 0 };
	char made[17], trusted[17];

	if (status != CLI_OK)
		return status;
	if (rye_key_generate(cli->rye, cli->opt.force, made, &err))
		return cli_fail(cli, &err, NULL);
	if (rye_key_trust(cli->rye, "self", cli->opt.owner, trusted, &err))
		return cli_fail(cli, &err, NULL);
	return out_success(cli, "fingerprint", made, "is your signing key and trusted");
}
