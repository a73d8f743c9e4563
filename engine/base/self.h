/* SPDX-License-Identifier: MIT */
/* self.h: where this program's own files lie. */
#ifndef RYE_BASE_SELF_H
#define RYE_BASE_SELF_H

/*
 * The system roots of a program that was told none (rye_options.system_roots == NULL), colon
 * separated, in this order: $RYE_SYSTEM_SPACES (set but empty: none at all); share/ryefs/bundle
 * beside the program's own bin/; bundle/ beside the program, as in a build tree; the
 * installation's compiled-in place. Free it; NULL: there is none, or no memory.
 */
char *self_system_roots(void);

/* The program's own path, whatever argv[0] said. Free it; NULL when /proc is not there. */
char *self_path(void);

#endif
