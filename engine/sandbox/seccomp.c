/* SPDX-License-Identifier: MIT */
/*
 * The BPF program of a box, with and without network. Refused: everything that changes the
 * machine or looks into other processes, new namespaces (in them a tool would be root of its
 * own mounts), io_uring (its operations pass no filter), changing limits, priority, scheduling
 * or processors of any process but the caller (a filter knows no process numbers: 0 alone is
 * the caller for certain), set-user-ID and set-group-ID bits, with which a file would lend
 * its owner's rights after the run, and every socket that is not named here. clone3 and openat2
 * answer ENOSYS, because what they are asked lies in memory a filter cannot read; libc then uses
 * clone and openat, which are checked. No state.
 */
#include "sandbox/sandbox.h"

#include "scope.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#endif

#ifdef OUR_ARCH

#define LOAD(field) ((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, field))
#define LOAD_NR LOAD(offsetof(struct seccomp_data, nr))
/* Low half of an argument; both machines are little-endian. */
#define LOAD_ARG(i) LOAD(offsetof(struct seccomp_data, args[i]))
#define JUMP(how, value, yes, no) \
	((struct sock_filter)BPF_JUMP(BPF_JMP | (how) | BPF_K, value, yes, no))
#define ANSWER(value) ((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, value))
#define REFUSE(code) ANSWER(SECCOMP_RET_ERRNO | (code))
#define ALLOW ANSWER(SECCOMP_RET_ALLOW)

#define NEW_NAMESPACES                                                                             \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | \
	 CLONE_NEWCGROUP)

/* O_TMPFILE makes a file as O_CREAT does; without either a mode is not looked at. */
#define MAKES_FILE (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))
#define SET_ID 06000
#define SOCKET_TYPE 0xf /* beside it stand flags */
/* So many are tested one by one: fewer make more to compile, more make it run longer. */
#define LEAF_RULES 6

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

enum what {
	DENY,
	NO_SUCH,
	CLONE_FLAGS,
	TERMINAL,
	LOCAL_SOCKET,
	NET_SOCKET,
	SELF,
	SELF_PRIORITY,
	SELF_IO,
	MODE,
	MAKES_MODE,
};

/* The argument before the number says what it counts; users are the last in both calls. */
#define PRIORITY_OF_USER 2 /* PRIO_USER */
#define IO_OF_USER 3 /* IOPRIO_WHO_USER */

struct rule {
	int nr;
	enum what what;
	unsigned char arg; /* that is a mode; behind the flags where they decide */
	int last; /* of a row of numbers that are refused alike; else nr */
};

static const struct rule always[] = {
	{ SYS_ptrace, DENY },
	{ SYS_process_vm_readv, DENY },
	{ SYS_process_vm_writev, DENY },
	{ SYS_pidfd_getfd, DENY },
	{ SYS_kcmp, DENY },
	{ SYS_mount, DENY },
	{ SYS_umount2, DENY },
	{ SYS_move_mount, DENY },
	{ SYS_open_tree, DENY },
	{ SYS_fsopen, DENY },
	{ SYS_fsmount, DENY },
	{ SYS_fsconfig, DENY },
	{ SYS_fspick, DENY },
	{ SYS_mount_setattr, DENY },
	{ SYS_pivot_root, DENY },
	{ SYS_reboot, DENY },
	{ SYS_kexec_load, DENY },
	{ SYS_init_module, DENY },
	{ SYS_finit_module, DENY },
	{ SYS_delete_module, DENY },
	{ SYS_swapon, DENY },
	{ SYS_swapoff, DENY },
	{ SYS_bpf, DENY },
	{ SYS_perf_event_open, DENY },
	{ SYS_userfaultfd, DENY },
	{ SYS_keyctl, DENY },
	{ SYS_add_key, DENY },
	{ SYS_request_key, DENY },
	{ SYS_setns, DENY },
	{ SYS_unshare, DENY },
	{ SYS_io_uring_setup, DENY },
	{ SYS_io_uring_enter, DENY },
	{ SYS_io_uring_register, DENY },
	{ SYS_clone3, NO_SUCH },
	{ SYS_clone, CLONE_FLAGS },
	{ SYS_ioctl, TERMINAL },
	{ SYS_prlimit64, SELF },
	{ SYS_sched_setaffinity, SELF },
	{ SYS_sched_setattr, SELF },
	{ SYS_sched_setparam, SELF },
	{ SYS_sched_setscheduler, SELF },
	{ SYS_setpriority, SELF_PRIORITY },
	{ SYS_ioprio_set, SELF_IO },
	{ SYS_socketpair, LOCAL_SOCKET },
	{ SYS_openat2, NO_SUCH },
	{ SYS_openat, MAKES_MODE, 3 },
	{ SYS_fchmod, MODE, 1 },
	{ SYS_fchmodat, MODE, 2 },
	{ SYS_fchmodat2, MODE, 2 },
	{ SYS_mkdirat, MODE, 2 },
	{ SYS_mknodat, MODE, 2 },
#ifdef SYS_open
	{ SYS_open, MAKES_MODE, 2 },
	{ SYS_creat, MODE, 1 },
	{ SYS_chmod, MODE, 1 },
	{ SYS_mkdir, MODE, 1 },
	{ SYS_mknod, MODE, 1 },
#endif
};

static void seccomp_add(struct seccomp_program *to, struct sock_filter code)
{
	if (to->n < ARRAY_SIZE(to->code))
		to->code[to->n] = code;
	to->n++;
}

/* The jumps of a tree whose leaves stand behind it, each once. */
struct seccomp_tree {
	struct seccomp_program *to;
	struct seccomp_jump {
		size_t at;
		const struct rule *rule; /* NULL: it has been told where to */
	} jumps[ARRAY_SIZE(always) + 1];
	size_t n;
};

static void add_end(struct seccomp_program *to, unsigned code)
{
	seccomp_add(to, REFUSE(code));
	seccomp_add(to, ALLOW);
}

/* From that jump to what comes next; one that does not fit its eight bits makes no program. */
static unsigned char seccomp_distance(struct seccomp_program *to, size_t jump)
{
	size_t far = to->n - jump - 1;

	if (far > UINT8_MAX)
		to->n = ARRAY_SIZE(to->code);
	return (unsigned char)far;
}

/* The caller or its process group, by the number 0: never a user's processes. */
static void add_self(struct seccomp_program *to, unsigned user)
{
	seccomp_add(to, LOAD_ARG(0));
	seccomp_add(to, JUMP(BPF_JGE, user, 2, 0));
	seccomp_add(to, LOAD_ARG(1));
	seccomp_add(to, JUMP(BPF_JEQ, 0, 1, 0));
	add_end(to, EPERM);
}

/* Set-ID bits in the mode; where there are flags, only if they make a file. */
static void add_mode(struct seccomp_program *to, const struct rule *rule)
{
	if (rule->what == MAKES_MODE) {
		seccomp_add(to, LOAD_ARG(rule->arg - 1));
		seccomp_add(to, JUMP(BPF_JSET, MAKES_FILE, 0, 3));
	}
	seccomp_add(to, LOAD_ARG(rule->arg));
	seccomp_add(to, JUMP(BPF_JSET, SET_ID, 0, 1));
	add_end(to, EPERM);
}

/* Streams and datagrams of the Internet, and what getaddrinfo asks the kernel for: its routes. */
static void add_net_socket(struct seccomp_program *to)
{
	seccomp_add(to, LOAD_ARG(0));
	seccomp_add(to, JUMP(BPF_JEQ, AF_UNIX, 10, 0));
	seccomp_add(to, JUMP(BPF_JEQ, AF_NETLINK, 6, 0));
	seccomp_add(to, JUMP(BPF_JEQ, AF_INET, 1, 0));
	seccomp_add(to, JUMP(BPF_JEQ, AF_INET6, 0, 6));
	seccomp_add(to, LOAD_ARG(1));
	seccomp_add(to, ((struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, SOCKET_TYPE)));
	seccomp_add(to, JUMP(BPF_JEQ, SOCK_STREAM, 4, 0));
	seccomp_add(to, JUMP(BPF_JEQ, SOCK_DGRAM, 3, 2));
	seccomp_add(to, LOAD_ARG(2));
	seccomp_add(to, JUMP(BPF_JEQ, NETLINK_ROUTE, 1, 0));
	add_end(to, EACCES);
}

/* Loads one argument and answers by it; the number is no longer needed then. */
static void add_argument(struct seccomp_program *to, const struct rule *rule)
{
	if (rule->what == CLONE_FLAGS) {
		seccomp_add(to, LOAD_ARG(0));
		seccomp_add(to, JUMP(BPF_JSET, NEW_NAMESPACES, 0, 1));
		add_end(to, EPERM);
	} else if (rule->what == TERMINAL) {
		seccomp_add(to, LOAD_ARG(1));
		seccomp_add(to, JUMP(BPF_JEQ, TIOCSTI, 0, 1));
		add_end(to, EPERM);
	} else if (rule->what == SELF) {
		seccomp_add(to, LOAD_ARG(0));
		seccomp_add(to, JUMP(BPF_JEQ, 0, 1, 0));
		add_end(to, EPERM);
	} else if (rule->what == SELF_PRIORITY || rule->what == SELF_IO) {
		add_self(to, rule->what == SELF_IO ? IO_OF_USER : PRIORITY_OF_USER);
	} else if (rule->what == MODE || rule->what == MAKES_MODE) {
		add_mode(to, rule);
	} else if (rule->what == NET_SOCKET) {
		add_net_socket(to);
	} else {
		seccomp_add(to, LOAD_ARG(0));
		seccomp_add(to, JUMP(BPF_JEQ, AF_UNIX, 1, 0));
		add_end(to, EACCES);
	}
}

/* What a rule answers, in the same way for all that are like it. */
static void add_leaf(struct seccomp_program *to, const struct rule *rule)
{
	if (rule->what == DENY)
		seccomp_add(to, REFUSE(EPERM));
	else if (rule->what == NO_SUCH)
		seccomp_add(to, REFUSE(ENOSYS));
	else
		add_argument(to, rule);
}

static bool is_row(const struct rule *rule)
{
	return rule->last > rule->nr;
}

/* Goes on behind it where the number is another one. */
static void add_rule(struct seccomp_tree *tree, const struct rule *rule)
{
	if (is_row(rule))
		seccomp_add(tree->to, JUMP(BPF_JGE, (unsigned)rule->nr, 0, 1));
	tree->jumps[tree->n++] = (struct seccomp_jump){ tree->to->n, rule };
	seccomp_add(tree->to, is_row(rule) ? JUMP(BPF_JGT, (unsigned)rule->last, 0, 0) :
					     JUMP(BPF_JEQ, (unsigned)rule->nr, 0, 0));
}

/*
 * A search tree over the sorted numbers: the kernel runs the program once for every call number when
 * it is installed, and compiles it each time, so a flat list of tests costs as much as starting a
 * process, and leaves that are there twice a part of that.
 */
static void seccomp_add_tree(struct seccomp_tree *tree, const struct rule *rules, size_t n)
{
	struct seccomp_program *to = tree->to;
	size_t half = n / 2, jump = to->n;

	if (n <= LEAF_RULES) {
		for (size_t i = 0; i < n; i++)
			add_rule(tree, &rules[i]);
		seccomp_add(to, ALLOW);
		return;
	}
	seccomp_add(to, ALLOW);
	seccomp_add_tree(tree, rules, half);
	if (to->n < ARRAY_SIZE(to->code))
		to->code[jump] =
			JUMP(BPF_JGE, (unsigned)rules[half].nr, seccomp_distance(to, jump), 0);
	seccomp_add_tree(tree, rules + half, n - half);
}

/* Tells a jump that its leaf comes next. */
static void seccomp_aim(struct seccomp_program *to, struct seccomp_jump *jump)
{
	unsigned char far = seccomp_distance(to, jump->at);

	if (to->n < ARRAY_SIZE(to->code) && is_row(jump->rule))
		to->code[jump->at].jf = far;
	else if (to->n < ARRAY_SIZE(to->code))
		to->code[jump->at].jt = far;
	jump->rule = NULL;
}

static void seccomp_add_leaves(struct seccomp_tree *tree)
{
	for (size_t i = 0; i < tree->n; i++) {
		const struct rule *rule = tree->jumps[i].rule;

		for (size_t j = i; rule && j < tree->n; j++) {
			const struct rule *other = tree->jumps[j].rule;

			if (other && other->what == rule->what && other->arg == rule->arg)
				seccomp_aim(tree->to, &tree->jumps[j]);
		}
		if (rule)
			add_leaf(tree->to, rule);
	}
}

static int seccomp_by_number(const void *a, const void *b)
{
	return ((const struct rule *)a)->nr - ((const struct rule *)b)->nr;
}

/* Numbers that follow each other and are refused become one rule. How many there are then. */
static size_t seccomp_join(struct rule *rules, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		struct rule *last = kept ? &rules[kept - 1] : NULL;

		if (last && last->what == DENY && rules[i].what == DENY &&
		    rules[i].nr == last->last + 1) {
			last->last = rules[i].nr;
			continue;
		}
		rules[kept] = rules[i];
		rules[kept].last = rules[kept].nr;
		kept++;
	}
	return kept;
}

bool seccomp_build(bool net, struct seccomp_program *ret)
{
	struct rule rules[ARRAY_SIZE(always) + 1];
	struct seccomp_tree tree = { .to = ret };
	size_t n = ARRAY_SIZE(always);

	memcpy(rules, always, sizeof(always));
	rules[n++] = (struct rule){ SYS_socket, net ? NET_SOCKET : LOCAL_SOCKET, 0, 0 };
	qsort(rules, n, sizeof(*rules), seccomp_by_number);
	n = seccomp_join(rules, n);
	ret->n = 0;
	/* 32-bit programs reach other calls by the same numbers: they are not run. */
	seccomp_add(ret, LOAD(offsetof(struct seccomp_data, arch)));
	seccomp_add(ret, JUMP(BPF_JEQ, OUR_ARCH, 1, 0));
	seccomp_add(ret, REFUSE(ENOSYS));
	seccomp_add(ret, LOAD_NR);
	seccomp_add(ret, JUMP(BPF_JGE, 0x40000000, 0, 1)); /* x32 */
	seccomp_add(ret, REFUSE(ENOSYS));
	seccomp_add_tree(&tree, rules, n);
	seccomp_add_leaves(&tree);
	ret->program = (struct sock_fprog){ (unsigned short)ret->n, ret->code };
	return ret->n < ARRAY_SIZE(ret->code);
}

#else

bool seccomp_build(bool net, struct seccomp_program *ret)
{
	(void)net;
	(void)ret;
	return false;
}

#endif
