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
