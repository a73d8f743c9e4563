/* SPDX-License-Identifier: MIT */
/*
 * fsbench: the same file-system work on several roots, one round of it.
 *
 *   fsbench [-r ROUND] [-q SECONDS] [-o OP,OP…] NAME=ROOT [NAME=ROOT…]
 *
 * Runs each operation on every root in turn, in an order that the number of the round turns, so
 * that noise hits all alike. Printed is "OP NAME MICROSECONDS" for one file, for report.py; beside
 * each operation also what one bare request costs (trip.c). The list of files is the first root's.
 *
 *   read  warm open+read+close of every file     cold   the same after dropping caches
 *   stat  lstat of every file                    find   recursive readdir
 *   lsr   recursive readdir and lstat            grep   recursive readdir, open, read, search
 *   one   open+read+close of one file           first  one pass right after mounting, no warm-up
 *   save  an editor's save of NAME.md: a temporary file that begins with a dot (.goutputstream-…,
 *         as GLib's), 2 KB, rename over the target
 *   save-tmp  the same with NAME.md.tmp.NUMBER, as agents' editors do
 *
 * one and the saves are medians of many, the others means over all files. "per-OP NAME" is how many
 * requests of the kernel one file cost.
 */
#include "bench.h"
#include "trip.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROOTS_MAX 16
#define BUFFER_SIZE 131072
#define ONE_ITERATIONS 4000
#define SAVES 100
#define PASSES_MAX 32
#define PASSES_S 0.2

struct bench {
	char **files;
	size_t n, size;
	char *buffer;
	double *latency;
};

struct root {
	const char *name, *path;
	char *mount; /* of ryefs; NULL for others */
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

static double walk_cost(struct bench *b, const char *path, enum walk_mode mode)
{
	char rel[4096] = "";
	double begin = bench_now();
	size_t count = walk(b, open_root(path), rel, mode);

	return (bench_now() - begin) * 1e6 / (double)count;
}

static double op_find(struct bench *b, const char *path)
{
	return walk_cost(b, path, WALK_NAMES);
}

static double op_lsr(struct bench *b, const char *path)
{
	return walk_cost(b, path, WALK_STAT);
}

static double op_grep(struct bench *b, const char *path)
{
	return walk_cost(b, path, WALK_READ);
}

static double op_read(struct bench *b, const char *path)
{
	int dir = open_root(path);
	double begin = bench_now();

	for (size_t i = 0; i < b->n; i++)
		read_file(b, dir, b->files[i]);
	close(dir);
	return (bench_now() - begin) * 1e6 / (double)b->n;
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
	return (bench_now() - begin) * 1e6 / (double)b->n;
}

static double op_one(struct bench *b, const char *path)
{
	int dir = open_root(path);
	double last = bench_now(), now;

	for (size_t i = 0; i < ONE_ITERATIONS; i++) {
		read_file(b, dir, b->files[b->n / 2]);
		now = bench_now();
		b->latency[i] = now - last;
		last = now;
	}
	close(dir);
	return bench_median(b->latency, ONE_ITERATIONS) * 1e6;
}

static void save_once(const struct bench *b, int dir, const char *name, size_t i)
{
	char temp[64], target[64];
	int fd;

	snprintf(target, sizeof(target), "saved-%zu.md", i % 16);
	snprintf(temp, sizeof(temp), "%s%06zu", name, i);
	fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, b->buffer, 2048) != 2048 || close(fd) ||
	    renameat(dir, temp, dir, target))
		bench_die(temp);
}

static double save_many(struct bench *b, const char *path, const char *name)
{
	int dir = open_root(path);
	double last = bench_now(), now;

	for (size_t i = 0; i < SAVES; i++) {
		save_once(b, dir, name, i);
		now = bench_now();
		b->latency[i] = now - last;
		last = now;
	}
	close(dir);
	return bench_median(b->latency, SAVES) * 1e6;
}

static double op_save(struct bench *b, const char *path)
{
	return save_many(b, path, ".goutputstream-");
}

static double op_save_tmp(struct bench *b, const char *path)
{
	return save_many(b, path, "saved.md.tmp.");
}

static void clean_saves(const char *path)
{
	int dir = open_root(path);
	char target[64];

	for (int i = 0; i < 16; i++) {
		snprintf(target, sizeof(target), "saved-%d.md", i);
		unlinkat(dir, target, 0);
	}
	close(dir);
}

struct op {
	const char *name;
	double (*run)(struct bench *b, const char *path); /* microseconds for one */
	bool warm; /* one unmeasured pass first */
	size_t times; /* of one pass; 0: once for each file */
	void (*clean)(const char *path); /* at the end, or NULL */
};

static const struct op ops[] = {
	{ "cold", op_cold, false, 0, NULL },
	{ "find", op_find, true, 0, NULL },
	{ "first", op_read, false, 0, NULL },
	{ "grep", op_grep, true, 0, NULL },
	{ "lsr", op_lsr, true, 0, NULL },
	{ "one", op_one, true, ONE_ITERATIONS, NULL },
	{ "read", op_read, true, 0, NULL },
	{ "save", op_save, true, SAVES, clean_saves },
	{ "save-tmp", op_save_tmp, true, SAVES, clean_saves },
	{ "stat", op_stat, true, 0, NULL },
};

static const struct op *find_op(const char *name)
{
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (!strcmp(ops[i].name, name))
			return &ops[i];
	fprintf(stderr, "fsbench: unknown operation %s\n", name);
	_exit(2);
}

static void measure_trips(const struct root *roots, int n, int round)
{
	for (int i = 0; i < n; i++) {
		const struct root *root = &roots[(i + round) % n];

		if (root->mount)
			trip_measure(root->name, root->mount, 0);
	}
}

/* Several passes, root after root in each: one pass over few files is over before the scheduler
 * looks, and a disk that is slow for a while is slow for all. */
static void run_passes(struct bench *b, const struct op *op, const struct root *roots, int n,
		       int round)
{
	static double us[ROOTS_MAX][PASSES_MAX];
	double end = bench_now() + PASSES_S * n;
	struct trip_meter meters[ROOTS_MAX];
	size_t pass = 0;

	for (int i = 0; i < n; i++)
		if (roots[i].mount)
			trip_meter_begin(&meters[i], roots[i].mount);
	do {
		for (int i = 0; i < n; i++) {
			int turn = (i + round + (int)pass) % n;

			us[turn][pass] = op->run(b, roots[turn].path);
		}
		pass++;
	} while (op->warm && pass < PASSES_MAX && bench_now() < end);
	for (int i = 0; i < n; i++) {
		printf("%s %s %.3f\n", op->name, roots[i].name, bench_median(us[i], pass));
		if (roots[i].mount)
			printf("per-%s %s %.3f\n", op->name, roots[i].name,
			       trip_meter_end(&meters[i], pass * (op->times ? op->times : b->n)));
	}
	fflush(stdout);
}

static void measure(struct bench *b, const struct op *op, const struct root *roots, int n,
		    int round)
{
	measure_trips(roots, n, round);
	for (int i = 0; i < n && op->warm; i++)
		op->run(b, roots[i].path);
	run_passes(b, op, roots, n, round);
	for (int i = 0; i < n && op->clean; i++)
		op->clean(roots[i].path);
	measure_trips(roots, n, round);
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
		roots[n].mount = trip_mount(equals + 1);
	}
	return n;
}

int main(int argc, char **argv)
{
	static struct root roots[ROOTS_MAX];
	char *wanted = strdup("read,stat,find,lsr,grep,one"), *save = NULL, rel[4096] = "";
	struct bench b = { .buffer = calloc(1, BUFFER_SIZE),
			   .latency = calloc(ONE_ITERATIONS, sizeof(double)) };
	int round = 0, n, option;
	double quiet = 0;

	while ((option = getopt(argc, argv, "r:q:o:")) != -1) {
		if (option == 'r')
			round = atoi(optarg);
		else if (option == 'q')
			quiet = atof(optarg);
		else if (option == 'o')
			wanted = optarg;
		else
			return 2;
	}
	n = read_roots(argv + optind, roots);
	if (!n || round < 0 || !b.buffer || !b.latency) {
		fprintf(stderr, "usage: fsbench [-r ROUND] [-q SECONDS] [-o OPS] NAME=ROOT…\n");
		return 2;
	}
	memset(b.buffer, '\n', BUFFER_SIZE);
	walk(&b, open_root(roots[0].path), rel, WALK_COLLECT);
	printf("# %zu files\n", b.n);
	for (char *op = strtok_r(wanted, ",", &save); op; op = strtok_r(NULL, ",", &save)) {
		bench_quiet(quiet);
		measure(&b, find_op(op), roots, n, round);
	}
	return 0;
}
