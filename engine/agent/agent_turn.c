/* SPDX-License-Identifier: MIT */
/*
 * One answer of the model. What the request may cost is written down before it is sent, and
 * corrected by what it did cost, so that a runner that dies in between has not spent in secret.
 * Failures are tried again as the provider's rules say; each attempt begins with a cognition_in.
 */
#include "agent/agent_inner.h"

#include "clock.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <poll.h>
#include <string.h>
#include <sys/random.h>

/* A piece of an answer is held back until there are so many bytes, or for so long. */
#define TURN_DELTA_BYTES 256
#define TURN_DELTA_MS 50
/* Attempts of one answer, however often the provider asks to wait. */
#define TURN_ATTEMPTS 4

/* One answer's attempts. */
struct turn_attempt {
	struct agent *agent;
	struct provider_request request;
	struct retry_state retry;
	struct provider_result result;
	char why[512]; /* of a hook that wants no other attempt; "" */
	double reserved; /* in the ledger for the request that is under way */
};

char *turn_text(const json_t *message, const char *kind)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	json_t *block;
	size_t i;

	json_array_foreach(json_object_get(message, "blocks"), i, block)
		if (!strcmp(json_str(block, "kind"), kind))
			buf_adds(&text, json_str(block, "text"));
	buf_adds(&text, "");
	return buf_steal(&text);
}

/* Pieces of an answer become events of the transcript some at a time. */
static void turn_flush(struct agent *agent)
{
	struct turn_delta *delta = &agent->delta;

	if (delta->text.len)
		agent_event(agent, "token_delta",
			    json_pack("{s:s, s:s%}", "type", delta->type, "text", delta->text.data,
				      delta->text.len));
	buf_clear(&delta->text);
}

static void turn_delta_add(struct agent *agent, const char *type, struct rye_span text)
{
	struct turn_delta *delta = &agent->delta;

	if (delta->type != type)
		turn_flush(agent);
	if (!delta->text.len)
		delta->since_ms = clock_ms();
	delta->type = type;
	buf_addspan(&delta->text, text);
	if (delta->text.len >= TURN_DELTA_BYTES || clock_ms() - delta->since_ms >= TURN_DELTA_MS)
		turn_flush(agent);
}

/* What the runner shows while the thread works; another answer begins on a line of its own. */
static void turn_live(struct agent *agent, struct rye_span text)
{
	const struct agent_ask *ask = agent->ask;

	if (!ask->live || !text.len)
		return;
	if (agent->live_break && text.ptr[0] != '\n')
		ask->live(ask->live_arg, (struct rye_span){ "\n", 1 });
	agent->live_break = false;
	agent->live_last = text.ptr[text.len - 1];
	ask->live(ask->live_arg, text);
}

static void turn_on_event(void *arg, const struct provider_event *event)
{
	struct agent *agent = arg;

	switch (event->type) {
	case PROVIDER_TEXT:
		turn_live(agent, event->text);
		turn_delta_add(agent, "text", event->text);
		return;
	case PROVIDER_REASONING:
		turn_delta_add(agent, "thinking", event->text);
		return;
	case PROVIDER_CALL_OPEN:
		turn_flush(agent);
		agent_event(agent, "token_delta",
			    json_pack("{s:s, s:s, s:s}", "type", "tool_call_start", "id",
				      event->call_id, "name", event->name));
		return;
	default:
		return;
	}
}

static void turn_day(char ret[24])
{
	clock_stamp(time(NULL), ret);
	ret[10] = 0;
}

/* The estimate of the request that is about to be sent; 0: it costs nothing, or nothing counts it. The
 * whole conversation is gone through for it. */
static double turn_estimate(const struct turn_attempt *attempt)
{
	const struct agent *agent = attempt->agent;
	struct provider_usage usage = { .known = true };
	char day[24];

	if (!agent->provider->priced || !agent->limits.set[LIMIT_SPEND])
		return 0;
	usage.uncached = provider_estimate(&attempt->request);
	turn_day(day);
	return provider_cost(agent->provider, &usage, day);
}

static void turn_book(struct agent *agent, double delta)
{
	struct rye_err err = { 0 };

	if (agent->limits.set[LIMIT_SPEND] && delta != 0 && agent_owes(agent, delta, &err))
		agent_warn(agent, "the ledger: %s", err.msg);
}

void turn_tell(struct agent *agent)
{
	const json_t *messages = agent->messages;
	const json_t *last = json_array_get(messages, json_array_size(messages) - 1);
	const json_t *blocks = json_object_get(last, "blocks");
	bool tool = !strcmp(json_str(json_array_get(blocks, 0), "kind"), "tool_result");
	auto_free char *text = turn_text(last, tool ? "tool_result" : "text");

	agent->untold = false;
	agent_event(agent, "cognition_in",
		    json_pack("{s:s, s:s}", "text", text ? text : "", "role",
			      tool ? "tool" : json_str(last, "role")));
}

/* Tools that the provider would refuse, told once a thread. */
static void turn_left_out(struct agent *agent, const json_t *warnings)
{
	static const char before[] = "tool_left_out:";
	const json_t *word;
	size_t i;

	json_array_foreach(warnings, i, word) {
		const char *text = json_string_value(word);
		auto_json json_t *told = NULL;

		if (strncmp(text, before, strlen(before)) != 0)
			continue;
		text += strlen(before);
		told = json_sprintf("tool %s: it is not offered to the model", text);
		if (!json_lists(agent->warnings, json_string_value(told)))
			agent_warn(agent, "%s", json_string_value(told));
	}
}

/* One request. */
static void turn_attempt(struct turn_attempt *attempt)
{
	struct agent *agent = attempt->agent;
	int64_t left = agent_left_ms(agent);
	const struct provider_call call = { .http = agent->http,
					    .provider = agent->provider,
					    .request = &attempt->request,
					    .until_ms = left < 0 ? 0 : clock_ms() + left,
					    .cancel = agent->ask->stop,
					    .fn = turn_on_event,
					    .arg = agent };

	turn_tell(agent);
	if (agent->state == AGENT_ENDED)
		return;
	agent->live_break = agent->live_last && agent->live_last != '\n';
	attempt->reserved = turn_estimate(attempt);
	turn_book(agent, attempt->reserved);
	provider_exchange(&call, &attempt->result);
	turn_flush(agent);
	turn_left_out(agent, attempt->result.warnings);
	turn_book(agent, attempt->result.spend - attempt->reserved);
	agent->cost.spend += attempt->result.spend;
	agent->cost.input_tokens += attempt->result.input;
	agent->cost.output_tokens += attempt->result.usage.output;
}

/* What one request has cost, so that the transcript alone tells what its thread has. */
static json_t *turn_usage(const struct provider_result *result)
{
	return json_pack("{s:I, s:I, s:f}", "input_tokens", (json_int_t)result->input,
			 "output_tokens", (json_int_t)result->usage.output, "spend", result->spend);
}

/* A partial answer is shown, and is no part of the conversation. */
static void turn_partial(struct agent *agent, const json_t *message)
{
	auto_free char *text = turn_text(message, "text");

	if (text && *text)
		agent_event(agent, "cognition_out",
			    json_pack("{s:s, s:s, s:b}", "text", text, "model",
				      agent->provider->model, "is_partial", 1));
}

/* Waits for the next attempt; false: the thread has ended meanwhile. */
static bool turn_wait(struct agent *agent, int64_t ms)
{
	struct pollfd fd = { .fd = agent->ask->stop, .events = POLLIN };
	int64_t left = agent_left_ms(agent);

	if (left >= 0 && left < ms)
		ms = left;
	poll(&fd, 1, (int)MIN_OF(ms, INT32_MAX));
	if (fd.revents)
		agent_ends(agent, "cancelled", RYE_CANCELLED, "Cancelled");
	else if (agent_left_ms(agent) == 0)
		return true; /* the limit is told by the loop */
	return agent->state == AGENT_RUNNING;
}

static double turn_jitter(void)
{
	uint32_t random = 0;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return 0.5;
	return random / 4294967296.0;
}

static void turn_classified(struct agent *agent, const struct turn_attempt *attempt,
			    const struct retry_decision *decision)
{
	const struct provider_failure *failure = &attempt->result.failure;

	agent_event(agent, "error_classified",
		    json_pack("{s:s, s:s, s:b, s:f, s:i, s:s, s:o}", "error_code", failure->code,
			      "category", provider_class_name(failure->class), "retryable",
			      decision->step == RETRY_WAIT || decision->step == RETRY_RELIEVED,
			      "delay", (double)decision->wait_ms / 1000, "attempt",
			      (int)attempt->retry.failures, "error", failure->sentence, "usage",
			      turn_usage(&attempt->result)));
}

/* A hook may ask for another attempt, or for none. */
static void turn_steer(struct turn_attempt *attempt, struct retry_decision *decision)
{
	struct agent *agent = attempt->agent;
	const struct provider_failure *failure = &attempt->result.failure;
	const char *class = provider_class_name(failure->class);
	struct hook_verdict verdict;

	hooks_run(agent, EVENT_ERROR,
		  json_pack("{s:{s:s, s:s, s:s, s:s}, s:i, s:{s:s, s:b, s:s}}", "error", "type",
			    failure->type, "message", failure->message, "code", failure->code,
			    "class", class, "status_code", (int)failure->status, "classification",
			    "category", class, "retryable", failure->retryable, "code",
			    failure->code),
		  &verdict);
	if (verdict.steer == STEER_RETRY && decision->step == RETRY_FINAL &&
	    attempt->retry.failures < TURN_ATTEMPTS) {
		decision->step = RETRY_WAIT;
		decision->wait_ms = 1000 << attempt->retry.failures;
	} else if (verdict.steer > STEER_RETRY) {
		decision->step = RETRY_FINAL;
		if (*verdict.why)
			snprintf(attempt->why, sizeof(attempt->why), "%s", verdict.why);
	}
}

/* A failure that stands: the thread's end, unless the conversation has only grown too long. */
static void turn_give_up(struct turn_attempt *attempt, const struct retry_decision *decision,
			 struct turn_answer *ret)
{
	struct agent *agent = attempt->agent;
	const struct provider_failure *failure = &attempt->result.failure;
	enum rye_code code = failure->class == FAULT_TIMEOUT ? RYE_TIMEOUT : RYE_TOOL_FAILED;

	if (decision->step == RETRY_HAND_OVER) {
		/* a proxy that takes no more than a megabyte says so, too */
		agent_warn(agent, "%s", failure->sentence);
		ret->overflow = true;
		return;
	}
	if (failure->class == FAULT_REFUSAL && agent_falls_back(agent))
		return;
	if (*attempt->why)
		agent_ends(agent, "error", code, "%s", attempt->why);
	else if (attempt->retry.failures > 1)
		agent_ends(agent, "error", code, "LLM call failed %u consecutive times: %s",
			   attempt->retry.failures, failure->sentence);
	else
		agent_ends(agent, "error", code, "%s", failure->sentence);
}

/* After a failure: true: once more. */
static bool turn_again(struct turn_attempt *attempt, struct turn_answer *ret)
{
	struct agent *agent = attempt->agent;
	struct retry_decision decision = { .step = RETRY_FINAL };

	if (attempt->result.failure.class == FAULT_CANCELLED || agent_stopped(agent)) {
		/* what was answered until then has been paid for */
		if (attempt->result.usage.known) {
			turn_partial(agent, attempt->result.message);
			turn_classified(agent, attempt, &decision);
		}
		agent_ends(agent, "cancelled", RYE_CANCELLED, "Cancelled");
		return false;
	}
	turn_partial(agent, attempt->result.message);
	attempt->retry.failures++;
	attempt->retry.jitter = turn_jitter();
	attempt->retry.relief = attempt->request.relief;
	attempt->retry.max_tokens = attempt->request.max_tokens;
	provider_retry(agent->provider, &attempt->result.failure, &attempt->retry, &decision);
	if (attempt->retry.failures >= TURN_ATTEMPTS && decision.step != RETRY_HAND_OVER)
		decision.step = RETRY_FINAL;
	snprintf(agent->fault, sizeof(agent->fault), "%s", attempt->result.failure.sentence);
	if (agent_left_ms(agent) == 0) {
		decision.step = RETRY_FINAL;
		turn_classified(agent, attempt, &decision);
		return false;
	}
	turn_steer(attempt, &decision);
	turn_classified(agent, attempt, &decision);
	if (decision.step == RETRY_FINAL || decision.step == RETRY_HAND_OVER) {
		turn_give_up(attempt, &decision, ret);
		return false;
	}
	attempt->request.relief |= decision.relief;
	if (decision.max_tokens)
		attempt->request.max_tokens = decision.max_tokens;
	return decision.step == RETRY_RELIEVED || turn_wait(agent, decision.wait_ms);
}

/* What the transcript has of the answer; for one whose artifact finds no room, all of it. */
static json_t *turn_raw(const struct agent *agent, json_t *message)
{
	json_t *raw = NULL;

	if (answer_keep(&agent->record, agent->cost.turns, message, &raw, NULL))
		return json_incref(message);
	return raw;
}

/* The answer enters the transcript. */
static void turn_heard(struct agent *agent, const struct provider_result *result)
{
	auto_free char *text = turn_text(result->message, "text");
	auto_free char *thought = turn_text(result->message, "reasoning");

	agent->cost.turns++;
	*agent->fault = 0;
	agent->context = result->input + result->usage.output;
	agent_event(agent, "cognition_out",
		    json_pack("{s:s, s:s, s:s, s:b, s:o, s:o}", "text", text ? text : "", "model",
			      agent->provider->model, "finish_reason",
			      provider_stop_name(result->stop), "truncated",
			      result->stop == STOP_LENGTH, "usage", turn_usage(result), "raw",
			      turn_raw(agent, result->message)));
	if (thought && *thought)
		agent_event(agent, "cognition_reasoning", json_pack("{s:s}", "text", thought));
	json_array_append(agent->messages, result->message);
	registry_snapshot(agent->registry, agent->thread_id, &agent->cost, NULL);
}

static void turn_request(struct agent *agent, struct provider_request *ret)
{
	const json_t *messages = agent->messages;
	const json_t *last = json_array_get(messages, json_array_size(messages) - 1);

	*ret = (struct provider_request){
		.system = agent->brief.system,
		.tools = json_array_size(agent->palette.tools) ? agent->palette.tools : NULL,
		.messages = messages,
		.conversation = agent->thread_id,
	};
	if (*json_str(last, "continuation"))
		ret->continuation = json_str(last, "continuation");
}

bool turn_ask(struct agent *agent, struct turn_answer *ret)
{
	struct turn_attempt attempt = { .agent = agent };
	bool again = true, answered = false;

	*ret = (struct turn_answer){ .stop = STOP_ERROR };
	turn_request(agent, &attempt.request);
	while (again && agent->state == AGENT_RUNNING) {
		turn_attempt(&attempt);
		answered = attempt.result.failure.class == FAULT_NONE && attempt.result.complete;
		/* one whose pieces found no room has been paid for, too */
		if (answered)
			turn_heard(agent, &attempt.result);
		answered = answered && agent->state == AGENT_RUNNING;
		again = agent->state == AGENT_RUNNING && !answered && turn_again(&attempt, ret);
		if (answered) {
			ret->stop = attempt.result.stop;
			ret->message = json_incref(attempt.result.message);
		}
		provider_result_done(&attempt.result);
		attempt.result = (struct provider_result){ 0 };
	}
	return answered;
}
