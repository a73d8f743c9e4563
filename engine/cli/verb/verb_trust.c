/* SPDX-License-Identifier: MIT */
/*
 * ryefs trust: the explicit step that makes the signatures of a key count for this user. The trust
 * store writes a key file in the user's space.
 */
#include "cli/cli.h"

int verb_trust(struct cli *cli)
{
	int status = cli_open(cli, CLI_ANY_PLACE);
	struct rye_err err = { 0 };
	char fingerprint[17];

	if (status != CLI_OK)
		return status;
	if (rye_key_trust(cli->rye, cli->argv[0], cli->opt.owner, fingerprint, &err))
		return cli_fail(cli, &err, NULL);
	return out_success(cli, "fingerprint", fingerprint, "is trusted");
}
