/* SPDX-License-Identifier: MIT */
/*
 * author.h: items written by a person: begun, changed, moved, removed, looked back at, signed as they are saved.
 */
#ifndef RYE_CLI_AUTHOR_AUTHOR_H
#define RYE_CLI_AUTHOR_AUTHOR_H

#include "cli/cli.h"
#include "skeleton/skeleton.h"

/* ---- named_item.c: the file of an item that an operand names, in the project or the user space ---- */

struct named_item {
	char ref[REF_MAX];
	enum rye_kind kind;
	const char *id, *ext; /* borrowed, of the ref and the kind's table */
	enum rye_space space;
	int space_fd; /* borrowed, of .ai; -1: there is none */
	char *file; /* absolute */
	const char *below; /* in file: below .ai */
	bool good; /* it verifies */
	char *message; /* why not, or a notice */
};
#define auto_named __attribute__((cleanup(named_item_done)))
void named_item_done(struct named_item *item);
/*
 * The file of the space that --space names or the operand's path lies in, else the one that counts. What
 * is the system's is refused. none: tells that nothing has the name; NULL: cli_fail. Exit status.
 */
typedef int named_none_fn(struct cli *cli, const struct rye_err *err, const char *ref);
int named_item_find(struct cli *cli, int operand, named_none_fn *none, struct named_item *ret);
/* A skill: its file is a manifest, and `edit` knows single files. */
bool named_is_folder(const char *ref);
/* "project" or "user", as --space has it. */
const char *named_space(enum rye_space space);
/* Of an item that another space has, too: which of the two counts is told. */
void note_hidden(struct cli *cli, const char *ref, const char *other, const char *here);
/* Its bytes; exit status, the reason told. */
int named_item_read(struct cli *cli, const struct named_item *item, struct rye_blob **ret);
/* Its file goes, if it has these bytes still: as rye_drop. */
int named_item_drop(struct cli *cli, const struct named_item *item, const struct rye_blob *was,
		    struct rye_err *err);

/* ---- mentions.c: {ref, space, path, line} of the items that name another ---- */

int mentions_of(struct cli *cli, const char *ref, json_t **ret); /* exit status, the reason told */
void mentions_tell(struct cli *cli, const json_t *mentions, const char *ref);

/* ---- git_texts.c: what git has of a file ---- */

/* Do its bytes, as they are, lie in git's store? So what git itself has written there does. */
bool git_has(const char *path);

/* A commit that changed a file, also under names that it had before. */
struct git_text {
	const char *commit, *at, *author, *subject; /* at: 2026-01-02T03:04:05+01:00 */
	const char *path; /* below the work tree, as it was called then */
	struct rye_span text; /* len 0: it was removed, or is gone */
};
typedef int (*git_text_fn)(void *arg, const struct git_text *text); /* nonzero stops */
struct git_past {
	const char *path;
	size_t most;
	/* of one whose text a move changes too much: "x" + end moves with "x" + beside, which git knows; or NULL */
	const char *end, *beside;
};
/* The newest first. False: git does not have the file. */
bool git_each(const struct git_past *ask, git_text_fn fn, void *arg);

/* ---- watch_execute.c ---- */

/* `ryefs execute REF` with the operands behind the first; exit status, -1: it was not started. */
int watch_execute(struct cli *cli, const char *ref);

/* ---- editor.c ---- */

/* Has the person's editor open the file, and waits; exit status, the reason told. */
int editor_run(struct cli *cli, const char *path);

/* ---- edit_copy.c: the copy that is edited, in .ai/state/edits of the item's space ---- */

struct edit_copy {
	struct cli *cli;
	struct named_item item;
	struct rye_blob *was; /* its bytes when the copy was made, or gone on with */
	struct rye_blob *bare; /* the same without header lines */
	bool stale; /* the copy was begun when the file was another */
	int dir; /* of the copy, locked; -1: not made */
	char *path; /* the copy, absolute */
	char *before; /* beside it: what the difference is shown against */
};
#define auto_edit __attribute__((cleanup(edit_done)))
void edit_done(struct edit_copy *edit); /* frees; the copy stays */
/* Makes the copy, or goes on with the one that is left; exit status, the reason told. */
int edit_begin(struct edit_copy *edit);
void edit_drop(struct edit_copy *edit); /* the copy goes */
/* What the copy holds now; NULL: it cannot be read, and that was told. */
struct rye_blob *edit_text(const struct edit_copy *edit);
/* What changes, on `to`; false: nothing does. */
bool edit_show(const struct edit_copy *edit, FILE *to);

/* ---- verb_schema.c ---- */

/* VS Code's settings of a workspace; what was written is added to made. Exit status. */
int editor_set_up(struct cli *cli, const char *project, json_t *made);

#endif
