/* SPDX-License-Identifier: MIT */
/*
 * The primitive `graph`: walks a state graph. Every call of an item is a run of its own, which this
 * run asks for as a child of it would: the graph's signed permissions, those of all runs above it and
 * the capabilities of the model's threads above them decide (its authority), and the queue lends it
 * this run's place. The walk is on this run's worker; answers come on other workers.
 *
 * Lock: `lock` of struct graph_calls guards `done`; the eventfd says that there is something in it.
 */
#include "plan/plan.h"

#include "clock.h"
#include "graph/graph.h"
#include "memory.h"
#include "record/record.h"
#include "run/run_inner.h"
#include "scope.h"
#include "sign/sign.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>

/* When neither graph, configuration nor runtime says. */
#define STEPS_DEFAULT 100
#define CONCURRENCY_DEFAULT 10

struct graph_plan {
	struct graph *graph;
	json_t *inputs; /* owned */
	const json_t *own; /* special parameters, see graph_params_take; borrowed */
	json_t *permissions, *narrowed; /* of graph and caller, with whole names; owned, or NULL */
	json_t *faults, *warnings; /* of the graph; owned */
};

struct graph_calls {
	struct run *run;
	const struct graph_plan *plan;
	struct authority asker; /* the graph */
	struct graph_call *living; /* by sibling; of the walk's worker */
	pthread_mutex_t lock;
	struct graph_call *done; /* by next */
	int wake;
	int64_t until_ms; /* clock_ms(); 0: no end */
	enum rye_code stop; /* RYE_OK: go on */
	const char *run_id; /* of the walk */
	bool quiet; /* no lines of progress */
	_Atomic bool
		missing; /* the call that was answered last named no item: nothing of it says where */
};

static void call_answered(struct graph_call *call)
{
	struct graph_calls *calls = call->owner;

	GUARD(&calls->lock);
	call->next = calls->done;
	calls->done = call;
	(void)!eventfd_write(calls->wake, 1);
}

/* rye_done_fn, on the worker that ran it. */
static void prim_graph_on_done(void *arg, const struct rye_outcome *outcome)
{
	struct rye_span text = { outcome->reply->data, outcome->reply->len };
	struct graph_call *call = arg;

	call->reply = json_parse(text, JSON_LOAD_LAST_WINS | JSON_LOAD_NUL, "reply", NULL);
	((struct graph_calls *)call->owner)->missing = outcome->code == RYE_NOT_FOUND;
	call_answered(call);
}

static void answer_error(struct graph_call *call, json_t *error)
{
	call->reply = json_pack("{s:s, s:o}", "status", "error", "error", error);
	call_answered(call);
}

/* A tool's own id, which is checked and runs: "tool:rye/bash" is "tool:rye/bash/bash". */
static void settle_ref(const struct graph_calls *calls, struct graph_call *call)
{
	char whole[CAPABILITY_ID_MAX], *ref;
	const char *id;
	enum rye_kind kind = id_split(call->ref, &id);

	if (!capability_id(calls->run->exec->env.items, kind, id, whole) ||
	    asprintf(&ref, "%s:%s", rye_kind_name(kind), whole) < 0)
		return;
	free(call->ref);
	call->ref = ref;
}

static enum act act_of_call(const struct graph_call *call)
{
	if (!strcmp(call->primary, "sign"))
		return ACT_SIGN;
	return strcmp(call->primary, "fetch") ? ACT_RUN : ACT_READ;
}

/* Why it may not be made; NULL: it may. */
static json_t *refusal_of(const struct graph_calls *calls, const struct graph_call *call)
{
	struct authority_ask ask = { .act = act_of_call(call) };
	struct rye_err err = { 0 };

	ask.kind = rye_kind_name(id_split(call->ref, &ask.id));
	return authority_check(&calls->asker, &ask, &err) ? json_string(err.msg) : NULL;
}

/* The message of the request that the call is. A directive is for a model, unless the node says not. */
static json_t *child_message(const struct graph_call *call)
{
	bool directive = !strncmp(call->ref, "directive:", strlen("directive:"));
	const char *thread = *call->thread ? call->thread : directive ? "fork" : "inline";
	json_t *doc = json_object();

	json_sets(doc, "item_id", call->ref);
	if (strcmp(call->primary, "execute")) {
		json_object_update_missing(doc, call->params);
		return doc;
	}
	json_object_set(doc, "parameters", call->params);
	json_sets(doc, "thread", thread);
	for (const char *const *term = graph_terms; *term; term++)
		if (json_object_get(call->terms, *term))
			json_object_set(doc, *term, json_object_get(call->terms, *term));
	if (call->remote && *call->remote)
		json_set(doc, "target", json_sprintf("remote:%s", call->remote));
	return doc;
}

/* A run that is gone on with after it was killed asks the same again: then it is the same order. */
static json_t *child_order(const struct graph_calls *calls, const struct graph_call *call)
{
	return json_sprintf("%s %lld %lld %zu", calls->run_id, (long long)call->step,
			    (long long)call->retry, call->n);
}

static void child_start(const struct graph_calls *calls, struct graph_call *call)
{
	const struct run *run = calls->run;
	const struct rye_request *above = run->ask;
	auto_json json_t *doc = child_message(call);
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	struct rye_request ask = {
		.verb = strcmp(call->primary, "fetch") ? RYE_EXECUTE : RYE_FETCH,
		.kind = RYE_KIND__MAX,
		.id = "",
		.uid = above->uid,
		.keeps = above->keeps,
		.parent_run = run->living->number,
		.authority = above->authority,
	};
	struct rye_call *handle = NULL;

	/* without a step it is a hook's, which may be called again */
	if (call->step && !strcmp(call->primary, "execute"))
		json_set(doc, "order", child_order(calls, call));
	json_put(&text, doc, false);
	if (text.failed) {
		answer_error(call, json_string("the parameters are too big"));
		return;
	}
	ask.message = (struct rye_span){ text.data, text.len };
	exec_start(run->exec, &ask, prim_graph_on_done, call, &handle);
	call->handle = handle; /* the walk, which gives the call up, is this thread */
}

/* ---- what the walk asks for ---- */

static bool calls_stopped(void *arg)
{
	struct graph_calls *calls = arg;

	if (calls->stop == RYE_OK && call_cancelled(calls->run->call) != RYE_OK)
		calls->stop = call_cancelled(calls->run->call);
	if (calls->stop == RYE_OK && calls->until_ms && clock_ms() >= calls->until_ms)
		calls->stop = RYE_TIMEOUT;
	return calls->stop != RYE_OK;
}

/* ---- results that are kept (cache_result) ---- */

static bool stamp_chain(const struct item_env *items, struct chain_start *first,
			struct rye_buf *out)
{
	auto_chain struct chain chain = { 0 };
	struct rye_err ignored = { 0 };
	int r = chain_build(items, first, &chain, &ignored);

	for (size_t i = 0; i < chain.n; i++)
		buf_addf(out, "\n%s %s", chain.v[i].item->id, chain.v[i].item->verdict.sha256);
	return !r;
}

/* Adds what the item is now; false: it cannot be told. */
static bool stamp_item(const struct item_env *items, const char *ref, struct rye_buf *out)
{
	struct chain_start first = { .item = NULL };
	struct item_ask ask = { .ret_ambiguous = &first.ambiguous };
	struct rye_err ignored = { 0 };

	ask.kind = id_split(ref, &ask.id);
	if (ask.kind == RYE_KIND__MAX || rye_load(items, &ask, &first.item, &ignored))
		return false;
	if (ask.kind == RYE_TOOL)
		return stamp_chain(items, &first, out);
	buf_addf(out, "\n%s %s", first.item->id, first.item->verdict.sha256);
	rye_item_unref(first.item);
	return true;
}

/* What the result of a call hangs on, as far as it is signed. */
static bool result_key(const struct graph_calls *calls, const struct graph_call *call,
		       char ret[SHA_HEX])
{
	const struct graph *graph = calls->plan->graph;
	auto_json json_t *doc = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:O}", "graph", graph->id,
					  "digest", graph->digest, "node", call->keep, "primary",
					  call->primary, "item", call->ref, "thread", call->thread,
					  "params", call->params);
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	json_canonical(&text, doc);
	if (!doc || !stamp_item(calls->run->exec->env.items, call->ref, &text) || text.failed)
		return false;
	sha256_hex((struct rye_span){ text.data, text.len }, ret);
	return true;
}

/* Is there an earlier result? */
static bool call_recalled(const struct graph_calls *calls, struct graph_call *call)
{
	const struct run *run = calls->run;
	const struct signkept kept = { run->exec->env.items, run->exec->base.project, call->key };
	json_t *result;

	if (!call->keep || !result_key(calls, call, call->key))
		return false;
	result = signkept_find(&kept);
	if (result)
		call->reply = json_pack("{s:s, s:o}", "status", "success", "data", result);
	call->kept = result;
	return call->kept;
}

/* A good result is kept; the run is as good when that cannot be done. */
static void keep_result(const struct graph_calls *calls, const struct graph_call *call)
{
	const struct exec *exec = calls->run->exec;
	const struct signkept kept = { exec->env.items, exec->base.project, call->key };
	auto_json json_t *result = graph_unwrap(json_deep_copy(call->reply)), *doc = NULL;
	struct rye_err err = { 0 };
	char key[SHA_HEX];

	/* nor is it when the item has changed meanwhile: it is not known which one has run */
	if (!strcmp(json_str(result, "status"), "error") || !*call->key ||
	    !result_key(calls, call, key) || strcmp(key, call->key))
		return;
	doc = json_pack("{s:s, s:s, s:s, s:O}", "graph_id", calls->plan->graph->id, "node",
			call->keep, "item_id", call->ref, "result", result);
	if (signkept_put(&kept, doc, &err))
		log_line(exec->env.items->log, RYE_LOG_INFO, "graph",
			 "%s: node '%s': its result is not kept: %s", calls->plan->graph->id,
			 call->keep, err.msg);
}

static void graph_calls_begin(void *arg, struct graph_call *call)
{
	struct graph_calls *calls = arg;
	json_t *refusal;

	settle_ref(calls, call);
	refusal = refusal_of(calls, call);
	call->owner = calls;
	call->sibling = calls->living;
	calls->living = call;
	if (!refusal && calls_stopped(calls))
		refusal = json_string("Run was cancelled");
	if (refusal)
		answer_error(call, refusal);
	else if (call_recalled(calls, call))
		call_answered(call);
	else
		child_start(calls, call);
}

static struct graph_call *take_done(struct graph_calls *calls)
{
	GUARD(&calls->lock);
	struct graph_call *call = calls->done;

	if (call)
		calls->done = call->next;
	return call;
}

static void cancel_all(struct graph_calls *calls, enum rye_code code)
{
	if (calls->stop == RYE_OK)
		calls->stop = code;
	for (struct graph_call *at = calls->living; at; at = at->sibling)
		rye_call_cancel(at->handle, RYE_CANCELLED);
}

/* Until a call is answered, the run is cancelled, or its time is over. */
static void calls_wait(struct graph_calls *calls)
{
	struct pollfd fds[] = { { calls->wake, POLLIN, 0 },
				{ calls->stop == RYE_OK ? call_wake(calls->run->call) : -1, POLLIN,
				  0 } };
	int64_t left = calls->until_ms - clock_ms();
	bool ends = calls->until_ms && calls->stop == RYE_OK;
	eventfd_t count;

	(void)!poll(fds, ARRAY_SIZE(fds), !ends ? -1 : left > 0 ? (int)left : 0);
	if (fds[0].revents)
		(void)!eventfd_read(calls->wake, &count);
	if (call_cancelled(calls->run->call) != RYE_OK)
		cancel_all(calls, call_cancelled(calls->run->call));
	else if (ends && clock_ms() >= calls->until_ms)
		cancel_all(calls, RYE_TIMEOUT);
}

static struct graph_call *calls_next(void *arg)
{
	struct graph_calls *calls = arg;
	struct graph_call *call, **at = &calls->living;

	while (!(call = take_done(calls)))
		calls_wait(calls);
	while (*at != call)
		at = &(*at)->sibling;
	*at = call->sibling;
	rye_call_unref(call->handle);
	if (call->keep && !call->kept)
		keep_result(calls, call);
	return call;
}

static void calls_progress(void *arg, const char *line)
{
	struct graph_calls *calls = arg;

	if (!calls->quiet)
		events_output(calls->run->call->events, RYE_STDERR, span_of(line));
}

static int calls_open(struct run *run, const struct plan *plan, struct graph_calls *ret,
		      struct rye_err *err)
{
	*ret = (struct graph_calls){ .run = run, .plan = plan->own };
	ret->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ret->until_ms = plan->timeout_ms ? clock_ms() + plan->timeout_ms : 0;
	ret->quiet = env_get(&run->exec->base.inherited, "RYE_GRAPH_QUIET");
	pthread_mutex_init(&ret->lock, NULL);
	authority_graph(&ret->asker, &run->asker, ret->plan->permissions, ret->plan->narrowed);
	return ret->wake >= 0 ? 0 : rye_fail_sys(err, errno, "cannot walk a graph");
}

static void calls_close(struct graph_calls *calls)
{
	if (calls->wake >= 0)
		close(calls->wake);
	pthread_mutex_destroy(&calls->lock);
	authority_done(&calls->asker);
}

/* ---- the run ---- */

/* "a/b" is a-b at the beginning of its runs' names. */
static bool is_name_of(const char *name, const char *id)
{
	for (; *id; id++, name++)
		if (*name != (*id == '/' ? '-' : *id))
			return false;
	return *name == '-';
}

/* A thread's runner: the run has the name of the thread. NULL: any. */
static const char *wanted_name(const struct run *run, const struct graph *graph)
{
	const struct rye_request *ask = run->ask;
	const char *thread = env_get(&run->exec->base.inherited, "RYE_THREAD_ID");

	if (!ask->keeps || ask->parent_run || !thread || !is_name_of(thread, graph->id))
		return NULL;
	return thread;
}

/* Why that run is not what it was. */
static int check_past(const struct run *run, const struct graph_plan *plan,
		      const struct graph_past *past, struct rye_err *err)
{
	const char *id = json_str(plan->own, "graph_run_id");
	const struct seal seal = { run->exec->env.items, run->exec->base.project, "graphs", id };
	struct rye_err why = { 0 };
	int64_t turn;

	if (strcmp(past->graph_id, plan->graph->id))
		return rye_fail(err, RYE_INVALID, "Cannot resume: %s is a run of %s", id,
				past->graph_id);
	if (strcmp(past->digest, plan->graph->digest))
		return rye_fail(err, RYE_INVALID, "Cannot resume: %s has changed since %s began",
				plan->graph->id, id);
	if (!json_object_get(plan->own, "node") && !*past->node)
		return rye_fail(err, RYE_INVALID, "Cannot resume: %s is over (%s)", id,
				past->status);
	if (seal_check(&seal, &turn, &why))
		return rye_fail(err, RYE_INVALID, "Cannot resume: %s", why.msg);
	return 0;
}

/* Behind the last line of a walk; a record without a signature is one, too. */
static void sign_end(const struct run *run, const struct graph_log *log, struct graph_end *end)
{
	const struct seal seal = { run->exec->env.items, run->exec->base.project, "graphs",
				   graph_log_run(log) };
	json_int_t steps = json_int(end->data, "steps", 0);
	struct rye_err err = { 0 };
	int64_t turn = 0;
	int r = seal_check(&seal, &turn, &err);

	if (!r)
		r = seal_put(&seal, turn > steps ? turn : steps, &err);
	if (r)
		json_array_append_new(end->warnings,
				      json_sprintf("the transcript is not signed: %s", err.msg));
}

/* The run to go on with, or a new one; ret_past of the former. */
static int open_log(const struct run *run, const struct graph_plan *plan, struct graph_log **ret,
		    struct graph_past *ret_past, struct rye_err *err)
{
	const char *project = run->exec->base.project, *id = json_str(plan->own, "graph_run_id");
	bool single = json_object_get(plan->own, "node");
	const struct graph_log_new new = { project, plan->graph->id, single ? "-step" : "",
					   single ? NULL : wanted_name(run, plan->graph) };
	int r = 0;

	if (*id)
		r = graph_log_resume(project, id, single ? NULL : ret, ret_past, err);
	if (!r && *id)
		r = check_past(run, plan, ret_past, err);
	if (!r && (!*id || single))
		r = graph_log_create(&new, ret, err);
	return r;
}

/* What the caller is told of a walk. */
static void result_of_end(const struct graph_calls *calls, const struct plan *plan,
			  struct graph_end *end, struct result *ret)
{
	const json_t *error = json_object_get(end->data, "error");
	const char *node = json_str(end->data, "node");
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	ret->data = steal(&end->data);
	ret->warnings = steal(&end->warnings);
	ret->code = end->status <= GRAPH_WITH_ERRORS ? RYE_OK : RYE_TOOL_FAILED;
	if (end->status == GRAPH_CANCELLED)
		ret->code = calls->stop;
	if (ret->code == RYE_TIMEOUT)
		buf_addf(&text, "Graph timed out after %g seconds",
			 (double)plan->timeout_ms / 1000);
	else if (error && *node && calls->missing)
		buf_addf(&text, "node '%.100s' of graph %s: ", node, calls->plan->graph->id);
	if (ret->code != RYE_TIMEOUT && error)
		json_python_str(&text, error);
	ret->error = text.failed || !text.len ? strdup("") : buf_steal(&text);
}

/* ---- its row ---- */

/* A run of its own, and no thread's: true if it has got a row. */
static bool graph_enrol(const struct graph_calls *calls, const struct graph_plan *plan,
			const char *run)
{
	const struct exec_hooks *hooks = calls->run->exec->env.hooks;
	auto_buf struct rye_buf ref = RYE_BUF_INIT;

	if (!hooks || !hooks->enrol || json_object_get(plan->own, "node") ||
	    json_object_get(plan->own, "graph_run_id") || wanted_name(calls->run, plan->graph))
		return false;
	buf_addf(&ref, "tool:%s", plan->graph->id);
	return !ref.failed &&
	       hooks->enrol(hooks->arg, run, ref.data,
			    env_get(&calls->run->exec->base.inherited, "RYE_THREAD_ID"));
}

static void graph_discharge(const struct graph_calls *calls, const char *run,
			    const struct result *result)
{
	const struct exec_hooks *hooks = calls->run->exec->env.hooks;
	const char *status = json_str(result->data, "status");
	auto_json json_t *reply = json_pack("{s:s, s:O?}", "status",
					    result->code == RYE_OK ? "success" : "error", "data",
					    result->data);
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	if (result->code != RYE_OK)
		json_sets(reply, "error", result->error);
	json_put(&text, reply, false);
	hooks->discharge(hooks->arg, run, *status ? status : "error",
			 text.failed ? NULL : text.data);
}

static void graph_go(struct graph_calls *calls, const struct plan *plan, struct result *ret)
{
	const struct graph_plan *own = plan->own;
	const struct graph_ops ops = { calls, graph_calls_begin, calls_next, calls_stopped,
				       calls_progress };
	auto_past struct graph_past past = GRAPH_PAST_INIT;
	struct graph_ask ask = { .graph = own->graph,
				 .inputs = own->inputs,
				 .inject = json_object_get(own->own, "inject_state"),
				 .node = json_string_value(json_object_get(own->own, "node")),
				 .max_steps = json_int(own->own, "max_steps", 0),
				 .ops = &ops };
	struct graph_end end = { .data = NULL };
	struct graph_log *log = NULL;
	struct rye_err err = { 0 };
	int r = open_log(calls->run, own, &log, &past, &err);
	bool row = !r && graph_enrol(calls, own, graph_log_run(log));

	if (!r) {
		calls->run_id = graph_log_run(log);
		ask.past = past.state ? &past : NULL;
		ask.log = log;
		r = graph_walk(&ask, &end, &err);
	}
	if (!r)
		sign_end(calls->run, log, &end);
	if (r)
		result_unspawned(&err, ret);
	else
		result_of_end(calls, plan, &end, ret);
	if (row)
		graph_discharge(calls, graph_log_run(log), ret);
	graph_log_close(log);
	graph_end_done(&end);
}

/* `validate`: what is wrong with the graph, and what is strange. Nothing is called. */
static void graph_validate(const struct graph_plan *plan, struct result *ret)
{
	bool ok = !json_array_size(plan->faults);

	graph_lint(plan->graph, plan->warnings);
	ret->data = json_pack("{s:b, s:O, s:O, s:I}", "success", ok, "errors", plan->faults,
			      "warnings", plan->warnings, "node_count", (json_int_t)plan->graph->n);
	ret->warnings = json_array();
	ret->code = ok ? RYE_OK : RYE_TOOL_FAILED;
	ret->error = strdup(ok ? "" : json_string_value(json_array_get(plan->faults, 0)));
}

static void graph_run(struct run *run, const struct plan *plan, struct result *ret)
{
	const struct graph_plan *own = plan->own;
	struct graph_calls calls;
	struct rye_err err = { 0 };

	if (json_is_true(json_object_get(own->own, "validate"))) {
		graph_validate(own, ret);
		return;
	}
	exec_attend(run->exec);
	events_state(run->call->events, RYE_STATE_STARTED);
	if (calls_open(run, plan, &calls, &err))
		result_unspawned(&err, ret);
	else
		graph_go(&calls, plan, ret);
	calls_close(&calls);
}

/* ---- planning ---- */

/* The first that is set: for this tool, for all, by the runtimes. */
static json_int_t graph_limit(const struct planner *planner, const char *key, json_int_t fallback)
{
	const json_t *rows[] = {
		json_object_get(json_object_get(planner->limits, "tools"),
				planner->chain->v[0].item->id),
		json_object_get(planner->limits, "defaults"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (json_int(rows[i], key, 0) > 0)
			return json_int(rows[i], key, fallback);
	for (size_t i = 1; i < planner->chain->n; i++)
		if (json_int(planner->chain->v[i].meta.config, key, 0) > 0)
			return json_int(planner->chain->v[i].meta.config, key, fallback);
	return fallback;
}

static void list_faults(const json_t *faults, struct rye_buf *out)
{
	const json_t *text;
	size_t i;

	json_array_foreach(faults, i, text) {
		buf_addf(out, "%s%s", i ? "; " : "", json_string_value(text));
	}
}

/* ---- variables ---- */

struct env_wants {
	struct planner *planner;
	struct rye_buf missing;
};

static void want_name(struct env_wants *wants, const json_t *name, const struct graph_node *node)
{
	auto_json json_t *names = json_pack("[O]", name);
	const char *text = json_string_value(name);

	envres_give(wants->planner, names, wants->planner->chain->v[0].item->space);
	if (env_get(&wants->planner->env, text))
		return;
	buf_adds(&wants->missing, wants->missing.len ? "; " : "");
	if (node)
		buf_addf(&wants->missing, "node '%s' requires '%s'", node->name, text);
	else
		buf_addf(&wants->missing, "graph requires '%s'", text);
}

static void want_names(struct env_wants *wants, const json_t *names, const struct graph_node *node)
{
	const json_t *name;
	size_t i;

	if (json_is_string(names))
		want_name(wants, names, node);
	json_array_foreach(names, i, name) {
		want_name(wants, name, node);
	}
}

static int check_env(struct planner *planner, const struct graph *graph, struct rye_err *err)
{
	struct env_wants wants = { planner, RYE_BUF_INIT };
	int r = 0;

	want_names(&wants, graph->env_requires, NULL);
	for (size_t i = 0; i < graph->n; i++)
		want_names(&wants, graph->nodes[i].env_requires, &graph->nodes[i]);
	if (wants.missing.len)
		r = rye_fail(err, RYE_INVALID, "Missing environment variables: %s",
			     wants.missing.data);
	buf_done(&wants.missing);
	return r;
}

/* ---- the plan ---- */

static int read_graph(struct planner *planner, struct graph_plan *ret, struct rye_err *err)
{
	const struct link *tool = &planner->chain->v[0];
	const struct graph_source source = {
		.id = tool->item->id,
		.config = tool->meta.config,
		.permissions = meta_get(tool->item, "permissions"),
		.env_requires = meta_get(tool->item, "env_requires"),
		.max_steps = graph_limit(planner, "max_steps", STEPS_DEFAULT),
		.max_concurrency = graph_limit(planner, "max_concurrency", CONCURRENCY_DEFAULT),
	};

	ret->faults = json_array();
	ret->warnings = json_array();
	ret->graph = graph_read(&source, ret->faults, ret->warnings);
	return ret->graph ? 0 : memory_fail(err);
}

static int check_graph(struct planner *planner, const struct graph_plan *plan, struct rye_err *err)
{
	const char *node = json_str(plan->own, "node");
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	if (json_array_size(plan->faults)) {
		list_faults(plan->faults, &text);
		return rye_fail(err, RYE_INVALID, "Graph validation failed: %s",
				text.data ? text.data : "");
	}
	if (*node && !graph_node(plan->graph, node))
		return rye_fail(err, RYE_INVALID, "Target node '%.200s' not found in graph", node);
	json_array_extend(planner->warnings, plan->warnings);
	return check_env(planner, plan->graph, err);
}

static int fill_plan(struct planner *planner, struct graph_plan *ret, struct rye_err *err)
{
	const json_t *capabilities;
	int r = graph_params_check(planner->own_params, err);

	ret->own = planner->own_params;
	if (!r)
		r = read_graph(planner, ret, err);
	if (!r && !json_is_true(json_object_get(ret->own, "validate")))
		r = check_graph(planner, ret, err);
	if (r)
		return r;
	capabilities = json_object_get(ret->own, "capabilities");
	ret->permissions = capabilities_whole(planner->base->items, ret->graph->permissions);
	ret->narrowed = capabilities_whole(planner->base->items, capabilities);
	ret->inputs = json_deep_copy(planner->params);
	if (capabilities)
		json_object_set(ret->inputs, "capabilities", (json_t *)capabilities);
	return ret->inputs ? 0 : memory_fail(err);
}

static int graph_plan(struct planner *planner, struct plan *plan, struct rye_err *err)
{
	const struct link *tool = &planner->chain->v[0];

	plan->may_call = meta_get(tool->item, "permissions");
	/* it starts nothing itself: what it calls is confined by its own word, and the caller's */
	if (!tool->meta.requires_list && !tool->meta.requires_bad)
		plan->confine = planner->limit;
	return fill_plan(planner, plan->own, err);
}

static void graph_done(void *arg)
{
	struct graph_plan *own = arg;

	graph_free(own->graph);
	json_decref(own->inputs);
	json_decref(own->permissions);
	json_decref(own->narrowed);
	json_decref(own->faults);
	json_decref(own->warnings);
}

const struct prim_ops prim_graph = {
	.take_params = graph_params_take,
	.own_size = sizeof(struct graph_plan),
	.plan = graph_plan,
	.run = graph_run,
	.done = graph_done,
};
