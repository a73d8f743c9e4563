/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into ryefs by tests/e2e/lock_order.py: what a thread holds when it takes one more of the
 * program's own locks is a line of the file LOCK_PAIRS/PID, once for each process: MADE@TAKEN of each lock
 * in the order in which they were taken. A lock goes by the place that made it, an offset in the program
 * LOCK_PAIRS_OF; so does the place that took it. Locks of libraries are not seen: the
 * program did not make them.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))
#define LOCKS 65536 /* made at some time; addresses come again */
#define STACKS 4096 /* that differ */
#define DEPTH 16

struct made {
	_Atomic(pthread_mutex_t *) lock;
	_Atomic uint32_t at; /* 0: not one of the program's */
};

struct taken {
	const pthread_mutex_t *lock;
	uint32_t made, at;
};

static struct made made[LOCKS];
static _Atomic uint64_t stacks[STACKS]; /* their hashes */
static uintptr_t low, high; /* of the program; nothing is recorded while they are 0 */
static __thread struct taken held[DEPTH] __attribute__((tls_model("initial-exec")));
static __thread int depth __attribute__((tls_model("initial-exec")));

static int find_program(struct dl_phdr_info *info, size_t size, void *arg)
{
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD)
			high = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr +
			       info->dlpi_phdr[i].p_memsz;
	low = info->dlpi_addr;
	return 1; /* the program is the first */
}

/* What the program starts may have been told to load this too. */
__attribute__((constructor)) static void lock_pairs_begin(void)
{
	const char *of = getenv("LOCK_PAIRS_OF");
	char path[512];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (!of || n < 0 || !getenv("LOCK_PAIRS"))
		return;
	path[n] = 0;
	if (!strcmp(path, of))
		dl_iterate_phdr(find_program, NULL);
}

/* Of a return address: the call itself. 0: not in the program. */
static uint32_t place(const void *back)
{
	uintptr_t at = (uintptr_t)back;

	return at > low && at < high ? (uint32_t)(at - low - 1) : 0;
}

/* Its entry, which is made if `add`. Entries stay, so a chain has no holes. */
static struct made *made_find(pthread_mutex_t *lock, bool add)
{
	size_t i = ((uintptr_t)lock >> 3) * 0x9e3779b97f4a7c15u >> 48;

	for (size_t n = 0; n < LOCKS; n++, i = (i + 1) % LOCKS) {
		pthread_mutex_t *there = atomic_load(&made[i].lock);

		if (!there && (!add || atomic_compare_exchange_strong(&made[i].lock, &there, lock)))
			return add ? &made[i] : NULL;
		if (there == lock)
			return &made[i];
	}
	if (add)
		abort(); /* a test with more locks wants a bigger table */
	return NULL;
}

static bool stack_is_new(void)
{
	uint64_t hash = 0xcbf29ce484222325u;
	size_t at;

	for (int i = 0; i < depth; i++)
		hash = (hash ^ held[i].made) * 0x100000001b3u;
	at = hash >> 52;
	for (size_t n = 0; n < STACKS; n++, at = (at + 1) % STACKS) {
		uint64_t there = 0;

		if (atomic_compare_exchange_strong(&stacks[at], &there, hash))
			return true;
		if (there == hash)
			return false;
	}
	abort();
}

static void stack_write(void)
{
	char path[512], line[DEPTH * 20];
	int fd, n = 0;

	for (int i = 0; i < depth; i++)
		n += snprintf(line + n, sizeof(line) - n, "%x@%x%c", held[i].made, held[i].at,
			      i + 1 < depth ? ' ' : '\n');
	snprintf(path, sizeof(path), "%s/%d", getenv("LOCK_PAIRS"), (int)getpid());
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd < 0)
		return;
	if (write(fd, line, n) != n)
		abort();
	close(fd);
}

SHOWN int pthread_mutex_init(pthread_mutex_t *lock, const pthread_mutexattr_t *attr)
{
	static int (*real)(pthread_mutex_t *, const pthread_mutexattr_t *);
	uint32_t at = place(__builtin_return_address(0));
	struct made *entry = made_find(lock, at != 0);

	if (!real)
		real = dlsym(RTLD_NEXT, "pthread_mutex_init");
	if (entry)
		atomic_store(&entry->at, at);
	return real(lock, attr);
}

SHOWN int pthread_mutex_lock(pthread_mutex_t *lock)
{
	static int (*real)(pthread_mutex_t *);
	struct taken taken = { lock, 0, place(__builtin_return_address(0)) };
	struct made *entry = taken.at ? made_find(lock, false) : NULL;
	int r;

	if (!real)
		real = dlsym(RTLD_NEXT, "pthread_mutex_lock");
	r = real(lock);
	taken.made = entry ? atomic_load(&entry->at) : 0;
	if (!taken.made || depth == DEPTH)
		return r;
	held[depth++] = taken;
	if (depth > 1 && stack_is_new())
		stack_write();
	return r;
}

SHOWN int pthread_mutex_unlock(pthread_mutex_t *lock)
{
	static int (*real)(pthread_mutex_t *);

	if (!real)
		real = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
	for (int i = depth - 1; i >= 0; i--)
		if (held[i].lock == lock) {
			memmove(held + i, held + i + 1, (depth - i - 1) * sizeof(*held));
			depth--;
			break;
		}
	return real(lock);
}
