/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into ryefs by tests/e2e/agent_lib.sh: while there is the file that HOLD_START names, the process
 * of a new thread waits before its main, as on a machine that gives it no time.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HOLD_LOOKS 6000

__attribute__((constructor)) static void hold_start(int argc, char **argv)
{
	const struct timespec pause = { 0, 10000000 };
	const char *path = getenv("HOLD_START");

	if (!path || argc < 2 || strcmp(argv[1], "thread-run") != 0)
		return;
	for (int i = 0; i < HOLD_LOOKS && !access(path, F_OK); i++)
		nanosleep(&pause, NULL);
}
