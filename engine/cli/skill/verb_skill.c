/* SPDX-License-Identifier: MIT */
/*
 * ryefs skill: the words behind it, one row each; and those that are short: list, diff, remove.
 */
#include "cli/skill/skill_words.h"

#include "base/io.h"
#include "scope.h"
#include "str.h"

#include <fcntl.h>
#include <string.h>

/* ---- list ---- */

struct skill_rows {
	struct cli *cli;
	json_t *rows;
};

static int skill_row(void *arg, const char *name, bool refused)
{
	struct skill_rows *list = arg;
	struct rye_skill skill;
	struct rye_err err;

	(void)refused;
	if (rye_skill_find(list->cli->rye, name, &skill, &err))
		return 0;
	json_array_append_new(
		list->rows,
		json_pack("{s:s, s:b, s:s, s:s}", "name", name, "ok", skill.verdict == RYE_OK,
			  "verdict", skill.verdict == RYE_OK ? "ok" : rye_code_name(skill.verdict),
			  "reason", skill.reason));
	return 0;
}

int skill_list_word(struct cli *cli)
{
	static const struct out_column columns[] = {
		{ "name", "NAME", false },
		{ "verdict", "VERDICT", false },
		{ "reason", "REASON", false },
	};
	struct skill_rows list = { cli, NULL };
	auto_json json_t *rows = json_array();
	struct rye_err err = { 0 };
	int status = cli_open(cli, CLI_PROJECT);

	list.rows = rows;
	if (status != CLI_OK)
		return status;
	if (rye_skill_list(cli->rye, skill_row, &list, &err))
		return cli_fail(cli, &err, NULL);
	return out_rows(cli, rows, columns, ARRAY_SIZE(columns),
			"there are no skills; add one with: ryefs skill add DIR");
}

/* ---- diff ---- */

int skill_diff_word(struct cli *cli)
{
	auto_skill struct skill was = { 0 };
	auto_folder struct folder folder = { 0 };
	struct skill_place place;
	struct rye_err err = { 0 };
	auto_close int dir = -1;
	auto_free char *path = NULL;
	const char *name = cli->argv[1];
	int status = cli_open(cli, CLI_PROJECT);

	if (status == CLI_OK)
		status = skill_place(cli, &place);
	if (status == CLI_OK)
		status = skill_manifest(cli, place.space, name, &was);
	if (status != CLI_OK)
		return status;
	dir = skill_open_folder(place.info.fd, name);
	if (dir >= 0 && folder_read(dir, true, &folder, &err))
		return cli_fail(cli, &err, NULL);
	if (!folder_changes(&folder, &was, stdout)) {
		cli_note(cli, "nothing has changed since it was signed");
		return CLI_OK;
	}
	fflush(stdout);
	if (asprintf(&path, "%s/.ai/skills/%s", place.info.root, name) >= 0)
		folder_lines(cli, path, &folder, &was);
	cli_note(cli, "to look at it and sign it as it is: ryefs skill add %s%s",
		 place.space == RYE_USER ? "--space user " : "", name);
	return CLI_FAILED;
}

/* ---- remove ---- */

int skill_remove_word(struct cli *cli)
{
	const char *name = cli->argv[1];
	auto_free char *mend = cli_retyped(cli, "skill --yes", NULL, NULL), *file = NULL;
	const struct cli_question question = { "Remove the folder and its manifest?", mend, name,
					       "is as it was" };
	auto_close int dir = -1;
	struct skill_place place;
	struct stat st;
	int status = skill_name_ok(span_of(name)) ?
			     cli_open(cli, CLI_PROJECT) :
			     cli_misuse(cli, "%s is no name of a skill", name);

	if (status == CLI_OK)
		status = skill_place(cli, &place);
	if (status != CLI_OK)
		return status;
	dir = io_open_mounted(place.info.fd, "skills", O_RDONLY | O_DIRECTORY);
	if (asprintf(&file, "%s.yaml", name) < 0)
		return CLI_FAILED;
	if (dir < 0 || (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 &&
			fstatat(dir, file, &st, AT_SYMLINK_NOFOLLOW) < 0))
		return cli_complain(cli, CLI_NOT_FOUND, "ryefs skill list",
				    "there is no skill %s in %s", name, place.info.root);
	status = cli_asks(cli, &question);
	if (status == CLI_OK)
		status = skill_drop(cli, place.space, name);
	return status == CLI_OK ? out_success(cli, "name", name, "is removed") : status;
}

int verb_skill(struct cli *cli)
{
	static const struct cli_word words[] = {
		{ "list", skill_list_word, 0, 0, "list" },
		{ "add", skill_add_word, 1, 1, "add DIR, or github:OWNER/REPO/PATH" },
		{ "update", skill_update_word, 0, -1, "update [NAME...]" },
		{ "diff", skill_diff_word, 1, 1, "diff NAME" },
		{ "export", skill_export_word, 1, 1, "export DIR" },
		{ "remove", skill_remove_word, 1, 1, "remove NAME" },
	};

	return cli_words(cli, words, ARRAY_SIZE(words));
}
