/* SPDX-License-Identifier: MIT */
/*
 * The process primitive: has the planned program started (start.c knows the ways), sees it
 * through, and maps what came out. On a worker thread; no lock.
 */
#include "plan/plan.h"

#include "process/process.h"
#include "run/run_inner.h"
#include "scope.h"

#include <errno.h>

/* The client asks its service to kill: tenths of a second, unless the service hangs. */
#define CONTAINER_END_MS 5000

static void trace_spawn(const struct run *run, const struct plan *plan, bool warm)
{
	if (!run->reply.trace)
		return;
	json_array_append_new(run->reply.trace,
			      json_pack("{s:s, s:s, s:f, s:s, s:b}", "step", "spawn", "argv0",
					program_of(plan)->path, "timeout",
					(double)plan->timeout_ms / 1000, "cwd", plan->cwd, "warm",
					warm));
}

static void trace_exit(const struct run *run, const struct captured *got)
{
	if (!run->reply.trace)
		return;
	json_array_append_new(run->reply.trace,
			      json_pack("{s:s, s:i, s:i, s:I}", "step", "exit", "code",
					got->ended.code, "signal", got->ended.signal, "ms",
					(json_int_t)got->ms));
}

/*
 * A container goes on when its client has ended: what runs as process 1 hears no SIGTERM. The command
 * that ends it is a run of the same plan, confined alike; that there is none to end is no fault.
 */
static void end_container(struct run *run, const struct plan *plan)
{
	const struct program client = { .path = program_of(plan)->path,
					.argv = program_of(plan)->end,
					.source_at = -1 };
	struct plan ending = *plan;
	struct start *start;
	struct captured got;
	struct rye_err ignored = { 0 };

	ending.own = (void *)&client;
	if (!start_program(run, &ending, &start, &ignored) && start) {
		start->how.cancel = -1;
		start->how.timeout_ms = CONTAINER_END_MS;
		start->how.cap = 4096;
		capture(&start->how, &got);
		captured_done(&got);
		start_end(start, &ignored);
	}
	start_leave(start);
}

/* Until its end; start->busy: something of it goes on living. */
static void see_through(struct start *start, struct result *ret)
{
	struct run *run = start->run;
	const struct plan *plan = start->plan;
	const struct program *program = program_of(plan);
	struct capture_ask *how = &start->how;
	pid_t session = how->group;
	struct captured got;
	struct rye_err err = { 0 };
	size_t left;

	if (program->input)
		how->input = (struct rye_span){ program->input->data, program->input->len };
	how->cancel = call_wake(run->call);
	how->timeout_ms = plan->timeout_ms;
	how->cap = plan->output_cap;
	how->events = run->call->events;
	capture(how, &got);
	if (start_end(start, &err)) {
		captured_done(&got);
		result_unspawned(&err, ret);
		return;
	}
	trace_exit(run, &got);
	result_of(&got, plan->timeout_ms, ret);
	if (program->answers_object && ret->code == RYE_OK && json_object_get(ret->data, "result"))
		json_array_append_new(ret->warnings,
				      json_string("the result is no object with a member "
						  "\"success\"; it counts as success"));
	if ((got.timed_out || got.cancelled) && program->end)
		end_container(run, plan);
	if (got.timed_out || got.cancelled)
		strays_settle(run->exec->strays, session, run->living->number);
	left = strays_count(run->exec->strays, session, run->living->number);
	if (!left && got.background)
		left = 1;
	if (left)
		json_set(run->reply.metadata, "background_children",
			 json_integer((json_int_t)left));
	captured_done(&got);
	start->busy = left;
}

static void subprocess_run(struct run *run, const struct plan *plan, struct result *ret)
{
	struct start *start;
	struct rye_err err = { 0 };
	bool up = start_program(run, plan, &start, &err) == 0;

	trace_spawn(run, plan, start && start->way->warm);
	if (!up || !start)
		result_unspawned(&err, ret);
	else
		see_through(start, ret);
	start_leave(start);
}

static int subprocess_plan(struct planner *planner, struct plan *plan, struct rye_err *err)
{
	return program_make(planner, plan->own, err);
}

static void subprocess_done(void *own)
{
	program_done(own);
}

const struct prim_ops prim_subprocess = {
	.own_size = sizeof(struct program),
	.plan = subprocess_plan,
	.run = subprocess_run,
	.done = subprocess_done,
};
