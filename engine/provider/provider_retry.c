/* SPDX-License-Identifier: MIT */
/*
 * What to do about a failed attempt. Pure: what the provider asks for stands in the failure, the dice
 * are thrown by the caller, and the configuration is the one that the provider was resolved with.
 */
#include "provider/provider_inner.h"

#include "expr/expr.h"
#include "scope.h"

#include <string.h>

/* Failures in a row that are repeated, and the longest pause a provider may ask for. */
#define RETRY_MAX 3
#define RETRY_LONGEST_MS 300000
/* Seconds of a pause that a configuration may want. */
#define RETRY_POLICY_MAX 86400.0
/* Tokens to try with when the failure's numbers leave none. */
#define RETRY_LEAST_TOKENS 256

static double policy_number(const json_t *policy, const char *key, double fallback)
{
	const json_t *value = json_object_get(policy, key);

	double number = json_is_number(value) ? json_number_value(value) : fallback;

	return MIN_OF(MAX_OF(number, 0), RETRY_POLICY_MAX);
}

/* min(base · 2^(failures − 1), longest), in milliseconds. */
static int64_t back_off(double base_s, double longest_s, unsigned failures)
{
	double s = base_s * (double)(1u << MIN_OF(failures - (failures > 0), 20u));

	return (int64_t)(MIN_OF(s, longest_s) * 1000);
}

static int64_t own_pause(const struct provider *provider, const struct provider_failure *failure,
			 unsigned failures)
{
	const json_t *policy = failure->policy ? failure->policy :
						 json_object_get(provider->rules, "retry");
	double base = failure->class == FAULT_OVERLOADED ? 5 : 2;

	if (!strcmp(json_str(policy, "type"), "fixed"))
		return (int64_t)(policy_number(policy, "delay", 60) * 1000);
	if (json_object_get(policy, "fallback"))
		policy = json_object_get(policy, "fallback");
	base = policy_number(policy, "base", base);
	return back_off(base, policy_number(policy, "max", 60), failures);
}

/* Dice only add: a pause that was asked for is a minimum. */
static int64_t retry_pause(const struct provider *provider, const struct provider_failure *failure,
			   const struct retry_state *state)
{
	int64_t ms = failure->wait_ms >= 0 ? failure->wait_ms :
					     own_pause(provider, failure, state->failures);

	return ms + (int64_t)((double)ms * 0.2 * state->jitter);
}

static void relieve(struct retry_decision *ret, unsigned relief, json_int_t max_tokens)
{
	ret->step = RETRY_RELIEVED;
	ret->relief |= relief;
	ret->max_tokens = max_tokens;
}

/* A prompt that fits can be answered, if shortly; else the conversation has to be handed over. */
static void decide_overflow(const struct provider_failure *failure, const struct retry_state *state,
			    struct retry_decision *ret)
{
	json_int_t room = failure->limit - failure->tokens;

	ret->step = RETRY_HAND_OVER;
	if (state->relief & RELIEF_SMALLER || !failure->limit || !failure->tokens)
		return;
	if (room > 0 || failure->with_answer)
		relieve(ret, RELIEF_SMALLER, MAX_OF(room, RETRY_LEAST_TOKENS));
}

/* What conditions of agent/error_classification see. */
static json_t *failure_document(const struct provider_failure *failure)
{
	return json_pack("{s:{s:s, s:s, s:s, s:s, s:s}, s:I, s:b}", "error", "type", failure->type,
			 "class", provider_class_name(failure->class), "code", failure->code,
			 "param", failure->param, "message", failure->message, "status_code",
			 (json_int_t)failure->status, "cancelled",
			 failure->class == FAULT_CANCELLED);
}

void retry_rules(const struct provider *provider, struct provider_failure *failure)
{
	const json_t *rows = json_object_get(provider->rules, "patterns"), *row;
	auto_json json_t *doc = json_array_size(rows) ? failure_document(failure) : NULL;
	size_t i;

	json_array_foreach(rows, i, row) {
		if (!doc || !expr_holds(json_object_get(row, "match"), doc))
			continue;
		failure->retryable = json_flag(row, "retryable", false);
		failure->policy = json_object_get(row, "retry_policy");
		return;
	}
}

void provider_retry(const struct provider *provider, const struct provider_failure *failure,
		    const struct retry_state *state, struct retry_decision *ret)
{
	const json_t *rules = json_object_get(provider->rules, "retry");
	json_int_t most = json_int(rules, "max_retries", RETRY_MAX);

	*ret = (struct retry_decision){ .relief = state->relief, .max_tokens = state->max_tokens };
	if (failure->class == FAULT_OVERFLOW) {
		decide_overflow(failure, state, ret);
	} else if (failure->class == FAULT_HISTORY && !(state->relief & RELIEF_NO_REASONING)) {
		relieve(ret, RELIEF_NO_REASONING, state->max_tokens);
	} else if ((failure->class == FAULT_PARAMETER || failure->class == FAULT_INVALID) &&
		   !(state->relief & RELIEF_NO_STREAM_OPTIONS) &&
		   strstr(*failure->param ? failure->param : failure->message, "stream_options")) {
		relieve(ret, RELIEF_NO_STREAM_OPTIONS, state->max_tokens);
	} else if (failure->retryable && (json_int_t)state->failures <= most &&
		   failure->wait_ms <= RETRY_LONGEST_MS) {
		ret->step = RETRY_WAIT;
		ret->wait_ms = retry_pause(provider, failure, state);
	}
}
