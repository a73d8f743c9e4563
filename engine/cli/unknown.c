/* SPDX-License-Identifier: MIT */
/*
 * A first word that is neither a verb nor a directory: what people bring along from other programs
 * (`run`, `ls`, `status`) and what is misspelt is answered with the command that was meant.
 */
#include "cli/cli.h"

#include "near.h"
#include "scope.h"

#include <rye/ryefs.h>

#include <string.h>
#include <unistd.h>

#define EVERYTHING "search '*'"

/* with: the verb when operands follow; alone: when none does (NULL: the verb's help). */
static const struct unknown_word {
	const char *word, *with, *alone;
} words[] = {
	{ "call", "execute", NULL },
	{ "cat", "fetch", NULL },
	{ "changes", "diff", NULL },
	{ "check", "verify", "verify" },
	{ "copy", "fetch", NULL },
	{ "cp", "fetch", NULL },
	{ "create", "init", "init" },
	{ "find", "search", EVERYTHING },
	{ "get", "fetch", NULL },
	{ "grep", "search", EVERYTHING },
	{ "info", "verify", "doctor" },
	{ "items", "search", EVERYTHING },
	{ "kill", "threads kill", "threads" },
	{ "list", "search", EVERYTHING },
	{ "ls", "search", EVERYTHING },
	{ "new", "init", "init" },
	{ "ps", "threads show", "threads" },
	{ "run", "execute", NULL },
	{ "show", "fetch", NULL },
	{ "start", "execute", NULL },
	{ "status", "verify", "doctor" },
	{ "unmount", "umount", NULL },
	{ "view", "fetch", NULL },
	{ "wait", "threads wait", "threads" },
};

const char *rye_cli_suggest(const char *word)
{
	struct near_word near = { .word = word, .nearest = 3 }; /* further away is another word */
	const struct cli_verb *verbs;
	size_t n;

	if (strlen(word) < 2)
		return NULL;
	near_offer(&near, "mount", "mount");
	verbs = cli_verbs(&n);
	for (size_t i = 0; i < n; i++)
		if (!verbs[i].hidden)
			near_offer(&near, verbs[i].name, verbs[i].name);
	return near.best;
}

static const char *unknown_meant(const char *word, bool operands)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		const struct unknown_word *row = &words[i];

		if (strcasecmp(row->word, word) != 0)
			continue;
		return operands || !row->alone ? row->with : row->alone;
	}
	return rye_cli_suggest(word);
}

static int lacks_mountpoint(const char *source)
{
	auto_buf struct rye_buf at = RYE_BUF_INIT, mend = RYE_BUF_INIT;

	buf_addf(&at, "%s%smnt", source, source[strlen(source) - 1] == '/' ? "" : "/");
	buf_adds(&mend, "mkdir -p ");
	buf_shell(&mend, at.failed ? "mnt" : at.data);
	buf_adds(&mend, " && ryefs ");
	buf_shell(&mend, source);
	buf_addc(&mend, ' ');
	buf_shell(&mend, at.failed ? "mnt" : at.data);
	fprintf(stderr, "ryefs: wanted a mountpoint too: ryefs SOURCE MOUNTPOINT\nmend with: %s\n",
		mend.failed ? "ryefs mount --help" : mend.data);
	return CLI_USAGE;
}

int cli_unknown(int argc, char **argv)
{
	const char *word = argv[1], *meant = unknown_meant(word, argc > 2);
	auto_buf struct rye_buf mend = RYE_BUF_INIT;

	if (access(word, F_OK) == 0 && argc == 2)
		return lacks_mountpoint(word);
	buf_addf(&mend, "ryefs %s", meant ? meant : "--help");
	for (int i = 2; meant && i < argc; i++) {
		buf_addc(&mend, ' ');
		buf_shell(&mend, argv[i]);
	}
	if (meant && argc == 2 && cli_wants_operands(meant))
		buf_adds(&mend, " --help");
	fputs("ryefs: \"", stderr);
	out_text(stderr, word);
	fputs("\" is neither a verb nor a directory", stderr);
	if (meant)
		fprintf(stderr, "; did you mean \"%.*s\"?", (int)strcspn(meant, " "), meant);
	fputs("\nmend with: ", stderr);
	out_text(stderr, mend.failed ? "ryefs --help" : mend.data);
	putc('\n', stderr);
	return CLI_USAGE;
}
