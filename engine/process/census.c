/* SPDX-License-Identifier: MIT */
/*
 * How many processes the runs of this engine are, together. RLIMIT_NPROC does not hold for root, and
 * not everywhere can root make a cgroup, nor has `ryefs execute` the time for one: there the thread
 * that reaps looks some times a second at how many tasks the machine has, and only when they have
 * grown by too many, at whose they are. No lock: of that thread alone.
 */
#include "process/process.h"

#include "proc.h"
#include "scope.h"

#include <stdio.h>
#include <string.h>

/* A killed process' last fork may come behind us in the listing. */
#define ROUNDS 200
/* Parents have lower numbers than their children, but for where numbers begin anew. */
#define PASSES 8

struct relative {
	pid_t pid, parent;
	uint64_t start; /* as struct proc_stat */
	bool ours; /* of a run */
};

struct family {
	struct relative *v;
	size_t n, size;
};

static void family_add(struct family *family, struct relative one)
{
	if (family->n == family->size) {
		size_t size = family->size ? family->size * 2 : 1024;
		struct relative *v = realloc(family->v, size * sizeof(*v));

		if (!v)
			return;
		family->v = v;
		family->size = size;
	}
	family->v[family->n++] = one;
}

static int by_pid(const void *a, const void *b)
{
	pid_t left = ((const struct relative *)a)->pid, right = ((const struct relative *)b)->pid;

	return (left > right) - (left < right);
}

static bool in_family(const struct family *family, pid_t pid)
{
	const struct relative key = { .pid = pid };
	const struct relative *found = bsearch(&key, family->v, family->n, sizeof(key), by_pid);

	return found && found->ours;
}

/* Orphans come to the engine, so what descends from it and has left its session is a run's. */
static size_t family_read(struct family *family, pid_t engine)
{
	auto_dir DIR *proc = opendir("/proc");
	pid_t session = getsid(engine);
	struct dirent *entry;
	size_t ours = 0, before;

	family->n = 0;
	while (proc && (entry = readdir(proc))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		struct proc_stat stat;

		if (pid <= 0 || pid == engine || proc_stat(pid, &stat) || stat.state == 'Z')
			continue;
		family_add(family,
			   (struct relative){ pid, stat.ppid, stat.start,
					      stat.ppid == engine && stat.session != session });
	}
	/* without a descriptor for /proc there may be no array */
	if (family->n)
		qsort(family->v, family->n, sizeof(*family->v), by_pid);
	for (int pass = 0; pass < PASSES; pass++) {
		before = ours;
		ours = 0;
		for (size_t i = 0; i < family->n; i++) {
			struct relative *one = &family->v[i];

			one->ours = one->ours || in_family(family, one->parent);
			ours += one->ours;
		}
		if (ours == before)
			break;
	}
	return ours;
}

/* Still the one that was read? It may have ended, and its number may be another's. */
static bool is_relative(pid_t pid, void *arg)
{
	const struct relative *one = arg;

	return proc_start(pid) == one->start;
}

size_t census_enforce(pid_t engine, size_t limit)
{
	struct family family = { .v = NULL };
	size_t ended = 0, n = family_read(&family, engine);

	for (int round = 0; round < ROUNDS && n > (ended ? 0 : limit); round++) {
		for (size_t i = 0; i < family.n; i++)
			if (family.v[i].ours)
				ended += proc_end(family.v[i].pid, is_relative, &family.v[i]);
		n = family_read(&family, engine);
	}
	free(family.v);
	return ended;
}

/* The fourth word of /proc/loadavg is "RUNNING/ALL". */
static size_t tasks_of_machine(void)
{
	auto_file FILE *file = fopen("/proc/loadavg", "re");
	size_t all = 0;

	return file && fscanf(file, "%*s %*s %*s %*u/%zu", &all) == 1 ? all : 0;
}

void census_look(struct census *census, pid_t engine)
{
	size_t tasks = tasks_of_machine();

	if (!census->least || tasks < census->least)
		census->least = tasks;
	if (tasks - census->least < census->limit)
		return;
	census_enforce(engine, census->limit);
	census->least = tasks_of_machine();
}
