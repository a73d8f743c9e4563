/* SPDX-License-Identifier: MIT */
/*
 * Keeps what the plans of a tool stand on while each file and directory that was looked at for it is
 * as it was: one stat for each, in the place of opening, reading and merging them. The bytes in it are
 * those that were verified. It is kept from the second run on: marks are noted behind the reading
 * that they stand for, so what was read between two equal sets of marks is what they say.
 *
 * `lock` guards the rows and is held for table work only. Called by the workers that run tools.
 */
#include "plan/plan_inner.h"

#include "base/id.h"
#include "hash.h"
#include "memory.h"
#include "scope.h"
#include "space/space.h"
#include "trust/trust.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* Tools that are called at a time, a dozen KB each; of one slot the last stays. */
#define GROUND_SLOTS 128

struct ground_row {
	char *id; /* as the tool was asked for; NULL: the row is free */
	struct ground *ground;
	bool sure; /* its marks were the same before and behind the reading */
};

struct grounds {
	pthread_mutex_t lock;
	struct ground_row rows[GROUND_SLOTS];
};

struct grounds *grounds_open(void)
{
	struct grounds *grounds = calloc(1, sizeof(*grounds));

	if (grounds)
		pthread_mutex_init(&grounds->lock, NULL);
	return grounds;
}

void grounds_close(struct grounds *grounds)
{
	if (!grounds)
		return;
	for (size_t i = 0; i < GROUND_SLOTS; i++) {
		free(grounds->rows[i].id);
		ground_unref(grounds->rows[i].ground);
	}
	pthread_mutex_destroy(&grounds->lock);
	free(grounds);
}

static uint64_t ground_trust(const struct plan_base *base)
{
	auto_trust struct trust *trust = trust_get(base->items->trust);

	return trust->generation;
}

struct ground *ground_new(const struct plan_base *base)
{
	struct ground *ground = memory_note(calloc(1, sizeof(*ground)));

	if (!ground)
		return NULL;
	atomic_init(&ground->refs, 1);
	ground->trust = ground_trust(base);
	return ground;
}

static struct ground *ground_ref(struct ground *ground)
{
	atomic_fetch_add_explicit(&ground->refs, 1, memory_order_relaxed);
	return ground;
}

void ground_unref(struct ground *ground)
{
	if (!ground || atomic_fetch_sub_explicit(&ground->refs, 1, memory_order_acq_rel) != 1)
		return;
	json_decref(ground->context);
	json_decref(ground->config);
	json_decref(ground->limits);
	json_decref(ground->ids);
	json_decref(ground->detail);
	env_done(&ground->env);
	free(ground->lockfile);
	mcp_target_unref(ground->mcp);
	marks_done(&ground->marks);
	/* last: of its items the others are parts */
	chain_done(&ground->chain);
	free(ground);
}

/* ---- where the elements of a chain were looked for ---- */

/* The directories that would have it, from the strongest space to the one that does. */
static void mark_search(const struct plan_base *base, struct marks *marks,
			const struct item_ask *ask, const struct rye_item *found)
{
	const struct spaces *spaces = base->items->spaces;
	struct rye_span category = space_category(ask->id);
	char dir[RYE_ID_MAX + 32];
	int n = snprintf(dir, sizeof(dir), "%s/%.*s", rye_kind_dir(ask->kind), (int)category.len,
			 category.ptr);

	/* another name of it was looked for first */
	if (strcmp(ask->id, found->id) != 0 || n >= (int)sizeof(dir)) {
		marks_unfit(marks);
		return;
	}
	for (int i = 0; i <= found->space->index; i++)
		if (!ask->from || spaces->v[i].type >= ask->from->type)
			space_mark(&spaces->v[i], dir, true, marks);
}

void ground_mark_item(const struct plan_base *base, struct marks *marks, const struct item_ask *ask,
		      const struct rye_item *found)
{
	mark_search(base, marks, ask, found);
	marks_add_read(marks, space_fd(found->space), found->path, &found->st);
}

void ground_mark_chain(const struct plan_base *base, struct ground *ground, const char *id)
{
	const struct chain *chain = &ground->chain;
	struct item_ask ask = { .kind = RYE_TOOL, .id = id };

	/* An element with a short name was looked for in more places, and is warned of. */
	if (chain->warnings)
		marks_unfit(&ground->marks);
	/* The tool's own file is noted by its whole path, which templates may name (anchor.c). */
	mark_search(base, &ground->marks, &ask, chain->v[0].item);
	for (size_t i = 0; i < chain->n && !ground->marks.unfit; i++) {
		if (i)
			ground_mark_item(base, &ground->marks, &ask, chain->v[i].item);
		ask.id = chain->v[i].meta.executor_id;
		ask.from = chain_search_from(base->items, chain->v[i].item);
	}
}

void ground_mark_config(const struct planner *planner, const char *path, size_t n, bool first)
{
	const struct spaces *spaces = planner->base->items->spaces;
	struct marks *marks = planner->marks;
	size_t there = 0;
	char file[RYE_ID_MAX + 32];

	if (!marks || marks->unfit)
		return;
	if (snprintf(file, sizeof(file), "config/%s", path) >= (int)sizeof(file))
		marks_unfit(marks);
	for (size_t i = 0; i < spaces->n && !(first && there) && !marks->unfit; i++) {
		size_t before = marks->n;

		space_mark(&spaces->v[i], file, false, marks);
		there += marks->n > before && marks->v[marks->n - 1].there;
	}
	/* another number: one has come or gone meanwhile */
	if (there != n)
		marks_unfit(marks);
}

/* ---- what a planner makes ---- */

void ground_fill(struct ground *ground, const struct planner *planner)
{
	if (ground->marks.unfit)
		return;
	ground->context = json_incref(planner->context);
	ground->config = json_incref(planner->config);
	ground->limits = json_incref(planner->limits);
	ground->anchor = planner->anchor;
	env_copy(&ground->env, &planner->env);
	ground->lockfile = planner->lockfile ? memory_note(strdup(planner->lockfile)) : NULL;
	ground->lock = planner->lock;
	ground->ids = chain_ids(&ground->chain);
	ground->detail = chain_detail(&ground->chain);
	ground->made = true;
}

void ground_lend(const struct ground *ground, struct planner *planner)
{
	planner->context = json_incref(ground->context);
	planner->config = json_incref(ground->config);
	planner->limits = json_incref(ground->limits);
	planner->anchor = ground->anchor;
	env_copy(&planner->env, &ground->env);
	planner->lockfile = ground->lockfile ? memory_note(strdup(ground->lockfile)) : NULL;
	planner->lock = ground->lock;
}

/* ---- the table ---- */

static struct ground_row *ground_slot(struct grounds *grounds, const char *id)
{
	uint64_t hash = hash_text(HASH_BASIS, id);

	return &grounds->rows[(hash ^ hash >> 32) % GROUND_SLOTS];
}

/* Lock held. */
static struct ground_row *find_ground_row(struct grounds *grounds, const char *id)
{
	struct ground_row *row = ground_slot(grounds, id);

	return row->id && !strcmp(row->id, id) ? row : NULL;
}

static struct ground *find_ground(struct grounds *grounds, const char *id, bool sure)
{
	GUARD(&grounds->lock);
	const struct ground_row *row = find_ground_row(grounds, id);

	return row && row->sure == sure ? ground_ref(row->ground) : NULL;
}

bool grounds_have_server(struct grounds *grounds, const char *id)
{
	GUARD(&grounds->lock);
	const struct ground_row *row = find_ground_row(grounds, id);

	return row && row->sure && row->ground->mcp;
}

/* Takes both over, and frees what was in their place. */
static void put_ground(struct grounds *grounds, char *id, struct ground *ground, bool sure)
{
	struct ground_row old;

	{
		GUARD(&grounds->lock);
		struct ground_row *row = ground_slot(grounds, id);

		old = *row;
		*row = (struct ground_row){ id, ground, sure };
	}
	free(old.id);
	ground_unref(old.ground);
}

static bool ground_holds(const struct plan_base *base, const struct ground *ground)
{
	return ground->trust == ground_trust(base) && marks_hold(&ground->marks) &&
	       (!ground->mcp || ground->veil == boxes_places(base->boxes));
}

struct ground *ground_recall(const struct plan_base *base, const char *id)
{
	struct ground *ground = find_ground(base->grounds, id, true);

	if (!ground || ground_holds(base, ground))
		return ground;
	ground_unref(ground);
	return NULL;
}

void ground_keep(const struct plan_base *base, const char *id, struct ground *ground)
{
	struct ground *before = find_ground(base->grounds, id, false);
	bool sure = before && before->trust == ground->trust && before->veil == ground->veil &&
		    marks_same(&before->marks, &ground->marks);
	char *copy;

	ground_unref(before);
	if (ground->marks.unfit || !ground->made || ground->chain.warnings)
		return;
	copy = strdup(id);
	if (copy)
		put_ground(base->grounds, copy, ground_ref(ground), sure);
}
