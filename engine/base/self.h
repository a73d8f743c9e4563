/* SPDX-License-Identifier: MIT */
/* self.h: where this program's own files lie, and those of the person it works for. */
#ifndef RYE_BASE_SELF_H
#define RYE_BASE_SELF_H

#include <rye/rye.h>

/*
 * The system roots of a program that was told none (rye_options.system_roots == NULL), colon
 * separated, in this order: $RYE_SYSTEM_SPACES (set but empty: none at all); share/ryefs/bundle
 * beside the program's own bin/; bundle/ beside the program, as in a build tree; the
 * installation's compiled-in place. Free it; NULL: there is none, or no memory.
 */
char *self_system_roots(void);

/* Where the schemas for editors lie as files, found as the bundle is. Free it; NULL: nowhere, or no memory. */
char *self_schemas(void);

/* The program's own path, whatever argv[0] said. Free it; NULL when /proc is not there. */
char *self_path(void);

/*
 * The parent of the user space: wanted, else $USER_SPACE, else $HOME, else the account's home; "~" and
 * "~/x" are the home directory's. May be relative. Free it; NULL: none of them is known, or no memory.
 */
char *self_user_base(const char *wanted);
/* The command that helps where that cannot be used: an empty one, which the shell gets from /tmp. */
#define SELF_ELSEWHERE "export USER_SPACE=\"$(mktemp -d)\""

/*
 * Adds to a message the command with which this person may read what lies at path, or write to it: of the
 * first thing on the way there that is their own and keeps them out. Nothing where it is another's.
 */
void self_may(const char *path, bool write, struct rye_err *err);

#endif
