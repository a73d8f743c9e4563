/* SPDX-License-Identifier: MIT */
/*
 * Changes, as users of the engine see them: which of them the watcher is told of; and the counts
 * that changes move. The watcher is set under rye->lock; it is called by api/engine.c, which holds
 * none.
 */
#include "api/api_inner.h"

#include "base/id.h"
#include "thread/thread.h"
#include "trust/trust.h"

#include <stdatomic.h>
#include <string.h>

void rye_watch(struct rye *rye, rye_change_fn fn, void *arg)
{
	GUARD(&rye->lock);
	rye->change = fn;
	rye->change_arg = arg;
}

bool rye_unwatched(struct rye *rye, enum rye_kind kind, const char *path)
{
	return index_unwatched(engine_index(rye), kind, path);
}

void rye_touched(struct rye *rye, int space, const char *path)
{
	struct index_changes changes = { 0 };

	if (!rye->built || space < 0 || (size_t)space >= rye->spaces->n)
		return;
	index_touch(rye->index, space, path, &changes);
	engine_tell(rye, &changes);
	/* what the watch's thread had seen already is no change any more, and may be untold */
	if (rye->watch)
		watch_wait_told(rye->watch);
	index_changes_done(&changes);
}

uint64_t rye_loads(const struct rye *rye)
{
	return atomic_load(&rye->loads);
}

bool rye_names_item(const char *name)
{
	for (int kind = 0; kind < RYE_KIND__MAX; kind++)
		if (kind_extension_of((enum rye_kind)kind, name))
			return true;
	return false;
}

bool rye_doubt(struct rye *rye, int space, const char *path)
{
	if (!rye->built || space < 0 || (size_t)space >= rye->spaces->n)
		return false;
	return index_doubt(rye->index, path);
}

void rye_late(struct rye *rye, bool on)
{
	index_late(rye->index, on);
}

void rye_counts(struct rye *rye, struct rye_counts *ret)
{
	struct index_totals totals;
	struct item_store_counts store;
	struct spool_counts texts;

	spool_count(rye->spool, &texts);
	index_totals(rye->index, &totals);
	item_store_counts(rye->items.store, &store);
	*ret = (struct rye_counts){ .served = totals.by_code[RYE_OK],
				    .scanned = rye->prefetch && prefetch_done(rye->prefetch),
				    .verifications = store.verifications,
				    .verifies = trust_checks(rye->items.trust),
				    .hits = store.hits,
				    .runs = exec_started(rye->exec),
				    .adopted = threads_adopted(rye->threads),
				    .texts_memory = texts.memory,
				    .texts_file = texts.file };
	memcpy(ret->by_code, totals.by_code, sizeof(ret->by_code));
	for (int code = RYE_OK + 1; code < RYE_CODE__MAX; code++)
		ret->refused += totals.by_code[code];
}
