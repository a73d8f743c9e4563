/* SPDX-License-Identifier: MIT */
/*
 * doctor's view of mounts that were to have their requests by io_uring and have them from /dev/fuse:
 * what is missing, by their own counters.
 */
#include "cli/doctor/doctor.h"

#include "scope.h"

#include <string.h>

static void check_said(struct findings *findings, const char *point, const char *said)
{
	static const struct {
		const char *word, *mend; /* as `io_uring` of stats.json says it */
	} rows[] = {
		{ "fuse.enable_uring is N",
		  "echo Y > /sys/module/fuse/parameters/enable_uring, as root (at boot: "
		  "fuse.enable_uring=1), and mount it again" },
		{ "this kernel does not offer it",
		  "a kernel from 6.14 on with CONFIG_FUSE_IO_URING" },
		{ "io_uring is not allowed here",
		  "sysctl kernel.io_uring_disabled=0, as root; in a container its seccomp profile" },
	};
	const char *mend = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!strcmp(said, rows[i].word))
			mend = rows[i].mend;
	finding_add(findings, FINDING_REMARK, point, mend, "io_uring is asked for and not used: %s",
		    said);
}

void rings_check(struct findings *findings, const char *point, const json_t *stats)
{
	const char *said = json_str(stats, "io_uring");

	if (said && *said && strcmp(said, "on") && strcmp(said, "off"))
		check_said(findings, point, said);
}
