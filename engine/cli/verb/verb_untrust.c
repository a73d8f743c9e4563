/* SPDX-License-Identifier: MIT */
/*
 * ryefs untrust: takes a key file out of the user space; what it signed is refused again. Files
 * of the project or of a bundle are not this user's to remove.
 */
#include "cli/cli.h"

int verb_untrust(struct cli *cli)
{
	int status = cli_open(cli, CLI_ANY_PLACE);
	struct rye_err err = { 0 };

	if (status != CLI_OK)
		return status;
	if (rye_key_untrust(cli->rye, cli->argv[0], &err))
		return cli_fail(cli, &err, NULL);
	return out_success(cli, "fingerprint", cli->argv[0], "is no longer trusted");
}
