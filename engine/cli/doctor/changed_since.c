/* SPDX-License-Identifier: MIT */
/*
 * The items that commits have changed since another one, and those that wait in git's index: what a review
 * and a commit look at. git is asked for trees and the index alone, so that no filter that a repository
 * configures is started; what is verified then is the files that lie there. What is gone is told, too: a
 * skill is not what was signed when a file of its folder, or its manifest, is missing.
 */
#include "cli/doctor/doctor.h"

#include "scope.h"
#include "str.h"

#include <string.h>

/* Plumbing, which looks at no file of the work tree, and a monitor of files is a program, too. */
#define DIFF_OPTIONS                                                                               \
	"-r", "--no-ext-diff", "--no-textconv", "--no-renames", "--relative", "--name-only", "-z", \
		"--diff-filter=ACDMT"
#define NO_MONITOR "-c", "core.fsmonitor=false"

/* ".ai/tools/my/hello.py" → the item's reference, once; what is no item's file is passed over. */
static void changed_add(const char *path, json_t *refs)
{
	static const char dir[] = ".ai/"; /* a link of that name is a path, too */
	char ref[REF_MAX];

	if (!strncmp(path, dir, strlen(dir)) && ref_from_below(path + strlen(dir), false, ref) &&
	    !json_find(refs, "ref", ref)) {
		json_t *row = json_object();

		json_sets(row, "ref", ref);
		json_array_append_new(refs, row);
	}
}

static bool changed_read(const char *const argv[], json_t *refs)
{
	auto_buf struct rye_buf names = RYE_BUF_INIT;
	bool good = outside_read(argv, &names) == 0;

	for (size_t at = 0; good && at < names.len; at += strlen(names.data + at) + 1)
		changed_add(names.data + at, refs);
	return good;
}

int changed_since(struct cli *cli, const char *base, json_t *refs)
{
	const char *find[] = { GIT,  cli->project, "merge-base", "--end-of-options",
			       base, "HEAD",	   NULL };
	auto_buf struct rye_buf answer = RYE_BUF_INIT;
	auto_free char *from = NULL;
	const char *in_git[] = { GIT, cli->project, "rev-parse", "--git-dir", NULL };
	const char *commits[] = { GIT,	cli->project, NO_MONITOR, "diff-tree", DIFF_OPTIONS,
				  NULL, "HEAD",	      "--",	  ".ai",       NULL };
	const char *waits[] = { GIT,	    cli->project, NO_MONITOR, "diff-index", DIFF_OPTIONS,
				"--cached", "HEAD",	  "--",	      ".ai",	    NULL };

	if (outside_read(find, &answer) == 0)
		from = span_dup(span_trim(buf_span(&answer)));
	if ((!from || !*from) && outside_read(in_git, &answer))
		return cli_complain(cli, CLI_USAGE, "ryefs verify",
				    "--changed-since asks git, and %s lies in no repository",
				    cli->project);
	if (!from || !*from)
		return cli_complain(cli, CLI_USAGE, "git branch --all",
				    "git has no commit in %s that %s and HEAD both come from",
				    cli->project, base);
	commits[ARRAY_SIZE(commits) - 5] = from;
	if (changed_read(commits, refs) && changed_read(waits, refs))
		return CLI_OK;
	return cli_complain(cli, CLI_FAILED, NULL, "git cannot tell what %s..HEAD changes", from);
}
