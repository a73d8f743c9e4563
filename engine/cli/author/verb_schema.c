/* SPDX-License-Identifier: MIT */
/*
 * ryefs schema: what an editor is told of our files, from the rows that check them (forms/). An
 * installation has the same texts as files, which the lines for editors name.
 */
#include "cli/author/author.h"
#include "forms/forms.h"

#include "base/io.h"
#include "base/self.h"
#include "bounds.h"
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

struct editor_file {
	const char *name;
	struct rye_span text;
	bool there, same; /* and it says what it would be made with */
};

static int editor_write(struct cli *cli, int dir, struct editor_file *file, json_t *made)
{
	auto_json json_t *path = json_sprintf(".vscode/%s", file->name);
	auto_blob struct rye_blob *text = NULL;
	struct stat st;
	int sys;

	file->there = fstatat(dir, file->name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	if (file->there) {
		file->same = io_read_at(dir, file->name, RYE_ITEM_MAX, &text) == 0 &&
			     text->len == file->text.len &&
			     !memcmp(text->data, file->text.ptr, text->len);
		return CLI_OK;
	}
	sys = io_replace_at(dir, file->name, file->text, 0644);
	if (sys < 0)
		return cli_complain(cli, CLI_FAILED, NULL, "cannot write .vscode/%s: %s",
				    file->name, strerror(-sys));
	json_array_append(made, path);
	return CLI_OK;
}

/* One line of what was made, one of what was there, and what it takes where that is not what would be written. */
static void editor_tell(struct cli *cli, const struct editor_file *files, size_t n)
{
	auto_buf struct rye_buf made = RYE_BUF_INIT, same = RYE_BUF_INIT, others = RYE_BUF_INIT;

	for (size_t i = 0; i < n; i++) {
		struct rye_buf *to = !files[i].there ? &made : files[i].same ? &same : &others;

		buf_addf(to, "%s.vscode/%s", to->len ? " and " : "", files[i].name);
	}
	if (made.len)
		cli_note(cli, "made %s%s", made.data,
			 files[0].there ? "" : "; the schemas' places in it are this machine's");
	if (others.len)
		cli_note(cli, "left as it is: %s; what it takes: ryefs schema --editor vscode",
			 others.data);
	else if (same.len)
		cli_note(cli, "there already: %s", same.data);
}

int editor_set_up(struct cli *cli, const char *project, json_t *made)
{
	static const char extensions[] = "{\n  \"recommendations\": [\"redhat.vscode-yaml\"]\n}\n";
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_close int root = open(project, O_RDONLY | O_DIRECTORY | O_CLOEXEC), dir = -1;
	struct editor_file files[] = { { .name = "settings.json" },
				       { .name = "extensions.json", .text = span_of(extensions) } };
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
	files[0].text = buf_span(&text);
	for (size_t i = 0; i < ARRAY_SIZE(files) && status == CLI_OK; i++)
		status = editor_write(cli, dir, &files[i], made);
	if (status == CLI_OK)
		editor_tell(cli, files, ARRAY_SIZE(files));
	return status;
}
