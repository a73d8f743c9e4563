/* SPDX-License-Identifier: MIT */
/*
 * runbench: what a run costs through the mount, side by side with doing it natively.
 *
 *   runbench [-r ROUNDS] [-n CALLS] MOUNT
 *
 * Looks for bench/noop (knowledge), bench/true (a process tool) and bench/fn (a Python
 * function) in the mount; scripts/bench makes them. Interleaved rounds, median µs and p99:
 *
 *   held       message and reply on a descriptor that stays open (knowledge: nothing to start)
 *   open       open, write, close of the same `run`
 *   process    a tool that runs /bin/true     against posix_spawn + wait of /bin/true
 *   python     a python/function tool, warm   against python3 -c pass
 */
#include "bench.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define KINDS 6
#define PATH_SIZE 4096

struct sample {
	const char *name;
	void (*once)(const char *mount);
	useconds_t pause_us; /* before each call: the pool warms the next interpreter meanwhile */
	int share; /* calls per round are divided by it: slow ones run less often */
	double p50[BENCH_ROUNDS_MAX], p99[BENCH_ROUNDS_MAX];
};

static int open_run(const char *mount, const char *item)
{
	char path[PATH_SIZE];
	int fd;

	snprintf(path, sizeof(path), "%s/%s/run", mount, item);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		bench_die(path);
	return fd;
}

static void send_message(int fd, const char *item)
{
	if (write(fd, "{}\n", 3) != 3)
		bench_die(item);
}

static void open_noop(const char *mount)
{
	int fd = open_run(mount, "knowledge/bench/noop");

	send_message(fd, "knowledge/bench/noop/run");
	close(fd);
}

static void run_process(const char *mount)
{
	int fd = open_run(mount, "tools/bench/true");

	send_message(fd, "tools/bench/true/run");
	close(fd);
}

static void run_python(const char *mount)
{
	int fd = open_run(mount, "tools/bench/fn");

	send_message(fd, "tools/bench/fn/run");
	close(fd);
}

static void spawn(char *const argv[])
{
	extern char **environ;
	int status;
	pid_t pid;

	if (posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) ||
	    waitpid(pid, &status, 0) != pid || status)
		bench_die(argv[0]);
}

static void native_process(const char *mount)
{
	char program[] = "/bin/true";
	char *const argv[] = { program, NULL };

	(void)mount;
	spawn(argv);
}

static void native_python(const char *mount)
{
	char program[] = "/usr/bin/python3", dash_c[] = "-c", pass[] = "pass";
	char *const argv[] = { program, dash_c, pass, NULL };

	(void)mount;
	spawn(argv);
}

static void summarise(struct sample *sample, int round, double *us, size_t n)
{
	bench_sort(us, n);
	sample->p50[round] = us[n / 2];
	sample->p99[round] = us[n * 99 / 100];
}

static void run_round(struct sample *sample, const char *mount, int round, size_t calls)
{
	size_t n = calls / (size_t)sample->share + 1;
	double *us = calloc(n, sizeof(*us));

	if (!us)
		bench_die("calloc");
	sample->once(mount);
	for (size_t i = 0; i < n; i++) {
		double begin;

		usleep(sample->pause_us);
		begin = bench_now();
		sample->once(mount);
		us[i] = (bench_now() - begin) * 1e6;
	}
	summarise(sample, round, us, n);
	free(us);
}

/* The descriptor is the conversation: opened once, message and reply again and again. */
static void held_round(struct sample *sample, const char *mount, int round, size_t calls)
{
	int fd = open_run(mount, "knowledge/bench/noop");
	double *us = calloc(calls, sizeof(*us));
	char reply[65536];

	if (!us)
		bench_die("calloc");
	for (size_t i = 0; i < calls; i++) {
		double begin = bench_now();

		send_message(fd, "knowledge/bench/noop/run");
		if (read(fd, reply, sizeof(reply)) <= 0)
			bench_die("no reply");
		us[i] = (bench_now() - begin) * 1e6;
	}
	close(fd);
	summarise(sample, round, us, calls);
	free(us);
}

static void report(const struct sample *sample, const struct sample *reference, int rounds)
{
	double ratio[BENCH_ROUNDS_MAX];

	printf("%-22s p50 %9.1f us  p99 %9.1f us", sample->name,
	       bench_median(sample->p50, (size_t)rounds),
	       bench_median(sample->p99, (size_t)rounds));
	if (reference) {
		for (int k = 0; k < rounds; k++)
			ratio[k] = sample->p50[k] / reference->p50[k];
		printf("  %.2f x %s", bench_median(ratio, (size_t)rounds), reference->name);
	}
	printf("\n");
}

int main(int argc, char **argv)
{
	static struct sample samples[KINDS] = {
		{ .name = "held", .share = 1 },
		{ .name = "open+write+close", .once = open_noop, .share = 1 },
		{ .name = "process tool", .once = run_process, .share = 4 },
		{ .name = "posix_spawn", .once = native_process, .share = 4 },
		{ .name = "python function", .once = run_python, .pause_us = 40000, .share = 20 },
		{ .name = "python3 -c pass", .once = native_python, .share = 20 },
	};
	int rounds = 5, option;
	size_t calls = 400;

	while ((option = getopt(argc, argv, "r:n:")) != -1) {
		if (option == 'r')
			rounds = atoi(optarg);
		else if (option == 'n')
			calls = (size_t)atoi(optarg);
		else
			return 2;
	}
	if (optind != argc - 1 || rounds < 1 || rounds > BENCH_ROUNDS_MAX || !calls) {
		fprintf(stderr, "usage: runbench [-r ROUNDS] [-n CALLS] MOUNT\n");
		return 2;
	}
	for (int k = 0; k < rounds; k++)
		for (int i = 0; i < KINDS; i++) {
			struct sample *sample = &samples[(i + k) % KINDS];

			bench_quiet(2);
			if (sample->once)
				run_round(sample, argv[optind], k, calls);
			else
				held_round(sample, argv[optind], k, calls);
		}
	for (int i = 0; i < KINDS; i++)
		report(&samples[i], i == 2 ? &samples[3] : i == 4 ? &samples[5] : NULL, rounds);
	return 0;
}
