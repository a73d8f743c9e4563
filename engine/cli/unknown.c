/* SPDX-License-Identifier: MIT */
/*
 * A first word that is neither a verb nor a directory: what people bring along from other programs
 * (`run`, `ls`, `status`) and what is misspelt is answered with the command that was meant. `edit` and
 * `new` mean a file: an editor makes an item, and `ryefs sign` ends it.
 */
#include "cli/cli.h"

#include "base/id.h"
#include "near.h"
#include "scope.h"
#include "str.h"

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

/* ---- an editor is wanted ---- */

/* To free; NULL: no kind, no id. */
static char *editing_path(const struct cli *cli, const char *ref, const char *below)
{
	const char *id, *const *ends;
	enum rye_kind kind = id_split(ref, &id);
	char *path = NULL;

	if (kind == RYE_KIND__MAX || id_check(span_of(id), NULL))
		return NULL;
	ends = kind_extensions(kind);
	if (below ? asprintf(&path, "%s/.ai/%s", cli->project, below) < 0 :
		    asprintf(&path, "%s/.ai/%s/%s%s", cli->project, rye_kind_dir(kind), id, *ends) <
			    0)
		return NULL;
	return path;
}

/* Behind a command that makes the file in the project; both may be NULL. */
static char *editing_made(const struct cli *cli, const char *first, const struct signed_file *file)
{
	auto_free char *edit = file->path ? mend_edit(cli, file, NULL) : NULL;
	char *both = NULL;

	return first && edit && asprintf(&both, "%s && %s", first, edit) >= 0 ? both : NULL;
}

/* A bundle's is not written to: a copy in the project comes before it. */
static char *editing_copy(const struct cli *cli, const char *ref, const char *bundled)
{
	const char *below = strstr(bundled, "/.ai/");
	auto_free char *path = below ? editing_path(cli, ref, below + strlen("/.ai/")) : NULL;
	auto_free char *first = mend_with("ryefs fetch --to project %s", ref);

	return editing_made(cli, first, &(struct signed_file){ ref, path });
}

static char *editing_new(const struct cli *cli, const char *ref)
{
	auto_free char *path = editing_path(cli, ref, NULL);
	auto_free char *dir = path ? strndup(path, (size_t)(strrchr(path, '/') - path)) : NULL;
	auto_free char *first = dir ? mend_with("mkdir -p %s", dir) : NULL;

	return editing_made(cli, first, &(struct signed_file){ ref, path });
}

char *editing_mend(struct cli *cli, const char *ref)
{
	auto_json json_t *rows = ref_verdicts(cli->rye, ref, NULL);
	const json_t *first = json_array_get(rows, 0); /* the one that counts */
	const char *path = json_str(first, "path"), *space = json_str(first, "space");

	if (!first)
		return editing_new(cli, ref);
	if (!strncmp(space, "system", strlen("system")))
		return editing_copy(cli, ref, path);
	return mend_edit(cli, &(struct signed_file){ ref, path }, space);
}

static int editing_tell(struct cli *cli)
{
	struct rye_err none = { .code = RYE_NOT_FOUND };
	auto_free char *mend = NULL;
	char ref[REF_MAX];
	int status = cli_open(cli, CLI_PROJECT);

	if (status == CLI_OK)
		status = ref_one(cli, 0, ref);
	if (status != CLI_OK)
		return status;
	mend = editing_mend(cli, ref);
	if (mend)
		return cli_complain(cli, CLI_USAGE, mend,
				    "there is no such verb: items are files, for an editor");
	snprintf(none.msg, sizeof(none.msg), "Item not found: %.200s", ref);
	return cli_fail(cli, &none, ref);
}

static bool editing_meant(const char *verb, const char *operand)
{
	static const char *const makes[] = { "new", "create", "add", "make" };
	const char *id;

	if (!strcmp(verb, "edit"))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(makes); i++)
		if (!strcmp(verb, makes[i]))
			return id_kind(operand, &id) != RYE_KIND__MAX;
	return false;
}

static int editing_run(int argc, char **argv)
{
	const struct cli_verb verb = { .name = argv[1],
				       .usage = "REF",
				       .help = "no verb of ryefs",
				       .traits = CLI_REFS,
				       .min = 1,
				       .max = 1,
				       .seek = "ryefs search '*'",
				       .run = editing_tell };

	return cli_run((struct cli){ .verb = &verb }, argc - 2, argv + 2);
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

int cli_unknown(const struct cli_verb *verbs, int argc, char **argv)
{
	const char *word = argv[1], *meant = unknown_meant(verbs, word, argc > 2);
	auto_buf struct rye_buf mend = RYE_BUF_INIT;

	if (access(word, F_OK) == 0 && argc == 2)
		return lacks_mountpoint(word);
	if (argc > 2 && editing_meant(word, argv[2]))
		return editing_run(argc, argv);
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
