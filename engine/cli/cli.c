/* SPDX-License-Identifier: MIT */
/*
 * What is common to all verbs: one invocation from its words to its exit status. The table of verbs is
 * verb/verb_table.c.
 */
#include "cli/cli.h"

#include "scope.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

const struct cli_verb *cli_find(const struct cli_verb *verbs, const char *word)
{
	while (verbs->name && strcmp(verbs->name, word) != 0)
		verbs++;
	return verbs->name ? verbs : NULL;
}

void cli_signals(sigset_t *ret)
{
	sigemptyset(ret);
	sigaddset(ret, SIGINT);
	sigaddset(ret, SIGTERM);
	sigaddset(ret, SIGHUP);
}

void cli_block_signals(void)
{
	sigset_t set;

	cli_signals(&set);
	/* The engine's thread that reaps learns by it of dead orphans. */
	sigaddset(&set, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

int cli_words(struct cli *cli, const struct cli_word *words, size_t n)
{
	auto_free char *help = mend_with("ryefs %s --help", cli->verb->name);
	auto_buf struct rye_buf names = RYE_BUF_INIT;
	int operands = cli->argc ? cli->argc - 1 : 0;

	for (size_t i = 0; i < n; i++) {
		const struct cli_word *row = &words[i];

		buf_addf(&names, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " or ", row->name);
		if (cli->argc && strcmp(cli->argv[0], row->name) != 0)
			continue;
		if (operands < row->min || (row->max >= 0 && operands > row->max))
			return cli_complain(cli, CLI_USAGE, help, "wanted: ryefs %s %s",
					    cli->verb->name, row->usage);
		return row->run(cli);
	}
	/* what is no word is not said again: it may be a value in the wrong place */
	return cli_complain(cli, CLI_USAGE, help,
			    "this is nothing that ryefs %s can do: %s is wanted", cli->verb->name,
			    names.failed ? "another word" : names.data);
}

static int cli_do(struct cli *cli)
{
	unsigned traits = cli->verb->traits;
	int status = CLI_OK;

	/* before the engine has threads */
	if (traits & CLI_WAITS)
		cli_block_signals();
	if (traits & (CLI_OPENS | CLI_OPENS_ANY))
		status = cli_open(cli, traits & CLI_OPENS ? CLI_PROJECT : CLI_ANY_PLACE);
	return status == CLI_OK ? cli->verb->run(cli) : status;
}

int cli_run(struct cli cli, int argc, char **argv)
{
	int status;

	/* options_read sorts argv */
	cli.n_typed = argc;
	cli.typed = calloc((size_t)argc + 1, sizeof(*cli.typed));
	if (!cli.typed)
		return CLI_FAILED;
	memcpy(cli.typed, argv, (size_t)argc * sizeof(*argv));
	status = options_read(&cli, argc, argv);

	if (status == CLI_OK && cli.opt.help)
		options_help(cli.verb, stdout);
	else if (status == CLI_OK)
		status = cli_do(&cli);
	/* what an earlier call left when it was killed; a mount does the same */
	if (cli.rye && cli.verb->traits & CLI_WRITES && !cli.stays)
		rye_left(cli.rye, true, NULL, NULL);
	if (cli.rye)
		rye_close(cli.rye);
	free(cli.project);
	free(cli.typed);
	/* a full disk or a closed pipe must not look like success */
	if ((fflush(stdout) || ferror(stdout)) && status == CLI_OK)
		status = cli_complain(&cli, CLI_FAILED, NULL, "cannot write to standard output");
	return status;
}
