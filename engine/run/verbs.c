/* SPDX-License-Identifier: MIT */
/*
 * The top of a run, on a worker of the pool: what its request's verb and kind ask for.
 * Children of runs are held to the signed `requires` of the item they were started for and of
 * every run above it; nothing that signs is open to them. No lock is held in any step.
 */
#include "run/run_inner.h"

#include "bounds.h"
#include "scope.h"

static bool not_available(struct run *run)
{
	if (run->request.remote) {
		run_fail_with(run, RYE_UNSUPPORTED,
			      "Remote execution is not available yet: use target=\"local\"");
		return true;
	}
	return false;
}

/* Of a kind with RYE_KIND_RUNS: request_matrix refuses the others. */
static void run_kind(struct run *run)
{
	if (rye_kind_has(run->request.kind, RYE_KIND_PROCESS))
		run_tool(run);
	else if (rye_kind_has(run->request.kind, RYE_KIND_INPUTS))
		run_directive(run);
	else
		run_knowledge(run);
}

void run_item(struct run *run)
{
	struct request *request = &run->request;
	struct rye_err err = { 0 };
	int r = request_read(run->ask, run->exec->base.project, request, &err);

	reply_warn(&run->reply, request->warnings);
	if (!r && request->kind == RYE_KIND__MAX && !*request->resume) {
		r = run_find_kind(run->exec->env.items, request->id, &request->kind, &err);
		if (!r && run->ask->form == RYE_FORM_THREAD)
			request->fork = rye_kind_has(request->kind, RYE_KIND_FORKS);
		if (!r)
			r = request_matrix(request, request->kind, &err);
	}
	if (!r && !*request->resume)
		r = request_launch(request, &err);
	if (r) {
		run_fail(run, &err);
		return;
	}
	if (not_available(run))
		return;
	if (*request->resume) {
		run_resumed(run);
		return;
	}
	run->limit.net &= !request->no_net;
	run->limit.write &= !request->no_write;
	run->limit.shown &= request->no_shown ? 0 : SHOW_ALL;
	run_kind(run);
}

#define VERB_ROW(verb, name, traits, ways, function, help) \
	[RYE_##verb] = { function, !(traits), ways },

static const struct verb rows[RYE_VERB__MAX] = { RYE_VERBS(VERB_ROW) };

const struct verb *verb_row(enum rye_verb verb)
{
	return &rows[verb < RYE_VERB__MAX ? verb : RYE_RUN];
}

void verbs_run(struct run *run)
{
	const struct verb *verb = verb_row(run->ask->verb);
	uint64_t parent = run->ask->parent_run;

	run->limit = (struct confine){ .net = true, .write = true, .shown = SHOW_ALL };
	/* What a person may do with `ryefs trust`; never for a child of a run, nor left behind. */
	run->limit.keys = !parent && !run->ask->keeps && !run->exec->env.opt->no_sign;
	if (run->exec->env.opt->no_run && verb->ways & RYE_WAY_RUNS) {
		run_fail_with(run, RYE_DENIED, "running is switched off (norun)");
		return;
	}
	/* An item that runs itself ends here, not when the machine is full. */
	if (run->living->depth >= RYE_NESTED_MAX) {
		run_fail_with(run, RYE_BUDGET,
			      "too many runs wait for each other: an item runs itself?");
		return;
	}
	if (parent && !asker_confine(run->exec, parent, &run->limit)) {
		run_fail_with(run, RYE_DENIED, "Permission denied: the asking run is not known");
		return;
	}
	run->limit.keys &= !parent;
	verb->carry_out(run);
}
