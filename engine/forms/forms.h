/* SPDX-License-Identifier: MIT */
/*
 * forms.h: the YAML and JSON that people write for us, as JSON Schema (draft-07), for their editors. Each
 * is put together of what the rooms say that check such a file. Pure.
 */
#ifndef RYE_FORMS_FORMS_H
#define RYE_FORMS_FORMS_H

#include "base/json.h"
#include "trust/trust.h"

struct editor_form {
	const char *name, *about;
	const char *const
		*files; /* globs below a workspace, NULL behind the last; none: part of another */
	json_t *(*make)(json_t *definitions);
	/* NULL, or appends what the reader of such a file refuses: struct config_forms */
	void (*refused)(const struct item_env *env, const struct space *space, const json_t *doc,
			json_t *issues);
};

/* The rows, by their names; the last has none. */
extern const struct editor_form forms[];
const struct editor_form *form_named(const char *name); /* NULL: there is none */
/* The document; a new reference, NULL: out of memory. */
json_t *form_schema(const struct editor_form *form);

/* What signing asks of configuration that is one of the rows' only file. */
extern const struct config_forms config_forms;

/* ---- forms_editor.c ---- */

/* What an editor wants to be told, a file of its settings: vscode, helix, neovim. */
struct form_editor {
	const char *name, *file;
};
extern const struct form_editor form_editors[]; /* the last has no name */
/* Its lines; dir: where the schemas lie, absolute. False: out of memory. */
bool form_settings(const struct form_editor *editor, const char *dir, struct rye_buf *ret);

#endif
