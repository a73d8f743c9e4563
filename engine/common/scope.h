/* SPDX-License-Identifier: MIT */
/*
 * scope.h: the macros of the front and the engine: cleanup attributes, a lock held for a scope,
 * and the release of blobs of rye.h.
 *
 * A variable declared with auto_X releases what it holds when its scope ends; steal() moves
 * the value out of it.
 */
#ifndef RYE_COMMON_SCOPE_H
#define RYE_COMMON_SCOPE_H

#include <rye/rye.h>

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DEFINE_AUTO(name, type, release)    \
	static inline void name(type *held) \
	{                                   \
		if (*held)                  \
			release(*held);     \
	}

static inline void auto_free_(void *held)
{
	free(*(void **)held);
}

static inline void auto_close_(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void auto_unlock_(pthread_mutex_t **lock)
{
	pthread_mutex_unlock(*lock);
}

static inline pthread_mutex_t *auto_lock_(pthread_mutex_t *lock)
{
	pthread_mutex_lock(lock);
	return lock;
}

DEFINE_AUTO(auto_fclose_, FILE *, fclose)
DEFINE_AUTO(auto_closedir_, DIR *, closedir)
DEFINE_AUTO(auto_blob_, struct rye_blob *, rye_blob_unref)

#define auto_free __attribute__((cleanup(auto_free_)))
/* An auto_close variable is often there only to be closed: it counts as used. */
#define auto_close __attribute__((cleanup(auto_close_), unused))
#define auto_file __attribute__((cleanup(auto_fclose_)))
#define auto_dir __attribute__((cleanup(auto_closedir_)))
#define auto_blob __attribute__((cleanup(auto_blob_)))

/*
 * Holds the mutex from this line to the end of the enclosing block. Variables declared above it are
 * released after the unlock, those declared below it before.
 */
#define GUARD(lock)                            \
	pthread_mutex_t *GUARD_NAME_(__LINE__) \
		__attribute__((cleanup(auto_unlock_), unused)) = auto_lock_(lock)
#define GUARD_NAME_(line) GUARD_NAME__(line)
#define GUARD_NAME__(line) guard_##line##_

static inline sigset_t auto_signals_(void)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	return before;
}

static inline void auto_signals_back_(sigset_t *before)
{
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* Takes no signal from this line to the end of the block; what is started there takes none. */
#define HOLD_SIGNALS()                 \
	sigset_t GUARD_NAME_(__LINE__) \
		__attribute__((cleanup(auto_signals_back_), unused)) = auto_signals_()

#define steal(ptr)                                   \
	({                                           \
		__typeof__(*(ptr)) stolen_ = *(ptr); \
		*(ptr) = 0;                          \
		stolen_;                             \
	})

/* Descriptors: -1 is empty. */
static inline int steal_fd(int *fd)
{
	int stolen = *fd;

	*fd = -1;
	return stolen;
}

#define MIN_OF(a, b) ((a) < (b) ? (a) : (b))
#define MAX_OF(a, b) ((a) > (b) ? (a) : (b))
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif
