/* SPDX-License-Identifier: MIT */
/*
 * ryefs trust and untrust: the explicit step that makes the signatures of a key count for this user. The trust
 * store writes a key file in the user's space. A key that is only named by its fingerprint came
 * with the project: it is shown, and the user is asked.
 */
#include "cli/cli.h"

#include "scope.h"

#include <string.h>

struct trust_candidate {
	const char *fingerprint;
	char owner[128], path[4200], space[280];
	bool found, trusted;
};

static int find_candidate(void *arg, const struct rye_key *key)
{
	struct trust_candidate *candidate = arg;

	if (strcmp(key->fingerprint, candidate->fingerprint) != 0 ||
	    !strcmp(key->status, "signing"))
		return 0;
	candidate->found = true;
	candidate->trusted = !strcmp(key->status, "trusted");
	snprintf(candidate->owner, sizeof(candidate->owner), "%s", key->owner);
	snprintf(candidate->path, sizeof(candidate->path), "%s", key->path);
	snprintf(candidate->space, sizeof(candidate->space), "%s", key->space);
	return 1;
}

static void show_candidate(const struct trust_candidate *candidate)
{
	fprintf(stderr, "key    %s\nowner  ", candidate->fingerprint);
	out_text(stderr, candidate->owner);
	fputs(", as the file says\nfile   ", stderr);
	out_text(stderr, candidate->path);
	fprintf(stderr, " (%s space)\n", candidate->space);
}

static int ask_for(struct cli *cli, const struct trust_candidate *candidate)
{
	auto_free char *mend = mend_with("ryefs trust --yes %s", candidate->fingerprint);
	const struct cli_question question = {
		"Ask the owner whether the fingerprint is right. Trust what this key signs?", mend,
		candidate->fingerprint, "is not trusted"
	};

	if (!cli->opt.quiet || !cli->opt.yes)
		show_candidate(candidate);
	return cli_asks(cli, &question);
}

int verb_trust(struct cli *cli)
{
	struct trust_candidate candidate = { .fingerprint = cli->argv[0] };
	struct rye_err err = { 0 };
	int status = CLI_OK;
	char fingerprint[17];

	if (rye_key_list(cli->rye, find_candidate, &candidate, &err) < 0)
		return cli_fail(cli, &err, NULL);
	if (candidate.found && !candidate.trusted)
		status = ask_for(cli, &candidate);
	if (status != CLI_OK)
		return status;
	if (rye_key_trust(cli->rye, cli->argv[0], cli->opt.owner, fingerprint, &err))
		return cli_fail(cli, &err, NULL);
	return out_success(cli, "fingerprint", fingerprint, "is trusted");
}

int verb_untrust(struct cli *cli)
{
	struct rye_err err = { 0 };

	if (rye_key_untrust(cli->rye, cli->argv[0], &err))
		return cli_fail(cli, &err, NULL);
	return out_success(cli, "fingerprint", cli->argv[0], "is no longer trusted");
}
