/* SPDX-License-Identifier: MIT */
/*
 * skill_words.h: what the files of cli/skill share: the words behind `ryefs skill`, one file each, a
 * folder as it was read, and a skill that is being added.
 */
#ifndef RYE_CLI_SKILL_SKILL_WORDS_H
#define RYE_CLI_SKILL_SKILL_WORDS_H

#include "cli/cli.h"
#include "skill/skill.h"

extern cli_fn skill_add_word, skill_diff_word, skill_export_word, skill_list_word,
	skill_remove_word, skill_update_word;

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
	bool has_deps; /* it was refused for node_modules */
};

/* dir: open to read. No link is followed but to a file within. Fails at what no manifest may list. */
int folder_read(int dir, bool with_deps, struct folder *ret, struct rye_err *err);
/* Takes the blob over. In the order of paths. */
int folder_add(struct folder *folder, const char *path, struct rye_blob *blob, struct rye_err *err);
void folder_done(struct folder *folder);
#define auto_folder __attribute__((cleanup(folder_done)))
const struct folder_file *folder_find(const struct folder *folder, const char *path); /* or NULL */

/* ---- folder_named.c ---- */

/* Its SKILL.md says another name then, in the line that said one. */
int folder_rename(struct folder *folder, const char *name, struct rye_err *err);
/* Is it the one that an installer's digest is of? */
bool folder_is_locked(const struct folder *folder, const char hash[SHA_HEX]);

/* ---- folder_shown.c: for people ---- */

/* Files with what is remarkable about each, and what has changed against `was` (n 0: it is new). */
void folder_show(const struct folder *folder, const struct skill *was, FILE *to);
/* "M path", "A path", "D path", one a line; how many. to NULL: only counted. */
size_t folder_changes(const struct folder *folder, const struct skill *was, FILE *to);

/* ---- skill_lines.c ---- */

/* The lines that are others than those that were signed, where git still has those. dir: the folder. */
void folder_lines(struct cli *cli, const char *dir, const struct folder *now,
		  const struct skill *was);

/* ---- skill_place.c: where a skill lies ---- */

struct skill_place {
	enum rye_space space;
	struct rye_space_info info;
};
/* The space that --space names, or the project's; exit status. */
int skill_place(struct cli *cli, struct skill_place *ret);
int skill_place_of(struct cli *cli, enum rye_space space, struct skill_place *ret);
/* Its verified manifest, whatever its files are by now; exit status, the reason told. */
int skill_manifest(struct cli *cli, enum rye_space space, const char *name, struct skill *ret);

/* A directory to be made whole and then put to NAME in dir. Its maker locks it as long as it lives. */
struct skill_stage {
	char name[SKILL_NAME_MAX + 32];
	int fd;
};
/* Takes away those that killed processes have left, and makes one; 0 or -errno. */
int skill_stage(int dir, const char *name, struct skill_stage *ret);
/* In one step it has NAME's place, and what was there, if anything, has its own; 0 or -errno. */
int skill_stage_swap(int dir, const char *name, const struct skill_stage *stage);
void skill_stage_unswap(int dir, const char *name, const struct skill_stage *stage);
void skill_stage_end(int dir, struct skill_stage *stage); /* what has its name goes */

/* ---- skill_fetch.c: a folder of a git repository ---- */

struct skill_fetched {
	struct skill_stage stage;
	int stages; /* where it lies; closed by skill_fetched_done */
	int dir; /* the folder, to read */
	char *path; /* the same, absolute */
	char commit[SKILL_REF_MAX];
	struct rye_buf manifest; /* what its author has beside it, PATH.yaml, or nothing */
};
/* name: where source.path is "", the folder of that name in the repository; or NULL. Exit status. */
int skill_fetch(struct cli *cli, struct skill_source *source, const char *name,
		struct skill_fetched *ret);
void skill_fetched_done(struct skill_fetched *fetched);
#define auto_skill_fetched __attribute__((cleanup(skill_fetched_done)))

/* ---- skill_adding.c, skill_put.c ---- */

struct skill_adding {
	struct cli *cli;
	struct skill_place place;
	/* handed in */
	const char *word; /* as it was typed */
	const char *path; /* of the folder, for diff */
	const char *as; /* the name that it is to have; NULL: its own */
	const struct skill_source *source; /* or NULL */
	const char *commit;
	const char *version; /* of what nothing was signed before under this name, or NULL */
	struct rye_span theirs; /* its author's manifest, or nothing */
	const char *hash; /* of a lock file, or NULL */
	struct rye_buf *digests; /* it is one of several: what --expect is to say is put there */
	/* made */
	struct folder folder;
	struct skill was; /* as it was signed before; n 0: it was not */
	struct rye_blob *manifest; /* the file of before; NULL: there is none */
	char name[SKILL_NAME_MAX + 1];
	char before[17], signer[17]; /* keys: of the file that is there, of the one to be written */
	bool silent; /* handed in: its end is told elsewhere */
	bool in_place; /* the folder is the one of the workspace */
	bool kept; /* text is its author's, signed by them */
	char digest[SHA_HEX];
	struct rye_buf text; /* the manifest */
};
/* dir: the folder, to read; unless `folder` is filled. Exit status; what of it cannot be is told. */
int adding_read(struct skill_adding *adding, int dir);
/* Does the yes come from neither a terminal nor an option? Then all are only shown. */
bool adding_only_shows(const struct skill_adding *adding);
/* For --expect, once what was shown is known: "sha256:A,sha256:B". Exit status, never CLI_OK. */
int adding_unasked(struct cli *cli, const char *digests);
/* Shows it, and waits for the yes; exit status. */
int adding_ask(struct skill_adding *adding);
/* Folder and manifest, both or neither; exit status. */
int adding_put(struct skill_adding *adding);
void adding_done(struct skill_adding *adding);
#define auto_skill_adding __attribute__((cleanup(adding_done)))

#endif
