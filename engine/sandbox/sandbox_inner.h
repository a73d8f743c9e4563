/* SPDX-License-Identifier: MIT */
/*
 * sandbox_inner.h: what the files of sandbox/ share.
 */
#ifndef RYE_SANDBOX_SANDBOX_INNER_H
#define RYE_SANDBOX_SANDBOX_INNER_H

#include "sandbox/sandbox.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/*
 * pidlimit.c: starts a thread that moves this process into the cgroup, for which the kernel takes
 * tens of milliseconds. NULL: not root, hence not needed, or no thread could be started.
 */
struct pidlimit;
struct pidlimit *pidlimit_start(void);
/*
 * Waits until that thread has ended, whether it could enter the cgroup or not. Called before the
 * first tool is started.
 */
void pidlimit_wait(struct pidlimit *limit);
void pidlimit_close(struct pidlimit *limit); /* NULL is fine */

/*
 * From the texts of /proc/self/mountinfo and /proc/self/cgroup: the directory of our cgroup in
 * the hierarchy that counts processes. False: there is none.
 */
bool pidlimit_dir(const char *mounts, const char *cgroups, char *ret, size_t size);

/* veil_rows.c */
void veil_rows_done(struct veil_rows *rows);
void veil_rows_fail(struct veil_rows *rows, int sys); /* the first reason counts */
void veil_rows_add(struct veil_rows *rows, enum veil_how how, const char *path); /* once */
bool veil_rows_has(const struct veil_rows *rows, enum veil_how how, const char *path);
void veil_rows_below(struct veil_rows *rows, enum veil_how how, const char *dir, const char *name);
/* veil_alias.c: adds the other paths that lead to what is frozen or hidden. */
void veil_rows_aliases(struct veil_rows *rows);
/* veil_git.c */
/* name: of a `.git`, below the project. */
void veil_rows_git(struct veil_rows *rows, const char *project, const char *name);

/*
 * veil_private.c: see there. watch: the kernel is to tell what comes. NULL: no memory. So many
 * directories are looked into, and so many files hidden; with more, the rows fail with E2BIG.
 */
#define PRIVATE_DIRS 262144
#define PRIVATE_FILES 1024
#define PRIVATE_GITS 512
#define VEIL_GITS EMLINK /* how the rows fail where there are more */
struct privates;
struct privates *privates_open(const char *project, bool watch);
void privates_close(struct privates *privates);
/* write: also what keeps them in their place. */
void privates_rows(struct privates *privates, const struct veil_want *want, struct veil_rows *rows);
uint64_t privates_stamp(struct privates *privates); /* of those that there are */

struct privates *veil_watch_privates(const struct veil_watch *watch);
const struct spaces *veil_watch_spaces(const struct veil_watch *watch);

/* Changes with the file, not with what is in it. */
uint64_t veil_identity(const struct stat *st);
/* What lies under some names of a directory. */
struct veil_names {
	uint64_t hash; /* of the directory's identity and theirs */
	unsigned there; /* a bit for each that is */
};
/*
 * names: NULL behind the last. They are looked at only when the directory's times are others than at
 * the last time in the same slot: the number of a space, or how many there are for git.
 */
void veil_watch_names(struct veil_watch *watch, size_t slot, const char *dir,
		      const char *const *names, struct veil_names *ret);
/* veil_paths.c: of the directories that are veiled, for veil_watch.c */
uint64_t veil_stamp(struct veil_watch *watch);

#endif
