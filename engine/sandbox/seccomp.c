/* SPDX-License-Identifier: MIT */
/*
 * The BPF program of a box, with and without network. Refused: everything that changes the
 * machine or looks into other processes, new namespaces (in them a tool would be root of its
 * own mounts), io_uring (its operations pass no filter), changing limits, priority, scheduling
 * or processors of any process but the caller (a filter knows no process numbers: 0 alone is
 * the caller for certain) and, without network, every socket but AF_UNIX. clone3 answers ENOSYS, because its flags lie in memory a filter cannot read;
 * libc then uses clone, whose flags are checked. No state.
 */
#include "sandbox/sandbox.h"

#include "scope.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

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

enum what { DENY, NO_SUCH, CLONE_FLAGS, TERMINAL, UNIX_ONLY, SELF, SELF_PRIORITY, SELF_IO };

/* The argument before the number says what it counts; users are the last in both calls. */
#define PRIORITY_OF_USER 2 /* PRIO_USER */
#define IO_OF_USER 3 /* IOPRIO_WHO_USER */

struct rule {
	int nr;
	enum what what;
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
};

static void seccomp_add(struct seccomp_program *to, struct sock_filter code)
{
	if (to->n < ARRAY_SIZE(to->code))
		to->code[to->n] = code;
	to->n++;
}

/* The caller or its process group, by the number 0: never a user's processes. */
static void add_self(struct seccomp_program *to, unsigned user)
{
	seccomp_add(to, LOAD_ARG(0));
	seccomp_add(to, JUMP(BPF_JGE, user, 2, 0));
	seccomp_add(to, LOAD_ARG(1));
	seccomp_add(to, JUMP(BPF_JEQ, 0, 1, 0));
	seccomp_add(to, REFUSE(EPERM));
	seccomp_add(to, ALLOW);
}

/* Loads one argument and answers by it; the number is no longer needed then. */
static void add_argument(struct seccomp_program *to, const struct rule *rule)
{
	if (rule->what == CLONE_FLAGS) {
		seccomp_add(to, LOAD_ARG(0));
		seccomp_add(to, JUMP(BPF_JSET, NEW_NAMESPACES, 0, 1));
		seccomp_add(to, REFUSE(EPERM));
		seccomp_add(to, ALLOW);
	} else if (rule->what == TERMINAL) {
		seccomp_add(to, LOAD_ARG(1));
		seccomp_add(to, JUMP(BPF_JEQ, TIOCSTI, 0, 1));
		seccomp_add(to, REFUSE(EPERM));
		seccomp_add(to, ALLOW);
	} else if (rule->what == SELF) {
		seccomp_add(to, LOAD_ARG(0));
		seccomp_add(to, JUMP(BPF_JEQ, 0, 1, 0));
		seccomp_add(to, REFUSE(EPERM));
		seccomp_add(to, ALLOW);
	} else if (rule->what == SELF_PRIORITY || rule->what == SELF_IO) {
		add_self(to, rule->what == SELF_IO ? IO_OF_USER : PRIORITY_OF_USER);
	} else {
		seccomp_add(to, LOAD_ARG(0));
		seccomp_add(to, JUMP(BPF_JEQ, AF_UNIX, 0, 1));
		seccomp_add(to, ALLOW);
		seccomp_add(to, REFUSE(EACCES));
	}
}

static void add_rule(struct seccomp_program *to, const struct rule *rule)
{
	size_t jump = to->n;

	seccomp_add(to, ALLOW);
	if (rule->what == DENY)
		seccomp_add(to, REFUSE(EPERM));
	else if (rule->what == NO_SUCH)
		seccomp_add(to, REFUSE(ENOSYS));
	else
		add_argument(to, rule);
	if (to->n <= ARRAY_SIZE(to->code))
		to->code[jump] =
			JUMP(BPF_JEQ, (unsigned)rule->nr, 0, (unsigned char)(to->n - jump - 1));
}

/*
 * A search tree over the sorted numbers: the kernel runs the program once for every call
 * number when it is installed, so a flat list of tests costs as much as starting a process.
 */
static void seccomp_add_tree(struct seccomp_program *to, const struct rule *rules, size_t n)
{
	size_t half = n / 2, jump = to->n;

	if (n <= 2) {
		for (size_t i = 0; i < n; i++)
			add_rule(to, &rules[i]);
		seccomp_add(to, ALLOW);
		return;
	}
	seccomp_add(to, ALLOW);
	seccomp_add_tree(to, rules, half);
	if (jump < ARRAY_SIZE(to->code))
		to->code[jump] = JUMP(BPF_JGE, (unsigned)rules[half].nr,
				      (unsigned char)(to->n - jump - 1), 0);
	seccomp_add_tree(to, rules + half, n - half);
}

static int seccomp_by_number(const void *a, const void *b)
{
	return ((const struct rule *)a)->nr - ((const struct rule *)b)->nr;
}

bool seccomp_build(bool net, struct seccomp_program *ret)
{
	struct rule rules[ARRAY_SIZE(always) + 1];
	size_t n = ARRAY_SIZE(always);

	memcpy(rules, always, sizeof(always));
	if (!net)
		rules[n++] = (struct rule){ SYS_socket, UNIX_ONLY };
	qsort(rules, n, sizeof(*rules), seccomp_by_number);
	ret->n = 0;
	/* 32-bit programs reach other calls by the same numbers: they are not run. */
	seccomp_add(ret, LOAD(offsetof(struct seccomp_data, arch)));
	seccomp_add(ret, JUMP(BPF_JEQ, OUR_ARCH, 1, 0));
	seccomp_add(ret, REFUSE(ENOSYS));
	seccomp_add(ret, LOAD_NR);
	seccomp_add(ret, JUMP(BPF_JGE, 0x40000000, 0, 1)); /* x32 */
	seccomp_add(ret, REFUSE(ENOSYS));
	seccomp_add_tree(ret, rules, n);
	ret->program = (struct sock_fprog){ (unsigned short)ret->n, ret->code };
	/* The longest jump must fit its eight bits. */
	return ret->n < ARRAY_SIZE(ret->code) && ret->n < 256;
}

#else

bool seccomp_build(bool net, struct seccomp_program *ret)
{
	(void)net;
	(void)ret;
	return false;
}

#endif
