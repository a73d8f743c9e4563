/* SPDX-License-Identifier: MIT */
/*
 * space_watch.h: the thread that hears of changes (inotify, one watch per directory) and tells them:
 * the index is brought up to date first, then the listener is called, holding no lock.
 */
#ifndef RYE_SPACE_SPACE_WATCH_H
#define RYE_SPACE_SPACE_WATCH_H

#include "space/index_update.h"

struct watch;

/* Runs on the watch's thread. */
typedef void (*watch_fn)(void *arg, const struct index_changes *changes);

int watch_open(const struct log *log, struct watch **ret, struct rye_err *err);
/* Events from now on; those since watch_add are not lost. */
int watch_start(struct watch *watch, struct index *index, watch_fn fn, void *arg,
		struct rye_err *err);
void watch_stop(struct watch *watch); /* joins the thread; NULL is fine */
void watch_close(struct watch *watch); /* the same, and frees */

/* For struct index_env: arg is the watch. */
int watch_add(void *arg, int dirfd);
void watch_del(void *arg, int wd);

/* Has changes that somebody else found told on the watch's thread; empties *changes. */
void watch_tell(struct watch *watch, struct index_changes *changes);

#endif
