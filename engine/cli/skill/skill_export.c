/* SPDX-License-Identifier: MIT */
/*
 * ryefs skill export: verified copies, for places without a mount. A skill is copied whole or not at all;
 * what a refused one has in the directory from before goes.
 */
#include "cli/skill/skill_words.h"

#include "base/io.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

struct exporting {
	struct cli *cli;
	int dir; /* where to */
	json_t *names, *refused;
	int status;
};

static int export_on_skill(void *arg, const char *name, bool refused)
{
	struct exporting *out = arg;

	json_array_append_new(refused ? out->refused : out->names, json_string(name));
	return 0;
}

/* One directory of a skill, and what is below it. */
struct exporting_dir {
	struct exporting *out;
	const struct rye_skill *skill;
	const char *path; /* "" is the folder */
	int to; /* the folder's copy */
	struct rye_err *err;
	int r;
};

static int export_file(const struct exporting_dir *at, const char *path)
{
	struct rye_skill_file file = { 0 };
	auto_blob struct rye_blob *blob = NULL;
	int r = rye_skill_read(at->out->cli->rye, at->skill, path, &file, at->err);

	if (!r)
		r = rye_text_get(file.text, &blob, at->err);
	rye_text_unref(file.text);
	if (r)
		return r;
	r = io_replace_at(at->to, path, (struct rye_span){ blob->data, blob->len },
			  file.x ? 0755 : 0644);
	return r ? rye_fail_sys(at->err, -r, "cannot write %s/%s", at->skill->id, path) : 0;
}

static void export_on_name(void *arg, const char *name, bool is_dir)
{
	struct exporting_dir *at = arg;
	struct exporting_dir below = *at;
	auto_free char *path = NULL;
	struct stat st;

	if (at->r)
		return;
	if (asprintf(&path, "%s%s%s", at->path, *at->path ? "/" : "", name) < 0) {
		at->r = rye_fail_sys(at->err, ENOMEM, "cannot copy %s", at->skill->id);
		return;
	}
	/* a name is told once for each file below it */
	if (fstatat(at->to, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return;
	if (!is_dir) {
		at->r = export_file(at, path);
		return;
	}
	below.path = path;
	if (mkdirat(at->to, path, 0755) < 0)
		at->r = rye_fail_sys(at->err, errno, "cannot make %s/%s", at->skill->id, path);
	else if (!(at->r = rye_skill_names(at->out->cli->rye, at->skill, path, export_on_name,
					   &below, at->err)))
		at->r = below.r;
}

/* May what has the name there go? Nothing, or a skill's folder: a copy of before. Anything else is another's. */
static bool is_copy(int dir, const char *name)
{
	auto_free char *text = NULL;
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT;
	return S_ISDIR(st.st_mode) && asprintf(&text, "%s/SKILL.md", name) >= 0 &&
	       faccessat(dir, text, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int export_one(struct exporting *out, const char *name, struct rye_err *err)
{
	struct skill_stage stage;
	struct rye_skill skill;
	struct exporting_dir at = { .out = out, .skill = &skill, .path = "", .err = err };
	int r = rye_skill_find(out->cli->rye, name, &skill, err), sys;

	if (!r && skill.verdict != RYE_OK)
		r = rye_fail(err, skill.verdict, "%s", skill.reason);
	if (r)
		return r;
	if (!is_copy(out->dir, name))
		return rye_fail(err, RYE_EXISTS,
				"%s/%s is there already, and no skill: wanted is a directory for "
				"skills alone",
				out->cli->argv[1], name);
	r = skill_stage(out->dir, name, &stage);
	if (r)
		return rye_fail_sys(err, -r, "cannot make a directory");
	at.to = stage.fd;
	r = rye_skill_names(out->cli->rye, &skill, "", export_on_name, &at, err);
	r = r ? r : at.r;
	if (!r && (sys = skill_stage_swap(out->dir, name, &stage)))
		r = rye_fail_sys(err, -sys, "cannot put %s into its place", name);
	skill_stage_end(out->dir, &stage);
	return r;
}

/* Nothing of it was verified now: no copy of before may pass for one that was. */
static void drop_refused(const struct exporting *out)
{
	size_t i;
	json_t *name;

	json_array_foreach(out->refused, i, name) {
		if (is_copy(out->dir, json_string_value(name)))
			io_remove_tree(out->dir, json_string_value(name), SKILL_DEPTH_MAX + 8);
		cli_note(out->cli, "%s is refused, and left out", json_string_value(name));
	}
}

/* Copies there would take the place of what they are made of. */
static bool is_workspace(const char *dir)
{
	auto_free char *path = realpath(dir, NULL);

	return path && (strstr(path, "/.ai/") || str_ends(path, "/.ai"));
}

static int export_all(struct exporting *out)
{
	struct rye_err err = { 0 };
	char said[64];
	size_t i;
	json_t *name;

	if (is_workspace(out->cli->argv[1]))
		return cli_misuse(
			out->cli,
			"%s lies in a workspace, where skills are the signed ones; wanted "
			"is a directory outside of .ai",
			out->cli->argv[1]);
	if (out->cli->opt.frozen && json_array_size(out->refused))
		return cli_complain(out->cli, CLI_REFUSED, "ryefs skill list",
				    "%zu skill%s refused, and nothing was copied",
				    json_array_size(out->refused),
				    json_array_size(out->refused) == 1 ? " is" : "s are");
	out->dir = open(out->cli->argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (out->dir < 0 && mkdir(out->cli->argv[1], 0755) == 0)
		out->dir = open(out->cli->argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (out->dir < 0)
		return cli_complain(out->cli, CLI_FAILED, NULL, "cannot open %s: %s",
				    out->cli->argv[1], strerrordesc_np(errno));
	json_array_foreach(out->names, i, name)
		if (export_one(out, json_string_value(name), &err))
			return cli_fail(out->cli, &err, json_string_value(name));
	drop_refused(out);
	snprintf(said, sizeof(said), "has %zu skill%s", json_array_size(out->names),
		 PLURAL(json_array_size(out->names)));
	return out_success(out->cli, "directory", out->cli->argv[1], said);
}

int skill_export_word(struct cli *cli)
{
	auto_json json_t *names = json_array(), *refused = json_array();
	struct exporting out = { .cli = cli, .dir = -1, .names = names, .refused = refused };
	struct rye_err err = { 0 };
	int status = cli_open(cli, CLI_PROJECT);

	if (status != CLI_OK)
		return status;
	if (rye_skill_list(cli->rye, export_on_skill, &out, &err))
		return cli_fail(cli, &err, NULL);
	status = export_all(&out);
	if (out.dir >= 0)
		close(out.dir);
	return status;
}
