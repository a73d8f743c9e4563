/* SPDX-License-Identifier: MIT */
/*
 * One bare FUSE round trip: a system call that the kernel turns into one request and that the
 * daemon answers without work. There are several such calls; each is counted by the daemon's own
 * counters before it is timed, since a request more or less would change every ratio.
 */
#include "trip.h"

#include "bench.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define CALLS 200
#define IDLE_CALLS 50
#define PATH_SIZE 4096
#define STATS_SIZE 8192

struct trip_place {
	const char *mount;
	int file; /* content, its attributes are known to the kernel */
	int dir; /* an item's directory: its control files are never remembered */
	useconds_t pause_us;
};

static void call_fsync(const struct trip_place *place)
{
	if (fsync(place->file))
		bench_die("fsync");
}

static void call_lseek(const struct trip_place *place)
{
	if (lseek(place->file, 0, SEEK_DATA) != 0)
		bench_die("lseek");
}

static void call_statfs(const struct trip_place *place)
{
	struct statvfs st;

	if (fstatvfs(place->file, &st))
		bench_die("fstatvfs");
}

static void call_lookup(const struct trip_place *place)
{
	struct stat st;

	if (fstatat(place->dir, "run", &st, 0))
		bench_die("stat of run");
}

static const struct trip_kind {
	const char *name;
	void (*call)(const struct trip_place *place);
} kinds[] = {
	{ "fsync", call_fsync },
	{ "lookup", call_lookup },
	{ "lseek", call_lseek },
	{ "statfs", call_statfs },
};

char *trip_mount(const char *path)
{
	char *mount = strdup(path), probe[PATH_SIZE];

	while (mount && *mount) {
		char *slash = strrchr(mount, '/');

		snprintf(probe, sizeof(probe), "%s/.ryefs/stats.json", mount);
		if (!access(probe, F_OK))
			return mount;
		*(slash ? slash : mount) = 0;
	}
	free(mount);
	return NULL;
}

/* Requests that the kernel waits for: forgets and our own invalidations are none. */
static long requests(const char *mount)
{
	static const char *const waited[] = {
		"lookup", "getattr", "setattr", "readlink", "open",	   "opendir",
		"flush",  "read",    "write",	"readdir",  "readdirplus", "create",
		"make",	  "remove",  "rename",	"xattr",    "other",	   "release",
	};
	char path[PATH_SIZE], text[STATS_SIZE], key[32];
	long sum = 0;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/.ryefs/stats.json", mount);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		bench_die(path);
	close(fd);
	text[n] = 0;
	for (size_t i = 0; i < sizeof(waited) / sizeof(waited[0]); i++) {
		const char *at;

		snprintf(key, sizeof(key), "\"%s\":", waited[i]);
		at = strstr(text, key);
		sum += at ? strtol(at + strlen(key), NULL, 10) : 0;
	}
	return sum;
}

/* What CALLS of them cost, without what reading the counters costs. */
static long count(const struct trip_kind *kind, const struct trip_place *place)
{
	long before, empty, after;

	requests(place->mount);
	before = requests(place->mount);
	empty = requests(place->mount) - before;
	before += empty;
	for (int i = 0; i < CALLS; i++)
		kind->call(place);
	after = requests(place->mount);
	return after - before - empty;
}

static double time_one(const struct trip_kind *kind, const struct trip_place *place,
		       useconds_t pause_us)
{
	const int calls = pause_us ? IDLE_CALLS : CALLS;
	double us[CALLS];

	for (int i = 0; i < calls; i++) {
		double begin;

		usleep(pause_us);
		begin = bench_now();
		kind->call(place);
		us[i] = (bench_now() - begin) * 1e6;
	}
	return bench_median(us, (size_t)calls);
}

static void print_one(const struct trip_kind *kind, const struct trip_place *place,
		      const char *name)
{
	long n = (kind->call(place), count(kind, place));

	if (n != CALLS) {
		printf("requests%ld-%s %s %.3f\n", n / CALLS, kind->name, name,
		       time_one(kind, place, 0));
		return;
	}
	printf("trip-%s %s %.3f\n", kind->name, name, time_one(kind, place, 0));
	if (place->pause_us)
		printf("idle-%s %s %.3f\n", kind->name, name,
		       time_one(kind, place, place->pause_us));
}

void trip_measure(const char *name, const char *mount, useconds_t pause_us)
{
	struct trip_place place = { .mount = mount, .pause_us = pause_us };
	char path[PATH_SIZE];

	snprintf(path, sizeof(path), "%s/knowledge/bench/noop.md", mount);
	place.file = open(path, O_RDONLY | O_CLOEXEC);
	if (place.file < 0)
		bench_die(path);
	snprintf(path, sizeof(path), "%s/knowledge/bench/noop", mount);
	place.dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (place.dir < 0)
		bench_die(path);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		print_one(&kinds[i], &place, name);
	close(place.file);
	close(place.dir);
	fflush(stdout);
}
