/* SPDX-License-Identifier: MIT */
/*
 * sandbox.h: what a child may do beyond its own memory (interface 6). A box is a private
 * TMPDIR, a Landlock ruleset that allows writing there and (when `write`) in the project, a
 * veil (sandbox/veil.h) over keys, trust and state, with a /dev/shm of its own, and a seccomp
 * filter. Boxes are made ahead and used again when their directories were left empty: a
 * ruleset of ten rules costs more than starting a process does.
 *
 * Lock: `lock` of struct boxes guards the list of free boxes; files are touched outside it.
 */
#ifndef RYE_SANDBOX_SANDBOX_H
#define RYE_SANDBOX_SANDBOX_H

#include "base/json.h"
#include "sandbox/raw.h"

#include <linux/filter.h>
#include <sys/types.h>

struct confine {
	bool net, write; /* sockets other than AF_UNIX; writing in the project */
	bool calls; /* its `requires` names items it may run: the mount's files may be opened */
	bool keys; /* it manages keys for its caller: neither veil nor Landlock is in its way */
};

/* Descriptors of the veil's namespaces; -1: none. */
struct veil {
	int user, mnt;
	uint64_t stamp; /* of what lies behind it (veil_stamp) */
};

struct box {
	struct confine confine;
	struct veil veil;
	int ruleset; /* Landlock; -1: not available or switched off */
	const struct sock_fprog *filter; /* NULL: the same */
	bool root; /* has powers to give up */
	char *tmpdir;
	ino_t tmpdir_ino;
	char *shm; /* what /dev/shm is; NULL: nobody may write to the real one */
	ino_t shm_ino;
	mode_t umask;
	struct box *next;
};

struct boxes;
struct spaces;

/* What the kernel lacks is fatal here under RYE_SANDBOX_STRICT. spaces has to outlive it. */
int boxes_open(const struct rye_options *opt, const struct spaces *spaces, struct boxes **ret,
	       struct rye_err *err);
void boxes_close(struct boxes *boxes); /* removes what is left of the temporary directories */

int box_take(struct boxes *boxes, struct confine confine, struct box **ret, struct rye_err *err);
/* busy: something of the run may still live; its TMPDIR stays until boxes_close. */
void box_give(struct boxes *boxes, struct box *box, bool busy);

/* Something of a call is left in its /dev/shm. */
bool box_littered(const struct box *box);
/* Are its directories still there, and all behind its veil? */
bool box_is_whole(const struct boxes *boxes, const struct box *box);

/* A directory in a box, with what a tool left in it. */
void tmpdir_remove(const char *path);

/* Names of what "auto" had to leave out; NULL: nothing. A new reference. */
json_t *boxes_skipped(const struct boxes *boxes);
bool boxes_veil(const struct boxes *boxes); /* do boxes have their veil? */
/*
 * A ruleset that refuses nothing; entering it makes a domain of one's own, which others of
 * the same box can neither trace nor read through /proc, nor it them. -1: no Landlock.
 */
int boxes_nest(const struct boxes *boxes);

/*
 * Raw system calls only, for the child between clone and exec. 0, or a positive errno. Behind
 * box_veil the working directory is "/".
 */
int box_veil(const struct box *box);
int box_enter(const struct box *box);

/* The filter for this machine. (seccomp.c) */
struct seccomp_program {
	struct sock_fprog program;
	struct sock_filter code[256];
	size_t n;
};
bool seccomp_build(bool net, struct seccomp_program *ret); /* false: not for this machine */

#endif
