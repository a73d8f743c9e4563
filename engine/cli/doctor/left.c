/* SPDX-License-Identifier: MIT */
/*
 * doctor's look at what killed processes have left on disk. The next mount removes it by itself, so
 * this is a remark.
 */
#include "cli/doctor/doctor.h"

#include "scope.h"

struct left_seen {
	struct findings *findings;
	struct rye_buf first;
};

static int left_note(void *arg, const char *path)
{
	struct left_seen *seen = arg;

	if (!seen->first.len)
		buf_adds(&seen->first, path);
	return 0;
}

void left_check(struct findings *findings)
{
	auto_buf struct rye_buf first = RYE_BUF_INIT;
	struct left_seen seen = { .findings = findings };
	size_t n = rye_left(findings->cli->rye, false, left_note, &seen);

	first = seen.first;
	if (n && !first.failed)
		finding_add(findings,
			    FINDING(REMARK, first.data, "mount the project: that removes it"),
			    "left behind by a process that was killed%s",
			    n > 1 ? ", and more" : "");
}
