/* SPDX-License-Identifier: MIT */
/*
 * mount.h: around the session: the background process, the two paths, the watchdog.
 */
#ifndef RYE_FS_MOUNT_MOUNT_H
#define RYE_FS_MOUNT_MOUNT_H

#include "core/front.h"
#include "core/options.h"

#include "buf.h"

#include <signal.h>
#include <stdbool.h>

/*
 * handover.c: what one daemon of a mount leaves to the next: how often one died, the last lines of the log.
 */

struct handover;

/* fd: of the daemon before (its own from here on); -1: there was none. NULL: it is not that, or no memory. */
struct handover *handover_open(int fd);
void handover_close(struct handover *handover);
int handover_fd(const struct handover *handover);
/* A line of the log, on any thread; arg: the handover. */
void handover_line(void *arg, const char *line, size_t n);
/* The last lines of the daemon before; "": there was none, or it had nothing to say. */
const char *handover_before(const struct handover *handover);
/* How often daemons of this mount have died, the last one how; times 0: none has. */
const struct rye_death *handover_death(const struct handover *handover);
/* Of the mount whose place the next daemon's takes. */
struct handover_mount {
	int id; /* as mountinfo has it */
	pid_t daemon;
	bool lives; /* its daemon goes on until the last user of that mount has left */
	/* the next daemon goes on with this open device (kept.c), or, where the one before lives, asks that one for it
	 * by this socket (loop/relay.h); -1: with one of its own */
	int device;
	struct front_init init;
};
void handover_put(struct handover *handover, const struct handover_mount *mount);
struct handover_mount handover_mount(const struct handover *handover);
/* For a daemon beside this one: the same past, a log of its own. NULL: no memory. */
struct handover *handover_next(const struct handover *handover);
/* In the watchdog: one more has died. False: too often in too short a time. */
bool handover_died(struct handover *handover, const char *why);

/*
 * again.c: in the watchdog, when the daemon has died.
 */

/* `ryefs mount-again FD SOURCE MOUNTPOINT …`: said by a watchdog alone. */
#define AGAIN_WORD "mount-again"

/* Not of a foreground process, which is looked after by what has started it; auto_unmount asks for none. */
bool again_wanted(const struct options *opt);

struct again_death {
	struct handover_mount mount; /* that is dead now, or to be followed by another */
	sigset_t signals; /* those that the watchdog had blocked when it was made */
	char why[400]; /* "was killed by SIGKILL" */
};

/* How this process ended, of which pidfd was opened (-1: there is none). Waits for a moment. */
void again_look(pid_t pid, int pidfd, struct again_death *ret);
/*
 * Becomes the next daemon of the mount. Returns where it is not mounted any more, or cannot be mounted
 * again: then it has noted why (rye_death_note).
 */
void again_mount(const struct options *opt, struct handover *handover,
		 const struct again_death *death);
/* Starts another daemon, of the program that lies by now where this one's lay, which takes the mount's place; or
 * goes on with its connection, by that socket (at->mount.device). */
void again_reload(const struct options *opt, const struct handover *handover,
		  const struct again_death *at);

/* In the next daemon: it was to take a dead one's place, and cannot. Nothing of other daemons. */
void again_failed(const struct options *opt, const struct handover *handover,
		  const struct rye_err *err);

/*
 * kept.c: the next daemon goes on with the connection of the one that has died.
 */

/* Is it known what INIT has said, and is there no ring? Then another daemon can go on while this one lives. */
bool kept_known(const struct front *front);
/* Can that be, if this daemon dies? After INIT. */
bool kept_can(const struct options *opt, const struct front *front);
bool kept_kernel_is_mended(const char *release);
/* In the watchdog, when the last thread of the dead daemon has gone that may read: what it had in hand is
 * sent again. 0 or -errno. */
int kept_resend(int device);
/* Instead of mountpoint_prepare's looks. */
int kept_find(const struct options *opt, const struct handover *handover, struct rye_err *err);
/* Instead of fuse_session_mount. */
int kept_mount(struct fuse_session *session, const struct handover *handover, struct rye_err *err);

/*
 * beneath.c: a mount in the place of another. By turns, on the main thread of the next daemon.
 */

/* Instead of mountpoint_prepare's looks: takes hold of that mount (opt->old_fd). */
int beneath_find(struct options *opt, const struct handover *handover, struct rye_err *err);
/* Instead of fuse_session_mount. */
int beneath_mount(struct fuse_session *session, const struct options *opt, struct rye_err *err);
/* The end of that; and of any mount, where another lies at its path by now. id: the mount's. */
void beneath_unmount(struct fuse_session *session, const struct options *opt, int id);

/*
 * daemon.c: into the background, and telling the first process when the mount answers.
 */

struct daemon;

/*
 * -1: go on, as the daemon or in the foreground. >= 0: this is the first process and the exit
 * status to leave with, after the daemon was ready or has failed.
 */
int daemon_start(bool background, struct daemon **ret);
/* The first process may leave. */
void daemon_ready(struct daemon *daemon);
/* Nothing more will be said on stderr: lets go of the terminal. */
void daemon_detach(struct daemon *daemon);
void daemon_end(struct daemon *daemon);

/*
 * mount_options.c: argv of a mount → struct options. Unknown options are refused by name; words that
 * belong to mount(8) mean nothing to us; libfuse's own are handed on.
 */

/* Fills *ret, whose texts options_done frees, also on failure. 0, or negative with err filled. */
int options_parse(int argc, char **argv, struct options *ret, struct rye_err *err);
/* A copy that lives as long as the options; NULL: out of memory, or of places. */
const char *options_keep(struct options *opt, const char *text);
void options_done(struct options *opt);
/* Appends a value as it stands in a list of options. */
void options_escape(struct rye_buf *buf, const char *text);

/*
 * mountpoint.c: are the two paths of a mount fit for it?
 */

/*
 * Makes source and mountpoint absolute and real, unmounts a dead mount of ours that lies there.
 * Refuses pairs of paths with which the daemon would wait for its own mount. handover: where that of
 * another daemon is to be taken over, else NULL. 0, or negative with
 * err filled.
 */
int mountpoint_prepare(struct options *opt, const struct handover *handover, struct rye_err *err);
/* The line to be added to .git/info/exclude, or NULL: it does not lie in a work tree, or the
 * line is there. *ret_git: the exclude file. Both are the caller's to free. */
char *mountpoint_exclude(const struct options *opt, char **ret_git);
/* The id of the mount that lies on top there, as mountinfo has it; 0: none does. */
int mountpoint_id(const char *path);
/* Detaches the mount: umount2 for root, fusermount3 for others. 0 or an errno. */
int mountpoint_detach(const char *path);

/* Why the kernel took no mount there, and what mends it; libfuse said only what failed. */
int mountpoint_failed(const struct options *opt, struct rye_err *err);

/*
 * watchdog.c: a process beside the daemon that outlives it. When the daemon is killed while one of
 * its notify threads waits in the kernel for a directory's lock, that thread keeps /dev/fuse open,
 * the connection never ends, and every process that enters the mount hangs in the kernel
 * (tests/e2e/watchdog.sh). The watchdog then aborts the connection, and kills the tools that the
 * daemon's runs have left behind.
 */

struct watchdog;

/*
 * Forks: to be called by the daemon's main thread, before it has made another one. NULL: no
 * process or no memory; the mount then works without. handover: for the next daemon; NULL: there is to
 * be none.
 */
struct watchdog *watchdog_start(const struct options *opt, struct handover *handover);
/* The mount answers: from now on the watchdog knows what to end. */
void watchdog_guard(struct watchdog *watchdog, const char *mountpoint);
/* If this daemon dies, the next one is to go on with its device. Its `front` has what that one has to know. */
void watchdog_keep(struct watchdog *watchdog, const struct front *front);
/* Another daemon is to take over: it gets this socket (loop/relay.h), or -1. */
void watchdog_reload(struct watchdog *watchdog, int socket);
/* It goes on with this connection: the death of this daemon is no more the end of that. */
void watchdog_passed(struct watchdog *watchdog);
/* The daemon was asked to end: if it dies on the way there is to be no next one. */
void watchdog_ending(struct watchdog *watchdog);
/* The daemon ends in order; waits until the watchdog has gone. */
void watchdog_end(struct watchdog *watchdog);

#endif
