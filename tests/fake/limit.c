/* SPDX-License-Identifier: MIT */
/*
 * limit SECONDS COMMAND...: becomes the command, which dies of SIGALRM if it takes longer: `timeout`
 * without a process that stands beside it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: limit SECONDS COMMAND...\n");
		return 2;
	}
	alarm((unsigned)atoi(argv[1]));
	execvp(argv[2], argv + 2);
	fprintf(stderr, "limit: %s: %s\n", argv[2], strerror(errno));
	return errno == ENOENT ? 127 : 126;
}
