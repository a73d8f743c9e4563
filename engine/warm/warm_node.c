/* SPDX-License-Identifier: MIT */
/*
 * Node processes that are started ahead. Node cannot fork, so there is no parent: each is started
 * with the plan's own program, flags and loader, in a box of its own, with warm_node.js before the
 * loader, and waits there for one job. What it costs to get going is paid before the call; all else
 * is as in a process that is started for it. The pools' own thread starts and ends them, the
 * run's worker sends the job.
 */
#include "warm/warm_inner.h"

#include "base/json.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>

/* A job that the socket may not hold at once goes to a new process. */
#define JOB_MAX (96 << 10)
/* So long the run waits for a process that does not read. */
#define SEND_MS 500

/* Behind it is "--", and then what belongs to the call. */
static size_t node_loader_at(const struct plan *plan)
{
	const struct program *program = program_of(plan);
	char **argv = program->argv;

	if (!strstr(program->loader, "typeof given"))
		return 0;
	for (size_t i = 2; argv && argv[0] && argv[1] && argv[i]; i++)
		if (!strcmp(argv[i - 1], "-e") && !strcmp(argv[i], program->loader))
			return argv[i + 1] && !strcmp(argv[i + 1], "--") ? i : 0;
	return 0;
}

static const char *node_text_name(const struct plan *plan)
{
	(void)plan;
	return NULL;
}

static int node_start(const struct plan_base *base, const struct plan *plan,
		      struct warm_parent *ret, struct rye_err *err)
{
	(void)err;
	*ret = (struct warm_parent){ .child = { -1, -1 }, .socket = -1, .base = base, .plan = plan };
	return 0;
}

static void node_stop(const struct plan_base *base, struct warm_parent *parent, bool busy)
{
	(void)base;
	(void)parent;
	(void)busy;
}

/* The environment without what belongs to one call, with the box's directory. */
static bool node_env(const struct plan *plan, const struct box *box, struct env *ret)
{
	char mark[48];

	for (size_t i = 0; i < plan->env.n; i++)
		if (!warm_is_of_call(plan, plan->env.v[i]))
			env_rows(ret, (char *[]){ plan->env.v[i], NULL });
	if (box->tmpdir)
		env_put(ret, "TMPDIR", box->tmpdir);
	strays_mark(0, mark);
	env_rows(ret, (char *[]){ mark, NULL });
	return !ret->failed;
}

static bool node_spawn(const struct plan *plan, struct warm_worker *worker, int theirs)
{
	const struct program *program = program_of(plan);
	size_t loader = node_loader_at(plan);
	auto_free char **argv = calloc(loader + 2, sizeof(*argv));
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_env struct env env = { 0 };
	struct spawn_ask ask = {
		.path = program->path,
		.argv = argv,
		.cwd = "/",
		.extra = theirs,
		.extra_at = 3,
		.box = worker->box,
	};
	struct pipes pipes;

	buf_adds(&text, warm_node_js);
	buf_adds(&text, program->loader);
	if (!argv || text.failed || !node_env(plan, worker->box, &env) ||
	    pipes_open(&pipes, true, NULL))
		return false;
	memcpy(argv, program->argv, loader * sizeof(*argv));
	argv[loader] = text.data;
	ask.envp = env.v;
	ask.in = pipes.in[0];
	ask.out = pipes.out[1];
	ask.err = pipes.err[1];
	if (spawn(&ask, &worker->child, NULL)) {
		pipes_close(&pipes);
		return false;
	}
	pipes_close_child(&pipes);
	worker->pid = worker->child.pid;
	worker->in = pipes.in[1];
	worker->out = pipes.out[0];
	worker->err = pipes.err[0];
	return true;
}

static bool node_fork(struct warm_parent *parent, bool rehearse, struct warm_worker *ret)
{
	struct warm_worker worker = WARM_WORKER_NONE;
	struct timeval patience = { 0, SEND_MS * 1000 };
	auto_close int theirs = -1;
	int pair[2];

	(void)rehearse;
	if (box_take(parent->base->boxes, parent->plan->confine, &worker.box, NULL))
		return false;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0) {
		worker.control = pair[0];
		theirs = pair[1];
		setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	}
	if (theirs < 0 || !node_spawn(parent->plan, &worker, theirs)) {
		warm_worker_end(parent->base, &worker, false);
		return false;
	}
	*ret = worker;
	return true;
}

static json_t *node_job(const struct warm_job *job)
{
	const struct program *program = program_of(job->plan);
	const char *name = program->params_env;
	const char *params = name ? env_get(&job->plan->env, name) : NULL;
	json_t *env = json_pack("{s:s}", "RYE_RUN", job->mark + strlen("RYE_RUN="));
	json_t *argv = json_array();

	for (char **arg = program->argv + node_loader_at(job->plan) + 2; *arg; arg++)
		json_array_append_new(argv, json_string(*arg));
	if (params)
		json_object_set_new(env, name, json_string(params));
	return json_pack("{s:s, s:o, s:o, s:s%}", "cwd", job->plan->cwd, "env", env, "argv", argv,
			 "source", program->source->data, program->source->len);
}

static bool node_send(struct warm_worker *worker, const struct warm_job *job)
{
	auto_json json_t *what = NULL;
	auto_buf struct rye_buf text = RYE_BUF_INIT, all = RYE_BUF_INIT;

	if (program_of(job->plan)->source->len > JOB_MAX)
		return false;
	what = node_job(job);
	if (!what)
		return false;
	json_put(&text, what, false);
	buf_addf(&all, "%zu\n", text.len);
	buf_add(&all, text.data, text.len);
	return !text.failed && !all.failed && all.len <= 2 * JOB_MAX &&
	       send(worker->control, all.data, all.len, MSG_NOSIGNAL) == (ssize_t)all.len;
}

const struct warm_protocol warm_node = {
	.name = "node",
	.ready = RYE_WARM_NODES,
	.idle_s = RYE_IDLE_S,
	.loader_at = node_loader_at,
	.text_name = node_text_name,
	.start = node_start,
	.fork = node_fork,
	.send = node_send,
	.stop = node_stop,
};
