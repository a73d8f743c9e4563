/* SPDX-License-Identifier: MIT */
/*
 * auto.h: the front's closed list of macros: cleanup attributes and scope locks. The engine has
 * its own (the front's include path ends at rye.h). steal() moves a value out of a variable.
 */
#ifndef RYE_FS_AUTO_H
#define RYE_FS_AUTO_H

#include <rye/rye.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void auto_free_(void *held)
{
	free(*(void **)held);
}

static inline void auto_close_(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void auto_fclose_(FILE **file)
{
	if (*file)
		fclose(*file);
}

static inline void auto_blob_(struct rye_blob **blob)
{
	rye_blob_unref(*blob);
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

#define auto_free __attribute__((cleanup(auto_free_)))
#define auto_close __attribute__((cleanup(auto_close_)))
#define auto_file __attribute__((cleanup(auto_fclose_)))
#define auto_blob __attribute__((cleanup(auto_blob_)))

/* The statement or block that follows runs with the mutex held; return and break release it. */
#define WITH_LOCK(lock)                                                         \
	for (pthread_mutex_t * with_lock_                                       \
		     __attribute__((cleanup(auto_unlock_))) = auto_lock_(lock), \
		     *with_once_ = with_lock_;                                  \
	     with_once_; with_once_ = NULL)

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

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif
