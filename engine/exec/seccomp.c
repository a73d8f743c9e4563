/* SPDX-License-Identifier: MIT */
/*
 * Two constant BPF programs, with and without network. Refused: everything that changes the
 * machine or looks into other processes, new namespaces (in them a tool would be root of its
 * own mounts), io_uring (its operations pass no filter) and, without network, every socket
 * but AF_UNIX. clone3 answers ENOSYS, because its flags lie in memory a filter cannot read;
 * libc then uses clone, whose flags are checked. No state.
 */
#include "exec/sandbox.h"

#include "base/auto.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#endif

#ifdef OUR_ARCH

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
/* Low half of an argument; both machines are little-endian. */
#define LOAD_ARG(i) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[i]))
#define UNLESS_EQUAL(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (skip))
#define UNLESS_BITS(bits, skip) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), 0, (skip))
#define ANSWER(value) BPF_STMT(BPF_RET | BPF_K, (value))
#define REFUSE(code) ANSWER(SECCOMP_RET_ERRNO | (code))

/* 32-bit programs reach other numbers for the same calls: they are not run. */
#define CHECK_ARCH LOAD(arch), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OUR_ARCH, 1, 0), REFUSE(ENOSYS)

#ifdef __x86_64__
#define CHECK_X32 BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1), REFUSE(ENOSYS),
#else
#define CHECK_X32
#endif

#define DENY(name) UNLESS_EQUAL(SYS_##name, 1), REFUSE(EPERM)

#define NEW_NAMESPACES                                                                             \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | \
	 CLONE_NEWCGROUP)

#define COMMON                                                                                    \
	CHECK_ARCH, LOAD(nr), CHECK_X32 DENY(ptrace), DENY(process_vm_readv),                     \
		DENY(process_vm_writev), DENY(mount), DENY(umount2), DENY(move_mount),            \
		DENY(open_tree), DENY(fsopen), DENY(fsmount), DENY(fsconfig), DENY(fspick),       \
		DENY(mount_setattr), DENY(pivot_root), DENY(reboot), DENY(kexec_load),            \
		DENY(init_module), DENY(finit_module), DENY(delete_module), DENY(swapon),         \
		DENY(swapoff), DENY(bpf), DENY(perf_event_open), DENY(userfaultfd), DENY(keyctl), \
		DENY(add_key), DENY(request_key), DENY(setns), DENY(unshare),                     \
		DENY(io_uring_setup), DENY(io_uring_enter), DENY(io_uring_register),              \
		UNLESS_EQUAL(SYS_clone3, 1), REFUSE(ENOSYS), UNLESS_EQUAL(SYS_clone, 4),          \
		LOAD_ARG(0), UNLESS_BITS(NEW_NAMESPACES, 1), REFUSE(EPERM), LOAD(nr),             \
		UNLESS_EQUAL(SYS_ioctl, 4), LOAD_ARG(1), UNLESS_EQUAL(TIOCSTI, 1), REFUSE(EPERM), \
		LOAD(nr)

static const struct sock_filter with_net[] = { COMMON, ANSWER(SECCOMP_RET_ALLOW) };

static const struct sock_filter without_net[] = {
	COMMON,
	UNLESS_EQUAL(SYS_socket, 3),
	LOAD_ARG(0),
	UNLESS_EQUAL(AF_UNIX, 2),
	ANSWER(SECCOMP_RET_ALLOW),
	ANSWER(SECCOMP_RET_ALLOW),
	REFUSE(EACCES),
};

const struct sock_fprog *seccomp_filter(bool net)
{
	static const struct sock_fprog programs[] = {
		{ ARRAY_SIZE(without_net), (struct sock_filter *)without_net },
		{ ARRAY_SIZE(with_net), (struct sock_filter *)with_net },
	};

	return &programs[net];
}

#else

const struct sock_fprog *seccomp_filter(bool net)
{
	(void)net;
	return NULL;
}

#endif
