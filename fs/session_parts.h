/* SPDX-License-Identifier: MIT */
/* session_parts.h: making and taking apart struct front; private to session*.c. */
#ifndef RYE_FS_SESSION_PARTS_H
#define RYE_FS_SESSION_PARTS_H

#include "loop/loop.h"

struct handover;

/* Everything but the mount; 0, or negative with err filled. After a failure the parts that were
 * made must still be closed with session_parts_close. */
/* handover: from the daemon before and for the next; or NULL. */
int session_parts_open(struct front *front, struct handover *handover, struct rye_err *err);
int session_mount(struct front *front, const struct handover *handover, struct rye_err *err);
/* The mount answers. What the kernel knows of a daemon before this one is told to be so no more. */
void session_known(struct front *front);
/* Does the mount lie at its path? It does not when it was unmounted, or another daemon took over. */
bool session_on_top(const struct front *front);
/* Closes the parking: cancels the runs that a request waits for and answers every parked
 * request. */
void session_stop_parked(struct front *front);
/* Ends the notify threads. Called while the loops still run: a notification may wait in the kernel
 * for an answer of theirs, and none may be sent to a closed device. */
void session_stop_notices(struct front *front);
/* After the loops have ended: requests of processes that are still inside get an error. Twice is
 * fine. */
void session_unmount(struct front *front);
void session_parts_close(struct front *front);
/* The line after the first scan. */
void session_summary(struct front *front, const struct rye_counts *counts);

void session_warn(struct front *front, const char *text); /* in .ryefs/log */
int session_fail(struct rye_err *err, const char *what);
int session_fail_sys(struct rye_err *err, int sys, const char *what);

#endif
