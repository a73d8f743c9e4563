/* SPDX-License-Identifier: MIT */
/* loops.h: the threads that read requests from the device. */
#ifndef RYE_FS_MOUNT_LOOPS_H
#define RYE_FS_MOUNT_LOOPS_H

#include "core/front.h"

struct loops;

/* Returns when INIT was answered; -1: it never came. *ret is set in either case, or NULL. */
int loops_start(struct front *front, struct loops **ret);
/* The device is gone: unmounted, or aborted. front->ready_fd becomes readable then. */
bool loops_ended(struct loops *loops);
/* Makes them end wherever they are, joins them and frees *loops. */
void loops_end(struct loops *loops);

#endif
