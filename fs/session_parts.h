/* SPDX-License-Identifier: MIT */
/* session_parts.h: making and taking apart struct front; private to session*.c. */
#ifndef RYE_FS_SESSION_PARTS_H
#define RYE_FS_SESSION_PARTS_H

#include "core/front.h"

struct daemon;

/* Everything but the mount. On failure what there is is still to be closed. */
int session_parts_open(struct front *front, struct daemon *daemon, struct rye_err *err);
int session_mount(struct front *front, struct rye_err *err);
/* Cancels what runs for somebody who waits, and answers him. */
void session_stop_parked(struct front *front);
/* No more notifications. While the loops still run: one may wait for what they are to answer,
 * and none may meet a closed device. */
void session_stop_notices(struct front *front);
/* After the loops have ended: who is still inside gets an error. Twice is fine. */
void session_unmount(struct front *front);
void session_parts_close(struct front *front);
/* The line after the first scan. */
void session_summary(struct front *front, const struct rye_counts *counts);

int session_fail(struct rye_err *err, const char *what);
int session_fail_sys(struct rye_err *err, int sys, const char *what);

#endif
