/* SPDX-License-Identifier: MIT */
/*
 * main.c - where the program begins.
 *
 * Owns argv. It answers --version and refuses everything else; the mount and
 * the verbs are not in this binary yet. The only file that may call exit().
 */
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		printf("ryefs %s\n", RYE_VERSION);
		return 0;
	}
	fprintf(stderr, "ryefs: this build answers only --version\n");
	return 2;
}
