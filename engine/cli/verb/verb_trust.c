/* SPDX-License-Identifier: MIT */
/*
 * ryefs trust and untrust: the explicit step that makes the signatures of a key count for this user. The trust
 * store writes a key file in the user's space. A key that is only named by its fingerprint came
 * with the project: it is shown, and the user is asked.
 */
#include "cli/cli.h"

#include <string.h>
#include <unistd.h>

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
	char answer[16], mend[64];

	if (!cli->opt.quiet || !cli->opt.yes)
		show_candidate(candidate);
	if (cli->opt.yes)
		return CLI_OK;
	snprintf(mend, sizeof(mend), "ryefs trust --yes %s", candidate->fingerprint);
	if (!isatty(STDIN_FILENO))
		return cli_complain(cli, CLI_DENIED, mend,
				    "it takes a yes, and standard input is not a terminal");
	fputs("Ask the owner whether the fingerprint is right. Trust what this key signs? [y/N] ",
	      stderr);
	if (fgets(answer, sizeof(answer), stdin) &&
	    (!strcasecmp(answer, "y\n") || !strcasecmp(answer, "yes\n")))
		return CLI_OK;
	return cli_complain(cli, CLI_DENIED, NULL, "%s is not trusted", candidate->fingerprint);
}

int verb_trust(struct cli *cli)
{
	int status = cli_open(cli, CLI_ANY_PLACE);
	struct trust_candidate candidate = { .fingerprint = cli->argv[0] };
	struct rye_err err = { 0 };
	char fingerprint[17];

	if (status != CLI_OK)
		return status;
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
	int status = cli_open(cli, CLI_ANY_PLACE);
	struct rye_err err = { 0 };

	if (status != CLI_OK)
		return status;
	if (rye_key_untrust(cli->rye, cli->argv[0], &err))
		return cli_fail(cli, &err, NULL);
	return out_success(cli, "fingerprint", cli->argv[0], "is no longer trusted");
}
