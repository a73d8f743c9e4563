/* SPDX-License-Identifier: MIT */
/*
 * sign_inner.h: what the files of sign/ share: the rules an item has to keep.
 */
#ifndef RYE_SIGN_SIGN_INNER_H
#define RYE_SIGN_SIGN_INNER_H

#include "base/json.h"
#include "item/item.h"
#include "trust/trust.h"

/*
 * signcheck.c: the rules an item has to keep to be signed (docs/items.md). Verification and
 * execution never ask for them.
 */

/* What was found; both arrays of strings, owned. */
struct sign_report {
	json_t *issues; /* not empty: it may not be signed */
	json_t *warnings;
	/* A trusted key has signed it once: what is asked of new tools is advice to this one. */
	bool signed_before;
};

bool sign_report_init(struct sign_report *report); /* false: out of memory */
void sign_report_done(struct sign_report *report);

/* item: kind, id, ext, body and meta are looked at; nothing of it is verified yet. */
void sign_check(const struct parsed_item *item, struct sign_report *report);
/*
 * signwhere.c: adds the issue and, in brackets, the line of the file on which its field stands, or the word for a
 * field that is missing.
 */
void sign_where(struct rye_span text, const char *ext, const char *issue, struct rye_buf *out);
/* True when every issue is a missing field. */
bool sign_only_missing(const struct sign_report *report);

/*
 * signtool.c: the tool format's own rules, for signcheck.c.
 */

/* Appends one line to a list of issues or warnings. */
void sign_tell(json_t *list, const char *format, ...) RYE_PRINTF(2, 3);
/* Executor, tool_id, requires and the schema of parameters. */
void sign_check_tool(const struct parsed_item *item, struct sign_report *report);
/* Types of a configuration's values, where a signed schema names it. */
void sign_check_config(const struct item_env *env, const struct parsed_item *config,
		       struct sign_report *report);
/* signmeant.c: what is allowed, and does not do what its author means. dry: it will not be signed now. */
void sign_check_meaning(const struct item_env *env, const struct parsed_item *item, bool dry,
			struct sign_report *report);
struct meant {
	const struct item_env *env;
	const struct parsed_item *item;
	json_t *warnings;
	json_t *faults; /* issues; of an item that was signed before the warnings, too */
	size_t above; /* lines of the file above the body */
	size_t added; /* how many more of them there are once it is signed */
};
/* The line of the file, counted from 1, in which what is at `at` of the body stands. */
size_t meant_line_at(const struct meant *m, size_t at);
/* Of the first place of a word that has such a text behind it in its line; else of the word alone. */
size_t meant_line_of(const struct meant *m, const char *word, const char *behind);
/* Is there such an item in any space? Nothing is verified. */
bool meant_item_here(const struct meant *m, enum rye_kind kind, const char *id);
/* signskill.c: a signature of a manifest is one of its files: they have to be as it says. */
int sign_check_skill(const struct parsed_item *item, struct rye_err *err);
/* The command that makes its manifest anew of what is in the folder; "": no skill can have that name. */
void sign_skill_mend(const struct space *space, const char *name, char ret[160]);
/* Where there is no manifest but a folder of that name: what makes one. 0: there is none either. */
int sign_no_manifest(const struct space *space, const char *name, struct rye_err *err);
/* signspelt.c: the same of fields of tools that are misspelt. */
void sign_check_spelling(const struct meant *m);
/* signnear.c: the same of words of tools that are nearly one that is read. */
void sign_check_near(const struct meant *m);
/* The same of configuration that the engine reads, and what its reader refuses of it. */
void sign_check_form(const struct meant *m);
/* signhook.c: the same of hooks, wherever they stand. */
void sign_check_hooks(const struct meant *m);
/* signplace.c: a file where none is; -EEXIST: one is there. */
int sign_write_new(const struct space *space, const char *path, struct rye_span bytes);
/* Does the file hold these bytes still? RYE_BUSY: others, or it is gone. */
int sign_seen(const struct space *space, const char *path, struct rye_span was,
	      struct rye_err *err);
/* Names that the mount's control files hide. */
void sign_check_name(const struct parsed_item *item, struct sign_report *report);

#endif
