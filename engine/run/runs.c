/* SPDX-License-Identifier: MIT */
/*
 * Which process is a child of which run, and what it may do: what the signed `requires` of the item
 * that the run was started for names, and that of every run above it, as an authority has them
 * (policy/authority.c). A run may be of another layer (a thread's runner, another process): then its item is
 * loaded again, verified, and its request says what else holds it.
 *
 * The front asks for every writer of a control file, so the walk is short: living runs, and ended
 * ones whose session still has members. The lock guards the list; kill(2) with signal 0 is the only
 * system call made under it, and no item is loaded.
 */
#include "run/run_inner.h"

#include "base/id.h"
#include "scope.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

/* A descendant of this process whose run is unknown: it may do nothing. */
#define NOBODY UINT64_MAX
/* Ended runs with survivors that are remembered; the oldest is forgotten beyond. */
#define SURVIVORS_MAX 1024

struct runs {
	pthread_mutex_t lock; /* list, last */
	struct living *list;
	uint64_t last;
};

struct runs *runs_open(void)
{
	struct runs *runs = calloc(1, sizeof(*runs));

	if (runs)
		pthread_mutex_init(&runs->lock, NULL);
	return runs;
}

static void free_living(struct living *living)
{
	if (living->call)
		rye_call_unref(living->call);
	json_decref(living->requires_list);
	free(living);
}

void runs_close(struct runs *runs)
{
	if (!runs)
		return;
	while (runs->list) {
		struct living *living = runs->list;

		runs->list = living->next;
		free_living(living);
	}
	pthread_mutex_destroy(&runs->lock);
	free(runs);
}

/* A living call that is not cancelled yet, with a reference; NULL: there is none. */
static struct rye_call *runs_uncancelled(struct runs *runs)
{
	GUARD(&runs->lock);
	for (struct living *at = runs->list; at; at = at->next) {
		if (!at->call || call_cancelled(at->call) != RYE_OK)
			continue;
		call_ref(at->call);
		return at->call;
	}
	return NULL;
}

void runs_cancel_all(struct runs *runs)
{
	struct rye_call *call;

	while ((call = runs_uncancelled(runs))) {
		rye_call_cancel(call, RYE_CANCELLED);
		rye_call_unref(call);
	}
}

static struct living *runs_by_number(struct runs *runs, uint64_t number)
{
	for (struct living *at = runs->list; at; at = at->next)
		if (at->number == number)
			return at;
	return NULL;
}

struct living *runs_begin(struct runs *runs, struct rye_call *call, uint64_t parent)
{
	struct living *living = calloc(1, sizeof(*living));

	if (!living)
		return NULL;
	call_ref(call);
	living->call = call;
	living->parent = parent;
	GUARD(&runs->lock);
	const struct living *above = runs_by_number(runs, parent);

	living->depth = above ? above->depth + 1 : 0;
	living->number = ++runs->last;
	living->next = runs->list;
	runs->list = living;
	return living;
}

void runs_item(struct runs *runs, struct living *living, const json_t *requires_list,
	       struct confine confine)
{
	json_t *copy = requires_list ? json_deep_copy(requires_list) : NULL;

	GUARD(&runs->lock);
	living->requires_list = copy;
	living->confine = confine;
}

static bool has_survivors(const struct living *living)
{
	pid_t session = atomic_load(&living->session);

	return session > 0 && (kill(-session, 0) == 0 || errno == EPERM);
}

/* With the lock held: takes those out whose last process has gone, and too many. */
static struct living *runs_prune(struct runs *runs)
{
	struct living *dead = NULL, **at = &runs->list;
	size_t kept = 0;

	while (*at) {
		struct living *living = *at;

		if (living->call || (has_survivors(living) && ++kept <= SURVIVORS_MAX)) {
			at = &living->next;
			continue;
		}
		*at = living->next;
		living->next = dead;
		dead = living;
	}
	return dead;
}

void runs_end(struct runs *runs, struct living *living)
{
	struct rye_call *call = NULL;
	struct living *dead = NULL;

	{
		GUARD(&runs->lock);
		call = living->call;
		living->call = NULL;
		dead = runs_prune(runs);
	}
	rye_call_unref(call);
	while (dead) {
		struct living *next = dead->next;

		free_living(dead);
		dead = next;
	}
}

static struct living *by_session(struct runs *runs, pid_t session)
{
	for (struct living *at = runs->list; session > 0 && at; at = at->next)
		if (atomic_load(&at->session) == session)
			return at;
	return NULL;
}

uint64_t runs_of(struct runs *runs, const pid_t *chain, size_t n, pid_t session)
{
	pid_t self = getpid();

	GUARD(&runs->lock);
	struct living *found = by_session(runs, session);

	for (size_t i = 0; !found && i < n; i++) {
		found = by_session(runs, chain[i]);
		/*
		 * An orphan: it became a child of this process, a subreaper; of which run is not
		 * known.
		 */
		if (!found && i > 0 && chain[i] == self)
			return NOBODY;
	}
	return found ? found->number : 0;
}

pid_t runs_leader(struct runs *runs, uint64_t run)
{
	GUARD(&runs->lock);
	struct living *living = runs_by_number(runs, run);

	return living ? atomic_load(&living->session) : 0;
}

/* ---- runs of another layer: an item that is loaded again ---- */

/* A run that is not of this process, and its item as it is now. */
struct owner {
	struct exec_owner said;
	struct rye_item *item;
	struct tool_meta meta; /* points into item */
	json_t *requires_list; /* as runs_item has it */
};

static void owner_done(struct owner *owner)
{
	json_decref(owner->said.request);
	json_decref(owner->requires_list);
	rye_item_unref(owner->item);
}
#define auto_owner __attribute__((cleanup(owner_done)))

/* False: the run is not known. */
static bool owner_of(const struct exec *exec, uint64_t number, struct owner *ret)
{
	const struct exec_hooks *hooks = exec->env.hooks;
	struct item_ask ask = { 0 };

	if (!hooks || !hooks->owner || !hooks->owner(hooks->arg, number, &ret->said))
		return false;
	ask.kind = id_split(ret->said.ref, &ask.id);
	if (ask.kind != RYE_TOOL || rye_load(exec->env.items, &ask, &ret->item, NULL))
		return false;
	meta_tool(ret->item, &ret->meta);
	ret->requires_list = capabilities_whole(exec->env.items, ret->meta.requires_list);
	return true;
}

/* Adds the lists of the run and those above it; the first that is not of this registry, 0: none. */
static uint64_t runs_hold(struct runs *runs, uint64_t run, struct authority *ret,
			  struct confine *ret_limit)
{
	GUARD(&runs->lock);
	const struct living *living = runs_by_number(runs, run);

	if (living)
		*ret_limit = living->confine;
	for (; living; living = runs_by_number(runs, run)) {
		authority_above(ret, living->requires_list);
		run = living->parent;
	}
	return run;
}

void runs_authority(const struct exec *exec, uint64_t number, struct authority *ret,
		    struct confine *ret_limit)
{
	auto_owner struct owner owner = { .item = NULL };
	uint64_t foreign = number == NOBODY ? number :
					      runs_hold(exec->runs, number, ret, ret_limit);
	const json_t *request;

	if (!foreign)
		return;
	if (foreign == NOBODY || !owner_of(exec, foreign, &owner)) {
		/* one above is over, or not known: it allows nothing */
		authority_above(ret, NULL);
		if (foreign == number)
			ret->asker = ASKER_STRANGER;
		return;
	}
	request = owner.said.request;
	authority_above(ret, owner.requires_list);
	authority_within(ret, json_object_get(request, "within"));
	if (foreign != number)
		return;
	*ret_limit = plan_confine(&owner.meta, exec->env.opt);
	ret_limit->net &= !json_flag(request, "no_net", false);
	ret_limit->write &= !json_flag(request, "no_write", false);
	ret_limit->shown &= json_flag(request, "no_shown", false) ? 0 : SHOW_ALL;
}

/* What a child asks for with a verb whose message is not known yet. */
static enum act act_of_verb(enum rye_verb verb)
{
	const struct verb *row = verb_row(verb);

	if (row->ways & RYE_WAY_PERSON)
		return ACT_SIGN;
	if (row->ways & RYE_WAY_READS)
		return ACT_ASK;
	return row->names ? ACT_BEGIN : ACT_RUN;
}

bool exec_run_may(struct exec *exec, uint64_t run, enum rye_verb verb, enum rye_kind kind,
		  const char *id)
{
	auto_authority struct authority asker;
	struct authority_ask ask = { act_of_verb(verb), rye_kind_name(kind), id };
	char whole[CAPABILITY_ID_MAX];
	struct confine limit;

	authority_init(&asker, ASKER_RUN);
	runs_authority(exec, run, &asker, &limit);
	if (capability_id(exec->env.items, kind, id, whole))
		ask.id = whole;
	return !authority_check(&asker, &ask, NULL);
}
