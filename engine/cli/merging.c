/* SPDX-License-Identifier: MIT */
/*
 * What git is told of items. Two people's changes always meet in the signature lines, so `ryefs merge`
 * merges the texts without them. Which files are meant stands in .gitattributes, which the project shares;
 * what is run for them stands in the configuration of each clone, which git never takes from elsewhere.
 */
#include "cli/cli.h"

#include "base/io.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ATTRIBUTES ".gitattributes"
#define ATTRIBUTES_MAX (1 << 20)
#define ATTRIBUTES_LINE ".ai/** merge=ryefs diff=ryefs\n"

static const struct merging_row {
	const char *key, *value;
} merging_rows[] = {
	{ "merge.ryefs.name", "signed items: text without signatures" },
	{ "merge.ryefs.driver", "ryefs merge %O %A %B %P" },
	{ "diff.ryefs.textconv", "ryefs merge --textconv" },
};

static bool in_git(const char *project)
{
	const char *ask[] = { GIT, project, "rev-parse", "--is-inside-work-tree", NULL };
	auto_buf struct rye_buf answer = RYE_BUF_INIT;

	return outside_read(ask, &answer) == 0 && answer.len && !strcmp(answer.data, "true\n");
}

static bool is_configured(const char *project, const char *key)
{
	const char *ask[] = { GIT, project, "config", "--get", key, NULL };
	auto_buf struct rye_buf answer = RYE_BUF_INIT;

	return outside_read(ask, &answer) == 0;
}

/* Is there a line for items, whatever else it says of them? */
static bool has_attributes(struct rye_span text)
{
	struct rye_span line;

	while (span_line(&text, &line)) {
		auto_free char *copy = span_starts(line, ".ai/** ") ? span_dup(line) : NULL;

		if (copy && strstr(copy, "merge="))
			return true;
	}
	return false;
}

static int merging_open(const char *project)
{
	return open(project, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

bool merging_lacks(const char *project)
{
	auto_blob struct rye_blob *text = NULL;
	auto_close int root = merging_open(project);

	if (root < 0 || !in_git(project))
		return false;
	return io_read_at(root, ATTRIBUTES, ATTRIBUTES_MAX, &text) < 0 ||
	       !has_attributes((struct rye_span){ text->data, text->len }) ||
	       !is_configured(project, "merge.ryefs.driver");
}

static void complete_attributes(struct cli *cli, json_t *made)
{
	auto_blob struct rye_blob *old = NULL;
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_close int root = merging_open(cli->project);
	int sys = root < 0 ? -errno : io_read_at(root, ATTRIBUTES, ATTRIBUTES_MAX, &old);

	if (!sys && has_attributes((struct rye_span){ old->data, old->len }))
		return;
	if (!sys) {
		buf_add(&text, old->data, old->len);
		if (old->len && old->data[old->len - 1] != '\n')
			buf_addc(&text, '\n');
	}
	buf_adds(&text, ATTRIBUTES_LINE);
	if ((!sys || sys == -ENOENT) && !text.failed)
		sys = io_replace_at(root, ATTRIBUTES, (struct rye_span){ text.data, text.len },
				    0644);
	if (sys < 0)
		cli_note(cli, "cannot complete %s/" ATTRIBUTES ": %s", cli->project,
			 strerror(-sys));
	else
		json_array_append_new(made, json_string("../" ATTRIBUTES));
}

void merging_set_up(struct cli *cli, json_t *made)
{
	const char *project = cli->project;

	if (!in_git(project))
		return;
	complete_attributes(cli, made);
	for (size_t i = 0; i < ARRAY_SIZE(merging_rows); i++) {
		const struct merging_row *row = &merging_rows[i];
		const char *set[] = {
			GIT, project, "config", "--local", row->key, row->value, NULL
		};
		auto_buf struct rye_buf answer = RYE_BUF_INIT;

		if (!is_configured(project, row->key) && outside_read(set, &answer) != 0)
			cli_note(cli, "cannot set %s in git's configuration of %s", row->key,
				 project);
	}
}

/* ---- the hook ---- */

#define HOOK "pre-commit"
#define HOOK_MAX (64 << 10)

/* What git says of the project in one line; NULL: nothing. To free. */
static char *git_line(const char *project, const char *what, const char *name)
{
	const char *ask[] = { GIT, project, "rev-parse", what, name, NULL };
	auto_buf struct rye_buf answer = RYE_BUF_INIT;

	return outside_read(ask, &answer) == 0 ? span_dup(span_trim(buf_span(&answer))) : NULL;
}

/* Verified are the files that lie there: what is staged has to be the same. */
static void hook_text(const char *prefix, struct rye_buf *ret)
{
	auto_buf struct rye_buf ai = RYE_BUF_INIT, project = RYE_BUF_INIT;
	auto_free char *below = NULL;

	if (asprintf(&below, "%s.ai", prefix) < 0)
		below = NULL;
	buf_shell(&ai, below ? below : ".ai");
	buf_shell(&project, *prefix ? prefix : ".");
	ret->failed |= ai.failed || project.failed;
	buf_addf(
		ret,
		"#!/bin/sh\n"
		"# What is committed has to verify: written by ryefs init --hooks.\n"
		"half=$(git diff --cached --name-only -z --diff-filter=ACMT -- %s | xargs -0r git diff "
		"--name-only --)\n"
		"if [ -n \"$half\" ]; then\n"
		"  echo \"ryefs: staged, and another file by now: $half; mend with: git add -u :/\" >&2\n"
		"  exit 1\n"
		"fi\n"
		"git rev-parse -q --verify HEAD >/dev/null || exec ryefs verify -q --project %s\n"
		"exec ryefs verify -q --project %s --changed-since HEAD\n",
		ai.data, project.data, project.data);
}

static int hook_is_there(struct cli *cli, int dir, const char *path)
{
	auto_blob struct rye_blob *text = NULL;
	struct rye_span bytes = { "", 0 };

	if (io_read_at(dir, HOOK, HOOK_MAX, &text) == 0)
		bytes = (struct rye_span){ text->data, text->len };
	if (span_find(bytes, 0, "ryefs verify") >= 0)
		return CLI_OK;
	return cli_complain(cli, CLI_FAILED, NULL,
			    "%s/" HOOK " is there already: add this line to it: ryefs verify -q "
			    "--changed-since HEAD || exit 1",
			    path);
}

int merging_hook(struct cli *cli, json_t *made)
{
	auto_free char *prefix = git_line(cli->project, "--show-prefix", NULL);
	auto_free char *named = git_line(cli->project, "--git-path", "hooks"), *path = NULL,
		       *mend = NULL;
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_close int root = merging_open(cli->project), dir = -1;
	int sys;

	if (!in_git(cli->project) || !prefix || !named || root < 0) {
		mend = mend_with("git -C %s init", cli->project);
		return cli_complain(cli, CLI_FAILED, mend,
				    "git does not version %s: there are no commits to guard",
				    cli->project);
	}
	if (mkdirat(root, named, 0755) < 0 && errno != EEXIST)
		return cli_complain(cli, CLI_FAILED, NULL, "cannot make %s: %s", named,
				    strerror(errno));
	dir = openat(root, named, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	hook_text(prefix, &text);
	sys = text.failed ? -ENOMEM :
	      dir < 0	  ? -errno :
			    io_create_at(dir, HOOK, buf_span(&text), 0755);
	if (sys == -EEXIST)
		return hook_is_there(cli, dir, named);
	if (sys < 0)
		return cli_complain(cli, CLI_FAILED, NULL, "cannot write %s/" HOOK ": %s", named,
				    strerror(-sys));
	if (asprintf(&path, "%s/" HOOK, named) >= 0)
		json_array_append_new(made, json_string(path));
	return CLI_OK;
}
