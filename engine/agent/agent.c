/* SPDX-License-Identifier: MIT */
/*
 * The life of one thread, from its orders to what it leaves: opened, run turn by turn, and ended in
 * the order that a reader may rely on: terminal event, checkpoint, thread.json, knowledge, ledger;
 * result.json and the registry's row are the caller's.
 */
#include "agent/agent_inner.h"

#include "clock.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <string.h>
#include <unistd.h>

/* Seconds that the end of a thread waits for room on a full disk, in all. */
#define END_TRIES 60

static int end_told(struct agent *agent, struct rye_err *err)
{
	unsigned long since = memory_failures();
	auto_json json_t *payload = json_pack("{s:o}", "cost", thread_cost_json(&agent->cost));
	auto_buf struct rye_buf type = RYE_BUF_INIT;

	if (agent->error)
		json_sets(payload, "error", agent->error);
	buf_addf(&type, "thread_%s", agent->status);
	if (type.failed || memory_check(since, NULL))
		return memory_fail(err);
	return chronicle_event(agent->transcript, type.data, json_incref(payload), err);
}

/* What was paid for, and what has been done; one that never finds room is left out. */
static int end_unlogged(struct agent *agent, struct rye_err *err)
{
	while (json_array_size(agent->unlogged)) {
		const json_t *event = json_array_get(agent->unlogged, 0);

		if (chronicle_event(agent->transcript, json_str(event, "type"),
				    json_incref(json_object_get(event, "payload")), err) &&
		    err_scarce(err))
			return -(int)err->code;
		json_array_remove(agent->unlogged, 0);
	}
	return 0;
}

/* Of a call whose result was left out, too, the transcript has one: a resume wants it. */
static int end_calls(struct agent *agent, struct rye_err *err)
{
	int r = chronicle_close_calls(agent->transcript, CHRONICLE_FILE(&agent->record),
				      agent->error ? agent->error : "lost", err);

	return MIN_OF(r, 0);
}

static int end_gap(struct agent *agent, struct rye_err *err)
{
	int r = end_unlogged(agent, err);

	if (!r)
		r = end_calls(agent, err);
	agent->gap = r;
	return r;
}

/* Each event once, however often its checkpoint is tried. */
static int end_transcript(struct agent *agent, struct rye_err *err)
{
	int r = agent->gap ? end_gap(agent, err) : 0;

	if (!r && !agent->told)
		r = end_told(agent, err);
	if (r)
		return r;
	agent->told = true;
	return chronicle_checkpoint(agent->transcript, agent->cost.turns, err);
}

static int end_json(struct agent *agent, struct rye_err *err)
{
	unsigned long since = memory_failures();
	auto_json json_t *cost = thread_cost_json(&agent->cost);
	auto_json json_t *limits = limits_json(&agent->limits);
	auto_json json_t *more = json_copy((json_t *)agent->json.more);
	struct thread_json json = agent->json;

	if (agent->error)
		json_sets(more, "error", agent->error);
	if (json_array_size(agent->warnings))
		json_object_set(more, "warnings", agent->warnings);
	json.status = agent->status;
	json.cost = cost;
	json.limits = limits;
	json.outputs = agent->outputs;
	json.transcript_head = chronicle_head(agent->transcript);
	json.more = more;
	return memory_check(since, err) ? -(int)RYE_IO :
					  thread_json_write(&agent->record, &json, err);
}

static int end_story(struct agent *agent, struct rye_err *err)
{
	const struct story story = { .directive = agent->directive,
				     .status = agent->status,
				     .model = agent->provider ? agent->provider->model : NULL,
				     .cost = agent->cost,
				     .capabilities = agent->capabilities };

	return story_write(&agent->record, &story, CHRONICLE_FILE(&agent->record), err);
}

static int end_ledger(struct agent *agent, struct rye_err *err)
{
	int r = 0;

	if (agent->registry)
		r = registry_snapshot(agent->registry, agent->thread_id, &agent->cost, err);
	if (!r && agent->owed != 0)
		r = agent_owes(agent, 0, err);
	if (!r && agent->budget && agent->threads)
		r = ledger_settle_unborn(agent->budget, agent->threads, agent->thread_id, err);
	/* one that could not even open the ledger: its launcher has reserved money all the same */
	if (!r)
		r = agent->budget ?
			    budget_settle(agent->budget, agent->thread_id, agent->status, err) :
			    ledger_settle(agent->opt.project, agent->thread_id, agent->status, err);
	return r == -(int)RYE_NOT_FOUND ? 0 : r;
}

static const struct end_step {
	const char *what;
	int (*fn)(struct agent *agent, struct rye_err *err);
	bool recorded; /* only of a thread that has a transcript */
} end_steps[] = {
	{ "the transcript's end", end_transcript, true },
	{ "thread.json", end_json, true },
	{ "the transcript's knowledge entry", end_story, true },
	{ "the ledger", end_ledger, false },
};

static bool end_again(const struct rye_err *err, int *tries)
{
	if (!err_scarce(err) || *tries >= END_TRIES)
		return false;
	++*tries;
	sleep(1);
	return true;
}

static void end_records(struct agent *agent)
{
	struct rye_err err = { 0 };
	int tries = 0;

	for (size_t i = 0; i < ARRAY_SIZE(end_steps); i++) {
		const struct end_step *step = &end_steps[i];
		int r = 0;

		if (step->recorded && !agent->transcript)
			continue;
		do {
			err = (struct rye_err){ 0 };
			r = step->fn(agent, &err);
		} while (r && end_again(&err, &tries));
		if (r)
			agent_warn(agent, "%s: %s", step->what, err.msg);
	}
}

/* Of all threads that have handed over, and its own. */
static json_t *end_chain_cost(const struct agent *agent)
{
	struct thread_cost all = agent->before;

	thread_cost_add(&all, &agent->cost);
	return thread_cost_json(&all);
}

/* The whole reply of the thread: result.json. */
static json_t *end_reply(const struct agent *agent)
{
	bool well = !strcmp(agent->status, "completed");
	json_t *reply = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "status",
				  well ? "success" : "error", "type", "directive", "item_id",
				  json_str(agent->request, "item_id"), "thread_id",
				  agent->thread_id, "directive", agent->directive, "state",
				  agent->status);

	if (agent->error)
		json_sets(reply, "error", agent->error);
	if (!well)
		json_sets(reply, "code", rye_code_name(agent->code));
	if (agent->text && *agent->text)
		json_sets(reply, "result", agent->text);
	if (agent->outputs)
		json_object_set(reply, "outputs", agent->outputs);
	if (agent->truncated)
		json_set(reply, "truncated", json_true());
	json_set(reply, "cost", thread_cost_json(&agent->cost));
	if (agent->before.turns)
		json_set(reply, "chain_cost", end_chain_cost(agent));
	if (json_array_size(agent->warnings))
		json_object_set(reply, "warnings", agent->warnings);
	return reply;
}

/* What `output` shows: the last answer, else the outputs, else why it failed. */
static struct rye_blob *end_output(const struct agent *agent)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	if (agent->outputs)
		json_pretty(&text, agent->outputs);
	else if (agent->text && *agent->text)
		buf_addf(&text, "%s\n", agent->text);
	else if (agent->error)
		buf_addf(&text, "%s\n", agent->error);
	buf_adds(&text, "");
	return buf_blob(&text);
}

/* Both as they are to be, or the caller has no memory for them. */
static bool end_outcome(const struct agent *agent, struct rye_outcome *ret)
{
	unsigned long since = memory_failures();
	auto_json json_t *reply = end_reply(agent);

	rye_outcome_done(ret);
	*ret = (struct rye_outcome){ .code = agent->code, .message = "" };
	ret->reply = json_blob(reply, false);
	ret->output = end_output(agent);
	return !memory_check(since, NULL);
}

static void agent_finish(struct agent *agent, struct agent_end *ret)
{
	int tries = 0;

	agent->cost.elapsed_seconds = (double)(clock_ms() - agent->start_ms) / 1000;
	if (agent->transcript)
		hooks_run(agent, EVENT_AFTER_COMPLETE,
			  json_pack("{s:s, s:o, s:s}", "thread_id", agent->thread_id, "cost",
				    thread_cost_json(&agent->cost), "project_path",
				    agent->opt.project),
			  NULL);
	spawn_end(agent);
	end_records(agent);
	while (!end_outcome(agent, &ret->outcome) && tries++ < END_TRIES)
		sleep(1);
	snprintf(ret->status, sizeof(ret->status), "%s", agent->status);
}

void agent_run(const struct agent_ask *ask, struct agent_end *ret)
{
	struct agent *agent = memory_note(calloc(1, sizeof(*agent)));
	struct rye_err err = { 0 };
	int r;

	*ret = (struct agent_end){ .status = "error" };
	if (!agent)
		return;
	agent->ask = ask;
	/* one whose parent is cancelled while it begins finds no budget there */
	r = agent_open(agent, &err);
	if (r && agent_stopped(agent))
		agent_ends(agent, "cancelled", RYE_CANCELLED, "Cancelled");
	else if (r)
		agent_fails(agent, &err);
	else
		agent_loop(agent);
	loop_unheard(agent);
	agent_finish(agent, ret);
	agent_close(agent);
	free(agent);
}
