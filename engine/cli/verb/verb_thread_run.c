/* SPDX-License-Identifier: MIT */
/*
 * ryefs thread-run: the process that a thread is. It gets its orders from the engine that
 * launched it, by descriptors; hidden, because by hand there is nothing to tell it.
 */
#include "cli/cli.h"

int verb_thread_run(struct cli *cli)
{
	(void)cli;
	return rye_thread_runner();
}
