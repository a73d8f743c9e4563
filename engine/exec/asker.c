/* SPDX-License-Identifier: MIT */
/*
 * What children of runs may do: what the signed `requires` of the item they were started for
 * names, and that of every run above it. A run may be of another layer (a thread's runner,
 * another process): then its item is loaded again, verified. Signing is for nobody here.
 */
#include "exec/run.h"

#include "base/auto.h"
#include "base/id.h"

#include <stdio.h>
#include <string.h>

/* The item of a run that is not of this process; NULL: nobody knows it. */
static struct rye_item *owner_of(const struct exec *exec, uint64_t number)
{
	const struct exec_hooks *hooks = exec->env.hooks;
	struct item_ask ask = { 0 };
	struct rye_item *item = NULL;
	char ref[1040];

	if (!hooks || !hooks->owner || !hooks->owner(hooks->arg, number, ref))
		return NULL;
	ask.kind = id_split(ref, &ask.id);
	if (ask.kind != RYE_TOOL || rye_load(exec->env.items, &ask, &item, NULL))
		return NULL;
	return item;
}

bool asker_may(const struct exec *exec, uint64_t number, enum rye_verb verb, const char *ref)
{
	auto_item struct rye_item *owner = NULL;
	uint64_t foreign = 0;
	struct tool_meta meta;

	if (!runs_may(exec->runs, number, verb, ref, &foreign))
		return false;
	if (!foreign)
		return true;
	owner = owner_of(exec, foreign);
	if (!owner)
		return false;
	meta_tool(owner, &meta);
	return runs_allow(meta.requires_list, verb, ref);
}

bool asker_confine(const struct exec *exec, uint64_t number, struct confine *ret)
{
	auto_item struct rye_item *owner = NULL;
	struct tool_meta meta;

	if (runs_confine(exec->runs, number, ret))
		return true;
	owner = owner_of(exec, number);
	if (!owner)
		return false;
	meta_tool(owner, &meta);
	*ret = plan_confine(&meta, exec->env.opt);
	return true;
}

bool run_refused(struct run *run, enum rye_kind kind, const char *id)
{
	char ref[RYE_ID_MAX + 16];
	struct rye_err err = { 0 };

	if (!run->ask->parent_run)
		return false;
	snprintf(ref, sizeof(ref), "%s:%s", rye_kind_name(kind), id);
	if (asker_may(run->exec, run->ask->parent_run, RYE_RUN, ref))
		return false;
	rye_fail(&err, RYE_DENIED,
		 "Permission denied: the running item's signed `requires` does not name "
		 "rye.execute.%s.%s",
		 rye_kind_name(kind), id);
	for (char *p = err.msg + strlen(err.msg) - strlen(id); *p; p++)
		if (*p == '/')
			*p = '.';
	run_fail(run, &err);
	return true;
}
