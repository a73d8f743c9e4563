/* SPDX-License-Identifier: MIT */
/*
 * Turn by turn: limits, a stop that was asked for, a checkpoint; the model's answer; its calls, or
 * the end. Every way out of the loop has noted how the thread ended (agent_ends).
 */
#include "agent/agent_inner.h"

#include "clock.h"
#include "scope.h"

#include <string.h>

/* A model that must return outputs and only talks is told so this often. */
#define LOOP_NUDGES 2
/* A provider may pause one answer this often. */
#define LOOP_PAUSES 10
/* An unreadable call is asked for once more. */
#define LOOP_BAD_CALLS 1

/* What the text of hooks may refer to. */
static json_t *loop_doc(const struct agent *agent)
{
	const struct limits *limits = &agent->limits;

	return json_pack("{s:s, s:s, s:s, s:o, s:O, s:s, s:f, s:s, s:f, s:f, s:O}", "directive",
			 agent->directive, "directive_body",
			 json_str(agent->brief.chain[0]->meta, "body"), "model",
			 agent->provider->model, "limits", limits_json(limits), "inputs",
			 agent->brief.inputs, "project_path", agent->opt.project, "depth",
			 limits->value[LIMIT_DEPTH], "parent_thread_id",
			 json_str(agent->ask->doc, "parent_id"), "spend_limit",
			 limits->value[LIMIT_SPEND], "max_turns", limits->value[LIMIT_TURNS],
			 "capabilities_summary", agent->capabilities);
}

/* A hook may let a thread go on beyond a limit, each time for one more turn. */
static bool loop_beyond(struct agent *agent, const struct limit_hit *hit)
{
	struct hook_verdict verdict;

	hooks_run(agent, EVENT_LIMIT,
		  json_pack("{s:s, s:f, s:f, s:{}}", "limit_code", hit->code, "current_value",
			    hit->current, "current_max", hit->max, "error_context"),
		  &verdict);
	if (verdict.steer == STEER_CONTINUE)
		return true;
	/* the limit is not what has stopped it */
	if (*agent->fault)
		agent_ends(agent, "error", RYE_TOOL_FAILED, "%s (%s)", agent->fault, hit->text);
	else if (verdict.steer == STEER_FAIL || verdict.steer == STEER_ABORT)
		agent_ends(agent, "error", RYE_BUDGET, "%s%s%s", hit->text,
			   *verdict.why ? ": " : "", verdict.why);
	else
		agent_ends(agent, "error", RYE_BUDGET, "%s", hit->text);
	return false;
}

static bool loop_within_limits(struct agent *agent)
{
	const struct limit_use use = {
		.turns = agent->before.turns + agent->cost.turns,
		.tokens = agent->before.input_tokens + agent->before.output_tokens +
			  agent->cost.input_tokens + agent->cost.output_tokens,
		.spend = agent->cost.spend,
		.elapsed_seconds = agent->before.elapsed_seconds +
				   (double)(clock_ms() - agent->start_ms) / 1000,
	};
	struct limit_hit hit;
	struct rye_err err = { 0 };

	if (limits_hit(&agent->limits, &use, &hit))
		return loop_beyond(agent, &hit);
	/* what children have spent counts, too */
	if (agent->limits.set[LIMIT_SPEND] &&
	    budget_may_go_on(agent->budget, agent->thread_id, &err)) {
		agent_fails(agent, &err);
		return false;
	}
	return true;
}

/* All that was said so far is signed; disk and knowledge entry follow while the model answers. */
static void loop_checkpoint(struct agent *agent)
{
	const struct story story = { .directive = agent->directive,
				     .status = "running",
				     .model = agent->provider->model,
				     .cost = agent->cost,
				     .capabilities = agent->capabilities };
	struct rye_err err = { 0 };

	if (!agent->cost.turns)
		return;
	if (chronicle_checkpoint_begin(agent->transcript, agent->cost.turns, &story, &err))
		agent_fails(agent, &err);
	if (chronicle_story_lost(agent->transcript, &err))
		agent_warn(agent, "the transcript's knowledge entry: %s", err.msg);
}

/* A message of the user's, put in by the loop; one that no request has told yet becomes longer. */
static void loop_say(struct agent *agent, const char *text)
{
	size_t last = json_array_size(agent->messages) - 1;
	json_t *message = agent->untold ? json_array_get(agent->messages, last) : NULL;
	json_t *block = json_array_get(json_object_get(message, "blocks"), 0);

	if (block)
		json_set(block, "text", json_sprintf("%s\n\n%s", json_str(block, "text"), text));
	else
		json_array_append_new(agent->messages,
				      json_pack("{s:s, s:[{s:s, s:s}]}", "role", "user", "blocks",
						"kind", "text", "text", text));
	agent->untold = true;
}

static void loop_names(const json_t *list, struct rye_buf *out)
{
	json_t *name;
	size_t i;

	json_array_foreach(list, i, name)
		buf_addf(out, "%s%s", i ? ", " : "", json_string_value(name));
	buf_adds(out, "");
}

/* What was said to it from outside becomes one text of the user's; false: nothing was. */
static bool loop_hear(struct agent *agent)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_json json_t *says = NULL;
	json_t *said;
	size_t i;

	agent->handoff |= inbox_take(agent->inbox, &agent->limits, &says);
	json_array_foreach(says, i, said)
		buf_addf(&text, "%s%s", i ? "\n\n" : "", json_string_value(said));
	if (text.len)
		loop_say(agent, text.data);
	return text.len;
}

/* The result is half a text: told wherever the result is. */
static void loop_cut(struct agent *agent)
{
	agent->truncated = true;
	json_set((json_t *)agent->json.more, "truncated", json_true());
	agent_warn(agent,
		   "the answer was cut: it is longer than %s may give at once (max_output of %s)",
		   agent->provider->model, agent->provider->id);
}

/* An answer without calls: the result, unless the directive wants outputs. */
static void loop_answered(struct agent *agent, const struct turn_answer *turn)
{
	auto_json json_t *required = brief_required(&agent->brief);
	auto_buf struct rye_buf names = RYE_BUF_INIT;
	bool cut = turn->stop == STOP_LENGTH;

	free(agent->text);
	agent->text = turn_text(turn->message, "text");
	if (loop_hear(agent))
		return;
	if (!json_array_size(required)) {
		if (cut)
			loop_cut(agent);
		agent_ends(agent, "completed", RYE_OK, "%s", "");
		return;
	}
	loop_names(required, &names);
	/* as often as its turns allow: one that was cut has not refused to return */
	if (cut)
		loop_say(agent,
			 "Your answer was cut at its greatest length. Go on where it ends, and "
			 "when all is done, call directive_return with the outputs.");
	else if (agent->nudges++ < LOOP_NUDGES)
		loop_say(agent, "Use the tools to do what is left. When all is done, call "
				"directive_return with the outputs.");
	else
		agent_ends(agent, "error", RYE_TOOL_FAILED,
			   "the model did not return the required outputs: %s",
			   names.data ? names.data : "");
}

/* The window is full: a new thread goes on, or this one ends here. */
static void loop_hand_over(struct agent *agent)
{
	struct hook_verdict verdict;
	json_int_t window = agent->provider->window;

	/* what was said to this thread goes on with the conversation */
	if (agent->untold)
		turn_tell(agent);
	/* a thread that would begin with as much would be as far as this one */
	if (agent->cost.turns && continuation_hand_over(agent))
		return;
	hooks_run(agent, EVENT_CONTEXT_LIMIT_REACHED,
		  json_pack("{s:f, s:I, s:I}", "usage_ratio",
			    window > 0 ? (double)agent->context / (double)window : 1.0,
			    "tokens_used", agent->context, "tokens_limit", window),
		  &verdict);
	/* in its own words, too, if it was the provider that found it too long */
	if (verdict.steer != STEER_CONTINUE)
		agent_ends(agent, "error", RYE_TOO_BIG,
			   "the conversation is longer than the model's context window: the "
			   "directive has to be shorter, or name a model with a larger one%s%s",
			   *agent->fault ? "; " : "", agent->fault);
}

/* A message that did not come to its end by itself. */
static void loop_stopped(struct agent *agent, const struct turn_answer *turn)
{
	const json_t *refusal = json_object_get(turn->message, "refusal");

	switch (turn->stop) {
	case STOP_REFUSAL:
		json_array_remove(agent->messages, json_array_size(agent->messages) - 1);
		if (agent_falls_back(agent))
			return;
		agent_ends(agent, "error", RYE_TOOL_FAILED, "the model refused: %s",
			   *json_str(refusal, "text") ? json_str(refusal, "text") :
							json_str(refusal, "category"));
		return;
	case STOP_CONTEXT:
		loop_hand_over(agent);
		return;
	case STOP_PAUSE:
		if (++agent->pauses > LOOP_PAUSES)
			agent_ends(agent, "error", RYE_TOOL_FAILED,
				   "the model paused more than %d times", LOOP_PAUSES);
		return;
	default:
		break;
	}
	/* an unreadable call: the same once more, without that answer */
	json_array_remove(agent->messages, json_array_size(agent->messages) - 1);
	if (++agent->bad_calls > LOOP_BAD_CALLS)
		agent_ends(agent, "error", RYE_TOOL_FAILED,
			   "the model's tool call could not be read");
}

static void loop_step(struct agent *agent, const json_t *message)
{
	tool_calls_run(agent, message);
	hooks_run(agent, EVENT_AFTER_STEP,
		  json_pack("{s:o, s:s}", "cost", thread_cost_json(&agent->cost), "thread_id",
			    agent->thread_id),
		  NULL);
}

static void loop_turn(struct agent *agent)
{
	struct turn_answer turn;

	if (!turn_ask(agent, &turn)) {
		if (turn.overflow)
			loop_hand_over(agent);
		return;
	}
	switch (turn.stop) {
	case STOP_REFUSAL:
	case STOP_CONTEXT:
	case STOP_PAUSE:
	case STOP_BAD_CALL:
		loop_stopped(agent, &turn);
		break;
	default:
		if (tool_calls_count(turn.message))
			loop_step(agent, turn.message);
		else
			loop_answered(agent, &turn);
	}
	json_decref(turn.message);
}

static void loop_join(struct rye_buf *out, const char *text)
{
	if (out->len && *text)
		buf_adds(out, "\n\n");
	buf_adds(out, text ? text : "");
}

/* Hooks' text goes outside the directive's own; frozen from here on. */
static int loop_texts(struct agent *agent, struct rye_buf *system, struct rye_buf *first,
		      struct rye_err *err)
{
	bool continued = *json_str(agent->ask->doc, "previous_id");
	struct brief *brief = &agent->brief;
	auto_hook_text struct hook_text deep, text;
	int r;

	hook_text_init(&deep);
	hook_text_init(&text);
	r = hooks_text(agent, EVENT_BUILD_SYSTEM_PROMPT, loop_doc(agent), &deep, err);
	if (!r)
		r = hooks_text(agent, continued ? EVENT_THREAD_CONTINUED : EVENT_THREAD_STARTED,
			       loop_doc(agent), &text, err);
	if (r)
		return r;
	loop_join(system, deep.before.data ? deep.before.data : "");
	loop_join(system, deep.after.data ? deep.after.data : "");
	loop_join(system, brief->system);
	loop_join(first, text.before.data ? text.before.data : "");
	if (continued)
		continuation_say(agent, first);
	else
		loop_join(first, brief->first);
	loop_join(first, text.after.data ? text.after.data : "");
	if (agent->past.kept)
		continuation_keep(agent, system, first);
	json_array_extend(brief->layers, deep.layers);
	if (json_array_size(text.before_blocks))
		json_array_insert_new(brief->injected, 0,
				      json_pack("{s:s, s:O}", "position", "before", "blocks",
						text.before_blocks));
	if (json_array_size(text.after_blocks))
		json_array_append_new(brief->injected, json_pack("{s:s, s:O}", "position", "after",
								 "blocks", text.after_blocks));
	return 0;
}

static void loop_begin(struct agent *agent)
{
	struct brief *brief = &agent->brief;
	auto_buf struct rye_buf system = RYE_BUF_INIT, first = RYE_BUF_INIT;
	struct rye_err err = { 0 };
	json_t *place;
	size_t i;

	if (loop_texts(agent, &system, &first, &err)) {
		agent_fails(agent, &err);
		return;
	}
	buf_adds(&system, "");
	free(brief->system);
	brief->system = buf_steal(&system);
	if (brief->system && *brief->system)
		agent_event(agent, "system_prompt",
			    json_pack("{s:s, s:O}", "text", brief->system, "layers",
				      brief->layers));
	json_array_foreach(brief->injected, i, place)
		agent_event(agent, "context_injected", json_incref(place));
	loop_say(agent, first.data ? first.data : "");
}

/* Nine tenths of the window are used, or it was asked to hand over. */
static bool loop_is_full(struct agent *agent)
{
	json_int_t window = agent->provider->window;
	bool asked = agent->handoff;

	agent->handoff = false;
	return agent->cost.turns && (asked || (window > 0 && agent->context * 10 >= window * 9));
}

/* The loop is over: a word that came behind the last turn was put before no other. */
void loop_unheard(struct agent *agent)
{
	auto_json json_t *says = NULL;
	json_t *said;
	size_t i;

	inbox_shut(agent->inbox, &says);
	json_array_foreach(says, i, said)
		agent_warn(agent, "said when there was no turn left: %s", json_string_value(said));
}

void agent_loop(struct agent *agent)
{
	loop_begin(agent);
	while (agent->state == AGENT_RUNNING) {
		loop_hear(agent);
		if (!loop_within_limits(agent))
			return;
		if (agent_stopped(agent)) {
			agent_ends(agent, "cancelled", RYE_CANCELLED, "Cancelled");
			return;
		}
		loop_checkpoint(agent);
		if (agent->state == AGENT_RUNNING && loop_is_full(agent))
			loop_hand_over(agent);
		if (agent->state == AGENT_RUNNING)
			loop_turn(agent);
	}
}
