/* SPDX-License-Identifier: MIT */
/* change.h: from the engine's "this changed" to what the kernel has to be told. */
#ifndef RYE_FS_CHANGE_H
#define RYE_FS_CHANGE_H

#include "core/front.h"

/* An rye_change_fn; arg: struct front. Only queues, but for RYE_CHANGE_WAIT. */
void change_seen(void *arg, const struct rye_change *change);
/* What the kernel knows below the root is of a daemon before this one: it is to look everything up again. Only queues. */
void change_epoch(struct front *front);

#endif
