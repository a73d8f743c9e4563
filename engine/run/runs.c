/* SPDX-License-Identifier: MIT */
/*
 * Which process is a child of which run, and what it may do: what the signed `requires` of the item
 * that the run was started for names, and that of every run above it. A run may be of another layer
 * (a thread's runner, another process): then its item is loaded again, verified, and its request says
 * what else holds it (job.c). None may sign.
 *
 * The front asks for every writer of a control file, so the walk is short: living runs, and ended
 * ones whose session still has members. The lock guards the list; kill(2) with signal 0 is the only
 * system call made under it, and no item is loaded.
 */
#include "run/run_inner.h"

#include "base/id.h"
#include "scope.h"

#include <errno.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
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

/* "tool:a/b" → "tool.a.b": ids in capabilities are written with dots. */
static void put_dotted(const char *primary, const char *ref, char *ret, size_t size)
{
	snprintf(ret, size, "rye.%s.%s", primary, ref);
	for (char *p = ret; *p; p++)
		if (*p == ':' || *p == '/')
			*p = '.';
}

static size_t count_dots(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == '.';
	return n;
}

static bool match_dotted(const json_t *requires_list, const char *wanted)
{
	json_t *element;
	size_t i;

	json_array_foreach(requires_list, i, element) {
		const char *pattern = json_string_value(element);
		size_t n = pattern ? strlen(pattern) : 0;

		if (!n || strncmp(pattern, "rye.", 4))
			continue;
		if (fnmatch(pattern, wanted, 0) == 0)
			return true;
		/* The short forms "rye.execute" and "rye.execute.tool" mean all below. */
		if (count_dots(pattern) <= 2 && !strncmp(pattern, wanted, n) && wanted[n] == '.')
			return true;
	}
	return false;
}

bool runs_match(const json_t *requires_list, const char *primary, const char *ref)
{
	char wanted[1100];

	put_dotted(primary, ref, wanted, sizeof(wanted));
	return match_dotted(requires_list, wanted);
}

bool runs_allow(const json_t *requires_list, enum rye_verb verb, const char *ref)
{
	const struct verb *row = verb_row(verb);

	if (row->ways & (RYE_WAY_PERSON | RYE_WAY_READS))
		return !(row->ways & RYE_WAY_PERSON);
	/* The request names its item later: then it is asked again with the item. */
	if (!ref)
		return row->names && json_array_size(requires_list) > 0;
	return runs_match(requires_list, "execute", ref);
}

bool runs_may(struct runs *runs, uint64_t run, enum rye_verb verb, const char *ref,
	      uint64_t *ret_foreign)
{
	if (verb_row(verb)->ways & RYE_WAY_PERSON || run == NOBODY)
		return false;
	GUARD(&runs->lock);
	while (run) {
		struct living *living = runs_by_number(runs, run);

		if (!living) {
			*ret_foreign = run;
			return true;
		}
		if (!runs_allow(living->requires_list, verb, ref))
			return false;
		run = living->parent;
	}
	return true;
}

void runs_lists(struct runs *runs, uint64_t run, json_t *lists, uint64_t *ret_foreign)
{
	GUARD(&runs->lock);
	while (run && !*ret_foreign) {
		const struct living *living = runs_by_number(runs, run);
		const json_t *list = living ? living->requires_list : NULL;

		if (!living)
			*ret_foreign = run;
		else
			json_array_append_new(lists, list ? json_deep_copy(list) : json_array());
		run = living ? living->parent : 0;
	}
}

bool runs_confine(struct runs *runs, uint64_t run, struct confine *ret)
{
	GUARD(&runs->lock);
	struct living *living = runs_by_number(runs, run);

	if (living)
		*ret = living->confine;
	return living;
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

bool asker_may(const struct exec *exec, uint64_t number, enum rye_verb verb, const char *ref)
{
	auto_owner struct owner owner = { .item = NULL };
	uint64_t foreign = 0;
	json_t *list;
	size_t i;

	if (!runs_may(exec->runs, number, verb, ref, &foreign))
		return false;
	if (!foreign)
		return true;
	if (!owner_of(exec, foreign, &owner) || !runs_allow(owner.requires_list, verb, ref))
		return false;
	json_array_foreach(json_object_get(owner.said.request, "within"), i, list) {
		if (!held_within(list, verb, ref))
			return false;
	}
	return true;
}

bool asker_confine(const struct exec *exec, uint64_t number, struct confine *ret)
{
	auto_owner struct owner owner = { .item = NULL };

	if (runs_confine(exec->runs, number, ret))
		return true;
	if (!owner_of(exec, number, &owner))
		return false;
	*ret = plan_confine(&owner.meta, exec->env.opt);
	ret->net &= !json_flag(owner.said.request, "no_net", false);
	ret->write &= !json_flag(owner.said.request, "no_write", false);
	ret->shown &= json_flag(owner.said.request, "no_shown", false) ? 0 : SHOW_ALL;
	return true;
}

json_t *asker_within(const struct exec *exec, uint64_t number)
{
	auto_owner struct owner owner = { .item = NULL };
	uint64_t foreign = 0;
	json_t *lists = json_array();

	runs_lists(exec->runs, number, lists, &foreign);
	if (!foreign)
		return lists;
	if (owner_of(exec, foreign, &owner)) {
		json_array_append_new(lists, owner.requires_list ? steal(&owner.requires_list) :
								   json_array());
		json_array_extend(lists, json_object_get(owner.said.request, "within"));
	} else {
		/* Over, or not known: a list that allows nothing. */
		json_array_append_new(lists, json_array());
	}
	return lists;
}

bool exec_run_may(struct exec *exec, uint64_t run, enum rye_verb verb, enum rye_kind kind,
		  const char *id)
{
	auto_buf struct rye_buf ref = RYE_BUF_INIT;
	char whole[CAPABILITY_ID_MAX];

	if (verb_row(verb)->names)
		return asker_may(exec, run, verb, NULL);
	if (capability_id(exec->env.items, kind, id, whole))
		id = whole;
	buf_addf(&ref, "%s:%s", rye_kind_name(kind), id);
	return !ref.failed && asker_may(exec, run, verb, ref.data);
}
