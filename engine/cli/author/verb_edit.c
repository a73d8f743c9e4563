/* SPDX-License-Identifier: MIT */
/*
 * ryefs edit: an item in the person's editor. What is saved is checked as signing checks it, shown as a
 * difference, and signed after a yes; what does not pass goes back to the editor. The item's file stays
 * as it was until then, and whatever goes wrong, the person's text is kept.
 */
#include "cli/author/author.h"

#include "base/id.h"
#include "scope.h"
#include "str.h"

#include <string.h>
#include <unistd.h>

/* ---- which item ---- */

/* Nothing has this name: what is like it, or how it is begun. */
static int edit_none(struct cli *cli, const struct rye_err *err, const char *ref)
{
	auto_free char *mend = NULL;
	char near[REF_MAX];
	const char *id;
	enum rye_kind kind = id_split(ref, &id);

	if (err->code != RYE_NOT_FOUND || kind == RYE_CONFIG || rye_near(cli->rye, ref, near))
		return cli_fail(cli, err, ref);
	if (kind == RYE_KIND__MAX)
		mend = mend_with("ryefs new tool %s", ref);
	else
		mend = mend_with("ryefs new %s %s", rye_kind_name(kind), id);
	return cli_complain(cli, CLI_NOT_FOUND, mend, "there is no %s", ref);
}

/* ---- after the editor ---- */

struct edit_checked {
	struct rye_err err; /* why it cannot be signed; RYE_OK: it can */
	struct rye_buf remarks;
};

static void edit_broken(void *arg, const char *path, long line, const char *what)
{
	struct edit_checked *checked = arg;

	(void)path;
	if (checked->err.code == RYE_OK)
		rye_fail(&checked->err, RYE_INVALID, "line %ld: this is not Python: %s", line,
			 what);
	else
		buf_addf(&checked->remarks, "line %ld: this is not Python: %s\n", line, what);
}

static void edit_check(const struct edit_copy *edit, const struct rye_blob *text,
		       struct edit_checked *ret)
{
	const struct rye_put put = { .kind = edit->item.kind,
				     .id = edit->item.id,
				     .ext = edit->item.ext,
				     .space = edit->item.space,
				     .text = { text->data, text->len },
				     .dry = true };
	auto_json json_t *python = json_array();
	auto_blob struct rye_blob *said = NULL;

	rye_put(edit->cli->rye, &put, &said, &ret->err);
	if (said)
		buf_adds(&ret->remarks, said->data);
	if (!strcmp(edit->item.ext, ".py"))
		json_array_append_new(python, json_string(edit->path));
	compiles_check(python, edit_broken, ret);
}

/* What was found, a line each, under the item's name. */
static void edit_tell(const struct edit_copy *edit, const struct edit_checked *checked)
{
	struct rye_span rest = buf_span(&checked->remarks), line;

	if (checked->err.code != RYE_OK && isatty(STDIN_FILENO))
		cli_note(edit->cli, "%s cannot be signed: %s", edit->item.ref, checked->err.msg);
	while (span_line(&rest, &line))
		cli_note(edit->cli, "%s: %.*s", edit->item.ref, (int)line.len, line.ptr);
}

enum edit_choice { EDIT_KEEP, EDIT_AGAIN, EDIT_SIGN, EDIT_LEAVE, EDIT_DROP };

static enum edit_choice edit_ask(bool passes)
{
	char answer[16];

	for (;;) {
		fputs(passes ? "sign it? [y]es, [e]dit again, [l]eave it unsigned, [d]rop: " :
			       "[e]dit again, [l]eave it unsigned, [d]rop: ",
		      stderr);
		if (!fgets(answer, sizeof(answer), stdin)) {
			putc('\n', stderr);
			return EDIT_KEEP;
		}
		if (*answer == 'y' && passes)
			return EDIT_SIGN;
		if (*answer == 'e')
			return EDIT_AGAIN;
		if (*answer == 'l')
			return EDIT_LEAVE;
		if (*answer == 'd')
			return EDIT_DROP;
	}
}

/* Where no person can be asked. EDIT_KEEP: the reason is told. */
static enum edit_choice edit_unasked(const struct edit_copy *edit,
				     const struct edit_checked *checked, int *ret_status)
{
	struct cli *cli = edit->cli;
	auto_free char *again = cli_retyped(cli, "edit", NULL, NULL), *drop = NULL, *mend = NULL;

	if (checked->err.code != RYE_OK) {
		*ret_status = cli_complain(cli, exit_of(checked->err.code), again,
					   "%s cannot be signed: %s; your text is kept in %s",
					   edit->item.ref, checked->err.msg, edit->path);
		return EDIT_KEEP;
	}
	if (edit->stale) {
		drop = mend_with("rm %s", edit->path);
		if (drop && again && asprintf(&mend, "%s && %s", drop, again) < 0)
			mend = NULL;
		*ret_status =
			cli_complain(cli, CLI_DENIED, mend,
				     "%s was changed meanwhile, so this takes a yes at a terminal; "
				     "your text is kept in %s",
				     edit->item.ref, edit->path);
		return EDIT_KEEP;
	}
	if (cli->opt.yes)
		return EDIT_SIGN;
	mend = cli_retyped(cli, "edit --yes", NULL, NULL);
	*ret_status =
		cli_complain(cli, CLI_DENIED, mend,
			     "it takes a yes, and standard input is not a terminal; your text is "
			     "kept in %s",
			     edit->path);
	return EDIT_KEEP;
}

static enum edit_choice edit_decide(const struct edit_copy *edit, const struct rye_blob *text,
				    int *ret_status)
{
	struct cli *cli = edit->cli;
	struct edit_checked checked = { .remarks = RYE_BUF_INIT };
	enum edit_choice choice;
	bool passes, asks = isatty(STDIN_FILENO);

	edit_check(edit, text, &checked);
	passes = checked.err.code == RYE_OK;
	if (!cli->opt.quiet || asks)
		edit_show(edit, cli->opt.json ? stderr : stdout);
	fflush(stdout);
	edit_tell(edit, &checked);
	if (!asks)
		choice = edit_unasked(edit, &checked, ret_status);
	else if (passes && cli->opt.yes && !edit->stale)
		choice = EDIT_SIGN;
	else
		choice = edit_ask(passes);
	buf_done(&checked.remarks);
	return choice;
}

/* ---- the end ---- */

static int edit_answer(const struct edit_copy *edit, const char *state)
{
	auto_json json_t *answer = json_object();

	if (!edit->cli->opt.json) {
		if (!edit->cli->opt.quiet) {
			printf("%s ", state);
			out_text(stdout, edit->item.ref);
			putchar('\n');
		}
		return CLI_OK;
	}
	json_sets(answer, "status", "success");
	json_sets(answer, "ref", edit->item.ref);
	json_sets(answer, "path", edit->item.file);
	json_sets(answer, "state", state);
	out_json(answer);
	return CLI_OK;
}

static int edit_put(struct edit_copy *edit, const struct rye_blob *text, bool bare)
{
	const struct rye_put put = { .kind = edit->item.kind,
				     .id = edit->item.id,
				     .ext = edit->item.ext,
				     .space = edit->item.space,
				     .text = { text->data, text->len },
				     .was = { edit->was->data, edit->was->len },
				     .bare = bare };
	auto_blob struct rye_blob *said = NULL;
	auto_free char *what = NULL, *mend = NULL;
	struct rye_err err = { 0 };

	if (rye_put(edit->cli->rye, &put, &said, &err) == 0) {
		edit_drop(edit);
		return edit_answer(edit, bare ? "unsigned" : "signed");
	}
	mend = told_split(err.msg, &what);
	if (!mend && err.code == RYE_BUSY)
		mend = cli_retyped(edit->cli, "edit", NULL, NULL);
	else if (!mend)
		mend = cli_remedy(err.code, edit->item.ref);
	return cli_complain(edit->cli, exit_of(err.code), mend, "%s; your text is kept in %s",
			    what ? what : err.msg, edit->path);
}

/* The editor has removed what it was given: there is no text to go on with. */
static void edit_lost(struct edit_copy *edit)
{
	cli_note(edit->cli, "%s is as it was", edit->item.ref);
	edit_drop(edit);
}

/* One time through the editor; EDIT_AGAIN: once more. */
static enum edit_choice edit_once(struct edit_copy *edit, int *ret_status)
{
	auto_blob struct rye_blob *text = NULL;
	enum edit_choice choice;
	bool same;

	*ret_status = editor_run(edit->cli, edit->path);
	text = edit_text(edit);
	same = text && text->len == edit->bare->len &&
	       !memcmp(text->data, edit->bare->data, text->len);
	if (*ret_status != CLI_OK || !text) {
		if (same)
			edit_drop(edit);
		else if (access(edit->path, F_OK) != 0)
			edit_lost(edit);
		else
			cli_note(edit->cli, "your text is kept in %s", edit->path);
		*ret_status = *ret_status == CLI_OK ? CLI_FAILED : *ret_status;
		return EDIT_KEEP;
	}
	if (same && edit->item.good) {
		edit_drop(edit);
		*ret_status = edit_answer(edit, "unchanged");
		return EDIT_DROP;
	}
	choice = edit_decide(edit, text, ret_status);
	if (choice == EDIT_SIGN || choice == EDIT_LEAVE) {
		*ret_status = edit_put(edit, text, choice == EDIT_LEAVE);
	} else if (choice == EDIT_DROP) {
		edit_drop(edit);
		*ret_status = edit_answer(edit, "unchanged");
	}
	return choice;
}

static int edit_run(struct edit_copy *edit)
{
	int status = edit_begin(edit);
	enum edit_choice choice = EDIT_AGAIN;
	auto_free char *again = NULL;

	if (status != CLI_OK)
		return status;
	while (choice == EDIT_AGAIN)
		choice = edit_once(edit, &status);
	if (choice != EDIT_KEEP || status != CLI_OK)
		return status;
	again = cli_retyped(edit->cli, "edit", NULL, NULL);
	return cli_complain(edit->cli, CLI_FAILED, again, "your text is kept in %s", edit->path);
}

int verb_edit(struct cli *cli)
{
	auto_edit struct edit_copy edit = { .cli = cli, .dir = -1 };
	int status = named_item_find(cli, 0, edit_none, &edit.item);

	return status == CLI_OK ? edit_run(&edit) : status;
}
