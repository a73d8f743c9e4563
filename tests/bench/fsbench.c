/* SPDX-License-Identifier: MIT */
/*
 * fsbench: the same file-system work on several roots, interleaved.
 *
 *   fsbench [-r ROUNDS] [-q SECONDS] [-o OP,OP…] NAME=ROOT [NAME=ROOT…]
 *
 * Every round runs each operation on every root in turn, the order rotating, so that noise
 * hits all alike. Printed: the median rate and the median of the per-round ratios to the first
 * root (the reference), with their spread. The list of files is the first root's.
 *
 *   read  warm open+read+close of every file     cold   the same after dropping caches
 *   stat  lstat of every file                    find   recursive readdir
 *   lsr   recursive readdir and lstat            grep   recursive readdir, open, read, search
 *   one   open+read+close of one file, p50/p99   first  one pass right after mounting, no warm-up
 *   save  an editor's save: temporary file, 2 KB, rename over the target
 */
#include "bench.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROOTS_MAX 16
#define BUFFER_SIZE 131072
#define ONE_ITERATIONS 20000
#define SAVES 1000

struct bench {
	char **files;
	size_t n, size;
	char *buffer;
	double *latency;
	double p50, p99;
};

struct root {
	const char *name, *path;
	double rate[BENCH_ROUNDS_MAX], p50[BENCH_ROUNDS_MAX], p99[BENCH_ROUNDS_MAX];
};

enum walk_mode { WALK_NAMES, WALK_STAT, WALK_READ, WALK_COLLECT };

static void add_file(struct bench *b, const char *path)
{
	if (b->n == b->size) {
		b->size = b->size ? b->size * 2 : 1024;
		b->files = realloc(b->files, b->size * sizeof(*b->files));
	}
	if (!b->files || !(b->files[b->n++] = strdup(path)))
		bench_die("malloc");
}

static void read_file(struct bench *b, int dir, const char *path)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		bench_die(path);
	while ((n = read(fd, b->buffer, BUFFER_SIZE)) > 0)
		;
	if (n < 0)
		bench_die(path);
	close(fd);
}

static void search_file(struct bench *b, int dir, const char *path)
{
	static const char needle[] = "needle-that-is-not-there";
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		bench_die(path);
	while ((n = read(fd, b->buffer, BUFFER_SIZE)) > 0)
		if (memmem(b->buffer, (size_t)n, needle, sizeof(needle) - 1))
			bench_die("the needle was there");
	close(fd);
}

static size_t walk(struct bench *b, int at, char *rel, enum walk_mode mode);

static size_t visit(struct bench *b, int dir, char *rel, const struct dirent *entry,
		    enum walk_mode mode)
{
	size_t old = strlen(rel), count = 1;
	int type = entry->d_type;
	struct stat st;

	snprintf(rel + old, 4096 - old, "%s%s", old ? "/" : "", entry->d_name);
	if (mode == WALK_STAT || type == DT_UNKNOWN) {
		if (fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
			bench_die(rel);
		type = S_ISDIR(st.st_mode) ? DT_DIR : S_ISREG(st.st_mode) ? DT_REG : DT_LNK;
	}
	if (type == DT_DIR) {
		int fd = openat(dir, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		count += walk(b, fd, rel, mode);
	} else if (type == DT_REG && mode == WALK_READ) {
		search_file(b, dir, entry->d_name);
	} else if (type == DT_REG && mode == WALK_COLLECT) {
		add_file(b, rel);
	}
	rel[old] = 0;
	return count;
}

/* Takes the descriptor. */
static size_t walk(struct bench *b, int at, char *rel, enum walk_mode mode)
{
	DIR *dir = at < 0 ? NULL : fdopendir(at);
	struct dirent *entry;
	size_t count = 0;

	if (!dir)
		bench_die(*rel ? rel : "root");
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			count += visit(b, at, rel, entry, mode);
	closedir(dir);
	return count;
}

static int open_root(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		bench_die(path);
	return fd;
}

static double walk_rate(struct bench *b, const char *path, enum walk_mode mode)
{
	char rel[4096] = "";
	double begin = bench_now();
	size_t count = walk(b, open_root(path), rel, mode);

	return (double)count / (bench_now() - begin);
}

static double op_find(struct bench *b, const char *path)
{
	return walk_rate(b, path, WALK_NAMES);
}

static double op_lsr(struct bench *b, const char *path)
{
	return walk_rate(b, path, WALK_STAT);
}

static double op_grep(struct bench *b, const char *path)
{
	return walk_rate(b, path, WALK_READ);
}

static double op_read(struct bench *b, const char *path)
{
	int dir = open_root(path);
	double begin = bench_now();

	for (size_t i = 0; i < b->n; i++)
		read_file(b, dir, b->files[i]);
	close(dir);
	return (double)b->n / (bench_now() - begin);
}

static double op_cold(struct bench *b, const char *path)
{
	int fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);

	sync();
	if (fd < 0 || write(fd, "3\n", 2) != 2)
		bench_die("drop_caches");
	close(fd);
	return op_read(b, path);
}

static double op_stat(struct bench *b, const char *path)
{
	int dir = open_root(path);
	double begin = bench_now();
	struct stat st;

	for (size_t i = 0; i < b->n; i++)
		if (fstatat(dir, b->files[i], &st, AT_SYMLINK_NOFOLLOW))
			bench_die(b->files[i]);
	close(dir);
	return (double)b->n / (bench_now() - begin);
}

static void percentiles(struct bench *b, size_t n)
{
	bench_sort(b->latency, n);
	b->p50 = b->latency[n / 2] * 1e6;
	b->p99 = b->latency[n * 99 / 100] * 1e6;
}

static double op_one(struct bench *b, const char *path)
{
	int dir = open_root(path);
	double begin = bench_now(), last = begin, now = begin;

	for (size_t i = 0; i < ONE_ITERATIONS; i++) {
		read_file(b, dir, b->files[b->n / 2]);
		now = bench_now();
		b->latency[i] = now - last;
		last = now;
	}
	close(dir);
	percentiles(b, ONE_ITERATIONS);
	return ONE_ITERATIONS / (now - begin);
}

static void save_once(const struct bench *b, int dir, size_t i)
{
	char temp[64], target[64];
	int fd;

	snprintf(temp, sizeof(temp), "bench-%zu.tmp", i);
	snprintf(target, sizeof(target), "bench-%zu.txt", i % 16);
	fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, b->buffer, 2048) != 2048 || close(fd) ||
	    renameat(dir, temp, dir, target))
		bench_die(temp);
}

static double op_save(struct bench *b, const char *path)
{
	int dir = open_root(path);
	double begin = bench_now(), last = begin, now = begin;
	char target[64];

	for (size_t i = 0; i < SAVES; i++) {
		save_once(b, dir, i);
		now = bench_now();
		b->latency[i] = now - last;
		last = now;
	}
	for (int i = 0; i < 16; i++) {
		snprintf(target, sizeof(target), "bench-%d.txt", i);
		unlinkat(dir, target, 0);
	}
	close(dir);
	percentiles(b, SAVES);
	return SAVES / (now - begin);
}

struct op {
	const char *name;
	double (*run)(struct bench *b, const char *path); /* operations a second */
	bool warm; /* one unmeasured round first */
};

static const struct op ops[] = {
	{ "cold", op_cold, false }, { "find", op_find, true }, { "first", op_read, false },
	{ "grep", op_grep, true },  { "lsr", op_lsr, true },   { "one", op_one, true },
	{ "read", op_read, true },  { "save", op_save, true }, { "stat", op_stat, true },
};

static const struct op *find_op(const char *name)
{
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (!strcmp(ops[i].name, name))
			return &ops[i];
	fprintf(stderr, "fsbench: unknown operation %s\n", name);
	_exit(2);
}

static void report(const struct op *op, const struct root *roots, int n, int rounds)
{
	for (int i = 0; i < n; i++) {
		double ratio[BENCH_ROUNDS_MAX], rate = bench_median(roots[i].rate, (size_t)rounds);

		for (int k = 0; k < rounds; k++)
			ratio[k] = roots[i].rate[k] / roots[0].rate[k];
		bench_sort(ratio, (size_t)rounds);
		printf("%-6s %-12s %11.0f %9.2f %8.3f  %6.3f..%-6.3f %9.2f %9.2f\n", op->name,
		       roots[i].name, rate, 1e6 / rate, bench_median(ratio, (size_t)rounds),
		       ratio[0], ratio[rounds - 1], bench_median(roots[i].p50, (size_t)rounds),
		       bench_median(roots[i].p99, (size_t)rounds));
	}
	fflush(stdout);
}

static void measure(struct bench *b, const struct op *op, struct root *roots, int n, int rounds)
{
	for (int k = op->warm ? -1 : 0; k < rounds; k++)
		for (int q = 0; q < n; q++) {
			int i = (q + (k > 0 ? k : 0)) % n, at = k < 0 ? 0 : k;

			b->p50 = b->p99 = 0;
			roots[i].rate[at] = op->run(b, roots[i].path);
			roots[i].p50[at] = b->p50;
			roots[i].p99[at] = b->p99;
		}
	report(op, roots, n, rounds);
}

static int read_roots(char **argv, struct root *roots)
{
	int n = 0;

	for (; *argv && n < ROOTS_MAX; argv++, n++) {
		char *equals = strchr(*argv, '=');

		if (!equals)
			return 0;
		*equals = 0;
		roots[n].name = *argv;
		roots[n].path = equals + 1;
	}
	return n;
}

int main(int argc, char **argv)
{
	static struct root roots[ROOTS_MAX];
	char *wanted = strdup("read,stat,find,lsr,grep,one"), *save = NULL, rel[4096] = "";
	struct bench b = { .buffer = calloc(1, BUFFER_SIZE),
			   .latency = calloc(ONE_ITERATIONS, sizeof(double)) };
	int rounds = 5, n, option;
	double quiet = 0;

	while ((option = getopt(argc, argv, "r:q:o:")) != -1) {
		if (option == 'r')
			rounds = atoi(optarg);
		else if (option == 'q')
			quiet = atof(optarg);
		else if (option == 'o')
			wanted = optarg;
		else
			return 2;
	}
	n = read_roots(argv + optind, roots);
	if (!n || rounds < 1 || rounds > BENCH_ROUNDS_MAX || !b.buffer || !b.latency) {
		fprintf(stderr, "usage: fsbench [-r ROUNDS] [-q SECONDS] [-o OPS] NAME=ROOT…\n");
		return 2;
	}
	walk(&b, open_root(roots[0].path), rel, WALK_COLLECT);
	printf("# %zu files, %d rounds; ratio: median of per-round ratios to %s (min..max)\n", b.n,
	       rounds, roots[0].name);
	printf("%-6s %-12s %11s %9s %8s  %-14s %9s %9s\n", "op", "fs", "ops/s", "us/op", "ratio",
	       "min..max", "p50us", "p99us");
	for (char *op = strtok_r(wanted, ",", &save); op; op = strtok_r(NULL, ",", &save)) {
		bench_quiet(quiet);
		measure(&b, find_op(op), roots, n, rounds);
	}
	return 0;
}
