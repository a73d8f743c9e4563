/* SPDX-License-Identifier: MIT */
/*
 * How the program of a plan becomes a process. Each way fills what capture needs and knows how
 * to give back what is left; the first that can is taken. The run's session is in the registry
 * before the program's first instruction. On the run's worker; no lock.
 */
#include "run/run_inner.h"

#include "base/io.h"
#include "process/process.h"
#include "scope.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool start_named(const char *row, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(row, name, n) && row[n] == '=';
}

static void surroundings_done(struct surroundings *held)
{
	free(held->v);
	free(held->tmpdir);
	*held = (struct surroundings){ .v = NULL };
}

static bool start_surround(struct start *start, const char *tmpdir)
{
	const struct plan *plan = start->plan;
	struct surroundings *ret = &start->env;
	size_t n = 0;

	surroundings_done(ret);
	ret->v = calloc(plan->env.n + 3, sizeof(*ret->v));
	if (!ret->v || (tmpdir && asprintf(&ret->tmpdir, "TMPDIR=%s", tmpdir) < 0))
		return false;
	strays_mark(start->run->living->number, ret->mark);
	for (size_t i = 0; i < plan->env.n; i++)
		if (!start_named(plan->env.v[i], "RYE_RUN") &&
		    !(tmpdir && start_named(plan->env.v[i], "TMPDIR")))
			ret->v[n++] = plan->env.v[i];
	ret->v[n++] = ret->mark;
	if (ret->tmpdir)
		ret->v[n++] = ret->tmpdir;
	return true;
}

/* ---- a warm interpreter ---- */

static bool hand_over(struct start *start)
{
	const struct run *run = start->run;
	const struct program *program = program_of(start->plan);
	struct warm_job job = { .plan = start->plan };
	auto_close int source = -1;

	strays_mark(run->living->number, job.mark);
	if (!start->worker.text) {
		source = sealed_open(program->source);
		if (source < 0)
			return false;
	}
	job.source = source;
	return warm_send(&start->worker, &job);
}

static enum start_verdict warm_begin(struct start *start, struct rye_err *err)
{
	const struct run *run = start->run;
	struct warm *warm = run->exec->warm;
	struct warm_worker *worker = &start->worker;

	(void)err;
	/* An interpreter that waits is walled in by a domain of its own: it could signal no runner. */
	if (start->plan->confine.keys)
		return START_OTHERWISE;
	if (!program_of(start->plan)->warm || !warm_take(warm, start->plan, worker))
		return START_OTHERWISE;
	run->living->session = worker->pid;
	if (!hand_over(start)) {
		warm_drop(warm, worker, false);
		*worker = WARM_WORKER_NONE;
		return START_OTHERWISE;
	}
	start->how.group = worker->pid;
	start->how.child = worker->child;
	start->how.control = worker->control;
	start->how.in = steal_fd(&worker->in);
	start->how.out = steal_fd(&worker->out);
	start->how.err = steal_fd(&worker->err);
	return START_UP;
}

static int warm_end(struct start *start, struct rye_err *err)
{
	(void)err;
	warm_look(start->run->exec->warm, &start->worker);
	return 0;
}

static void warm_give_back(struct exec *exec, struct start *start)
{
	start->worker.child = start->how.child;
	warm_drop(exec->warm, &start->worker, start->busy);
}

/* ---- a process that waits in its box ---- */

/* Tells it what to become; false: it has died meanwhile. */
static bool spare_go(struct start *start)
{
	const struct program *program = program_of(start->plan);
	struct spare *spare = &start->spare;
	const struct spawn_ask ask = {
		.path = program->path,
		.argv = program->argv,
		.envp = start->env.v,
		.cwd = start->plan->cwd,
		.in = program->input ? 0 : -1,
	};

	start->run->living->session = spawn_parked_pid(spare->process);
	return spawn_go(spare->process, &ask, &start->how.child);
}

static enum start_verdict spare_begin(struct start *start, struct rye_err *err)
{
	const struct program *program = program_of(start->plan);
	struct exec *exec = start->run->exec;
	struct spare *spare = &start->spare;

	(void)err;
	/* A text in a descriptor is not there yet when a process is made ahead. */
	if (program->source || !warm_take_spare(exec->warm, start->plan->confine, spare))
		return START_OTHERWISE;
	if (!start_surround(start, spare->box->tmpdir) || !spare_go(start)) {
		spare_drop(exec->base.boxes, spare);
		return START_OTHERWISE;
	}
	warm_wake(exec->warm);
	start->how.group = start->how.child.pid;
	start->how.in = program->input ? steal_fd(&spare->in) : -1;
	start->how.out = steal_fd(&spare->out);
	start->how.err = steal_fd(&spare->err);
	return START_UP;
}

static int spare_end(struct start *start, struct rye_err *err)
{
	return spawn_went(start->spare.process, err);
}

static void spare_give_back(struct exec *exec, struct start *start)
{
	spare_close(&start->spare);
	box_give(exec->base.boxes, start->spare.box, start->busy);
}

/* ---- a new process ---- */

static int new_process(struct start *start, struct rye_err *err)
{
	const struct plan *plan = start->plan;
	const struct program *program = program_of(plan);
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
	if (!r && !start_surround(start, start->box->tmpdir))
		r = rye_fail_sys(err, ENOMEM, "environment");
	ask.envp = start->env.v;
	ask.extra = source;
	ask.extra_at = program->source_at;
	ask.box = start->box;
	ask.session = &start->run->living->session;
	if (!r)
		return pipes_spawn(&pipes, &ask, &start->how, err);
	pipes_close(&pipes);
	return r;
}

static enum start_verdict new_begin(struct start *start, struct rye_err *err)
{
	if (box_take(start->run->exec->base.boxes, start->plan->confine, &start->box, err))
		return START_FAILED;
	return new_process(start, err) ? START_FAILED : START_UP;
}

static void new_give_back(struct exec *exec, struct start *start)
{
	box_give(exec->base.boxes, start->box, start->busy);
}

/* ---- the table ---- */

static const struct start_way ways[] = {
	{ true, warm_begin, warm_end, warm_give_back },
	{ true, spare_begin, spare_end, spare_give_back },
	{ false, new_begin, NULL, new_give_back },
};

int start_program(struct run *run, const struct plan *plan, struct start **ret, struct rye_err *err)
{
	struct start *start = calloc(1, sizeof(*start));
	enum start_verdict verdict = START_OTHERWISE;

	*ret = start;
	if (!start)
		return rye_fail_sys(err, ENOMEM, "Failed to spawn: %s", program_of(plan)->path);
	start->run = run;
	start->plan = plan;
	exec_attend(run->exec);
	for (size_t i = 0; i < ARRAY_SIZE(ways) && verdict == START_OTHERWISE; i++) {
		start->way = &ways[i];
		start->how = (struct capture_ask){ .child = { -1, -1 }, .in = -1, .control = -1 };
		verdict = ways[i].begin(start, err);
	}
	return verdict == START_UP ? 0 : -(int)err->code;
}

int start_end(struct start *start, struct rye_err *err)
{
	return start->way->end ? start->way->end(start, err) : 0;
}

static void give_back(struct exec *exec, struct later *self)
{
	struct start *start = (struct start *)self;

	start->way->give_back(exec, start);
	surroundings_done(&start->env);
	free(start);
}

void start_leave(struct start *start)
{
	if (!start)
		return;
	start->later = (struct later){ start->run->later, give_back };
	start->run->later = &start->later;
}
