/* SPDX-License-Identifier: MIT */
/*
 * connection.h: the kernel's side of a FUSE mount whose daemon does not answer. Knows the C
 * library only; used by the mount, its watchdog and `ryefs umount`. None of these functions can
 * hang: a child process touches the mount, and is killed when its time is over.
 */
#ifndef RYE_COMMON_CONNECTION_H
#define RYE_COMMON_CONNECTION_H

#include <stdbool.h>

/* How long a daemon may take to answer before it is taken for dead. Its FUSE threads never wait,
 * so a living one answers in microseconds, or in milliseconds when the machine is busy. */
#define CONNECTION_PATIENCE_MS 3000

enum connection_state {
	CONNECTION_ANSWERS,
	CONNECTION_DEAD, /* the kernel has ended it (ENOTCONN) */
	CONNECTION_SILENT, /* the daemon does not answer, and the kernel waits for it */
};

/* Calls statfs(2), which the kernel passes to the daemon. patience_ms: how long to wait. */
enum connection_state connection_probe(const char *mountpoint, int patience_ms);

/*
 * Ends the connection of the FUSE mount at mountpoint, so that every request fails with
 * ECONNABORTED: through fusectl, which its owner may, else by a forced unmount, which root may.
 * minor: of the mount's device, as mountinfo has it. False: neither was possible.
 */
bool connection_abort(unsigned minor, const char *mountpoint);

/*
 * Runs fusermount3 with these arguments, its name among them, and waits for its end; what it
 * complains of goes nowhere. Its exit status; -1: it could not be started.
 */
int fusermount_run(const char *const argv[]);

#endif
