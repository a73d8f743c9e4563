/* SPDX-License-Identifier: MIT */
/*
 * proc.h: what /proc tells of a process: its line of descent, what confines it, the signals
 * that wait for it, its environment. Nothing is kept. Every call reads files, so no lock that
 * forbids I/O may be held.
 */
#ifndef RYE_COMMON_PROC_H
#define RYE_COMMON_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct process {
	pid_t pid;
	uint64_t start; /* ticks since boot: tells a reused pid from the old one */
};

/* /proc/PID/stat */
struct proc_stat {
	char comm[32]; /* the kernel's 15 characters; longer for its own threads */
	char state; /* 'Z', 'X': it is over */
	pid_t ppid, session;
	long threads; /* of a zombie: those that have not ended yet, itself included */
	uint64_t start; /* ticks since boot */
	int status; /* of a zombie: as wait(2) has it; 0: it may not be read */
};

int proc_stat(pid_t pid, struct proc_stat *ret); /* 0 or -errno */
/* How often that thread was given a processor; 0: it is gone, or the kernel does not count. */
uint64_t proc_turns(pid_t tid);
/* The look failed for want of a descriptor or of memory: the process may be there. */
bool proc_is_short(int r);
uint64_t proc_start(pid_t pid); /* 0: no such process, or one that is over */

/* What confines a thread, so that two can be compared. */
struct proc_cage {
	pid_t tgid;
	char ns[4][32]; /* user, mnt, pid, net, as their links read */
	dev_t root_dev;
	ino_t root_ino;
	uint64_t root_mnt; /* id of the mount it lies in; 0: the kernel does not tell */
	bool no_new_privs;
	unsigned filters; /* of seccomp; old kernels: its mode */
	uint64_t powers; /* effective capabilities */
};

int proc_cage(pid_t tid, struct proc_cage *ret); /* tid 0: ourselves; 0 or -errno */

/*
 * A thread that is looked at again and again, by descriptors that are kept: two thirds of the time of
 * opening anew. They belong to that thread, not to its number: once it has ended every look says
 * -ESRCH. For one thread at a time; close with proc_look_close, which makes it PROC_LOOK_NONE.
 */
struct proc_look {
	pid_t tid, tgid;
	int dir, status, stat; /* of tid, of tid, of the process tgid; -1: not open */
};
#define PROC_LOOK_NONE ((struct proc_look){ .dir = -1, .status = -1, .stat = -1 })

int proc_look_open(pid_t tid, struct proc_look *ret); /* 0 or -errno, then it is NONE */
void proc_look_close(struct proc_look *look);
int proc_look_cage(const struct proc_look *look, struct proc_cage *ret); /* 0 or -errno */
/* What it can give up by itself: sets no_new_privs, filters, powers and tgid alone, by one read. */
int proc_look_status(const struct proc_look *look, struct proc_cage *cage);
/* Of its process; the descriptor is opened by the first call. 0 or -errno. */
int proc_look_process(struct proc_look *look, pid_t tgid, struct proc_stat *ret);
bool proc_may_mount(void); /* by itself, without a helper that is set-user-id */
bool proc_cage_equals(const struct proc_cage *a, const struct proc_cage *b);

/* Does the process with this pid and start time live? A zombie does not. */
bool proc_alive(const struct process *process);
/*
 * Ends it with SIGKILL if `is_it` says that it is the one: asked before a descriptor is opened for it and
 * again behind that, when its number can be no other process's any more. Where the kernel gives no
 * descriptor nothing is ended.
 */
bool proc_end(pid_t pid, bool (*is_it)(pid_t pid, void *arg), void *arg);
/* Seconds since it was started, by a clock that is never set; -1: it does not live. */
double proc_age_s(const struct process *process);

/*
 * Does a signal wait for the thread that would end what it is doing: INT, TERM, HUP, QUIT
 * or KILL, and not blocked? A thread that is gone counts as killed.
 */
bool proc_interrupted(pid_t tid);

/* Does any signal wait for it that it does not block? */
bool proc_signalled(pid_t tid);

/* A variable of the environment it was started with, however long that is. 1: its value is *ret, cut to
 * size; 0: it has none; -1: no environment is to be read, as in the middle of an exec. */
int proc_variable(pid_t pid, const char *name, char *ret, size_t size);

/* The children of this process's first thread, to which the kernel gives orphans. */
#define PROC_CHILDREN 1024
int proc_children_open(void); /* a descriptor, or -errno */
size_t proc_children(int fd, pid_t ret[PROC_CHILDREN]);

/* The process at the other end of a Unix socket, as the kernel noted it when it connected. */
bool peer_own(int fd); /* Is it this user's? */
/*
 * Did it descend from this process, or can that not be told? What runs have started does: an engine
 * is a subreaper. Reads /proc.
 */
bool peer_inside(int fd);

long long proc_number(const char *path); /* of a file in /proc/sys; 0: there is none */

#endif
