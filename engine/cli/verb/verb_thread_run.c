/* SPDX-License-Identifier: MIT */
/*
 * ryefs thread-run: the process that a thread is, and ryefs minder: one that outlives an engine. They
 * get their orders from the engine that started them, by descriptors; hidden, because by hand there
 * is nothing to tell them. ryefs node-work: a worker of a node, which gets its orders from the board.
 */
#include "cli/cli.h"

#include <stdlib.h>

int verb_thread_run(struct cli *cli)
{
	(void)cli;
	return rye_thread_runner();
}

int verb_minder(struct cli *cli)
{
	return cli->argc ? rye_minder(cli->argv[0]) : CLI_USAGE;
}

int verb_node_work(struct cli *cli)
{
	struct rye_err err = { 0 };
	int64_t idle_ms = cli->argc > 1 ? strtoll(cli->argv[1], NULL, 10) : 0;

	return rye_worker(cli->argv[0], idle_ms, &err) ? cli_fail(cli, &err, NULL) : 0;
}
