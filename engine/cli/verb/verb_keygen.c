/* SPDX-License-Identifier: MIT */
/*
 * ryefs keygen: makes the user's signing key and trusts it, because what an untrusted key signs is
 * not served to this user. Never replaces a key without -f.
 */
#include "cli/cli.h"

int verb_keygen(struct cli *cli)
{
	struct rye_err err = { 0 };
	char made[17];

	if (cli->opt.forget && !cli->opt.force)
		return cli_misuse(cli, "--forget-secrets goes with --force");
	if (own_key_make(cli,
			 cli->opt.forget ? RYE_KEY_FORGET :
			 cli->opt.force	 ? RYE_KEY_REPLACE :
					   RYE_KEY_NEW,
			 made, &err))
		return cli_fail(cli, &err, NULL);
	return out_success(cli, "fingerprint", made, "is your signing key and trusted");
}
