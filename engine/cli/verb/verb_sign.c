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

#define SPACE_MAX 256 /* "system:" and a bundle's name */

struct verb_sign_signing {
	struct cli *cli;
	struct progress progress;
	json_t *done, *failed;
	size_t skipped;
	enum rye_space space; /* of operands that are no paths */
	enum rye_space asked; /* of the one that is being looked at */
};

/* What only an editor mends: the file as it is to be typed from here. */
static void fail_item(struct cli *cli, const char *ref, const struct rye_verdict *verdict)
{
	auto_buf struct rye_buf mend = RYE_BUF_INIT;
	const char *message = verdict->message;

	mend_edit(cli, verdict->path, ref, &mend);
	fflush(stdout);
	fprintf(stderr, "ryefs sign: %s: ", ref);
	out_text(stderr, message && *message ? message : rye_code_name(verdict->code));
	if (verdict->code == RYE_INVALID || verdict->code == RYE_UNPARSABLE ||
	    verdict->code == RYE_UNSUPPORTED)
		fprintf(stderr, "\n" MEND_WITH "%s", mend.failed ? "an editor" : mend.data);
	putc('\n', stderr);
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
	json_array_append_new(verdict->code == RYE_OK ? signing->done : signing->failed,
			      ref_verdict_json(verdict));
	remark = verdict->message && *verdict->message;
	if (signing->cli->opt.json || (quiet && verdict->code == RYE_OK && !remark))
		return 0;
	progress_end(&signing->progress);
	ref_of(verdict, ref);
	if (verdict->code == RYE_OK) {
		if (!quiet)
			printf("signed %s\n", ref);
		if (remark)
			cli_note(signing->cli, "%s: %s", ref, verdict->message);
		return 0;
	}
	fail_item(signing->cli, ref, verdict);
	return 0;
}

/* One line, however many there were; a single one was named already. */
static void verb_sign_sum_up(const struct verb_sign_signing *signing, size_t done, size_t total)
{
	if (signing->cli->opt.quiet || (total <= 1 && !signing->cli->opt.all))
		return;
	printf("signed %zu of %zu items", done, total);
	if (signing->skipped)
		printf("; %zu %s good already", signing->skipped,
		       signing->skipped == 1 ? "is" : "are");
	putchar('\n');
}

static int verb_sign_finish(struct cli *cli, const struct verb_sign_signing *signing)
{
	size_t done = json_array_size(signing->done), failed = json_array_size(signing->failed);
	size_t total = done + failed + signing->skipped;
	auto_json json_t *answer = json_object();

	if (cli->opt.json) {
		json_sets(answer, "status", "completed");
		json_set(answer, "signed", json_incref(signing->done));
		json_set(answer, "failed", json_incref(signing->failed));
		if (cli->opt.all)
			json_set(answer, "skipped", json_integer((json_int_t)signing->skipped));
		json_set(answer, "total", json_integer((json_int_t)total));
		out_json(answer);
	} else {
		verb_sign_sum_up(signing, done, total);
	}
	return failed ? CLI_FAILED : CLI_OK;
}

static int sign_system(struct cli *cli)
{
	auto_buf struct rye_buf mend = RYE_BUF_INIT;

	buf_adds(&mend, "ryefs fetch ");
	buf_shell(&mend, cli->argc ? cli->argv[0] : "REF");
	buf_adds(&mend, " --to project");
	return cli_complain(cli, CLI_DENIED, mend.failed ? NULL : mend.data,
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

struct elsewhere {
	const char *here;
	bool is_here;
	char space[SPACE_MAX]; /* the first other one that has the item */
};

static int note_space(void *arg, const struct rye_verdict *verdict, size_t done, size_t total)
{
	struct elsewhere *at = arg;

	(void)done;
	(void)total;
	if (!verdict || !verdict->space)
		return 0;
	if (!strcmp(verdict->space, at->here))
		at->is_here = true;
	else if (!*at->space)
		snprintf(at->space, sizeof(at->space), "%s", verdict->space);
	return 0;
}

/* What is not in this space may be in another one, which is the better answer. */
static int fail_sign(struct cli *cli, const struct rye_err *err, const struct rye_batch *batch)
{
	struct elsewhere at = { .here = batch->space == RYE_USER ? "user" : "project" };
	const struct rye_batch look = { batch->pattern, batch->space, note_space, &at };
	auto_buf struct rye_buf mend = RYE_BUF_INIT;

	if (err->code == RYE_NOT_FOUND && batch->pattern && !strpbrk(batch->pattern, "*?"))
		rye_verify_all(cli->rye, &look, NULL);
	if (!*at.space || at.is_here)
		return cli_fail(cli, err, batch->pattern);
	buf_adds(&mend, "ryefs fetch ");
	buf_shell(&mend, batch->pattern);
	buf_addf(&mend, " --to %s", at.here);
	return cli_complain(
		cli, CLI_NOT_FOUND, mend.data, "%s is in the %s space, not in the %s space%s",
		batch->pattern, at.space, at.here,
		strncmp(at.space, "system", 6) ? "" : "; system space items are immutable");
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
	struct rye_batch batch = { NULL, signing->space, verb_sign_take, signing,
				   cli->opt.all && !cli->opt.force };
	struct rye_err err = { 0 };
	char ref[REF_MAX];

	if (word) {
		int status = ref_operand(cli, operand, ref);

		if (status != CLI_OK)
			return status;
		batch.pattern = ref;
		if (is_users(cli, word))
			batch.space = RYE_USER;
	}
	signing->asked = batch.space;
	if (cli->opt.ask)
		return sign_ask(cli, &batch, verb_sign_asked, signing);
	return rye_sign_all(cli->rye, &batch, &err) ? fail_sign(cli, &err, &batch) : CLI_OK;
}

int verb_sign(struct cli *cli)
{
	auto_json json_t *done = json_array(), *failed = json_array();
	struct verb_sign_signing signing = { .cli = cli, .done = done, .failed = failed };
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
	return status == CLI_OK ? verb_sign_finish(cli, &signing) : status;
}
