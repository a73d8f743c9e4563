/* SPDX-License-Identifier: MIT */
/*
 * runbench: what a run costs through one or more mounts, and what it is measured against.
 *
 *   runbench [-r ROUND] [-n CALLS] [-o SAMPLE,SAMPLE…] NAME=MOUNT [NAME=MOUNT…]
 *
 * Looks for bench/noop (knowledge), bench/true (a process tool) and bench/fn (a Python
 * function) in each mount; scripts/bench makes them. It is one round: every sample in every
 * mount, in an order that the number of the round turns. Printed is "SAMPLE NAME MICROSECONDS",
 * the median of the calls, for report.py:
 *
 *   held       message and reply on a descriptor that stays open (knowledge: nothing to start)
 *   open       open, write, close of the same `run`
 *   process    a tool that runs /bin/true
 *   python     a python/function tool, warm
 *   graph      a step of a state graph of 100 that asks for bench/noop each time
 *   graph-process  a step of one whose steps run bench/true
 *   …-idle     held, open and process with a pause before each call, when all processors sleep
 *   search     the listing of a query that was not asked before
 *   mcp        a tool of an MCP server that answers at once, by open, write, close
 *   mcp-held   the same, message and reply on a descriptor that stays open
 *   control    stat of a control file
 *   found      stat of what a query has found
 *   trip-KIND  one bare request (trip.c), idle-KIND the same after a pause
 *   per-…      not a time: the requests of one such call, its share of what opens and closes too
 *
 * and once for all mounts, under the name "native":
 *
 *   pingpong   a byte through a pipe to another process and back: two hand-overs
 *   pingpong-apart  the same, the two processes on two processors
 *   spawn      posix_spawn of /bin/true and the wait for it; both also …-idle
 *   spawn-rest the same after the pause that stands before each call of Python
 *   python3    posix_spawn of python3 -c pass and the wait for it
 *   node       a JavaScript function, in a process that was started before
 *   nodejs     posix_spawn of node -e 0 and the wait for it
 */
#include "bench.h"
#include "trip.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOUNTS_MAX 8
#define IDLE_US 2000
/* Before each call of Python: the next child waits. */
#define PYTHON_US 40000
#define NODE "/usr/bin/node"
/* Before each call of Node: the next process is up again. */
#define NODE_US 300000
#define PATH_SIZE 4096
#define NOOP "knowledge/bench/noop"
#define PEER "tools/mcp/peer/echo"
/* Of builds that can walk graphs. */
#define GRAPHS "tools/rye/core/primitives/graph.yaml"

struct run_mount {
	const char *name, *path;
};

struct run_round {
	size_t number, calls;
	const char *wanted; /* names of samples between commas; empty: all of them */
};

struct sample {
	const char *name;
	void (*once)(const char *mount); /* NULL: a function of its own below */
	void (*many)(const struct sample *sample, const char *mount, double *us, size_t n);
	bool native; /* needs no mount */
	bool apart; /* the two ends on two processors */
	useconds_t pause_us; /* before each call: all processors sleep, the pool warms the next one */
	const char *needs; /* a program without which it is left out; NULL: none */
	const char *item; /* the same of a path in the mount */
	double parts; /* what is told is a call's share of so many; 0: 1 */
	size_t share; /* calls per round are divided by it: slow ones run less often */
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

static void run_graph(const char *mount)
{
	int fd = open_run(mount, "tools/bench/steps");

	send_message(fd, "tools/bench/steps/run");
	close(fd);
}

static void run_graph_process(const char *mount)
{
	int fd = open_run(mount, "tools/bench/trues");

	send_message(fd, "tools/bench/trues/run");
	close(fd);
}

static void run_node(const char *mount)
{
	int fd = open_run(mount, "tools/bench/js");

	send_message(fd, "tools/bench/js/run");
	close(fd);
}

static void run_mcp(const char *mount)
{
	int fd = open_run(mount, "tools/mcp/peer/echo");

	send_message(fd, "tools/mcp/peer/echo/run");
	close(fd);
}

static void stat_below(const char *mount, const char *item)
{
	char path[2 * PATH_SIZE];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", mount, item);
	if (lstat(path, &st))
		bench_die(path);
}

static void stat_control(const char *mount)
{
	stat_below(mount, "knowledge/bench/noop/run");
}

/* The first that a query has found; its name is looked up once. */
static void stat_found(const char *mount)
{
	static char item[512], of[PATH_SIZE];
	const struct dirent *entry;
	char path[PATH_SIZE];
	DIR *dir;

	if (strcmp(of, mount)) {
		snprintf(path, sizeof(path), "%s/search/noop", mount);
		dir = opendir(path);
		while (dir && (entry = readdir(dir)))
			if (entry->d_name[0] != '.')
				snprintf(item, sizeof(item), "search/noop/%s", entry->d_name);
		if (!dir || !*item)
			bench_die(path);
		closedir(dir);
		snprintf(of, sizeof(of), "%s", mount);
	}
	stat_below(mount, item);
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

static void native_node(const char *mount)
{
	char program[] = NODE, dash_e[] = "-e", nothing[] = "0";
	char *const argv[] = { program, dash_e, nothing, NULL };

	(void)mount;
	spawn(argv);
}

/* A query of its own each time: one that was asked before is only remembered. */
static void run_search(const char *mount)
{
	static unsigned asked;
	char path[PATH_SIZE];
	DIR *dir;

	snprintf(path, sizeof(path), "%s/search/schema NOT never%u", mount, asked++);
	dir = opendir(path);
	if (!dir)
		bench_die(path);
	while (readdir(dir))
		;
	closedir(dir);
}

/* ---- many calls at once ---- */

static void call_many(const struct sample *sample, const char *mount, double *us, size_t n)
{
	sample->once(mount);
	for (size_t i = 0; i < n; i++) {
		double begin;

		usleep(sample->pause_us);
		begin = bench_now();
		sample->once(mount);
		us[i] = (bench_now() - begin) * 1e6 / (sample->parts > 0 ? sample->parts : 1);
	}
}

/* The descriptor is the conversation: opened once, message and reply again and again. */
static void held_many(const struct sample *sample, const char *mount, double *us, size_t n)
{
	int fd = open_run(mount, sample->item);
	char reply[65536];

	for (size_t i = 0; i < n; i++) {
		double begin;

		usleep(sample->pause_us);
		begin = bench_now();
		send_message(fd, sample->item);
		if (read(fd, reply, sizeof(reply)) <= 0)
			bench_die("no reply");
		us[i] = (bench_now() - begin) * 1e6;
	}
	close(fd);
}

/* Keeps this process on one processor: the scheduler likes to wake the other end of a pipe on
 * the same one, which hides what waking another processor costs. */
static void pin_to(int processor)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(processor, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		bench_die("sched_setaffinity");
}

/* The other end of the ping-pong: sends back what comes until nothing more comes. */
static _Noreturn void echo_bytes(const int there[2], const int back[2])
{
	char byte;

	close(there[1]);
	close(back[0]);
	while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1)
		;
	_exit(0);
}

static void pingpong_many(const struct sample *sample, const char *mount, double *us, size_t n)
{
	int there[2], back[2];
	cpu_set_t old;
	char byte = 0;
	pid_t pid;

	(void)mount;
	if (pipe(there) || pipe(back) || (pid = fork()) < 0)
		bench_die("pipe");
	if (!pid) {
		if (sample->apart)
			pin_to(1);
		echo_bytes(there, back);
	}
	sched_getaffinity(0, sizeof(old), &old);
	if (sample->apart)
		pin_to(0);
	close(there[0]);
	close(back[1]);
	for (size_t i = 0; i < n; i++) {
		double begin;

		usleep(sample->pause_us);
		begin = bench_now();
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			bench_die("pipe");
		us[i] = (bench_now() - begin) * 1e6;
	}
	close(there[1]);
	close(back[0]);
	waitpid(pid, NULL, 0);
	sched_setaffinity(0, sizeof(old), &old);
}

/* ---- rounds ---- */

static const struct sample samples[] = {
	{ .name = "held", .many = held_many, .item = NOOP, .share = 1 },
	{ .name = "open", .once = open_noop, .share = 1 },
	{ .name = "process", .once = run_process, .share = 4 },
	{ .name = "python", .once = run_python, .pause_us = PYTHON_US, .share = 20 },
	{ .name = "graph", .once = run_graph, .item = GRAPHS, .parts = 100, .share = 40 },
	{ .name = "graph-process",
	  .once = run_graph_process,
	  .item = GRAPHS,
	  .parts = 100,
	  .share = 40 },
	{ .name = "held-idle", .many = held_many, .item = NOOP, .pause_us = IDLE_US, .share = 4 },
	{ .name = "open-idle", .once = open_noop, .pause_us = IDLE_US, .share = 4 },
	{ .name = "process-idle", .once = run_process, .pause_us = IDLE_US, .share = 4 },
	{ .name = "search", .once = run_search, .share = 40 },
	{ .name = "mcp", .once = run_mcp, .item = PEER, .share = 4 },
	{ .name = "mcp-held", .many = held_many, .item = PEER, .share = 4 },
	{ .name = "control", .once = stat_control, .share = 1 },
	{ .name = "found", .once = stat_found, .share = 1 },
	{ .name = "pingpong", .many = pingpong_many, .native = true, .share = 1 },
	{ .name = "pingpong-apart",
	  .many = pingpong_many,
	  .native = true,
	  .apart = true,
	  .share = 1 },
	{ .name = "pingpong-idle",
	  .many = pingpong_many,
	  .native = true,
	  .pause_us = IDLE_US,
	  .share = 4 },
	{ .name = "spawn-idle",
	  .once = native_process,
	  .native = true,
	  .pause_us = IDLE_US,
	  .share = 4 },
	{ .name = "spawn", .once = native_process, .native = true, .share = 4 },
	{ .name = "spawn-rest",
	  .once = native_process,
	  .native = true,
	  .pause_us = PYTHON_US,
	  .share = 20 },
	{ .name = "python3", .once = native_python, .native = true, .share = 20 },
	{ .name = "node", .once = run_node, .pause_us = NODE_US, .needs = NODE, .share = 40 },
	{ .name = "nodejs", .once = native_node, .native = true, .needs = NODE, .share = 40 },
};
#define SAMPLES (sizeof(samples) / sizeof(samples[0]))

static void measure(const struct sample *sample, const struct run_mount *mount, size_t calls)
{
	size_t n = calls / sample->share + 1;
	double *us = calloc(n, sizeof(*us));
	struct trip_meter meter;

	if (!us)
		bench_die("calloc");
	bench_quiet(2);
	if (!sample->native)
		trip_meter_begin(&meter, mount->path);
	if (sample->many)
		sample->many(sample, mount->path, us, n);
	else
		call_many(sample, mount->path, us, n);
	if (!sample->native)
		printf("per-%s %s %.3f\n", sample->name, mount->name, trip_meter_end(&meter, n));
	printf("%s %s %.3f\n", sample->name, mount->name, bench_median(us, n));
	fflush(stdout);
	free(us);
}

static bool sample_wanted(const char *wanted, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = wanted; (at = strstr(at, name)); at += len)
		if ((at == wanted || at[-1] == ',') && (!at[len] || at[len] == ','))
			return true;
	return false;
}

/* Has this mount what the sample needs of it? */
static bool sample_fits(const struct sample *sample, const struct run_mount *mount)
{
	char path[PATH_SIZE];

	snprintf(path, sizeof(path), "%s/%s", mount->path, sample->item ? sample->item : "");
	return !sample->item || access(path, F_OK) == 0;
}

static void run_round(const struct run_mount *mounts, size_t n, const struct run_round *what)
{
	const size_t round = what->number, calls = what->calls;
	const useconds_t pause_us = !*what->wanted || strstr(what->wanted, "-idle") ? IDLE_US : 0;
	static const struct run_mount native = { .name = "native", .path = "" };

	for (size_t i = 0; i < n; i++)
		trip_measure(mounts[(i + round) % n].name, mounts[(i + round) % n].path, pause_us);
	for (size_t k = 0; k < SAMPLES; k++) {
		const struct sample *sample = &samples[(k + round) % SAMPLES];

		if (*what->wanted && !sample_wanted(what->wanted, sample->name))
			continue;
		if (sample->needs && access(sample->needs, X_OK))
			continue;
		if (sample->apart && sysconf(_SC_NPROCESSORS_ONLN) < 2)
			continue;
		if (sample->native)
			measure(sample, &native, calls);
		for (size_t i = 0; !sample->native && i < n; i++)
			if (sample_fits(sample, &mounts[(i + round) % n]))
				measure(sample, &mounts[(i + round) % n], calls);
	}
	for (size_t i = 0; i < n; i++)
		trip_measure(mounts[(i + round) % n].name, mounts[(i + round) % n].path, pause_us);
}

static size_t read_mounts(char **argv, struct run_mount *mounts)
{
	size_t n = 0;

	for (; *argv && n < MOUNTS_MAX; argv++, n++) {
		char *equals = strchr(*argv, '=');

		if (!equals)
			return 0;
		*equals = 0;
		mounts[n].name = *argv;
		mounts[n].path = equals + 1;
	}
	return n;
}

int main(int argc, char **argv)
{
	struct run_mount mounts[MOUNTS_MAX];
	struct run_round what = { .calls = 400, .wanted = "" };
	int option;
	size_t n;

	while ((option = getopt(argc, argv, "r:n:o:")) != -1) {
		if (option == 'r')
			what.number = (size_t)atoi(optarg);
		else if (option == 'n')
			what.calls = (size_t)atoi(optarg);
		else if (option == 'o')
			what.wanted = optarg;
		else
			return 2;
	}
	n = read_mounts(argv + optind, mounts);
	if (!n || !what.calls) {
		fprintf(stderr, "usage: runbench [-r ROUND] [-n CALLS] [-o SAMPLES] NAME=MOUNT…\n");
		return 2;
	}
	run_round(mounts, n, &what);
	return 0;
}
