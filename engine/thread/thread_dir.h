/* SPDX-License-Identifier: MIT */
/*
 * thread_dir.h: a thread's directory: where it is, its lock, its identity file. The lock
 * (an open-file-description lock on `.lock`, inherited by the runner) says whether a runner
 * lives; pid and start time are only for signals (threads 15.4).
 */
#ifndef RYE_THREAD_THREAD_DIR_H
#define RYE_THREAD_THREAD_DIR_H

#include "base/json.h"

#include <sys/types.h>

/* Relative path of 1..n clean components, at most 1024 bytes: RYE_INVALID otherwise. */
int thread_id_check(const char *id, struct rye_err *err);
void thread_id_new(char ret[64]); /* UUID v4, lower case */

/* .ai/state/threads of the project, made when `create`; an O_RDONLY directory descriptor. */
int thread_root(const char *project, bool create, struct rye_err *err);
/* The registry's path, by where that directory is just now; 0 or -errno. */
#define REGISTRY_PATH_MAX 4200
int thread_registry_path(int root, char ret[REGISTRY_PATH_MAX]);
int thread_dir(int root, const char *id, bool create, struct rye_err *err);

/* The directory with its files, as far as that is possible. */
void thread_remove(int root, const char *id);

/* Takes `.lock`; -EAGAIN: a runner lives. The descriptor is the lock. */
int thread_lock(int dir);

struct runner {
	pid_t pid;
	uint64_t start; /* ticks since boot, field 22 of /proc/pid/stat */
	bool here; /* same host, boot and pid namespace: may be signalled */
};

/* Writes runner.json for this very process. */
int runner_write(int dir, pid_t pid, struct rye_err *err);
/* False: none, or unreadable. */
bool runner_read(int dir, struct runner *ret);
/* A pidfd of the living runner; -1: gone, or not ours to signal. */
int runner_pidfd(const struct runner *runner);

/* Ends every process whose environment says that it belongs to the thread. */
void thread_kill_strays(const char *id);

struct zombies {
	pid_t pid[64]; /* more are a later look's */
	size_t n;
};
/*
 * Waits for the dead children that were there, dead, at the last look already: whose child it
 * is has had its time. Looks should be a second apart. How many are left for the next one.
 */
size_t zombies_sweep(struct zombies *seen);

int thread_write(int dir, const char *name, struct rye_span bytes, struct rye_err *err);

#endif
