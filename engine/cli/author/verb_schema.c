/* SPDX-License-Identifier: MIT */
/*
 * ryefs schema: what an editor is told of our files, from the rows that check them (forms/). An
 * installation has the same texts as files, which the lines for editors name.
 */
#include "cli/author/author.h"
#include "forms/forms.h"

#include "base/io.h"
#include "base/self.h"
#include "near.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* ---- one ---- */

static int schema_print(const struct editor_form *form)
{
	auto_json json_t *schema = form_schema(form);
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	json_pretty(&text, schema);
	if (!schema || text.failed)
		return CLI_FAILED;
	fwrite(text.data, 1, text.len, stdout);
	return CLI_OK;
}

static int schema_unknown(struct cli *cli, const char *word)
{
	auto_buf struct rye_buf names = RYE_BUF_INIT;
	auto_free char *mend = NULL;
	struct near_word near;

	near_start(&near, word);
	for (const struct editor_form *form = forms; form->name; form++) {
		near_offer(&near, form->name, form->name);
		buf_addf(&names, "%s%s", names.len ? ", " : "", form->name);
	}
	mend = near.best ? mend_with("ryefs schema %s", near.best) : mend_with("ryefs schema");
	return cli_complain(cli, CLI_USAGE, mend, "there is no schema \"%s\": there are %s", word,
			    names.failed ? "others" : names.data);
}

/* ---- all ---- */

static int schema_list(struct cli *cli)
{
	static const struct out_column columns[] = { { "name", "SCHEMA" },
						     { "files", "FILES" },
						     { "about", "WHAT" } };
	auto_json json_t *rows = json_array();

	for (const struct editor_form *form = forms; form->name; form++) {
		auto_buf struct rye_buf files = RYE_BUF_INIT;
		json_t *row = json_pack("{s:s, s:s}", "name", form->name, "about", form->about);

		for (const char *const *file = form->files; *file; file++)
			buf_addf(&files, "%s%s", files.len ? " " : "", *file);
		json_sets(row, "files", files.len ? files.data : "");
		json_array_append_new(rows, row);
	}
	if (cli->opt.json)
		out_json(rows);
	else
		out_table(cli, stdout, rows, columns, ARRAY_SIZE(columns));
	return CLI_OK;
}

/* ---- editors ---- */

static int editor_text_of(struct cli *cli, const struct form_editor *editor, struct rye_buf *ret)
{
	auto_free char *dir = self_schemas();

	if (!dir)
		return cli_complain(
			cli, CLI_NOT_FOUND, "ryefs schema tool > tool.json",
			"this program was not installed with its schemas: write them where "
			"your editor finds them");
	return form_settings(editor, dir, ret) ? CLI_OK : CLI_FAILED;
}

static int schema_for_editor(struct cli *cli, const char *name)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT, names = RYE_BUF_INIT;
	int status;

	for (const struct form_editor *editor = form_editors; editor->name; editor++) {
		buf_addf(&names, "%s%s", names.len ? ", " : "", editor->name);
		if (strcmp(editor->name, name) != 0)
			continue;
		status = editor_text_of(cli, editor, &text);
		if (status == CLI_OK)
			fputs(text.data, stdout);
		if (status == CLI_OK)
			cli_note(cli, "these lines belong into %s", editor->file);
		return status;
	}
	return cli_complain(cli, CLI_USAGE, "ryefs schema --editor vscode",
			    "\"%s\" is no editor that is known: %s", name,
			    names.failed ? "vscode" : names.data);
}

int verb_schema(struct cli *cli)
{
	const struct editor_form *form;

	if (cli->opt.editor)
		return schema_for_editor(cli, cli->opt.editor);
	if (!cli->argc)
		return schema_list(cli);
	form = form_named(cli->argv[0]);
	return form ? schema_print(form) : schema_unknown(cli, cli->argv[0]);
}

/* ---- VS Code's, written ---- */

/* Unless there is one; false: told. */
static bool editor_write(struct cli *cli, int dir, const char *name, const char *text, json_t *made)
{
	auto_json json_t *path = json_sprintf(".vscode/%s", name);
	struct stat st;
	int sys;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		cli_note(
			cli,
			".vscode/%s is left as it is; what it needs, says: ryefs schema --editor vscode",
			name);
		return true;
	}
	sys = io_replace_at(dir, name, span_of(text), 0644);
	if (sys < 0)
		cli_note(cli, "cannot write .vscode/%s: %s", name, strerror(-sys));
	else
		json_array_append(made, path);
	return sys >= 0;
}

int editor_set_up(struct cli *cli, const char *project, json_t *made)
{
	static const char extensions[] = "{\n  \"recommendations\": [\"redhat.vscode-yaml\"]\n}\n";
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_close int root = open(project, O_RDONLY | O_DIRECTORY | O_CLOEXEC), dir = -1;
	const struct form_editor *editor = form_editors;
	int status;

	while (strcmp(editor->name, "vscode") != 0)
		editor++;
	status = editor_text_of(cli, editor, &text);
	if (status != CLI_OK)
		return status;
	if (root >= 0 && io_mkdirs_at(root, ".vscode", 0755) >= 0)
		dir = openat(root, ".vscode", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return cli_complain(cli, CLI_FAILED, NULL, "cannot make %s/.vscode: %s", project,
				    strerror(errno));
	return editor_write(cli, dir, "settings.json", text.data, made) &&
			       editor_write(cli, dir, "extensions.json", extensions, made) ?
		       CLI_OK :
		       CLI_FAILED;
}
