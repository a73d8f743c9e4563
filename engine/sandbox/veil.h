/* SPDX-License-Identifier: MIT */
/*
 * veil.h: a mount namespace in which some directories are read-only, look empty or are others:
 * what Landlock cannot take out of a directory that it allows (interface 6). Made once per box
 * and entered by each of its processes before anything else confines them; root makes it as it
 * is, others in a user namespace that maps themselves alone.
 */
#ifndef RYE_SANDBOX_VEIL_H
#define RYE_SANDBOX_VEIL_H

#include "sandbox/sandbox.h"

#define VEIL_PATHS 16

/* Absolute paths, borrowed; what does not exist is left out. Done in this order. */
struct veil_ask {
	const char *anchored[VEIL_PATHS]; /* nobody in it can rename them */
	const char *frozen[VEIL_PATHS]; /* read-only, and so is all beneath */
	const char *hidden[VEIL_PATHS]; /* look like `empty` */
	const char *empty; /* a directory */
	const char *shm; /* a directory that becomes /dev/shm, or NULL */
};

/*
 * -EOPNOTSUPP: it would hold a mount of ours alive after its unmount, because the mounts here
 * are private and this process may not change that. Else -errno.
 */
int veil_make(const struct veil_ask *ask, struct veil *ret);

struct veil_want {
	const struct spaces *spaces; /* the first one is the project */
	bool write; /* its tools may write in the project */
	const char *empty, *shm; /* shm: or NULL */
};
/*
 * Hides the signing keys, freezes records of threads and trust of project and user; makes the
 * directories for these where a tool could make them first. The same errors.
 */
int veil_spaces(const struct veil_want *want, struct veil *ret);
/* Not where a space lies in the machine's own: the run would not find its project. */
bool veil_may_own_shm(const struct spaces *spaces);
/* Changes when a directory that is veiled comes, goes or is replaced: veils are made anew. */
uint64_t veil_stamp(const struct spaces *spaces);
void veil_done(struct veil *veil);
/* May this process make any? */
bool veil_possible(void);

/* Raw system calls only. The working directory is the namespace's root afterwards. */
CHILD_SIDE int veil_enter(const struct veil *veil);

#endif
