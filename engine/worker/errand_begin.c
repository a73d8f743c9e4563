/* SPDX-License-Identifier: MIT */
/*
 * errand_begin.c: a claimed order becomes a thread: checked, noted as begun, and started as a runner of its own,
 * which outlives its worker. A worker that was killed finds what it had begun by its claims.
 */
#include "worker/worker_inner.h"

#include "base/io.h"
#include "clock.h"
#include "fork/fork.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* On the watching worker of the run's threads, or on the one that waits. */
static void errand_on_end(void *arg, const struct rye_outcome *outcome)
{
	struct errand *errand = arg;

	errand->ended = true;
	eventfd_write(errand->worker->wake, 1);
}

/* Bounds: what is above it there, and what its principal may. */
static json_t *errand_authority(const struct errand *errand, const struct principal *who)
{
	json_t *lists = json_array();

	if (errand->order.above)
		json_array_extend(lists, (json_t *)errand->order.above);
	json_array_append(lists, who->allow);
	return json_pack("{s:o}", "capabilities", lists);
}

/* Where money is counted a model has what was reserved for it, whatever else its order says. */
static void errand_purse(json_t *request, double most)
{
	json_t *limits = json_object_get(request, "limit_overrides");

	if (!limits && json_set(request, "limit_overrides", json_object()))
		limits = json_object_get(request, "limit_overrides");
	json_set(limits, "spend", json_real(most));
}

static json_t *errand_request(const struct errand *errand, const struct principal *who)
{
	const struct order *order = &errand->order;
	json_t *request = json_object();

	json_sets(request, "item_id", order->ref);
	json_set(request, "parameters", json_incref((json_t *)order->parameters));
	if (*order->model)
		json_sets(request, "model", order->model);
	if (json_object_size(order->limit_overrides))
		json_set(request, "limit_overrides", json_copy((json_t *)order->limit_overrides));
	if (order->fork && who->spend_month > 0)
		errand_purse(request, order->reserve);
	return request;
}

static int launch_tool(struct errand *errand, const json_t *request, const json_t *authority,
		       struct rye_err *err)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_json json_t *more = json_object();
	const struct launch start = { .type = ORDERS_TOOL,
				      .ref = errand->order.ref,
				      .id = errand->order.id,
				      .request = request,
				      .more = more };
	struct launched launched;

	json_put(&text, authority, false);
	if (text.failed)
		return memory_fail(err);
	json_sets(more, "authority", text.data);
	return threads_launch(errand->threads, &start, &launched, err);
}

static int errand_launch(struct errand *errand, const struct principal *who, struct rye_err *err)
{
	unsigned long since = memory_failures();
	auto_json json_t *request = errand_request(errand, who);
	auto_json json_t *authority = errand_authority(errand, who), *reply = NULL;
	const struct fork_ask forked = {
		.ref = errand->order.ref,
		.id = errand->order.id,
		.request = request,
		.async = true,
		.chain = FORK_CHAIN_ASKER,
		.before = json_object_size(errand->order.before) ? errand->order.before : NULL,
		.wake = -1,
		.previous_id = *errand->order.previous ? errand->order.previous : NULL,
		.message = json_string_value(json_array_get(errand->order.message, 0)),
		.authority = authority
	};

	if (memory_check(since, err))
		return -(int)RYE_IO;
	return errand->order.fork ? fork_start(errand->threads, &forked, &reply, err) :
				    launch_tool(errand, request, authority, err);
}

/* The node's owner may have keys of his own there: a run has what its principal's entry names. */
static void errand_lend(struct errand *errand, const struct principal *who)
{
	const json_t *name;
	size_t i;

	env_lend(&errand->lent, environ, who->env);
	json_array_foreach(who->env, i, name)
		buf_addf(&errand->lent_names, "%s%s", i ? ":" : "", json_string_value(name));
	errand->opt.env_names = errand->lent_names.data;
}

static int errand_threads(struct errand *errand, const struct principal *who, struct rye_err *err)
{
	struct threads_env env = {
		.opt = &errand->opt,
		.log = &errand->worker->log,
		/* the board has it all once it is over, and executed.db that it was begun */
		.passing = errand_has_tree(errand) && !errand->order.fork,
		.uid = errand->uid
	};

	errand_lend(errand, who);
	env.lent = errand->lent.v;
	if (errand->lent.failed || errand->lent_names.failed || !env.lent)
		return memory_fail(err);
	return threads_open(&env, &errand->threads, err);
}

static int errand_watch(struct errand *errand, struct rye_err *err)
{
	const struct rye_listener listener = { errand_on_end, errand };

	return threads_wait(errand->threads, errand->order.id, &listener, err);
}

/* The directory of its thread shows that its runner was begun, or its record that it has ended. */
static int errand_take_up(struct errand *errand, struct rye_err *err)
{
	auto_close int dir = threads_dir(errand->threads, errand->order.id, err);
	int r;

	if (dir < 0)
		return dir;
	threads_recover(errand->threads, errand->order.id);
	errand_words_again(errand);
	r = errand_news_again(errand, err);
	return r ? r : errand_watch(errand, err);
}

/* Behind its check-out; its principal's entry may have changed meanwhile. */
static int errand_go(struct errand *errand, struct rye_err *err)
{
	auto_principal struct principal who = { 0 };
	int r = principal_load(errand->worker->node, errand->order.asker, &who, err);

	if (!r)
		r = errand_past(errand, err);
	if (!r)
		r = errand_item(errand, &who, err);
	if (!r)
		r = errand_give(errand, &who, err);
	if (!r)
		r = errand_threads(errand, &who, err);
	if (r)
		return r;
	/* from here on it counts as begun, whatever becomes of this process */
	r = executed_add(errand->worker->executed, &errand->order, errand->claim.gen,
			 errand->order.again, err);
	if (r <= 0)
		return r ? r :
			   rye_fail(err, RYE_STATE, "order %s was begun here before",
				    errand->order.id);
	r = errand_launch(errand, &who, err);
	/* an earlier attempt of it, in the project's own directory: what that comes to will do */
	if (r == -(int)RYE_BUSY && errand->claim.gen > 1)
		return errand_take_up(errand, err);
	return r ? r : errand_watch(errand, err);
}

static void errand_refuse(struct errand *errand, const struct rye_err *why)
{
	struct rye_err more = { 0 };

	errand->ended = true;
	if (errand_refusal(errand, why, &more)) {
		log_line(&errand->worker->log, RYE_LOG_WARN, "worker", "%s", more.msg);
		errand->gone = true;
	}
}

static int errand_make_tree(struct errand *errand, struct rye_err *err)
{
	return errand_tree(errand, false, err);
}

static void errand_go_on(struct errand *errand, int r, const struct rye_err *why)
{
	struct rye_err err = { 0 };

	/* another attempt counts, or none: this one has done nothing yet */
	if (errand->aside.lost) {
		errand_clear(errand);
	} else if (r) {
		errand_refuse(errand, why);
	} else if (errand->cancelled) {
		rye_fail(&err, RYE_CANCELLED, "it was cancelled before it was begun");
		errand_refuse(errand, &err);
	} else if (errand_go(errand, &err)) {
		errand_refuse(errand, &err);
	}
}

void errand_begin(struct errand *errand)
{
	auto_principal struct principal who = { 0 };
	struct rye_err err = { 0 };
	int r = errand_check(errand, false, &who, &err);

	if (r)
		errand_refuse(errand, &err);
	else if (errand_has_tree(errand))
		errand_aside(errand, errand_make_tree, errand_go_on);
	else
		errand_go_on(errand, errand_tree(errand, false, &err), &err);
}

bool errand_adopt(struct errand *errand)
{
	auto_principal struct principal who = { 0 };
	struct rye_err err = { 0 };
	int r = errand_check(errand, true, &who, &err);

	if (!r)
		r = errand_tree(errand, true, &err);
	if (!r)
		r = errand_item(errand, &who, &err);
	if (!r)
		r = errand_threads(errand, &who, &err);
	return !r && !errand_take_up(errand, &err);
}
