/* SPDX-License-Identifier: MIT */
/*
 * keystage.h: several files of one directory replaced together. They are written into a
 * directory of their own first; one rename decides, the others follow. A process that ends in
 * between leaves a stage, which the next command finishes or removes.
 */
#ifndef RYE_TRUST_KEYSTAGE_H
#define RYE_TRUST_KEYSTAGE_H

#include "err.h"

#include <sys/types.h>

/* The deciding file, and the ones that follow it. */
#define KEYSTAGE_FIRST "private_key.pem"

struct keystage_file {
	const char *name, *text;
	mode_t mode;
};

/*
 * Both last until dir is closed, and end first what another process has left there: what it
 * had decided is put in place, all else removed, temporary files too. What cannot be done, on
 * a read-only disk for instance, stays. A file system without locks does not stop anybody.
 */
void keystage_share(int dir); /* to read: nobody replaces anything meanwhile */
void keystage_lock(int dir); /* to replace: alone */

/* With the lock; files[0] is KEYSTAGE_FIRST. After an error before the decision all is as it was. */
int keystage_put(int dir, const struct keystage_file *files, size_t n, struct rye_err *err);

#endif
