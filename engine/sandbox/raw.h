/* SPDX-License-Identifier: MIT */
/*
 * raw.h: system calls for the time between clone and exec. The child lives on borrowed memory
 * there, thread-local storage included: libc's calls would write our errno.
 */
#ifndef RYE_SANDBOX_RAW_H
#define RYE_SANDBOX_RAW_H

#include <sys/syscall.h>

/* The sanitizers' bookkeeping of the child's frames would stay behind in ours. */
#define CHILD_SIDE __attribute__((no_sanitize_address, no_sanitize_thread, unused))

#if defined(__x86_64__) || defined(__aarch64__)
/* The child may run beside us, not only while we wait for it. */
#define RAW_BESIDE 1

/* The kernel's answer as it comes: -errno when it fails. */
static CHILD_SIDE inline long raw_call(long nr, const long a[5])
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = a[3];
	register long r8 __asm__("r8") = a[4];
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return ret;
#else
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a[0];
	register long x1 __asm__("x1") = a[1];
	register long x2 __asm__("x2") = a[2];
	register long x3 __asm__("x3") = a[3];
	register long x4 __asm__("x4") = a[4];

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
			 : "memory");
	return x0;
#endif
}

#else
#define RAW_BESIDE 0

#include <errno.h>
#include <unistd.h>

static CHILD_SIDE inline long raw_call(long nr, const long a[5])
{
	long ret = syscall(nr, a[0], a[1], a[2], a[3], a[4]);

	return ret < 0 ? -errno : ret;
}
#endif

#define RAW(nr, ...) raw_call(nr, (const long[5]){ __VA_ARGS__ })

#endif
