/* SPDX-License-Identifier: MIT */
/*
 * Which schema is for which files, in each editor's own words: VS Code's settings, and those of
 * yaml-language-server in Helix and Neovim.
 */
#include "forms/forms.h"

#include "scope.h"

#include <string.h>

const struct form_editor form_editors[] = {
	{ "helix", "~/.config/helix/languages.toml" },
	{ "neovim", "~/.config/nvim/init.lua" },
	{ "vscode", ".vscode/settings.json" },
	{ NULL },
};

/* JSON's escapes are TOML's and Lua's, as far as a path has any. */
static void editor_text(struct rye_buf *to, const char *dir, const char *name)
{
	auto_json json_t *text = json_sprintf("file://%s/%s.json", dir, name);
	auto_free char *dump = text ? json_dumps(text, JSON_ENCODE_ANY) : NULL;

	if (dump)
		buf_adds(to, dump);
	else
		to->failed = true;
}

/* A line for each form: before, the schema, between, its files, behind; then what is between lines, and last. */
static void editor_lines(struct rye_buf *to, const char *dir, const char *const words[5])
{
	bool first = true;

	for (const struct editor_form *form = forms; form->name; form++) {
		if (!form->files[0])
			continue;
		buf_addf(to, "%s%s", first ? "" : words[3], words[0]);
		first = false;
		editor_text(to, dir, form->name);
		buf_adds(to, words[1]);
		for (const char *const *file = form->files; *file; file++)
			buf_addf(to, "%s\"%s\"", file == form->files ? "" : ", ", *file);
		buf_adds(to, words[2]);
	}
	buf_adds(to, words[4]);
}

bool form_settings(const struct form_editor *editor, const char *dir, struct rye_buf *ret)
{
	if (!strcmp(editor->name, "helix")) {
		buf_adds(ret, "[language-server.yaml-language-server.config.yaml.schemas]\n");
		editor_lines(ret, dir, (const char *const[]){ "", " = [", "]", "\n", "\n" });
	} else if (!strcmp(editor->name, "neovim")) {
		buf_adds(ret, "vim.lsp.config('yamlls', { settings = { yaml = { schemas = {\n");
		editor_lines(ret, dir,
			     (const char *const[]){ "  [", "] = {", "}", ",\n", "\n} } } })\n" });
		buf_adds(ret, "vim.lsp.enable('yamlls')\n");
	} else {
		buf_adds(ret, "{\n  \"yaml.schemas\": {\n");
		editor_lines(ret, dir,
			     (const char *const[]){ "    ", ": [", "]", ",\n", "\n  }\n}\n" });
	}
	return !ret->failed;
}
