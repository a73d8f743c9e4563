/* SPDX-License-Identifier: MIT */
/*
 * main.c - where the program begins.
 *
 * Owns argv and the environment. The first word decides between a verb and a mount: `ryefs
 * SOURCE MOUNTPOINT …`, `ryefs mount …` and what mount(8) hands over are mounts; everything the
 * verbs' table knows, --help and --version among it, is theirs. The only file that may call
 * exit().
 */
#include "core/ctl.h"
#include "mount/mount.h"
#include "session.h"

#include <rye/ryefs.h>
#include <rye/rye.h>

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

/*
 * From this size on an allocation is a mapping of its own, which goes back to the system when it
 * is freed. glibc would raise the bound by itself to the size of the first big message and keep
 * all later ones.
 */
#define BIG_ALLOCATION (1 << 20)
/*
 * glibc would give every thread a heap of its own, eight for each processor: what one thread frees
 * is of no use to another then. Two are enough for the threads that serve requests.
 */
#define ARENAS 2

/* Their texts on the heap; NULL: out of memory. */
static char **copied_environment(size_t n)
{
	char **copy = calloc(n + 1, sizeof(*copy));
	size_t copied = 0;

	while (copy && copied < n && (copy[copied] = strdup(environ[copied])))
		copied++;
	if (copied == n)
		return copy;
	while (copied)
		free(copy[--copied]);
	free(copy);
	return NULL;
}

/*
 * A tool may read /proc/PID/environ of the process that started it, as root even from a sandbox,
 * but must learn no variable except those it was given (docs/security.md). So our variables are
 * copied to the heap, and the memory that /proc shows is wiped. The list itself is the C library's:
 * setenv would leave one of ours behind.
 */
static void hide_environment(void)
{
	char **old = environ, **copy;
	size_t n = 0, put;

	while (old[n])
		n++;
	copy = copied_environment(n);
	/* out of memory before the mount begins: go on with the environment as it is */
	if (!copy || clearenv())
		return;
	/* from the last on: of two with one name the first counts */
	for (put = n; put && putenv(copy[put - 1]) == 0;)
		put--;
	free(copy);
	if (put) {
		environ = old;
		return;
	}
	for (size_t i = 0; i < n; i++)
		explicit_bzero(old[i], strlen(old[i]));
}

static int main_mount(int argc, char **argv)
{
	struct options opt;
	struct rye_err err = { 0 };
	int status = 2;

	/* started as /proc/self/exe */
	if (strcmp(argv[1], AGAIN_WORD) == 0)
		prctl(PR_SET_NAME, "ryefs");
	mallopt(M_MMAP_THRESHOLD, BIG_ALLOCATION);
	mallopt(M_ARENA_MAX, ARENAS);
	if (options_parse(argc, argv, &opt, &err))
		fprintf(stderr, "ryefs: %s\nmend with: ryefs mount --help\n", err.msg);
	else
		status = session_run(&opt);
	options_done(&opt);
	return status;
}

/* A word that is no path is a verb that does not exist, whatever follows. */
static bool is_mount(int argc, char **argv)
{
	if (argc < 2 || rye_cli_knows(argv[1]))
		return false;
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			return false;
	if (argc == 3 && (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0))
		return false;
	if (rye_cli_early(argc, argv))
		return false;
	if (strcmp(argv[1], "mount") == 0 || strcmp(argv[1], AGAIN_WORD) == 0 || argv[1][0] == '-')
		return true;
	return argc > 2 && (strchr(argv[1], '/') || access(argv[1], F_OK) == 0);
}

int main(int argc, char **argv)
{
	const struct rlimit none = { 0, 0 };

	/* a core would have keys in it, and lie where tools read */
	setrlimit(RLIMIT_CORE, &none);
	hide_environment();
	return is_mount(argc, argv) ? main_mount(argc, argv) :
				      rye_cli_main(argc, argv, ctl_is_name);
}
