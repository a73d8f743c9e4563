/* SPDX-License-Identifier: MIT */
/*
 * ryefs thread-run: the process that a thread is, and ryefs minder: one that outlives an engine. They
 * get their orders from the engine that started them, by descriptors; hidden, because by hand there
 * is nothing to tell them.
 */
#include "cli/cli.h"

int verb_thread_run(struct cli *cli)
{
	(void)cli;
	return rye_thread_runner();
}

int verb_minder(struct cli *cli)
{
	return cli->argc ? rye_minder(cli->argv[0]) : CLI_USAGE;
}
