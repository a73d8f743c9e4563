/* SPDX-License-Identifier: MIT */
/*
 * doctor's look at what a commit would take along that belongs to this machine. Where no git is above
 * the project there is nothing to tell.
 */
#include "cli/doctor/doctor.h"

#include "scope.h"

#include <stdlib.h>
#include <string.h>

/* path is cut to nothing. */
static bool is_in_git(char *path)
{
	char *slash;

	while ((slash = strrchr(path, '/'))) {
		auto_buf struct rye_buf git = RYE_BUF_INIT;

		buf_addf(&git, "%s/.git", path);
		if (!git.failed && !access(git.data, F_OK))
			return true;
		*slash = '\0';
	}
	return false;
}

void ignored_check(struct findings *findings)
{
	auto_free char *project = realpath(findings->cli->project, NULL);
	auto_blob struct rye_blob *lines = NULL;
	auto_free char *mend = mend_with("ryefs init %s", findings->cli->project);
	struct rye_err err = { 0 };

	if (!project || rye_uncommitted(findings->cli->rye, &lines, &err) <= 0 ||
	    !is_in_git(project))
		return;
	for (char *p = lines->data; *p; p++)
		if (*p == '\n')
			*p = p[1] ? ' ' : '\0';
	finding_add(findings, FINDING_REMARK, ".ai/.gitignore", mend,
		    "a commit would take along what belongs to this machine; not named there: %s",
		    lines->data);
}
