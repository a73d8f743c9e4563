/* SPDX-License-Identifier: MIT */
/*
 * A skill under another name, and a skill that goes: for `ryefs mv`, `ryefs rm` and `skill remove`. What is
 * moved are the listed files, as they verify, with the new name in SKILL.md; they are put to their place and
 * signed there before the old ones go, in a step each, so that the same call goes on where one was killed.
 */
#include "cli/skill/skill_words.h"

#include "base/io.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* ---- it goes ---- */

/* The folder first goes out of sight, then its manifest, then what was in it; 0 or -errno. */
static int drop_folder(int skills, const char *name, const char *manifest)
{
	struct skill_stage stage = { .fd = -1 };
	int r = skill_stage(skills, name, &stage);

	if (r)
		return r;
	if (renameat(skills, name, skills, stage.name) < 0 && errno != ENOENT)
		r = -errno;
	if (!r && unlinkat(skills, manifest, 0) < 0 && errno != ENOENT)
		r = -errno;
	skill_stage_end(skills, &stage);
	return r;
}

int skill_drop(struct cli *cli, enum rye_space space, const char *name)
{
	auto_close int skills = -1;
	auto_free char *manifest = NULL;
	struct skill_place place;
	int status = skill_place_of(cli, space, &place), r;

	if (status != CLI_OK)
		return status;
	if (asprintf(&manifest, "%s.yaml", name) < 0)
		return CLI_FAILED;
	skills = io_open_mounted(place.info.fd, "skills", O_RDONLY | O_DIRECTORY);
	r = skills < 0 ? skills : drop_folder(skills, name, manifest);
	return r ? cli_complain(cli, CLI_FAILED, NULL, "cannot remove %s/.ai/skills/%s: %s",
				place.info.root, name, strerror(-r)) :
		   CLI_OK;
}

/* ---- what is moved ---- */

/* All that lies there is listed, or is what interpreters leave: nothing else would get lost. */
static int check_nothing_else(struct cli *cli, const struct skill *was, int dir)
{
	auto_free char *mend = mend_with("ryefs skill diff %s", was->name);
	auto_folder struct folder there = { 0 };
	struct rye_err err = { 0 };

	if (folder_read(dir, true, &there, &err))
		return cli_fail(cli, &err, NULL);
	if (folder_changes(&there, was, NULL) || faccessat(dir, ".git", F_OK, 0) == 0)
		return cli_complain(cli, CLI_REFUSED, mend,
				    "skill:%s is not moved: its folder has what the manifest does "
				    "not list",
				    was->name);
	return CLI_OK;
}

static int take_listed(struct skill_adding *adding, const struct skill *was, int dir)
{
	struct rye_err err = { 0 };

	for (size_t i = 0; i < was->n; i++) {
		struct rye_blob *blob = NULL;
		struct stat st;

		if (skill_load(dir, &was->v[i], &blob, &st, &err) ||
		    folder_add(&adding->folder, was->v[i].path, blob, &err))
			return cli_fail(adding->cli, &err, NULL);
		adding->folder.v[adding->folder.n - 1].x = was->v[i].x;
	}
	return CLI_OK;
}

/* A call that was killed has put it there; anything else stays. */
static int moved_there(const struct skill_adding *adding)
{
	auto_free char *mend = NULL, *other = NULL;

	if (adding->was.n && !folder_changes(&adding->folder, &adding->was, NULL))
		return CLI_OK;
	if (asprintf(&other, "%.*s-2", SKILL_NAME_MAX - 2, adding->name) >= 0)
		mend = cli_retyped(adding->cli, "mv", adding->cli->argv[1], other);
	return cli_complain(adding->cli, CLI_USAGE, mend, "skill:%s is there already",
			    adding->name);
}

static int move_listed(struct cli *cli, const struct skill_moving *what, const struct skill *was,
		       int dir)
{
	auto_skill_adding struct skill_adding adding = { .cli = cli,
							 .as = what->to,
							 .word = what->name,
							 .version = was->version,
							 .silent = true };
	auto_skill_source struct skill_source source = { 0 };
	const json_t *told = json_object_get(was->data, "source");
	struct rye_err ignored = { 0 };
	int status = skill_place_of(cli, what->space, &adding.place);

	if (told && !skill_source_of(told, &source, &ignored)) {
		adding.source = &source;
		adding.commit = json_str(told, "commit");
	}
	if (status == CLI_OK)
		status = take_listed(&adding, was, dir);
	if (status == CLI_OK)
		status = adding_read(&adding, -1);
	if (status == CLI_OK && adding.manifest)
		return moved_there(&adding);
	return status == CLI_OK && !what->dry ? adding_put(&adding) : status;
}

int skill_move(struct cli *cli, const struct skill_moving *what)
{
	auto_skill struct skill was = { 0 };
	struct skill_place place;
	auto_close int dir = -1;
	int status = skill_place_of(cli, what->space, &place);

	if (status == CLI_OK)
		status = skill_manifest(cli, what->space, what->name, &was);
	if (status != CLI_OK)
		return status;
	dir = skill_open_folder(place.info.fd, what->name);
	if (dir < 0)
		return cli_complain(cli, CLI_REFUSED, NULL, "skill:%s has no folder", what->name);
	status = check_nothing_else(cli, &was, dir);
	return status == CLI_OK ? move_listed(cli, what, &was, dir) : status;
}

/* ---- one that was killed behind that ---- */

bool skill_moved(struct cli *cli, const struct skill_moving *what)
{
	auto_skill struct skill was = { 0 }, is = { 0 };
	struct skill_place place;
	auto_close int dir = -1;
	bool same;

	if (skill_place_of(cli, what->space, &place) != CLI_OK)
		return false;
	dir = skill_open_folder(place.info.fd, what->name);
	if (dir != -ENOENT || skill_manifest(cli, what->space, what->name, &was) != CLI_OK ||
	    skill_manifest(cli, what->space, what->to, &is) != CLI_OK)
		return false;
	same = was.n == is.n;
	for (size_t i = 0; same && i < was.n; i++) {
		const struct skill_file *file = skill_find(&is, was.v[i].path);

		same = file && (!strcmp(file->path, SKILL_TEXT) ||
				!memcmp(file->sha, was.v[i].sha, SHA_LEN));
	}
	return same;
}
