/* SPDX-License-Identifier: MIT */
/*
 * lookout.h: a thread that looks again. The kernel says once that a waiting caller got some
 * signal, and not which (a background job's SIGCHLD looks like ^C); so whoever parks requests
 * has to look at /proc then, and every 100 ms as long as an interrupted one still waits.
 */
#ifndef RYE_FS_LOOKOUT_H
#define RYE_FS_LOOKOUT_H

#include <stdbool.h>

struct lookout;

/* Called on the lookout's thread. True: look again in a while; false: when poked. */
typedef bool (*lookout_fn)(void *arg);

int lookout_open(lookout_fn fn, void *arg, struct lookout **ret); /* 0 or -errno */
/* Look now. From any thread, with any lock of the front's; fine after the stop as well. */
void lookout_poke(struct lookout *lookout);
void lookout_stop(struct lookout *lookout); /* joins; the caller must hold no lock of fn's */
void lookout_free(struct lookout *lookout); /* NULL is fine */

#endif
