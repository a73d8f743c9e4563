/* SPDX-License-Identifier: MIT */
/*
 * ryefs sign: signs items of the project or the user space, one by one, by pattern or all.
 * Every item is told with what was said about it; one that cannot be signed does not keep the
 * others from it.
 */
#include "cli/cli.h"

#include "scope.h"
#include "str.h"

#include <string.h>
#include <unistd.h>

struct verb_sign_signing {
	struct cli *cli;
	struct progress progress;
	json_t *done, *failed, *python; /* python: paths of those that were signed */
	size_t skipped, left;
	bool many; /* all, or by a pattern */
	enum rye_space space; /* of operands that are no paths */
	enum rye_space asked; /* of the one that is being looked at */
};

/* What only an editor mends: the file as it is to be typed from here. */
static void fail_item(struct cli *cli, const char *ref, const struct rye_verdict *verdict)
{
	auto_free char *mend =
		mend_edit(cli, &(struct signed_file){ ref, verdict->path }, verdict->space);
	const char *message = verdict->message;

	fflush(stdout);
	fputs("ryefs sign: ", stderr);
	out_text(stderr, ref);
	fputs(": ", stderr);
	out_text(stderr, message && *message ? message : rye_code_name(verdict->code));
	if (verdict->code == RYE_INVALID || verdict->code == RYE_UNPARSABLE ||
	    verdict->code == RYE_UNSUPPORTED)
		fprintf(stderr, "\n" MEND_WITH "%s", mend ? mend : "an editor");
	putc('\n', stderr);
}

static void out_signed(const char *ref)
{
	fputs("signed ", stdout);
	out_text(stdout, ref);
	putchar('\n');
}

/* Another signer may have changed it, or it is changed since: to sign it is to answer for it. */
static void tell_left(struct verb_sign_signing *signing, const struct rye_verdict *verdict)
{
	auto_free char *mend = NULL;
	char ref[REF_MAX];

	signing->left++;
	if (signing->cli->opt.json || signing->cli->opt.quiet)
		return;
	progress_end(&signing->progress);
	ref_of(verdict, ref);
	mend = mend_with("ryefs diff %s", ref);
	cli_note(signing->cli,
		 "%s is left as it is: another key signed it, and it does not verify\n" MEND_WITH
		 "%s",
		 ref, mend ? mend : "ryefs diff");
}

static int verb_sign_take(void *arg, const struct rye_verdict *verdict, size_t done, size_t total)
{
	struct verb_sign_signing *signing = arg;
	bool quiet = signing->cli->opt.all || signing->cli->opt.quiet, remark;
	char ref[REF_MAX];

	progress_step(&signing->progress, done, total);
	if (!verdict) {
		signing->skipped++;
		return 0;
	}
	if (verdict->left) {
		tell_left(signing, verdict);
		return 0;
	}
	json_array_append_new(verdict->code == RYE_OK ? signing->done : signing->failed,
			      ref_verdict_json(verdict));
	if (verdict->code == RYE_OK && verdict->kind == RYE_TOOL && str_ends(verdict->path, ".py"))
		json_array_append_new(signing->python, json_string(verdict->path));
	remark = verdict->message && *verdict->message;
	if (signing->cli->opt.json || (quiet && verdict->code == RYE_OK && !remark))
		return 0;
	progress_end(&signing->progress);
	ref_of(verdict, ref);
	if (verdict->code == RYE_OK) {
		if (!quiet)
			out_signed(ref);
		if (remark)
			cli_note(signing->cli, "%s: %s", ref, verdict->message);
		return 0;
	}
	fail_item(signing->cli, ref, verdict);
	return 0;
}

static void verb_sign_broken(void *arg, const char *path, long line, const char *what)
{
	struct verb_sign_signing *signing = arg;

	cli_note(signing->cli, "%s: line %ld: this is not Python: %s", path, line, what);
}

/* One line, however many there were; a single one was named already. */
static void verb_sign_sum_up(const struct verb_sign_signing *signing, size_t done, size_t total)
{
	if (signing->cli->opt.quiet || (total <= 1 && !signing->many))
		return;
	printf("signed %zu of %zu item%s", done, total, PLURAL(total));
	if (signing->skipped)
		printf("; %zu %s good already", signing->skipped,
		       signing->skipped == 1 ? "is" : "are");
	if (signing->left)
		printf("; %zu of another key left: name them, or say -i or --take-over",
		       signing->left);
	putchar('\n');
}

static int verb_sign_finish(struct cli *cli, const struct verb_sign_signing *signing)
{
	size_t done = json_array_size(signing->done), failed = json_array_size(signing->failed);
	size_t total = done + failed + signing->skipped + signing->left;
	auto_json json_t *answer = json_object();

	if (cli->opt.json) {
		json_sets(answer, "status", "completed");
		json_set(answer, "signed", json_incref(signing->done));
		json_set(answer, "failed", json_incref(signing->failed));
		if (signing->many) {
			json_set(answer, "skipped", json_integer((json_int_t)signing->skipped));
			json_set(answer, "left", json_integer((json_int_t)signing->left));
		}
		json_set(answer, "total", json_integer((json_int_t)total));
		out_json(answer);
	} else {
		verb_sign_sum_up(signing, done, total);
	}
	return failed ? CLI_FAILED : CLI_OK;
}

static int sign_system(struct cli *cli)
{
	auto_free char *mend =
		mend_with("ryefs fetch %s --to project", cli->argc ? cli->argv[0] : "REF");

	return cli_complain(cli, CLI_DENIED, mend,
			    "System space items are immutable and cannot be signed. Copy to "
			    "project or user space first.");
}

static int which_space(struct cli *cli, enum rye_space *ret)
{
	const char *space = cli->opt.space ? cli->opt.space : "project";

	*ret = strcmp(space, "user") ? RYE_PROJECT : RYE_USER;
	if (!strcmp(space, "system"))
		return sign_system(cli);
	if (strcmp(space, "user") && strcmp(space, "project"))
		return cli_misuse(cli, "--space %s: wanted project or user", space);
	return CLI_OK;
}

/* A path says itself which space is meant, unless --space does. */
static bool is_users(struct cli *cli, const char *word)
{
	return !cli->opt.space && ref_is_user(cli, word);
}

/* What is not in this space may be in another one, which is the better answer. */
static int fail_sign(struct cli *cli, const struct rye_err *err, const struct rye_batch *batch)
{
	const char *here = batch->space == RYE_USER ? "user" : "project", *space = NULL;
	bool one = batch->pattern && !strpbrk(batch->pattern, "*?");
	auto_json json_t *rows =
		err->code == RYE_NOT_FOUND && one ? ref_verdicts(cli, batch->pattern, NULL) : NULL;
	auto_free char *mend = NULL;
	bool is_here = false;
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row) {
		is_here |= !strcmp(json_str(row, "space"), here);
		space = space ? space : json_str(row, "space"); /* the first one that has it */
	}
	if (!space || is_here)
		return cli_fail(cli, err, batch->pattern);
	/* a caller that named no space means the one that has it; a bundle is not signed */
	if (!cli->opt.space && !strcmp(space, "user"))
		mend = mend_with("ryefs sign --space user %s", batch->pattern);
	else
		mend = mend_with("ryefs fetch %s --to %s", batch->pattern, here);
	return cli_complain(
		cli, CLI_NOT_FOUND, mend, "%s is in the %s space, not in the %s space%s",
		batch->pattern, space, here,
		strncmp(space, "system", 6) ? "" : "; system space items are immutable");
}

static int verb_sign_asked(void *arg, const char *ref)
{
	struct verb_sign_signing *signing = arg;
	struct rye_batch batch = { ref, signing->asked, verb_sign_take, signing, false };
	struct rye_err err = { 0 };

	return rye_sign_all(signing->cli->rye, &batch, &err) ? cli_fail(signing->cli, &err, ref) :
							       CLI_OK;
}

/* One operand, or all (-1), in the space that was named or that the operand's path lies in. */
static int sign_operand(struct cli *cli, struct verb_sign_signing *signing, int operand)
{
	const char *word = operand < 0 ? NULL : cli->argv[operand];
	struct rye_batch batch = { .space = signing->space,
				   .fn = verb_sign_take,
				   .arg = signing,
				   .many = cli->opt.all,
				   .again = cli->opt.force,
				   .take = cli->opt.take };
	struct rye_err err = { 0 };
	char ref[REF_MAX];

	if (word) {
		int status = ref_operand(cli, operand, ref);

		if (status != CLI_OK)
			return status;
		batch.pattern = ref;
		batch.many = strpbrk(ref, "*?") != NULL;
		if (is_users(cli, word))
			batch.space = RYE_USER;
	}
	signing->asked = batch.space;
	signing->many |= batch.many;
	if (cli->opt.ask)
		return sign_ask(cli, &batch, verb_sign_asked, signing);
	return rye_sign_all(cli->rye, &batch, &err) ? fail_sign(cli, &err, &batch) : CLI_OK;
}

int verb_sign(struct cli *cli)
{
	auto_json json_t *done = json_array(), *failed = json_array(), *python = json_array();
	struct verb_sign_signing signing = { .cli = cli,
					     .done = done,
					     .failed = failed,
					     .python = python };
	int status = which_space(cli, &signing.space), i = cli->argc ? 0 : -1;
	bool project = signing.space == RYE_PROJECT;

	if (status != CLI_OK)
		return status;
	if (cli->opt.ask ? cli->opt.all || cli->opt.json : !cli->argc == !cli->opt.all)
		return cli_misuse(cli, cli->opt.ask ? "-i asks, so neither --all nor --json" :
						      "name the items to sign, or say --all");
	if (cli->argc == 1 && is_users(cli, cli->argv[0]))
		project = false;
	status = cli_open(cli, project ? CLI_PROJECT : CLI_ANY_PLACE);
	progress_start(&signing.progress, cli, "signing");
	for (; i < cli->argc && status == CLI_OK; i++)
		status = sign_operand(cli, &signing, i);
	progress_end(&signing.progress);
	compiles_check(python, verb_sign_broken, &signing);
	return status == CLI_OK ? verb_sign_finish(cli, &signing) : status;
}
