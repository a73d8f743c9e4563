/* SPDX-License-Identifier: MIT */
/*
 * skill.h: Agent Skills: a folder kept byte for byte and the manifest beside it that lists its files,
 * each with its digest. What a manifest says, where a skill is from, and whether the folder is as the
 * manifest says. Nothing here knows of signatures: a manifest is handed in once it is verified, or to be signed.
 */
#ifndef RYE_SKILL_SKILL_H
#define RYE_SKILL_SKILL_H

#include "base/json.h"
#include "base/sha.h"
#include "err.h"

#include <locale.h>
#include <sys/stat.h>

/* What the Agent Skills specification allows a name, and what a manifest may list: far more than any
 * known skill has, little enough to be hashed at each scan. */
#define SKILL_NAME_MAX 64
#define SKILL_FILES_MAX 2000
#define SKILL_DEPTH_MAX 8
#define SKILL_PATH_MAX 512
#define SKILL_FILE_MAX (32u << 20)
#define SKILL_BYTES_MAX (64u << 20)
/* Of SKILL.md, which clients read no further; of its description, in characters. */
#define SKILL_TEXT_MAX (1u << 20)
#define SKILL_ABOUT_MAX 1024
#define SKILL_TEXT "SKILL.md"

/* ---- skill_name.c ---- */

/* 1 to 64 of a-z, 0-9 and single hyphens, none at an end. */
bool skill_name_ok(struct rye_span name);
/* A path below the folder: UTF-8, nothing unseen, not too deep or long, no "." or ".." in it. */
bool skill_path_ok(struct rye_span path);
/* The path where it says nothing to a model that reads it, else "a file": names are made by others. */
const char *skill_path_told(const char *path);
/* The same letters but for their case? The text that equal ones share, to free; NULL: no memory.
 * letters: of C.UTF-8, whose making takes longer than all the rest; 0 will do where all is ASCII. */
char *skill_path_fold(const char *path, locale_t letters);
bool skill_path_is_ascii(const char *path);

/* ---- skill_manifest.c ---- */

struct skill_file {
	const char *path; /* below the folder */
	unsigned char sha[SHA_LEN];
	uint64_t size;
	bool x; /* may be executed */
};

struct skill {
	json_t *data; /* the whole mapping; a reference */
	const char *name, *version; /* in data; version "" when it says none */
	struct skill_file *v; /* by path, bytewise */
	size_t n;
	uint64_t bytes;
};

/* data: the mapping of the manifest NAME.yaml. RYE_UNPARSABLE or RYE_TOO_BIG say what it lacks. */
int skill_read(json_t *data, const char *name, struct skill *ret, struct rye_err *err);
void skill_done(struct skill *skill);
#define auto_skill __attribute__((cleanup(skill_done)))

const struct skill_file *skill_find(const struct skill *skill, const char *path); /* or NULL */
/* The first file below the directory (path without a slash at its end; "": the folder); NULL: none. */
const struct skill_file *skill_below(const struct skill *skill, const char *dir);

/* ---- skill_text.c ---- */

/* SKILL.md between its --- lines as a mapping, a new reference, and what follows it. RYE_UNPARSABLE. */
int skill_front(struct rye_span text, json_t **ret, struct rye_span *ret_body, struct rye_err *err);
/* Has it what clients want: the folder's name and a description? */
int skill_front_check(const json_t *front, const char *name, struct rye_err *err);

/* ---- skill_source.c ---- */

#define SKILL_REF_MAX 200
#define SKILL_URL_MAX 500

/* A place in a git repository. Texts are owned, and "" where nothing was said. */
struct skill_source {
	char *from; /* the repository, as it is told: "github:OWNER/REPO", or an address */
	char *url; /* the same for git */
	char *path; /* of the folder, below the repository */
	char *ref; /* a branch, a tag or a commit; "": the branch that the repository names */
};
/* Is it meant as one? Else it is a directory. */
bool skill_source_is(const char *word);
/* github:OWNER/REPO[/PATH][@REF], or URL[#[REF][:PATH]]. RYE_INVALID. */
int skill_source_read(const char *word, struct skill_source *ret, struct rye_err *err);
/* `source` of a manifest. */
int skill_source_of(const json_t *told, struct skill_source *ret, struct rye_err *err);
/* The line of a manifest that skill_source_of reads; commit: what was fetched, or "". */
void skill_source_put(const struct skill_source *source, const char *commit, struct rye_buf *out);
bool skill_commit_is(const char *text); /* all of its digits */
void skill_source_done(struct skill_source *source);
#define auto_skill_source __attribute__((cleanup(skill_source_done)))

/* ---- skill_lock.c ---- */

#define SKILL_LOCKED_MAX 500

struct skill_locked {
	char name[SKILL_NAME_MAX + 1];
	struct skill_source source;
	bool somewhere; /* in the repository, as a folder of that name */
	char hash[SHA_HEX]; /* over the paths and bytes of its files */
};
typedef int (*skill_locked_fn)(void *arg, const struct skill_locked *one); /* -code stops */
/* Each of skills-lock.json. RYE_UNPARSABLE: what of it is not as it should be. */
int skill_lock_read(struct rye_span text, skill_locked_fn fn, void *arg, struct rye_err *err);

/* ---- skill_check.c ---- */

/* The folder beneath .ai, to read; or -errno. No link is followed. */
int skill_open_folder(int ai, const char *name);
/* One listed file's bytes, read once and compared with what the manifest says: RYE_MODIFIED. */
int skill_load(int folder, const struct skill_file *file, struct rye_blob **ret,
	       struct stat *ret_st, struct rye_err *err);
/*
 * Every listed file is a regular one with the bytes that the manifest says, and SKILL.md is one.
 * ret_linked: one of them has more than one name.
 */
int skill_check(int ai, const struct skill *skill, bool *ret_linked, struct rye_err *err);
/* A listed file that has changed and has marks of a merge that is open; the skill's, NULL: none. */
const char *skill_conflict(int ai, const struct skill *skill);

#endif
