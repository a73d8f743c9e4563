/* SPDX-License-Identifier: MIT */
/*
 * ryefs fetch: an item's verified source on standard output, or, with --to, a copy in another
 * space. Speaks through the fetch primitive, so that the rules are the mount's.
 */
#include "cli/follow/follow.h"

#include "scope.h"

#include <string.h>

static void verb_fetch_print(struct cli *cli, const struct called *called)
{
	const json_t *reply = called->reply;
	const char *copied = json_str(reply, "destination_path");
	const json_t *content = json_object_get(reply, "content");

	if (cli->opt.json || !reply)
		out_blob(stdout, called->outcome.reply);
	else if (*copied && cli->opt.quiet)
		return;
	else if (*copied)
		printf("copied %s to %s\n", cli->argv[0], copied);
	else if (cli->opt.to)
		cli_note(cli, "%s is in %s space already", cli->argv[0], cli->opt.to);
	else if (content)
		fwrite(json_string_value(content), 1, json_string_length(content), stdout);
	else
		out_json(reply);
}

static int fetch_forced(struct cli *cli)
{
	auto_free char *typed = cli_retyped(cli, "fetch", NULL, NULL), *mend = NULL;

	if (!typed || asprintf(&mend, "%s --force", typed) < 0)
		return CLI_USAGE;
	return cli_complain(cli, CLI_USAGE, mend, "%s has something else there already",
			    cli->opt.to);
}

int verb_fetch(struct cli *cli)
{
	auto_json json_t *message = json_object();
	auto_called struct called called = { .signal = 0 };
	char ref[REF_MAX];
	int status = ref_one(cli, 0, ref);

	if (status != CLI_OK)
		return status;
	json_sets(message, "item_id", ref);
	if (cli->opt.from)
		json_sets(message, "source", cli->opt.from);
	if (cli->opt.to)
		json_sets(message, "destination", cli->opt.to);
	if (cli->opt.force)
		json_set(message, "overwrite", json_true());
	status = call_wait(cli, &(struct cli_call){ RYE_FETCH, message, NULL }, &called);
	if (status != CLI_OK)
		return status;
	if (called.outcome.code == RYE_OK) {
		verb_fetch_print(cli, &called);
		return CLI_OK;
	}
	if (strstr(called.outcome.message, "\"overwrite\""))
		return fetch_forced(cli);
	if (called.outcome.code == RYE_NOT_FOUND && cli->opt.from)
		return cli_complain(cli, CLI_NOT_FOUND, "ryefs search WORDS",
				    "%s is not in the %s space", ref, cli->opt.from);
	return call_fail(cli, &called, ref);
}
