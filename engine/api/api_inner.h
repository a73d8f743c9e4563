/* SPDX-License-Identifier: MIT */
/*
 * api_inner.h: what the engine is made of; private to the files of api/.
 */
#ifndef RYE_API_API_INNER_H
#define RYE_API_API_INNER_H

#include "base/json.h"
#include "base/spool.h"
#include "bounds.h"
#include "item/item.h"
#include "run/run.h"
#include "scope.h"
#include "search/search.h"
#include "space/space.h"
#include "thread/thread.h"
#include "trust/trust.h"

#include <stdatomic.h>

/*
 * verdict_cache.c: items by what the index says of them, and what it remembers of their verification.
 *
 * Verified items are kept with their rendering in the item store; of all the index keeps
 * verdict, size and version, so contents need not stay in memory. No lock is held here: two
 * threads that want the same item at once both load it, neither waits for the other.
 */

/* Frozen once made. */
struct cache {
	const struct item_env *items;
	struct index *index;
	struct spool *spool; /* of what readers have asked for */
	interp_env_fn env; /* {env:NAME} */
	void *env_arg;
	_Atomic uint64_t *loads; /* grows before a file is read whose verdict may be kept */
};

/* A verified item with its rendering (defaults, no inputs given). */
struct loaded {
	struct rye_item *item;
	struct rye_blob *text;
	uint64_t layers; /* digest of all sources of a merged entry; 0: item is the only one */
	int64_t mtime_ns; /* then: of the latest of them */
	bool linked; /* its file, or one of them, has more than one name */
	bool unsigned_part; /* it is configuration, or merged from some, that has no signature */
};

void loaded_done(struct loaded *loaded);
#define auto_loaded __attribute__((cleanup(loaded_done)))

/* By canonical id or alias. Refused items fail with the full text of their refusal. */
int cache_load(const struct cache *cache, enum rye_kind kind, const char *id, struct loaded *ret,
	       struct rye_err *err);
/* The same from the disk, without an index; nothing is remembered in one. */
int cache_direct(const struct cache *cache, const struct item_ask *ask, struct loaded *ret,
		 struct rye_err *err);
/*
 * Makes item->state known, loading if need be; false: it is gone. ret_text, unless NULL, wants
 * the rendering of a served item too: of exactly that state, the caller's reference.
 */
bool cache_know(const struct cache *cache, struct index_item *item, struct rye_text **ret_text);

/* api_instead.c: as the hook of struct exec_hooks. */
struct rye_blob *api_instead(struct rye *rye, const struct rye_request *req, enum rye_code code,
			     char meant[RYE_REF_MAX]);

/*
 * prefetch.c: threads that find out the verdicts of items that no reader has asked for yet: all of
 * them after opening, later what has changed. They also look at the key files of layers whose
 * changes inotify does not tell.
 */

struct prefetch;

struct prefetch_env {
	const struct cache *cache;
	struct index *index;
	int threads;
	void (*poll)(void *arg); /* every PREFETCH_POLL_S, from one thread */
	void *arg;
	_Atomic uint64_t *asked; /* grows with each lookup, for which the workers make room */
};

#define PREFETCH_POLL_S 2

int prefetch_open(const struct prefetch_env *env, struct prefetch **ret, struct rye_err *err);
/* Joins its threads; it may still be kicked. NULL is fine to both. */
void prefetch_stop(struct prefetch *prefetch);
void prefetch_close(struct prefetch *prefetch);
/* Something has changed: go round again soon. */
void prefetch_kick(struct prefetch *prefetch);
/* Has every item had a verdict once? */
bool prefetch_done(struct prefetch *prefetch);

/*
 * engine.c: what struct rye is made of.
 *
 * Locks, taken upwards only: 1 rye.build (the first scan of an engine that does not watch), 2 a
 * space's update lock (space/space_inner.h), 3 index.lock, 4 the item store's, 5 rye.lock. None is
 * held while verifying, running or calling back.
 */

struct rye {
	struct rye_options opt; /* strings are ours; frozen after rye_open */
	struct log log;
	struct item_env items;
	const struct spaces *spaces; /* items.spaces */
	struct watch *watch; /* NULL: opt.scan is off */
	struct index *index;
	struct spool *spool; /* texts for readers */
	struct cache cache; /* over the index */
	_Atomic uint64_t loads;
	_Atomic uint64_t asked; /* lookups, for prefetch */
	struct prefetch *prefetch; /* NULL: opt.scan is off */
	struct exec *exec;
	struct exec_hooks hooks; /* frozen after rye_open */
	struct threads *threads;
	struct facts *facts; /* state/threads as it is shown */
	pthread_mutex_t build;
	_Atomic bool built; /* the index is filled */
	size_t search_texts; /* RYE_SEARCH_TEXTS; tests do with less */
	_Atomic bool cleaned; /* what killed processes have left is, or was, looked for */
	_Atomic int64_t searched_ms; /* the last search; 0: none since documents were dropped */
	pthread_mutex_t lock; /* of what follows */
	rye_change_fn change;
	void *change_arg;
};

/* Threads worth having for work that only computes. */
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
/* The same on the calling thread, which the watcher may keep for as long as it queues what it hears;
 * changes stay the caller's. */
void engine_tell(struct rye *rye, const struct index_changes *changes);
/* Returns when what the watcher was told before shows. On workers only. */
void engine_wait_told(struct rye *rye);
/* For {env:NAME}: the allow-list and opt.env_names. */
const char *engine_env(void *arg, const char *name);

/* Runs and threads: api/engine_runs.c, api/engine_threads.c. */
int engine_runs_open(struct rye *rye, bool runs,
		     struct rye_err *err); /* runs: they can be started */
void engine_runs_close(struct rye *rye);
int engine_detach(void *arg, const struct exec_detach *ask, json_t **ret, struct rye_err *err);
bool engine_adopt(void *arg, struct rye_call *call, const char *ref, const json_t *request,
		  char thread_id[64]);
void engine_adopted_end(void *arg, const char *thread_id, const struct rye_outcome *outcome);
bool engine_enrol(void *arg, const char *run_id, const char *ref, const char *parent_id);
void engine_discharge(void *arg, const char *run_id, const char *status, const char *result);
/* A thread without a runner; arg: the engine. */
void engine_thread_lost(void *arg, struct thread_lost *lost);
void engine_thread_deleted(void *arg, const char *id);
/* rye_change_fn; arg: the engine. Passes a thread's change on to the watcher. */
void engine_thread_changed(void *arg, const struct rye_change *change);

/*
 * api_search.c: the fetch primitive's query mode, for the hooks of exec.
 */

/* The request as it came → the whole reply, a new reference. */
int api_search_reply(struct rye *rye, const struct exec_search *from, json_t **ret,
		     struct rye_err *err);

/*
 * search_request.c: a search request of the fetch primitive.
 */

/* Points into the request, which has to outlive it; ask.prefix points to prefix. */
struct search_request {
	struct search_ask ask;
	const char *scope, *source, *sort;
	const json_t *filters; /* or NULL */
	json_int_t limit, offset;
	char prefix[RYE_ID_MAX + 1];
};

int search_request_read(const json_t *request, struct search_request *ret, struct rye_err *err);

/*
 * view_info.c: the views of an item that have a file of their own. Each makes the
 * bytes of one derived file; the table is in api_view.c.
 */

/* An item as far as it could be had: a refused one has a verdict and a reason, no bytes. */
struct subject {
	struct loaded loaded; /* item NULL: refused */
	struct glance *glance; /* of a refused one, else NULL */
	struct rye_err why; /* RYE_OK, or the refusal */
	const struct verdict *verdict;
	const struct space *space;
	const char *id, *path, *ext;
};

/* Fails only when there is no such item; *ret is the caller's to release either way. */
int subject_get(struct rye *rye, const struct rye_ask *ask, struct subject *ret,
		struct rye_err *err);
/* Why a refused one is refused, and what mends it. */
void subject_reason(const struct subject *subject, enum rye_kind kind, char line[REASON_MAX]);
void subject_done(struct subject *subject);
#define auto_subject __attribute__((cleanup(subject_done)))

int view_info(struct rye *rye, const struct rye_ask *ask, struct rye_blob **ret,
	      struct rye_err *err);
int view_verify(struct rye *rye, const struct rye_ask *ask, struct rye_blob **ret,
		struct rye_err *err);
int view_usage(struct rye *rye, const struct rye_ask *ask, struct rye_blob **ret,
	       struct rye_err *err);

#endif
