/* SPDX-License-Identifier: MIT */
/*
 * One bare FUSE round trip: a system call that the kernel turns into one request and that the
 * daemon answers without work. The unit is the LOOKUP of a name that is not there and that the
 * kernel does not remember; beside it stand a few others. Each is counted by the daemon's own
 * counters before it is timed, since a request more or less would change every ratio.
 */
#include "trip.h"

#include "bench.h"

#include <errno.h>
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
	int spaces; /* spaces/system: what is not there is not remembered either */
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

	if (!fstatat(place->spaces, "no-such-bundle", &st, 0) || errno != ENOENT)
		bench_die("stat of spaces/system/no-such-bundle");
}

static void call_run(const struct trip_place *place)
{
	struct stat st;

	if (fstatat(place->dir, "run", &st, 0))
		bench_die("stat of run");
}

static const struct trip_kind {
	const char *name;
	void (*call)(const struct trip_place *place);
} kinds[] = {
	{ "lookup", call_lookup }, { "fsync", call_fsync }, { "lseek", call_lseek },
	{ "statfs", call_statfs }, { "run", call_run },
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

void trip_meter_begin(struct trip_meter *meter, const char *mount)
{
	long first;

	requests(mount);
	first = requests(mount);
	meter->mount = mount;
	meter->before = requests(mount);
	meter->own = meter->before - first;
}

double trip_meter_end(const struct trip_meter *meter, size_t calls)
{
	return (double)(requests(meter->mount) - meter->before - meter->own) / (double)calls;
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
	struct trip_meter meter;
	double n;

	kind->call(place);
	trip_meter_begin(&meter, place->mount);
	for (int i = 0; i < CALLS; i++)
		kind->call(place);
	n = trip_meter_end(&meter, CALLS);
	if (n != 1) {
		printf("requests%.0f-%s %s %.3f\n", n, kind->name, name, time_one(kind, place, 0));
		return;
	}
	printf("trip-%s %s %.3f\n", kind->name, name, time_one(kind, place, 0));
	if (place->pause_us)
		printf("idle-%s %s %.3f\n", kind->name, name,
		       time_one(kind, place, place->pause_us));
}

static int open_place(const char *mount, const char *tail)
{
	char path[PATH_SIZE];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", mount, tail);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		bench_die(path);
	return fd;
}

void trip_measure(const char *name, const char *mount, useconds_t pause_us)
{
	const struct trip_place place = {
		.mount = mount,
		.pause_us = pause_us,
		.file = open_place(mount, "knowledge/bench/noop.md"),
		.dir = open_place(mount, "knowledge/bench/noop"),
		.spaces = open_place(mount, "spaces/system"),
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		print_one(&kinds[i], &place, name);
	close(place.file);
	close(place.dir);
	close(place.spaces);
	fflush(stdout);
}
