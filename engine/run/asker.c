/* SPDX-License-Identifier: MIT */
/*
 * What children of runs may do: what the signed `requires` of the item they were started for names,
 * and that of every run above it. A run may be of another layer (a thread's runner, another
 * process): then its item is loaded again, verified. None of them may sign.
 */
#include "run/run_inner.h"

#include "base/id.h"
#include "scope.h"

/* A run that is not of this process, and its item as it is now. */
struct owner {
	struct exec_owner said;
	struct rye_item *item;
	struct tool_meta meta; /* points into item */
};

static void owner_done(struct owner *owner)
{
	json_decref(owner->said.request);
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
	if (!owner_of(exec, foreign, &owner) || !runs_allow(owner.meta.requires_list, verb, ref))
		return false;
	json_array_foreach(json_object_get(owner.said.request, "within"), i, list) {
		if (!runs_allow(list, verb, ref))
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
		json_array_append_new(lists, owner.meta.requires_list ?
						     json_deep_copy(owner.meta.requires_list) :
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

	if (verb_row(verb)->names)
		return asker_may(exec, run, verb, NULL);
	buf_addf(&ref, "%s:%s", rye_kind_name(kind), id);
	return !ref.failed && asker_may(exec, run, verb, ref.data);
}
