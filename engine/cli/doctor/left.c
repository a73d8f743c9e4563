/* SPDX-License-Identifier: MIT */
/*
 * doctor's look at what killed processes have left on disk, threads without an end among it. The next
 * mount removes or records it by itself, so these are remarks.
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
	auto_buf struct rye_buf first = RYE_BUF_INIT, lost = RYE_BUF_INIT;
	struct left_seen seen = { .findings = findings };
	size_t n = rye_left(findings->cli->rye, false, left_note, &seen);

	first = seen.first;
	if (n && !first.failed)
		finding_add(findings, FINDING_REMARK, first.data,
			    "mount the project: that removes it",
			    "left behind by a process that was killed%s",
			    n > 1 ? ", and more" : "");
	seen.first = RYE_BUF_INIT;
	n = rye_thread_lost(findings->cli->rye, left_note, &seen);
	lost = seen.first;
	if (n && !lost.failed)
		finding_add(findings, FINDING_REMARK, lost.data,
			    "ryefs threads list: that records it",
			    "%zu %s no process any more, and no end yet", n,
			    n > 1 ? "threads have" : "thread has");
}
