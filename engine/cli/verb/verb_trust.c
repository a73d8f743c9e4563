/* SPDX-License-Identifier: MIT */
/*
 * ryefs trust and untrust: the explicit step that makes the signatures of a key count for this user. The trust
 * store writes a key file in the user's space. A key that is only named by its fingerprint came
 * with the project: it is shown, and the user is asked.
 */
#include "cli/cli.h"

#include "scope.h"

#include <string.h>

/* The file of a key that does not count yet; NULL: there is none, or it counts. */
static const json_t *trust_candidate(const json_t *rows, const char *fingerprint)
{
	const json_t *row;
	size_t i;

	json_array_foreach((json_t *)rows, i, row)
		if (!strcmp(json_str(row, "fingerprint"), fingerprint) &&
		    strcmp(json_str(row, "status"), "signing") != 0)
			return strcmp(json_str(row, "status"), "trusted") ? row : NULL;
	return NULL;
}

static void show_candidate(const json_t *key)
{
	fprintf(stderr, "key    %s\nowner  ", json_str(key, "fingerprint"));
	out_text(stderr, json_str(key, "owner"));
	fputs(", as the file says\nfile   ", stderr);
	out_text(stderr, json_str(key, "path"));
	fprintf(stderr, " (%s space)\n", json_str(key, "space"));
}

static int ask_for(struct cli *cli, const json_t *key)
{
	const char *fingerprint = json_str(key, "fingerprint");
	auto_free char *mend = cli_retyped(cli, "trust --yes", NULL, NULL);
	const struct cli_question question = {
		"Ask the owner whether the fingerprint is right. Trust what this key signs?", mend,
		fingerprint, "is not trusted"
	};

	if (!cli->opt.quiet || !cli->opt.yes)
		show_candidate(key);
	return cli_asks(cli, &question);
}

/* What an earlier call has said stays in force: "is trusted" alone would not be true then. */
static int trust_tell(struct cli *cli, const char *fingerprint)
{
	auto_json json_t *rows = key_rows(cli, NULL);
	const char *scope = json_str(key_row(rows, fingerprint, "trusted"), "scope");

	if (cli->opt.quiet && !cli->opt.json)
		return CLI_OK;
	if (cli->opt.json || !*scope)
		return out_success(cli, "fingerprint", fingerprint, "is trusted");
	printf("%s is trusted for ", fingerprint);
	out_text(stdout, scope);
	putchar('\n');
	fflush(stdout);
	if (!cli->opt.scope)
		cli_note(
			cli,
			"as before; for everything: ryefs untrust %s, then ryefs trust it anew, by its "
			"file where the project has none",
			fingerprint);
	return CLI_OK;
}

int verb_trust(struct cli *cli)
{
	struct rye_err err = { 0 };
	auto_json json_t *rows = key_rows(cli, &err);
	const json_t *key = trust_candidate(rows, cli->argv[0]);
	int status = rows ? CLI_OK : cli_fail(cli, &err, NULL);
	char fingerprint[17];

	if (key)
		status = ask_for(cli, key);
	if (status != CLI_OK)
		return status;
	if (rye_key_trust(cli->rye, cli->argv[0], cli->opt.owner, cli->opt.scope, fingerprint,
			  &err))
		return cli_fail(cli, &err, NULL);
	return trust_tell(cli, fingerprint);
}

int verb_untrust(struct cli *cli)
{
	struct rye_err err = { 0 };

	if (rye_key_untrust(cli->rye, cli->argv[0], &err))
		return cli_fail(cli, &err, NULL);
	return cli->opt.quiet && !cli->opt.json ?
		       CLI_OK :
		       out_success(cli, "fingerprint", cli->argv[0], "is no longer trusted");
}
