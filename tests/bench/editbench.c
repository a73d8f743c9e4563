/* SPDX-License-Identifier: MIT */
/*
 * editbench: from an editor's save of the source to the new bytes in the mount.
 *
 *   editbench [-n EDITS] NAME VERSION-A VERSION-B SOURCE VIEW
 *
 * A and B are two signed versions of one item that differ in their last bytes. Each edit puts
 * one of them over SOURCE (temporary file and rename) and reads VIEW again and again until it
 * ends like the new one. Printed for report.py: "edit NAME MICROSECONDS", the median,
 * "edit-p90 NAME MICROSECONDS" and "edit-p99 NAME MICROSECONDS".
 */
#include "bench.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIZE_MAX_FILE 65536
#define TAIL 16
#define GIVE_UP_S 5.0

struct version {
	char bytes[SIZE_MAX_FILE];
	size_t len;
};

static size_t slurp(const char *path, char *bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, bytes, SIZE_MAX_FILE);

	if (fd >= 0)
		close(fd);
	return n < 0 ? 0 : (size_t)n;
}

static void save(const char *path, const struct version *version)
{
	char temp[4200];
	int fd;

	snprintf(temp, sizeof(temp), "%s.saving", path);
	fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, version->bytes, version->len) != (ssize_t)version->len ||
	    close(fd) || rename(temp, path))
		bench_die(path);
}

static bool shows(const char *view, const struct version *version)
{
	static char seen[SIZE_MAX_FILE];
	size_t n = slurp(view, seen);

	return n >= TAIL && !memcmp(seen + n - TAIL, version->bytes + version->len - TAIL, TAIL);
}

static double edit(const char *source, const char *view, const struct version *version)
{
	double begin;

	save(source, version);
	begin = bench_now(); /* the rename is done: from here on the old bytes are wrong */
	while (!shows(view, version)) {
		/* A reader that never pauses takes a processor from those it waits for. */
		usleep(20);
		if (bench_now() - begin > GIVE_UP_S) {
			fprintf(stderr, "editbench: %s still shows the old bytes\n", view);
			_exit(1);
		}
	}
	return (bench_now() - begin) * 1e6;
}

int main(int argc, char **argv)
{
	static struct version versions[2];
	int n = 500, option;
	double *us;

	while ((option = getopt(argc, argv, "n:")) != -1) {
		if (option != 'n')
			return 2;
		n = atoi(optarg);
	}
	if (argc - optind != 5 || n < 1) {
		fprintf(stderr, "usage: editbench [-n EDITS] NAME A B SOURCE VIEW\n");
		return 2;
	}
	for (int i = 0; i < 2; i++) {
		versions[i].len = slurp(argv[optind + 1 + i], versions[i].bytes);
		if (versions[i].len < TAIL)
			bench_die(argv[optind + 1 + i]);
	}
	us = calloc((size_t)n, sizeof(*us));
	if (!us)
		bench_die("calloc");
	for (int i = 0; i < n; i++) {
		us[i] = edit(argv[optind + 3], argv[optind + 4], &versions[i & 1]);
		usleep(2000);
	}
	bench_sort(us, (size_t)n);
	printf("edit %s %.3f\n", argv[optind], us[n / 2]);
	printf("edit-p90 %s %.3f\n", argv[optind], us[n * 9 / 10]);
	printf("edit-p99 %s %.3f\n", argv[optind], us[n * 99 / 100]);
	free(us);
	return 0;
}
