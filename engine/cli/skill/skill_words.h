/* SPDX-License-Identifier: MIT */
/*
 * skill_words.h: what the files of cli/skill share: the words behind `ryefs skill`, one file each, and a
 * folder as it was read.
 */
#ifndef RYE_CLI_SKILL_SKILL_WORDS_H
#define RYE_CLI_SKILL_SKILL_WORDS_H

#include "cli/cli.h"
#include "skill/skill.h"

extern cli_fn skill_add_word, skill_diff_word, skill_export_word, skill_list_word,
	skill_remove_word;

/* ---- folder_read.c: a folder, read once: what is shown of it is what is written and signed ---- */

struct folder_file {
	char *path; /* below the folder */
	struct rye_blob *blob;
	bool x;
	bool was_link; /* it was a link to a file in the folder */
};

struct folder {
	struct folder_file *v; /* by path */
	size_t n, size;
	uint64_t bytes;
	size_t passed_over; /* .git, __pycache__ and the like */
};

/* dir: open to read. No link is followed but to a file within. Fails at what no manifest may list. */
int folder_read(int dir, bool with_deps, struct folder *ret, struct rye_err *err);
void folder_done(struct folder *folder);
#define auto_folder __attribute__((cleanup(folder_done)))
const struct folder_file *folder_find(const struct folder *folder, const char *path); /* or NULL */

/* ---- folder_shown.c: for people ---- */

/* Files with what is remarkable about each, and what has changed against `was` (n 0: it is new). */
void folder_show(const struct folder *folder, const struct skill *was, FILE *to);
/* "M path", "A path", "D path", one a line; how many. to NULL: only counted. */
size_t folder_changes(const struct folder *folder, const struct skill *was, FILE *to);

/* ---- skill_place.c: where a skill lies ---- */

struct skill_place {
	enum rye_space space;
	struct rye_space_info info;
};
/* The space that --space names, or the project's; exit status. */
int skill_place(struct cli *cli, struct skill_place *ret);
/* Its verified manifest, whatever its files are by now; exit status, the reason told. */
int skill_manifest(struct cli *cli, enum rye_space space, const char *name, struct skill *ret);

/* A directory to be made whole and then renamed to NAME in dir. Its maker locks it as long as it lives. */
struct skill_stage {
	char name[SKILL_NAME_MAX + 32];
	int fd;
};
/* Takes away those that killed processes have left, and makes one; 0 or -errno. */
int skill_stage(int dir, const char *name, struct skill_stage *ret);
/* r 0: puts it into NAME's place. Else, or if that fails, it goes. 0 or -errno. */
int skill_stage_end(int dir, const char *name, struct skill_stage *stage, int r);

#endif
