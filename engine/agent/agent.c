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

#include <string.h>

static void end_transcript(struct agent *agent)
{
	auto_buf struct rye_buf type = RYE_BUF_INIT;
	struct rye_err err = { 0 };
	json_t *payload;

	if (!agent->transcript)
		return;
	payload = json_pack("{s:o}", "cost", thread_cost_json(&agent->cost));
	if (agent->error)
		json_sets(payload, "error", agent->error);
	buf_addf(&type, "thread_%s", agent->status);
	if (type.failed || chronicle_event(agent->transcript, type.data, payload, &err) ||
	    chronicle_checkpoint(agent->transcript, agent->cost.turns, &err))
		agent_warn(agent, "the transcript's end: %s", err.msg);
}

static void end_json(struct agent *agent)
{
	auto_json json_t *cost = thread_cost_json(&agent->cost);
	auto_json json_t *more = json_copy((json_t *)agent->json.more);
	struct thread_json json = agent->json;
	struct rye_err err = { 0 };

	if (!agent->transcript)
		return;
	if (agent->error)
		json_sets(more, "error", agent->error);
	if (json_array_size(agent->warnings))
		json_object_set(more, "warnings", agent->warnings);
	json.status = agent->status;
	json.cost = cost;
	json.outputs = agent->outputs;
	json.transcript_head = chronicle_head(agent->transcript);
	json.more = more;
	if (thread_json_write(&agent->record, &json, &err))
		agent_warn(agent, "thread.json: %s", err.msg);
}

static void end_story(struct agent *agent)
{
	const struct story story = { .directive = agent->directive,
				     .status = agent->status,
				     .model = agent->provider ? agent->provider->model : NULL,
				     .cost = agent->cost,
				     .capabilities = agent->capabilities };
	auto_blob struct rye_blob *text = NULL;
	struct rye_err err = { 0 };

	if (agent->transcript && !chronicle_text(&agent->record, &text, NULL) &&
	    story_write(&agent->record, &story, (struct rye_span){ text->data, text->len }, &err))
		agent_warn(agent, "the transcript's knowledge entry: %s", err.msg);
}

static void end_ledger(struct agent *agent)
{
	struct rye_err err = { 0 };

	if (agent->registry)
		registry_snapshot(agent->registry, agent->thread_id, &agent->cost, NULL);
	if (agent->budget && budget_settle(agent->budget, agent->thread_id, agent->status, &err) &&
	    err.code != RYE_NOT_FOUND)
		agent_warn(agent, "the ledger: %s", err.msg);
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
	json_set(reply, "cost", thread_cost_json(&agent->cost));
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

static void agent_finish(struct agent *agent, struct agent_end *ret)
{
	auto_json json_t *reply = NULL;

	agent->cost.elapsed_seconds = (double)(clock_ms() - agent->start_ms) / 1000;
	if (agent->transcript)
		hooks_run(agent, "after_complete",
			  json_pack("{s:s, s:o, s:s}", "thread_id", agent->thread_id, "cost",
				    thread_cost_json(&agent->cost), "project_path",
				    agent->opt.project),
			  NULL);
	spawn_end(agent);
	end_transcript(agent);
	end_json(agent);
	end_story(agent);
	end_ledger(agent);
	reply = end_reply(agent);
	ret->outcome = (struct rye_outcome){ .code = agent->code, .message = "" };
	ret->outcome.reply = json_blob(reply, false);
	ret->outcome.output = end_output(agent);
	snprintf(ret->status, sizeof(ret->status), "%s", agent->status);
}

void agent_run(const struct agent_ask *ask, struct agent_end *ret)
{
	struct agent *agent = memory_note(calloc(1, sizeof(*agent)));
	struct rye_err err = { 0 };

	*ret = (struct agent_end){ .status = "error" };
	if (!agent)
		return;
	agent->ask = ask;
	if (agent_open(agent, &err))
		agent_fails(agent, &err);
	else
		agent_loop(agent);
	agent_finish(agent, ret);
	agent_close(agent);
	free(agent);
}
