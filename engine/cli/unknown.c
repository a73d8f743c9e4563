/* SPDX-License-Identifier: MIT */
/*
 * A first word that is neither a verb nor a directory: what people bring along from other programs
 * (`run`, `ls`, `status`) and what is misspelt is answered with the command that was meant.
 */
#include "cli/cli.h"

#include "base/id.h"
#include "near.h"
#include "scope.h"
#include "str.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EVERYTHING "search '*'"

/* with: the verb when operands follow; alone: when none does (NULL: the verb's help). */
static const struct unknown_word {
	const char *word, *with, *alone;
} words[] = {
	{ "call", "execute", NULL },
	{ "blame", "log", NULL },
	{ "cat", "fetch", NULL },
	{ "changes", "diff", NULL },
	{ "check", "verify", "verify" },
	{ "copy", "fetch", NULL },
	{ "cp", "fetch", NULL },
	{ "create", "init", "init" },
	{ "del", "rm", NULL },
	{ "delete", "rm", NULL },
	{ "find", "search", EVERYTHING },
	{ "get", "fetch", NULL },
	{ "grep", "search", EVERYTHING },
	{ "history", "log", NULL },
	{ "info", "verify", "doctor" },
	{ "items", "search", EVERYTHING },
	{ "kill", "threads kill", "threads" },
	{ "logs", "threads tail", "threads" },
	{ "ls", "search", EVERYTHING },
	{ "mounts", "list", "list" },
	{ "move", "mv", NULL },
	{ "open", "mount", NULL },
	{ "ps", "threads show", "threads" },
	{ "remove", "rm", NULL },
	{ "rename", "mv", NULL },
	{ "run", "execute", NULL },
	{ "read", "fetch", NULL },
	{ "serve", "mcp serve", "mcp serve" },
	{ "show", "fetch", NULL },
	{ "start", "execute", NULL },
	{ "status", "verify", "doctor" },
	{ "unmount", "umount", NULL },
	{ "version", "--version", "--version" },
	{ "view", "fetch", NULL },
	{ "wait", "threads wait", "threads" },
};

const char *unknown_near(const struct cli_verb *verbs, const char *word)
{
	struct near_word near = { .word = word, .nearest = 3 }; /* further away is another word */

	if (strlen(word) < 2)
		return NULL;
	near_offer(&near, "mount", "mount");
	for (; verbs->name; verbs++)
		if (!(verbs->traits & CLI_HIDDEN))
			near_offer(&near, verbs->name, verbs->name);
	return near.best;
}

static const char *unknown_meant(const struct cli_verb *verbs, const char *word, bool operands)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		const struct unknown_word *row = &words[i];

		if (strcasecmp(row->word, word) != 0)
			continue;
		return operands || !row->alone ? row->with : row->alone;
	}
	return unknown_near(verbs, word);
}

/* ---- items ---- */

/* A bundle's is not written to: a copy in the project comes before it. */
char *editing_mend(struct cli *cli, const char *ref)
{
	auto_json json_t *rows = ref_verdicts(cli, ref, NULL);
	const json_t *first = json_array_get(rows, 0); /* the one that counts */
	const char *space = json_str(first, "space");

	if (!first)
		return NULL;
	if (!strncmp(space, "system", strlen("system")))
		return mend_with("ryefs fetch --to project %s && ryefs edit %s", ref, ref);
	return mend_edit(cli, &(struct signed_file){ ref, json_str(first, "path") }, space);
}

/* "create tool:my/hello", "add knowledge my/notes" */
static bool unknown_makes(const char *verb, const char *operand)
{
	static const char *const makes[] = { "create", "add", "make" };
	const char *id;
	bool item = id_kind(operand, &id) != RYE_KIND__MAX ||
		    kind_from_name(operand) != RYE_KIND__MAX;

	for (size_t i = 0; i < ARRAY_SIZE(makes); i++)
		if (!strcmp(verb, makes[i]))
			return item;
	return false;
}

/* ---- the answer ---- */

static int lacks_mountpoint(const char *source)
{
	auto_free char *at = NULL, *mend = NULL;

	if (asprintf(&at, "%s%smnt", source, source[strlen(source) - 1] == '/' ? "" : "/") >= 0)
		mend = mend_with("mkdir -p %s && ryefs %s %s", at, source, at);
	fprintf(stderr,
		"ryefs: wanted a mountpoint too: ryefs SOURCE MOUNTPOINT\n" MEND_WITH "%s\n",
		mend ? mend : "ryefs mount --help");
	return CLI_USAGE;
}

/* Is it a verb that does nothing without operands? */
static bool unknown_wants(const struct cli_verb *verbs, const char *word)
{
	const struct cli_verb *verb = cli_find(verbs, word);

	return verb ? verb->min > 0 : !strcmp(word, "mount");
}

int unknown_early(const struct cli_verb *verbs, int argc, char **argv)
{
	int i = 1;

	for (; i < argc; i++) {
		const char *word = argv[i];

		/* a mount's own, and a directory */
		if (*word == '-' && word[1] && strchr("ofd", word[1]))
			return 0;
		if (*word == '-')
			continue;
		if (cli_find(verbs, word) && access(word, F_OK) != 0)
			return i > 1 ? i : 0;
		if (argv[i - 1][0] != '-')
			return 0;
	}
	return 0;
}

/* The options of a verb stand behind it. */
static int unknown_put_behind(const struct cli_verb *verbs, int argc, char **argv)
{
	auto_buf struct rye_buf mend = RYE_BUF_INIT;
	int verb = unknown_early(verbs, argc, argv);

	buf_addf(&mend, "ryefs %s", verb ? argv[verb] : "--help");
	for (int i = 1; verb && i < argc; i++) {
		if (i == verb)
			continue;
		buf_addc(&mend, ' ');
		buf_shell(&mend, argv[i]);
	}
	fputs("ryefs: options stand behind the verb\nmend with: ", stderr);
	out_text(stderr, mend.failed ? "ryefs --help" : mend.data);
	putc('\n', stderr);
	return CLI_USAGE;
}

/* "ryefs DIR MOUNTPOINT" with the first misspelt, though it is like a verb that takes no directory. */
static bool unknown_is_source(const char *word, const char *point)
{
	struct stat st;

	if (stat(point, &st) < 0 || !S_ISDIR(st.st_mode))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcasecmp(words[i].word, word))
			return false;
	return true;
}

int cli_unknown(const struct cli_verb *verbs, int argc, char **argv)
{
	const char *word = argv[1], *meant = unknown_meant(verbs, word, argc > 2);
	auto_buf struct rye_buf mend = RYE_BUF_INIT;

	if (*word == '-')
		return unknown_put_behind(verbs, argc, argv);
	if (access(word, F_OK) == 0 && argc == 2)
		return lacks_mountpoint(word);
	if (argc > 2 && unknown_makes(word, argv[2]))
		meant = "new";
	if (argc == 3 && unknown_is_source(word, argv[2]))
		meant = NULL;
	buf_addf(&mend, "ryefs %s", meant ? meant : "--help");
	for (int i = 2; meant && i < argc; i++) {
		buf_addc(&mend, ' ');
		buf_shell(&mend, argv[i]);
	}
	if (meant && argc == 2 && unknown_wants(verbs, meant))
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
