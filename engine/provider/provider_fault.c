/* SPDX-License-Identifier: MIT */
/*
 * What a failure is: the provider's words against rows, the first that fits wins: those of
 * agent/error_classification, of the provider's item, then the ones here. And what to do about a
 * failed attempt: what the provider asks for stands in the failure, the configuration is the one that
 * the provider was resolved with. Pure; the time and the dice are the caller's.
 */
#include "provider/provider_inner.h"

#include "expr/expr.h"
#include "format/format.h"
#include "scope.h"
#include "str.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- how long to wait ---- */

static int64_t read_when(const char *text, int64_t now)
{
	struct tm tm = { 0 };
	char *end;
	double seconds = strtod(text, &end);

	if (end != text && !*end && seconds >= 0)
		return fault_wait_ms(seconds);
	if (!strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &tm) &&
	    !strptime(text, "%Y-%m-%dT%H:%M:%S", &tm))
		return -1;
	return fault_wait_ms((double)(timegm(&tm) - now));
}

/* The reset of a counter that is used up, in either vendor's spelling. */
static int64_t read_reset(const json_t *headers, int64_t now)
{
	static const char *const names[] = { "requests", "tokens", "input-tokens",
					     "output-tokens" };
	int64_t longest = -1;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char left[64], reset[64];
		int64_t ms;

		snprintf(left, sizeof(left), "anthropic-ratelimit-%s-remaining", names[i]);
		snprintf(reset, sizeof(reset), "anthropic-ratelimit-%s-reset", names[i]);
		if (!*json_str(headers, left)) {
			snprintf(left, sizeof(left), "x-ratelimit-remaining-%s", names[i]);
			snprintf(reset, sizeof(reset), "x-ratelimit-reset-%s", names[i]);
		}
		if (strcmp(json_str(headers, left), "0") != 0 || !*json_str(headers, reset))
			continue;
		ms = fault_duration(json_str(headers, reset));
		if (ms < 0)
			ms = read_when(json_str(headers, reset), now);
		longest = MAX_OF(longest, ms);
	}
	return longest;
}

/* What the headers ask to wait; -1: nothing. Pure. */
static int64_t fault_header_wait(const json_t *headers, int64_t now)
{
	const char *ms = json_str(headers, "retry-after-ms");
	const char *after = json_str(headers, "retry-after");
	char *end;
	double value = strtod(ms, &end);

	if (end != ms && !*end && value >= 0)
		return fault_wait_ms(value / 1000);
	return *after ? read_when(after, now) : -1;
}

static int64_t fault_wait(const struct fault_in *in)
{
	int64_t ms = fault_header_wait(in->headers, in->now);
	struct rye_span groups[2];
	char seconds[32];

	if (ms < 0)
		ms = in->said->delay_ms;
	if (ms < 0)
		ms = read_reset(in->headers, in->now);
	if (ms < 0 && in->said->message &&
	    regex_groups("(?i)(?:try again|retry) in ([0-9]+(?:\\.[0-9]+)?) ?s",
			 span_of(in->said->message), groups, 2)) {
		snprintf(seconds, sizeof(seconds), "%.*s", (int)groups[1].len, groups[1].ptr);
		ms = fault_wait_ms(strtod(seconds, NULL));
	}
	return ms;
}

/* ---- which class ---- */

struct fault_row {
	enum provider_class class;
	long status, to; /* of a range; 0: any */
	const char *match, *unless; /* NULL: any text */
	bool in_stream; /* only where no status tells */
};

#define QUOTA                                                                \
	"insufficient_quota|_spend_limit|spend_limit_|usage_limit_exceeded|" \
	"credit.balance|credit_balance|billing_error|billing_hard_limit|PerDay"
#define HISTORY                                                                            \
	"bound to a different conversation|Invalid signature|missing a thought_signature|" \
	"(?:Invalid|Corrupted) thought signature|invalid_encrypted_content"
#define TOO_LONG                                                                \
	"context_length_exceeded|exceed_context_size_error|prompt is too long|" \
	"request_too_large|exceeds the context window|maximum context length|"  \
	"input token count.*exceeds|available context size|"                    \
	"greater than the context length|context size has been exceeded|"       \
	"prompt too long; exceeded"
#define BAD_FIELD                                                        \
	"unsupported_parameter|unsupported_value|Unsupported parameter|" \
	"are not supported|prefill"
#define REFUSED "content_filter|invalid_prompt|bio_policy|misalignment"
#define OVERLOADED "overloaded|slow_down|(?m)^UNAVAILABLE$"
#define NO_KEY \
	"authentication_error|permission_error|invalid_api_key|UNAUTHENTICATED|PERMISSION_DENIED"

static const struct fault_row fault_rows[] = {
	{ FAULT_QUOTA, 402, 402, NULL, NULL, false },
	{ FAULT_QUOTA, 0, 0, QUOTA, NULL, false },
	{ FAULT_HISTORY, 0, 0, HISTORY, NULL, false },
	{ FAULT_OVERFLOW, 0, 0, TOO_LONG, "rate.?limit", false },
	{ FAULT_OVERFLOW, 413, 413, NULL, NULL, false },
	{ FAULT_PARAMETER, 0, 0, BAD_FIELD, NULL, false },
	{ FAULT_REFUSAL, 0, 0, REFUSED, NULL, false },
	{ FAULT_AUTH, 401, 401, NULL, NULL, false },
	{ FAULT_AUTH, 403, 403, NULL, NULL, false },
	{ FAULT_NOT_FOUND, 404, 404, NULL, NULL, false },
	{ FAULT_RATE, 429, 429, NULL, NULL, false },
	{ FAULT_OVERLOADED, 529, 529, NULL, NULL, false },
	{ FAULT_OVERLOADED, 503, 503, NULL, NULL, false },
	{ FAULT_OVERLOADED, 0, 0, OVERLOADED, NULL, false },
	{ FAULT_TIMEOUT, 408, 408, NULL, NULL, false },
	{ FAULT_SERVER, 409, 409, NULL, NULL, false },
	{ FAULT_INVALID, 300, 499, NULL, NULL, false },
	{ FAULT_SERVER, 500, 599, NULL, NULL, false },
	{ FAULT_INVALID, 0, 0, "(?m)^(?:unknown_stop|answer_too_long)$", NULL, true },
	{ FAULT_AUTH, 0, 0, NO_KEY, NULL, true },
	{ FAULT_RATE, 0, 0, "rate_limit|RESOURCE_EXHAUSTED", NULL, true },
	{ FAULT_NOT_FOUND, 0, 0, "not_found_error|(?m)^NOT_FOUND$", NULL, true },
	{ FAULT_INVALID, 0, 0, "invalid_request_error|INVALID_ARGUMENT", NULL, true },
	{ FAULT_SERVER, 0, 0, NULL, NULL, true },
};

static const char *const class_names[] = {
	[FAULT_NONE] = "none",		 [FAULT_QUOTA] = "quota",
	[FAULT_HISTORY] = "history",	 [FAULT_OVERFLOW] = "overflow",
	[FAULT_PARAMETER] = "parameter", [FAULT_AUTH] = "auth",
	[FAULT_NOT_FOUND] = "not_found", [FAULT_INVALID] = "invalid",
	[FAULT_RATE] = "rate",		 [FAULT_OVERLOADED] = "overloaded",
	[FAULT_SERVER] = "server",	 [FAULT_TIMEOUT] = "timeout",
	[FAULT_NETWORK] = "network",	 [FAULT_CUT] = "cut",
	[FAULT_REFUSAL] = "refusal",	 [FAULT_CANCELLED] = "cancelled",
};

const char *provider_class_name(enum provider_class class)
{
	return class_names[class];
}

static bool fault_text_matches(const char *pattern, struct rye_span text)
{
	auto_buf struct rye_buf loose = RYE_BUF_INIT;
	struct rye_span all;

	buf_addf(&loose, "(?i)(?:%s)", pattern);
	return loose.data && regex_groups(loose.data, text, &all, 1);
}

/* Everything that matchers look at, a line each, without backquotes. */
static void put_subject(const struct fault_said *said, struct rye_buf *out)
{
	const char *const texts[] = { said->type, said->code, said->quota, said->message };

	buf_adds(out, "");
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		for (const char *c = texts[i] ? texts[i] : ""; *c; c++)
			if (*c != '`')
				buf_addc(out, *c);
		buf_addc(out, '\n');
	}
}

static bool row_fits(const struct fault_row *row, long status, struct rye_span text)
{
	if (row->status && (status < row->status || status > row->to))
		return false;
	if (row->in_stream && status >= 300)
		return false;
	return (!row->match || fault_text_matches(row->match, text)) &&
	       (!row->unless || !fault_text_matches(row->unless, text));
}

static enum provider_class class_named(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(class_names); i++)
		if (!strcmp(class_names[i], name))
			return (enum provider_class)i;
	return FAULT_NONE;
}

static json_int_t group_number(const json_t *row, const char *key, const struct rye_span *groups)
{
	json_int_t n = json_int(row, key, 0), value = 0;

	if (n < 1 || n > 4)
		return 0;
	for (size_t i = 0; i < groups[n].len && i < 15; i++)
		if (isdigit((unsigned char)groups[n].ptr[i]))
			value = value * 10 + (groups[n].ptr[i] - '0');
	return value;
}

/* The rows of the provider's item: {class, status, match, tokens, limit}. */
static bool item_rows(const struct fault_in *in, long status, struct rye_span text,
		      struct provider_failure *ret)
{
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(in->provider->item, "errors"), i, row) {
		struct rye_span groups[5] = { { "", 0 } };
		enum provider_class class = class_named(json_str(row, "class"));
		const char *match = json_str(row, "match");

		if (!class || json_int(row, "status", status) != status)
			continue;
		if (*match && !regex_groups(match, text, groups, ARRAY_SIZE(groups)))
			continue;
		ret->class = class;
		ret->tokens = group_number(row, "tokens", groups);
		ret->limit = group_number(row, "limit", groups);
		return true;
	}
	return false;
}

static void find_class(const struct fault_in *in, long status, struct rye_span text,
		       struct provider_failure *ret)
{
	if (item_rows(in, status, text, ret))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(fault_rows); i++) {
		if (!row_fits(&fault_rows[i], status, text))
			continue;
		ret->class = fault_rows[i].class;
		return;
	}
	ret->class = FAULT_SERVER;
}

/* How the vendors spell "so many of so many". */
static void find_numbers(const struct fault_said *said, struct rye_span text,
			 struct provider_failure *ret)
{
	static const char *const patterns[] = {
		"too long: ([0-9]+) tokens > ([0-9]+)",
		"\\(([0-9]+) tokens\\).*\\(([0-9]+) tokens\\)",
		"count \\(([0-9]+)\\).*allowed \\(([0-9]+)\\)",
	};
	struct rye_span g[3];
	json_int_t *const both[] = { &ret->tokens, &ret->limit };

	if (!ret->tokens)
		ret->tokens = said->tokens;
	if (!ret->limit)
		ret->limit = said->limit;
	for (size_t i = 0; i < ARRAY_SIZE(patterns) && !ret->tokens; i++)
		if (regex_groups(patterns[i], text, g, 3))
			for (size_t k = 0; k < 2; k++)
				*both[k] = strtoll(g[k + 1].ptr, NULL, 10);
	/* vLLM names the limit first, and means prompt and answer together. */
	if (regex_groups("maximum context length is ([0-9]+) tokens.*\\(([0-9]+) in the "
			 "(?:messages|prompt)",
			 text, g, 3)) {
		ret->limit = strtoll(g[1].ptr, NULL, 10);
		ret->tokens = strtoll(g[2].ptr, NULL, 10);
		ret->with_answer = true;
	}
}

/* ---- in words ---- */

static void put_fault_status(const struct provider_failure *failure, struct rye_buf *out)
{
	if (failure->status >= 300)
		buf_addf(out, "HTTP %ld", failure->status);
	else
		buf_adds(out, provider_class_name(failure->class));
}

static char *fault_sentence(const struct fault_in *in, const struct provider_failure *failure)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	char cut[400];

	utf8_cut(failure->message, cut, sizeof(cut));
	for (char *c = cut; *c; c++)
		if ((unsigned char)*c < 0x20)
			*c = ' ';
	buf_addf(&text, "Provider '%s' failed (", in->provider->id);
	put_fault_status(failure, &text);
	buf_addf(&text, "): %s", *cut ? cut : "no reason was given");
	if (failure->class == FAULT_PARAMETER && *failure->param)
		buf_addf(&text,
			 "; the item sends `%s`: see `set`, `reject` and `max_tokens_field` of "
			 "models in %s",
			 failure->param, in->provider->id);
	return buf_steal(&text);
}

static char *fault_text(const char *text)
{
	return strdup(text ? text : "");
}

static enum provider_class class_of_transport(const struct fault_in *in)
{
	switch (in->transport) {
	case RYE_CANCELLED:
		return FAULT_CANCELLED;
	case RYE_TIMEOUT:
		return FAULT_TIMEOUT;
	case RYE_DENIED:
	case RYE_INVALID:
	case RYE_UNSUPPORTED:
		return FAULT_INVALID;
	default:
		return FAULT_NETWORK;
	}
}

static bool is_retryable(const struct fault_in *in, enum provider_class class)
{
	const char *said = json_str(in->headers, "x-should-retry");

	if (class == FAULT_QUOTA || class == FAULT_CANCELLED)
		return false;
	if (*said)
		return !strcmp(said, "true");
	return class >= FAULT_RATE && class <= FAULT_CUT;
}

void fault_classify(const struct fault_in *in, struct provider_failure *ret)
{
	auto_buf struct rye_buf subject = RYE_BUF_INIT;
	long status = in->status >= 300 ? in->status : in->said->status;
	struct rye_span text;

	*ret = (struct provider_failure){ .status = in->status, .wait_ms = fault_wait(in) };
	put_subject(in->said, &subject);
	text = buf_span(&subject);
	if (in->cut)
		ret->class = FAULT_CUT;
	else if (in->transport != RYE_OK)
		ret->class = class_of_transport(in);
	else
		find_class(in, status, text, ret);
	if (ret->class == FAULT_OVERFLOW)
		find_numbers(in->said, text, ret);
	ret->type = fault_text(in->said->type);
	ret->code = fault_text(in->said->code);
	ret->param = fault_text(in->said->param);
	ret->message = fault_text(in->said->message);
	ret->retryable = is_retryable(in, ret->class);
	retry_rules(in->provider, ret);
	ret->sentence = fault_sentence(in, ret);
}

/* ---- what to do about it ---- */

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
