/* SPDX-License-Identifier: MIT */
/*
 * The person's own key for keygen and init: made and trusted, in two steps. A process that is killed between
 * them leaves a key whose signatures do not count, so the next call does the second.
 */
#include "cli/cli.h"

#include <string.h>

struct own_key {
	char fp[17];
	bool found, trusted;
};

/* rye_key_fn: the signing pair is told first */
static int look_for_own(void *arg, const struct rye_key *key)
{
	struct own_key *own = arg;

	if (!own->found && !strcmp(key->status, "signing")) {
		own->found = true;
		memcpy(own->fp, key->fingerprint, sizeof(own->fp));
	}
	own->trusted |= own->found && !strcmp(key->status, "trusted") &&
			!strcmp(key->fingerprint, own->fp);
	return 0;
}

int own_key_make(struct cli *cli, enum rye_keygen how, char ret_fp[17], struct rye_err *err)
{
	struct own_key own = { 0 };
	int r = rye_key_list(cli->rye, look_for_own, &own, err);

	if (r)
		return r;
	if (how == RYE_KEY_NEW && own.found && !own.trusted)
		cli_note(cli, "there is a signing key already; it was not trusted yet");
	else
		r = rye_key_generate(cli->rye, how, own.fp, err);
	return r ? r : rye_key_trust(cli->rye, "self", cli->opt.owner, ret_fp, err);
}

bool own_key_is_ready(struct cli *cli)
{
	struct own_key own = { 0 };
	struct rye_err ignored = { 0 };

	return !rye_key_list(cli->rye, look_for_own, &own, &ignored) && own.trusted;
}
