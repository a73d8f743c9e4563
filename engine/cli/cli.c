/* SPDX-License-Identifier: MIT */
/*
 * What is common to all verbs: one invocation from its words to its exit status. The table of verbs is
 * verb/verb_table.c.
 */
#include "cli/cli.h"

#include "near.h"
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

/* Words of other programs; what means nothing among a verb's own words is not offered. */
static const char *const other_words[][2] = {
	{ "create", "add" },  { "delete", "remove" }, { "delete", "rm" },   { "get", "list" },
	{ "install", "add" }, { "ls", "list" },	      { "new", "add" },	    { "remove", "rm" },
	{ "rm", "remove" },   { "show", "list" },     { "status", "list" },
};

static const struct cli_word *cli_meant_word(const char *typed, const struct cli_word *words,
					     size_t n)
{
	struct near_word near;

	near_start(&near, typed);
	for (size_t i = 0; i < n; i++) {
		near_offer(&near, words[i].name, words[i].name);
		for (size_t k = 0; k < ARRAY_SIZE(other_words); k++)
			if (!strcmp(other_words[k][1], words[i].name))
				near_offer(&near, other_words[k][0], words[i].name);
	}
	for (size_t i = 0; i < n; i++)
		if (near.best == words[i].name)
			return &words[i];
	return NULL;
}

/* What was typed with another word, as far as that takes it; NULL: it does not. */
static char *cli_with_word(const struct cli *cli, const struct cli_word *word)
{
	int operands = cli->argc - 1;
	auto_free char *bare = NULL;

	if (operands >= word->min && (word->max < 0 || operands <= word->max))
		return cli_retyped(cli, cli->verb->name, cli->argv[0], word->name);
	if (word->min == 0 && asprintf(&bare, "ryefs %s %s", cli->verb->name, word->name) >= 0)
		return steal(&bare);
	return NULL;
}

/* What was typed; not one that may be a value in the wrong place. */
static void put_word(const struct cli *cli, char ret[64])
{
	const char *word = cli->argc ? cli->argv[0] : "";
	size_t n = strlen(word);
	bool plain = n && n <= 24 && strspn(word, "abcdefghijklmnopqrstuvwxyz-") == n;

	snprintf(ret, 64, plain ? "\"%s\"" : "this", word);
}

static int cli_no_word(struct cli *cli, const struct cli_word *meant, const char *names)
{
	auto_free char *help = mend_with("ryefs %s --help", cli->verb->name);
	auto_free char *mend = meant ? cli_with_word(cli, meant) : NULL;
	char word[64];

	put_word(cli, word);
	if (!meant)
		return cli_complain(cli, CLI_USAGE, help,
				    "%s is nothing that ryefs %s can do: %s is wanted", word,
				    cli->verb->name, names);
	return cli_complain(cli, CLI_USAGE, mend ? mend : help,
			    "%s is nothing that ryefs %s can do; did you mean %s?", word,
			    cli->verb->name, meant->name);
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
	return cli_no_word(cli, cli->argc ? cli_meant_word(cli->argv[0], words, n) : NULL,
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
