/* SPDX-License-Identifier: MIT */
/*
 * deaths.h: sixth part of rye.h (included by threads.h): what became of a mount whose daemon died and that is not mounted again: one small file
 * a mountpoint, in .ai/state/mounts of the user space that the environment names. Written by the
 * mount's watchdog, read by `ryefs list` and `ryefs doctor`. No engine has to be open.
 */
#ifndef RYE_DEATHS_H
#define RYE_DEATHS_H

#include <rye/rye.h>

struct rye_death {
	int times; /* how often a daemon of this mount has died */
	int64_t at_s; /* the last time, since 1970 */
	char why[512]; /* how, and why it is not mounted again; one line */
};

/* What cannot be written is not told. */
RYE_API void rye_death_note(const char *mountpoint, const struct rye_death *death);
/* False: nothing is known. */
RYE_API bool rye_death_read(const char *mountpoint, struct rye_death *ret);
/* It is mounted again, or unmounted. */
RYE_API void rye_death_forget(const char *mountpoint);

#endif
