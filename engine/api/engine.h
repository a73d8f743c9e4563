/* SPDX-License-Identifier: MIT */
/*
 * api/engine.h: what struct rye is made of; private to the files of engine/.
 *
 * Locks, taken upwards only: 1 rye.build (the first scan of an engine that does not watch),
 * 2 a space's update lock (space/index_tree.h), 3 index.lock, 4 the item store's, 5 rye.lock.
 * None is held while verifying, running or calling back.
 */
#ifndef RYE_API_ENGINE_H
#define RYE_API_ENGINE_H

#include "scope.h"
#include "run/exec.h"
#include "api/verdict_cache.h"
#include "space/index_update.h"
#include "item/item.h"
#include "item/item_store.h"
#include "api/prefetch.h"
#include "space/space.h"
#include "space/space_watch.h"

struct rye {
	struct rye_options opt; /* strings are ours; frozen after rye_open */
	struct log log;
	struct spaces *spaces;
	struct item_env items;
	struct watch *watch; /* NULL: opt.scan is off */
	struct index *index;
	struct cache cache; /* over the index */
	struct prefetch *prefetch; /* NULL: opt.scan is off */
	struct exec *exec;
	struct exec_hooks hooks; /* frozen after rye_open */
	struct threads *threads;
	pthread_mutex_t build;
	_Atomic bool built; /* the index is filled */
	size_t search_texts; /* RYE_SEARCH_TEXTS; tests do with less */
	_Atomic int64_t searched_ms; /* the last search; 0: none since documents were dropped */
	pthread_mutex_t lock; /* of what follows */
	rye_change_fn change;
	void *change_arg;
};

/* Threads worth having for work that is only work. */
int engine_threads(void);
/* The filled index; the first call of an engine that does not watch fills it. */
struct index *engine_index(struct rye *rye);
/* Looks again where no watch tells of changes; true: one does. */
bool engine_check(struct rye *rye, enum rye_kind kind, const char *path);
/* The verified item and its rendering. */
int engine_load(struct rye *rye, enum rye_kind kind, const char *id, struct loaded *ret,
		struct rye_err *err);
/* Changes found outside the watcher: trust is read again at once, the rest is told later. */
void engine_changed(struct rye *rye, struct index_changes *changes);
/* For {env:NAME}: the allow-list and opt.env_names (spec README, interpolated values). */
const char *engine_env(void *arg, const char *name);

/* Runs and threads: api/engine_runs.c, api/engine_threads.c. */
int engine_runs_open(struct rye *rye, struct rye_err *err);
void engine_runs_close(struct rye *rye);
int engine_detach(void *arg, const struct exec_detach *ask, json_t **ret, struct rye_err *err);
bool engine_adopt(void *arg, struct rye_call *call, const char *ref, const json_t *request,
		  char thread_id[64]);
void engine_adopted_end(void *arg, const char *thread_id, const struct rye_outcome *outcome);
/* rye_change_fn; arg: the engine. Passes a thread's change on to the watcher. */
void engine_thread_changed(void *arg, const struct rye_change *change);

#endif
