/* SPDX-License-Identifier: MIT */
/*
 * The engine's runs: rye_start and what belongs to it over exec, with the hooks that lead from
 * exec up to threads, search and the index. Callers: the front's threads, the verbs, exec's
 * workers (hooks). No lock of its own but a condition for rye_call_sync.
 */
#include "api/api_inner.h"

#include "fork/fork.h"
#include "remote/remote.h"
#include "run/run.h"
#include "sandbox/sandbox.h"
#include "facts/facts.h"
#include "thread/thread.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static void hook_touched(void *arg, int space, const char *path)
{
	rye_touched(arg, space, path);
}

static void hook_wait_told(void *arg)
{
	engine_wait_told(arg);
}

static int hook_search(void *arg, const struct exec_search *ask, json_t **ret, struct rye_err *err)
{
	return api_search_reply(arg, ask, ret, err);
}

static struct rye_blob *hook_instead(void *arg, const struct rye_request *req, enum rye_code code,
				     char meant[RYE_REF_MAX])
{
	return api_instead(arg, req, code, meant);
}

static bool hook_owner(void *arg, uint64_t run, struct exec_owner *ret)
{
	struct rye *rye = arg;

	return threads_owner(rye->threads, run, ret->ref, &ret->request);
}

static int hook_remote(void *arg, const char *name, struct rye_err *err)
{
	const struct rye *rye = arg;
	auto_remote struct remote found = { 0 };

	return remote_find(&rye->items, name, &found, err);
}

int engine_runs_open(struct rye *rye, bool runs, struct rye_err *err)
{
	struct threads_env threads = { .opt = &rye->opt,
				       .log = &rye->log,
				       .changed = engine_thread_changed,
				       .changed_arg = rye,
				       .lost = engine_thread_lost,
				       .deleted = engine_thread_deleted,
				       .lost_arg = rye };
	struct exec_env exec = { .items = &rye->items,
				 .opt = &rye->opt,
				 .hooks = &rye->hooks,
				 .env = engine_env,
				 .env_arg = rye,
				 .log = &rye->log };
	struct facts_env facts = { .items = &rye->items, .project = rye->opt.project };
	int r = threads_open(&threads, &rye->threads, err);

	facts.threads = rye->threads;
	if (!r)
		r = facts_open(&facts, &rye->facts, err);
	if (r)
		return r;
	rye->hooks = (struct exec_hooks){ .arg = rye,
					  .remote = hook_remote,
					  .detach = engine_detach,
					  .adopt = engine_adopt,
					  .adopted_end = engine_adopted_end,
					  .enrol = engine_enrol,
					  .discharge = engine_discharge,
					  .owner = hook_owner,
					  .search = hook_search,
					  .instead = hook_instead,
					  .touched = hook_touched,
					  .wait_told = hook_wait_told };
	if (rye->opt.scan)
		threads_begin(rye->threads);
	return runs ? exec_open(&exec, &rye->exec, err) : 0;
}

void engine_runs_close(struct rye *rye)
{
	if (rye->exec)
		exec_close(rye->exec);
	facts_close(rye->facts);
	threads_close(rye->threads);
}

void rye_start(struct rye *rye, const struct rye_request *req, rye_done_fn fn, void *arg,
	       struct rye_call **ret)
{
	exec_start(rye->exec, req, fn, arg, ret);
}

void rye_carry_out(struct rye_call *call, bool here)
{
	exec_carry(call, here);
}

/* ---- waiting for one ---- */

struct sync {
	pthread_mutex_t lock;
	pthread_cond_t told;
	struct rye_outcome *outcome;
	bool done;
};

static void engine_runs_on_done(void *arg, const struct rye_outcome *outcome)
{
	struct sync *sync = arg;

	GUARD(&sync->lock);
	*sync->outcome = *outcome;
	rye_blob_ref(outcome->reply);
	rye_blob_ref(outcome->output);
	rye_blob_ref(outcome->trace);
	rye_blob_ref(outcome->instead);
	sync->outcome->message = ""; /* was the callback's; the reply has it too */
	sync->done = true;
	pthread_cond_signal(&sync->told);
}

void rye_call_sync(struct rye *rye, const struct rye_request *req, struct rye_outcome *ret)
{
	struct sync sync = { .outcome = ret };
	struct rye_call *call = NULL;

	pthread_mutex_init(&sync.lock, NULL);
	pthread_cond_init(&sync.told, NULL);
	rye_start(rye, req, engine_runs_on_done, &sync, &call);
	{
		GUARD(&sync.lock);
		while (!sync.done)
			pthread_cond_wait(&sync.told, &sync.lock);
	}
	rye_call_unref(call);
	pthread_cond_destroy(&sync.told);
	pthread_mutex_destroy(&sync.lock);
}

unsigned rye_doubts(struct rye *rye)
{
	const struct spaces *spaces = rye->spaces;
	unsigned doubts = exec_veils(rye->exec) ? 0 : RYE_DOUBT_NO_VEIL;

	if (ledger_damaged(rye->opt.project))
		doubts |= RYE_DOUBT_LEDGER;
	for (size_t i = 1; i < spaces->n; i++)
		if (spaces->v[i].type == RYE_USER && spaces_nested(spaces, &spaces->v[i]))
			doubts |= RYE_DOUBT_ONE_SPACE;
	return doubts;
}

bool rye_hides(struct rye *rye, const char *path)
{
	return veil_hides(rye->spaces, path);
}

const char *rye_hidden_place(struct rye *rye)
{
	const char *dir = rye->spaces->secret_dir;

	/* below .ai of the user space, which is there or is not */
	return dir && (mkdir(dir, 0700) == 0 || errno == EEXIST) ? dir : NULL;
}

/* ---- children of runs ---- */

uint64_t rye_run_of(struct rye *rye, const pid_t *chain, size_t n, pid_t session)
{
	/*
	 * First, since runners are children of this process, too, and exec_run_of takes a child of
	 * no known run for an orphan of an unknown one.
	 */
	uint64_t run = threads_run_of(rye->threads, chain, n);

	return run ? run : exec_run_of(rye->exec, chain, n, session);
}

pid_t rye_run_leader(struct rye *rye, uint64_t run, const pid_t *chain, size_t n)
{
	pid_t leader = threads_leader(rye->threads, run, chain, n);

	return leader ? leader : exec_run_leader(rye->exec, run);
}

bool rye_run_may(struct rye *rye, uint64_t run, enum rye_verb verb, enum rye_kind kind,
		 const char *id)
{
	return exec_run_may(rye->exec, run, verb, kind, id);
}

/* ---- other machines ---- */

int rye_remotes(struct rye *rye, rye_name_fn fn, void *arg, struct rye_err *err)
{
	auto_json json_t *names = NULL;
	int r = remote_names(&rye->items, &names, err);
	const json_t *name;
	size_t i;

	json_array_foreach(names, i, name)
		if (fn(arg, json_string_value(name)))
			break;
	return r;
}

int rye_remote_names(struct rye *rye, const char *remote, rye_name_fn fn, void *arg,
		     struct rye_err *err)
{
	return remote_view_names(&rye->items, remote, fn, arg, err);
}

int rye_remote_file(struct rye *rye, const char *remote, const char *name, struct rye_blob **ret,
		    struct rye_err *err)
{
	return remote_view_file(&rye->items, remote, name, ret, err);
}

int rye_remote_threads(struct rye *rye, const char *remote, rye_name_fn fn, void *arg,
		       struct rye_err *err)
{
	return remote_view_threads(&rye->items, remote, fn, arg, err);
}

int rye_remote_foreign(struct rye *rye, const char *remote, rye_name_fn fn, void *arg,
		       struct rye_err *err)
{
	return remote_view_foreign(&rye->items, remote, fn, arg, err);
}

uint64_t rye_remote_stamp(struct rye *rye, const char *remote)
{
	return remote_view_stamp(&rye->items, remote);
}
