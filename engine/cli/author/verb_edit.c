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

/* The file that is meant: the space's that was named, else the one that counts. NULL: none is there. */
static const json_t *edit_choose(struct cli *cli, const json_t *rows)
{
	const char *space = cli->opt.space;
	const json_t *row;
	size_t i;

	if (!space && ref_is_user(cli, cli->argv[0]))
		space = "user";
	json_array_foreach((json_t *)rows, i, row)
		if (!space || !strcmp(json_str(row, "space"), space))
			return row;
	return NULL;
}

/* The space that was named has it not, another one has. */
static int edit_elsewhere(struct cli *cli, const char *ref, const char *space)
{
	auto_free char *mend = mend_with("ryefs edit --space %s %s", space, ref);

	return cli_complain(cli, CLI_NOT_FOUND, mend, "%s is in the %s space, not in the %s space",
			    ref, space, cli->opt.space);
}

static int edit_read_only(struct cli *cli, const char *ref)
{
	const char *to = cli->opt.space ? cli->opt.space : "project";
	auto_free char *mend =
		mend_with("ryefs fetch --to %s %s && ryefs edit %s --space %s", to, ref, ref, to);

	return cli_complain(
		cli, CLI_DENIED, mend,
		"%s is the system space's, which is read only; a copy of yours hides it", ref);
}

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

static int edit_find(struct edit_copy *edit, const json_t *row)
{
	struct cli *cli = edit->cli;
	const char *space = json_str(row, "space"), *path = json_str(row, "path");
	int n = rye_space_count(cli->rye);

	edit->kind = id_split(edit->ref, &edit->id);
	edit->space = strcmp(space, "user") ? RYE_PROJECT : RYE_USER;
	edit->good = json_flag(row, "ok", false);
	edit->ext = kind_extension_of(edit->kind, path);
	edit->file = strdup(path);
	for (int i = 0; i < n && edit->file; i++) {
		struct rye_space_info info;
		size_t len;

		rye_space_get(cli->rye, i, &info);
		len = strlen(info.root);
		if (info.type != edit->space || strncmp(path, info.root, len) != 0)
			continue;
		edit->space_fd = info.fd;
		edit->below = edit->file + len + strlen("/.ai/");
	}
	if (edit->below && edit->ext && edit->space_fd >= 0)
		return CLI_OK;
	return cli_complain(cli, CLI_FAILED, NULL, "%s is no file that can be edited", path);
}

/* ---- after the editor ---- */

struct edit_checked {
	struct rye_err err; /* why it cannot be signed; RYE_OK: it can */
	struct rye_buf remarks;
};

static void edit_broken(void *arg, const char *path, long line, const char *what)
{
	struct rye_buf *remarks = arg;

	(void)path;
	buf_addf(remarks, "line %ld: this is not Python: %s\n", line, what);
}

static void edit_check(const struct edit_copy *edit, const struct rye_blob *text,
		       struct edit_checked *ret)
{
	const struct rye_put put = { .kind = edit->kind,
				     .id = edit->id,
				     .ext = edit->ext,
				     .space = edit->space,
				     .text = { text->data, text->len },
				     .dry = true };
	auto_json json_t *python = json_array();
	auto_blob struct rye_blob *said = NULL;

	rye_put(edit->cli->rye, &put, &said, &ret->err);
	if (said)
		buf_adds(&ret->remarks, said->data);
	if (!strcmp(edit->ext, ".py"))
		json_array_append_new(python, json_string(edit->path));
	compiles_check(python, edit_broken, &ret->remarks);
}

/* What was found, a line each, under the item's name. */
static void edit_tell(const struct edit_copy *edit, const struct edit_checked *checked)
{
	struct rye_span rest = buf_span(&checked->remarks), line;

	if (checked->err.code != RYE_OK && isatty(STDIN_FILENO))
		cli_note(edit->cli, "%s cannot be signed: %s", edit->ref, checked->err.msg);
	while (span_line(&rest, &line))
		cli_note(edit->cli, "%s: %.*s", edit->ref, (int)line.len, line.ptr);
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
					   edit->ref, checked->err.msg, edit->path);
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
				     edit->ref, edit->path);
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
		if (!edit->cli->opt.quiet)
			printf("%s %s\n", state, edit->ref);
		return CLI_OK;
	}
	json_sets(answer, "status", "success");
	json_sets(answer, "ref", edit->ref);
	json_sets(answer, "path", edit->file);
	json_sets(answer, "state", state);
	out_json(answer);
	return CLI_OK;
}

static int edit_put(struct edit_copy *edit, const struct rye_blob *text, bool bare)
{
	const struct rye_put put = { .kind = edit->kind,
				     .id = edit->id,
				     .ext = edit->ext,
				     .space = edit->space,
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
		mend = cli_remedy(err.code, edit->ref);
	return cli_complain(edit->cli, exit_of(err.code), mend, "%s; your text is kept in %s",
			    what ? what : err.msg, edit->path);
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
		else
			cli_note(edit->cli, "your text is kept in %s", edit->path);
		*ret_status = *ret_status == CLI_OK ? CLI_FAILED : *ret_status;
		return EDIT_KEEP;
	}
	if (same && edit->good) {
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
	struct rye_err err = { 0 };
	char ref[REF_MAX];
	int status = ref_one(cli, 0, ref);
	auto_edit struct edit_copy edit = { .cli = cli, .ref = ref, .space_fd = -1, .dir = -1 };
	auto_json json_t *rows = NULL;
	const char *first;
	const json_t *row;

	if (status != CLI_OK)
		return status;
	if (cli->opt.space && strcmp(cli->opt.space, "project") && strcmp(cli->opt.space, "user"))
		return cli_misuse(cli, "--space %s: wanted project or user", cli->opt.space);
	rows = ref_verdicts(cli, ref, &err);
	if (!rows || !json_array_size(rows))
		return edit_none(cli, &err, ref);
	row = edit_choose(cli, rows);
	first = json_str(row ? row : json_array_get(rows, 0), "space");
	if (!strncmp(first, "system", strlen("system")))
		return edit_read_only(cli, ref);
	if (!row)
		return edit_elsewhere(cli, ref, first);
	status = edit_find(&edit, row);
	return status == CLI_OK ? edit_run(&edit) : status;
}
