/* SPDX-License-Identifier: MIT */
/*
 * The process primitive: takes a box, starts the planned program in it (or hands the call to a
 * warm interpreter), sees it through, and maps what came out. On a worker thread; the run's
 * session is in the registry before the program's first instruction.
 */
#include "exec/prim.h"

#include "base/auto.h"
#include "base/io.h"
#include "exec/capture.h"
#include "exec/inner.h"
#include "exec/job.h"
#include "exec/program.h"
#include "exec/strays.h"
#include "exec/warm.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The plan's environment plus what belongs to this very run. Borrowed pointers. */
struct surroundings {
	char **v;
	char mark[48]; /* RYE_RUN=<pid>.<number> */
	char *tmpdir;
};

static bool named(const char *row, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(row, name, n) && row[n] == '=';
}

static bool surround(const struct prim_run *run, const struct plan *plan, const char *tmpdir,
		     struct surroundings *ret)
{
	size_t n = 0;

	ret->tmpdir = NULL;
	ret->v = calloc(plan->env.n + 3, sizeof(*ret->v));
	if (!ret->v || (tmpdir && asprintf(&ret->tmpdir, "TMPDIR=%s", tmpdir) < 0))
		return false;
	strays_mark(run->living->number, ret->mark);
	for (size_t i = 0; i < plan->env.n; i++)
		if (!named(plan->env.v[i], "RYE_RUN") &&
		    !(tmpdir && named(plan->env.v[i], "TMPDIR")))
			ret->v[n++] = plan->env.v[i];
	ret->v[n++] = ret->mark;
	if (ret->tmpdir)
		ret->v[n++] = ret->tmpdir;
	return true;
}

static void surroundings_done(struct surroundings *held)
{
	free(held->v);
	free(held->tmpdir);
}

static int start(const struct prim_run *run, const struct plan *plan, const struct box *box,
		 struct capture_ask *ret, struct rye_err *err)
{
	const struct program *program = program_of(plan);
	__attribute__((cleanup(surroundings_done))) struct surroundings env = { 0 };
	auto_close int source = -1;
	struct spawn_ask ask = { .path = program->path, .argv = program->argv, .cwd = plan->cwd };
	struct pipes pipes;
	int r = pipes_open(&pipes, program->input, err);

	if (r)
		return r;
	if (program->source) {
		source = sealed_open(program->source);
		if (source < 0)
			r = rye_fail_sys(err, -source, "cannot hand over the tool's text");
	}
	if (!r && !surround(run, plan, box->tmpdir, &env))
		r = rye_fail_sys(err, ENOMEM, "environment");
	ask.envp = env.v;
	ask.in = pipes.in[0];
	ask.out = pipes.out[1];
	ask.err = pipes.err[1];
	ask.extra = source;
	ask.extra_at = program->source_at;
	ask.box = box;
	ask.session = &run->living->session;
	if (!r)
		r = spawn(&ask, &ret->child, err);
	if (r) {
		pipes_close(&pipes);
		return r;
	}
	pipes_close_child(&pipes);
	ret->group = ret->child.pid;
	ret->in = pipes.in[1];
	ret->out = pipes.out[0];
	ret->err = pipes.err[0];
	return 0;
}

static void trace_spawn(const struct prim_run *run, const struct plan *plan, bool warm)
{
	if (!run->trace)
		return;
	json_array_append_new(run->trace, json_pack("{s:s, s:s, s:f, s:s, s:b}", "step", "spawn",
						    "argv0", program_of(plan)->path, "timeout",
						    (double)plan->timeout_ms / 1000, "cwd",
						    plan->cwd, "warm", warm));
}

static void trace_exit(const struct prim_run *run, const struct captured *got)
{
	if (!run->trace)
		return;
	json_array_append_new(run->trace, json_pack("{s:s, s:i, s:i, s:I}", "step", "exit", "code",
						    got->ended.code, "signal", got->ended.signal,
						    "ms", (json_int_t)got->ms));
}

/* Sees it through; true: something of it goes on living. */
static bool see_through(const struct prim_run *run, const struct plan *plan,
			struct capture_ask *how, const struct parked *parked, struct result *ret)
{
	const struct program *program = program_of(plan);
	pid_t session = how->group;
	struct captured got;
	struct rye_err err = { 0 };
	size_t left;

	if (program->input)
		how->input = (struct rye_span){ program->input->data, program->input->len };
	how->cancel = call_wake(run->call);
	how->timeout_ms = plan->timeout_ms;
	how->cap = plan->output_cap;
	capture(how, &got);
	if (parked && spawn_went(parked, &err)) {
		captured_done(&got);
		result_unspawned(&err, ret);
		return false;
	}
	trace_exit(run, &got);
	result_of(&got, plan->timeout_ms, ret);
	if (got.timed_out || got.cancelled)
		strays_settle(run->exec->strays, session, run->living->number);
	left = strays_count(run->exec->strays, session, run->living->number);
	if (!left && got.background)
		left = 1;
	if (left)
		json_set(run->metadata, "background_children", json_integer((json_int_t)left));
	captured_done(&got);
	return left;
}

/* What is given back when the caller has its answer: a disk may make that slow. */
struct leftover {
	struct later later;
	struct warm_worker worker; /* .pool NULL: none */
	struct spare spare; /* .process NULL: none; its box is below */
	struct box *box; /* NULL: none */
	bool busy; /* something of the run goes on living */
};

static void give_back(struct exec *exec, struct later *self)
{
	struct leftover *left = (struct leftover *)self;

	if (left->worker.pool)
		warm_drop(exec->warm, &left->worker, left->busy);
	if (left->spare.process)
		spare_close(&left->spare);
	box_give(exec->boxes, left->box, left->busy);
	free(left);
}

static void leave(const struct prim_run *run, const struct leftover *what)
{
	struct leftover *left = malloc(sizeof(*left));

	if (!left)
		abort();
	*left = *what;
	left->later = (struct later){ *run->later, give_back };
	*run->later = &left->later;
}

static bool run_warm(struct prim_run *run, const struct plan *plan, struct result *ret)
{
	const struct program *program = program_of(plan);
	struct capture_ask how = { .child = { -1, -1 }, .in = -1, .control = -1 };
	struct warm_worker worker;
	struct warm_job job = { .plan = plan };
	const struct job *asked = run->call->owner;
	struct leftover left = { .worker.pool = NULL };
	auto_close int source = -1;

	if (!program->warm || !warm_take(run->exec->warm, plan, &worker))
		return false;
	run->living->session = worker.pid;
	strays_mark(run->living->number, job.mark);
	if (!worker.text)
		source = sealed_open(program->source);
	job.source = source;
	if ((!worker.text && source < 0) || !warm_send(&worker, &job)) {
		warm_drop(run->exec->warm, &worker, false);
		return false;
	}
	warm_remember(run->exec->warm, &worker, asked->id);
	trace_spawn(run, plan, true);
	how.group = worker.pid;
	how.control = worker.control;
	how.in = steal_fd(&worker.in);
	how.out = steal_fd(&worker.out);
	how.err = steal_fd(&worker.err);
	left.busy = see_through(run, plan, &how, NULL, ret);
	warm_look(run->exec->warm, &worker);
	left.worker = worker;
	leave(run, &left);
	return true;
}

/* Tells a process that waits in its box what to become; false: it cannot. */
static bool go(const struct prim_run *run, const struct plan *plan, struct spare *spare,
	       const struct surroundings *env, struct capture_ask *ret)
{
	const struct program *program = program_of(plan);
	const struct spawn_ask ask = {
		.path = program->path,
		.argv = program->argv,
		.envp = env->v,
		.cwd = plan->cwd,
		.in = program->input ? 0 : -1,
	};

	run->living->session = spawn_parked_pid(spare->process);
	if (!spawn_go(spare->process, &ask, &ret->child))
		return false;
	warm_wake(run->exec->warm);
	ret->group = ret->child.pid;
	ret->in = program->input ? steal_fd(&spare->in) : -1;
	ret->out = steal_fd(&spare->out);
	ret->err = steal_fd(&spare->err);
	return true;
}

static bool run_spare(const struct prim_run *run, const struct plan *plan, struct result *ret)
{
	const struct program *program = program_of(plan);
	__attribute__((cleanup(surroundings_done))) struct surroundings env = { 0 };
	struct capture_ask how = { .control = -1 };
	struct leftover left = { .worker.pool = NULL };
	struct spare spare;

	/* A text in a descriptor is not there yet when a process is made ahead. */
	if (program->source || !warm_take_spare(run->exec->warm, plan->confine, &spare))
		return false;
	if (!surround(run, plan, spare.box->tmpdir, &env) || !go(run, plan, &spare, &env, &how)) {
		spare_drop(run->exec->boxes, &spare);
		return false;
	}
	trace_spawn(run, plan, true);
	left.busy = see_through(run, plan, &how, spare.process, ret);
	left.spare = spare;
	left.box = spare.box;
	leave(run, &left);
	return true;
}

static void subprocess_run(struct prim_run *run, const struct plan *plan, struct result *ret)
{
	struct capture_ask how = { .control = -1 };
	struct leftover left = { .box = NULL };
	struct rye_err err = { 0 };

	if (run_warm(run, plan, ret) || run_spare(run, plan, ret))
		return;
	if (box_take(run->exec->boxes, plan->confine, &left.box, &err)) {
		result_unspawned(&err, ret);
		return;
	}
	trace_spawn(run, plan, false);
	if (start(run, plan, left.box, &how, &err))
		result_unspawned(&err, ret);
	else
		left.busy = see_through(run, plan, &how, NULL, ret);
	leave(run, &left);
}

static int subprocess_plan(struct planner *planner, struct plan *plan, struct rye_err *err)
{
	struct program *program = calloc(1, sizeof(*program));

	if (!program)
		return rye_fail_sys(err, ENOMEM, "plan");
	plan->own = program;
	return program_make(planner, program, err);
}

static void subprocess_free(void *own)
{
	program_done(own);
	free(own);
}

const struct prim prim_subprocess = {
	.ids = { "rye/core/primitives/execute", "rye/core/primitives/subprocess" },
	.starts_command = true,
	.plan = subprocess_plan,
	.run = subprocess_run,
	.free = subprocess_free,
};
