/* SPDX-License-Identifier: MIT */
/*
 * proc.h: what /proc tells of a process: its line of descent, what confines it, the signals
 * that wait for it. Each call is one or two short reads; nothing is kept.
 */
#ifndef RYE_FS_PROC_H
#define RYE_FS_PROC_H

#include "caller.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* /proc/PID/stat */
struct proc_stat {
	char comm[32]; /* the kernel's 15 characters; longer for its own threads */
	char state; /* 'Z', 'X': it is over */
	pid_t ppid, session;
	uint64_t start; /* ticks since boot */
};

int proc_stat(pid_t pid, struct proc_stat *ret); /* 0 or -errno */

/* What confines a thread, so that two can be compared. */
struct proc_cage {
	pid_t tgid;
	char ns[4][32]; /* user, mnt, pid, net, as their links read */
	dev_t root_dev;
	ino_t root_ino;
	bool no_new_privs;
	unsigned filters; /* of seccomp; old kernels: its mode */
};

int proc_cage(pid_t tid, struct proc_cage *ret); /* tid 0: ourselves; 0 or -errno */

/* Does the process with this pid and start time live? A zombie does not. */
bool proc_alive(const struct process *process);

/*
 * Does a signal wait for the thread that would end what it is doing: INT, TERM, HUP, QUIT
 * or KILL, and not blocked? A thread that is gone counts as killed.
 */
bool proc_interrupted(pid_t tid);

#endif
