/* SPDX-License-Identifier: MIT */
/*
 * One attempt: a request, its answer as it streams, and what came of both. Waits on the calling
 * thread; a cancelled call ends at once and closes its connection. No lock.
 */
#include "provider/provider_inner.h"

#include "bounds.h"
#include "clock.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <stdlib.h>
#include <string.h>

/* Milliseconds for the end of a body whose answer is whole: the connection is then kept. */
#define ATTEMPT_TAIL 1000

struct attempt {
	const struct provider_call *call;
	struct answer answer;
	struct http_reply reply;
	struct rye_err err;
	int64_t begun, first; /* clock_ms(); first 0: no event yet */
	int64_t idle_ms;
	int64_t deadline; /* the next sign of life has to come until then */
	bool answered;
};

/* An older item has one time for each phase but the first. */
static int64_t attempt_limit_ms(const struct provider *provider, const char *name, int64_t seconds)
{
	const json_t *timeouts = json_object_get(provider->item, "timeouts");
	const json_t *value = json_object_get(timeouts, name);

	if (!timeouts && strcmp(name, "connect") != 0)
		value = json_object_get(json_object_get(provider->item, "config"), "timeout");
	if (json_is_number(value) && json_number_value(value) > 0 &&
	    json_number_value(value) < RYE_TIMEOUT_MAX_S)
		return (int64_t)(json_number_value(value) * 1000);
	return seconds * 1000;
}

/* Comments keep an answer alive that has begun; they do not begin it. */
static void move_deadline(struct attempt *attempt)
{
	int64_t now = clock_ms();

	if (attempt->answer.events && !attempt->first)
		attempt->first = now;
	if (attempt->answer.ended)
		attempt->deadline = now + ATTEMPT_TAIL;
	else if (attempt->first)
		attempt->deadline = now + attempt->idle_ms;
}

static enum http_taken attempt_piece(void *arg, const struct http_reply *reply,
				     struct rye_span bytes)
{
	struct attempt *attempt = arg;
	bool more;

	if (!attempt->answered)
		answer_begin(&attempt->answer, reply->status, reply->type);
	attempt->answered = true;
	more = answer_feed(&attempt->answer, bytes);
	move_deadline(attempt);
	return more ? HTTP_TAKEN : HTTP_ENOUGH;
}

static void attempt_send(struct attempt *attempt, struct rye_span body)
{
	const struct provider_call *call = attempt->call;
	const struct provider *provider = call->provider;
	int64_t now = clock_ms(), rest = call->until_ms ? call->until_ms - now : INT64_MAX;
	struct http_ask ask = {
		.method = "POST",
		.url = call->request->whole ? provider->url : provider->stream_url,
		.headers = provider->headers,
		.body = body,
		.timeout_ms = MAX_OF(MIN_OF(rest, RYE_TIMEOUT_MAX_S * 1000ll), 1),
		.connect_ms = attempt_limit_ms(provider, "connect", 10),
		.deadline_ms = &attempt->deadline,
		.cancel = call->cancel,
		.piece = attempt_piece,
		.arg = attempt,
	};

	attempt->begun = now;
	attempt->deadline = now + attempt_limit_ms(provider, "first_byte", 600);
	attempt->idle_ms = attempt_limit_ms(provider, "idle", 300);
	(void)http_exchange(call->http, &ask, &attempt->reply, &attempt->err);
	/* An answer without a body had no piece. */
	if (!attempt->answered && attempt->reply.status)
		answer_begin(&attempt->answer, attempt->reply.status, attempt->reply.type);
}

/* ---- what came of it ---- */

static int64_t attempt_wall_s(void)
{
	return (int64_t)time(NULL);
}

/* A local server that cuts the prompt says nothing but its length. */
static void check_truncated(const struct attempt *attempt, struct provider_result *ret)
{
	const json_t *messages = attempt->call->request->messages, *usage = NULL;
	json_int_t before;

	for (size_t i = json_array_size(messages); i-- > 0 && !usage;)
		usage = json_object_get(json_array_get(messages, i), "usage");
	before = json_int(usage, "input_uncached", 0) + json_int(usage, "cache_read", 0) +
		 json_int(usage, "cache_write", 0) + json_int(usage, "cache_write_1h", 0);
	if (attempt->call->provider->local && ret->usage.known && !ret->usage.estimated &&
	    !json_flag(usage, "estimated", true) && ret->input && ret->input < before)
		json_array_append_new(ret->warnings, json_string("prompt_truncated"));
}

/* Days before a model goes that its threads are told of it. */
#define RETIRES_SOON 30

static void check_retires(const struct provider *provider, struct provider_result *ret)
{
	struct tm tm = { 0 };
	char word[64];

	if (!provider->retires || !strptime(provider->retires, "%Y-%m-%d", &tm) ||
	    timegm(&tm) - attempt_wall_s() > RETIRES_SOON * 86400)
		return;
	snprintf(word, sizeof(word), "model_retires:%.20s", provider->retires);
	json_array_append_new(ret->warnings, json_string(word));
}

static void tell_usage(const struct attempt *attempt, struct provider_result *ret)
{
	const struct provider_event event = { .type = PROVIDER_USAGE };
	const struct provider_usage *use = &ret->usage;
	char day[24];

	clock_stamp(attempt_wall_s(), day);
	ret->input = use->uncached + use->cache_read + use->cache_write + use->cache_write_1h;
	ret->spend = provider_cost(attempt->call->provider, use, day);
	check_truncated(attempt, ret);
	check_retires(attempt->call->provider, ret);
	if (attempt->call->fn && use->known)
		attempt->call->fn(attempt->call->arg, &event);
}

static void attempt_fail(struct attempt *attempt, struct provider_result *ret)
{
	struct answer *answer = &attempt->answer;
	bool broken = attempt->err.code == RYE_TOOL_FAILED && attempt->answered;
	bool endless = answer->sse.too_big || answer->bytes > RYE_PROVIDER_ANSWER_MAX;
	const struct fault_in in = {
		.provider = attempt->call->provider,
		.said = &answer->said,
		.headers = attempt->reply.headers,
		.status = attempt->reply.status,
		.transport = answer->failed || broken ? RYE_OK :
			     attempt->reply.no_tls    ? RYE_DENIED :
							attempt->err.code,
		.cut = !answer->failed && (attempt->err.code == RYE_OK || broken),
		.now = attempt_wall_s(),
	};

	if (!answer->said.message && endless)
		answer->said.message = strdup("the answer is longer than any that is taken");
	if (!answer->said.message && attempt->err.code != RYE_OK)
		answer->said.message = strdup(attempt->err.msg);
	if (!answer->said.message && in.cut)
		answer->said.message = strdup("the answer ended before it was whole");
	fault_hide_keys(in.provider, &answer->said.message);
	fault_classify(&in, &ret->failure);
	/* it would be as long again, and is paid for each time */
	if (endless)
		ret->failure.retryable = false;
	if (ret->failure.retryable && ret->failure.wait_ms > 0)
		provider_lane_pause(in.provider, ret->failure.wait_ms);
}

static void attempt_end(struct attempt *attempt, struct provider_result *ret)
{
	int64_t end = clock_ms();

	ret->ms = end - attempt->begun;
	ret->first_ms = attempt->first ? attempt->first - attempt->begun : -1;
	if (attempt->answered && attempt->err.code == RYE_CANCELLED && !attempt->answer.terminal)
		attempt->answer.stopped = false;
	if (!answer_end(&attempt->answer, ret))
		attempt_fail(attempt, ret);
	tell_usage(attempt, ret);
}

/* The request could not be made, or its turn did not come. */
static void attempt_never(struct attempt *attempt, struct provider_result *ret)
{
	attempt->answer.streams = true; /* there is no body to read */
	ret->first_ms = -1;
	(void)answer_end(&attempt->answer, ret);
	attempt_fail(attempt, ret);
}

void provider_exchange(const struct provider_call *call, struct provider_result *ret)
{
	struct attempt attempt = { .call = call };
	struct provider_lane lane = { -1 };
	auto_buf struct rye_buf body = RYE_BUF_INIT;

	*ret = (struct provider_result){ .first_ms = -1 };
	answer_open(&attempt.answer, call->provider, call->request);
	attempt.answer.fn = call->fn;
	attempt.answer.arg = call->arg;
	if (provider_request_make(call->provider, call->request, attempt.answer.warnings, &body,
				  &attempt.err) ||
	    lane_enter(call, &lane, &attempt.err)) {
		attempt_never(&attempt, ret);
	} else {
		attempt_send(&attempt, buf_span(&body));
		lane_leave(&lane);
		attempt_end(&attempt, ret);
	}
	http_reply_done(&attempt.reply);
	answer_close(&attempt.answer);
}

void provider_result_done(struct provider_result *result)
{
	struct provider_failure *failure = &result->failure;

	json_decref(result->message);
	json_decref(result->warnings);
	free(failure->type);
	free(failure->code);
	free(failure->param);
	free(failure->message);
	free(failure->sentence);
	*result = (struct provider_result){ 0 };
}

/* ---- is anything there? ---- */

/* Its item takes the address from a variable, or says it. */
static void reach_form(const struct provider *provider, struct rye_err *err)
{
	const char *base = json_str(provider->item, "base_url"), *url = provider->url;
	bool named = !strncmp(base, "${", 2);

	rye_fail(
		err, RYE_INVALID,
		"provider %s: its address, %.*s, does not begin with https:// or http://; " MEND_WITH
		"%s%.*s%shttp://127.0.0.1:8080",
		provider->name, (int)MIN_OF(strcspn(url, "/?#@"), 80u), url,
		named ? "export " : "a base_url such as ",
		named ? (int)MIN_OF(strcspn(base + 2, ":}"), 80u) : 0, base + 2, named ? "=" : "");
}

/* "scheme://host:port" of the address; what is behind it may hold a key, which is told and sent nowhere. */
static char *reach_origin(const struct provider *provider, struct rye_err *err)
{
	static const char *const schemes[] = { "http://", "https://" };
	const char *url = provider->url;
	char *origin = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
		size_t n = strlen(schemes[i]);

		if (strncasecmp(url, schemes[i], n) != 0)
			continue;
		n += strcspn(url + n, "/?#");
		if (asprintf(&origin, "%.*s/", (int)n, url) < 0)
			memory_fail(err);
		return origin;
	}
	reach_form(provider, err);
	return NULL;
}

static int reach_ask(const char *origin, const struct provider *provider, struct rye_err *err)
{
	struct http *http = http_open();
	struct http_reply reply = { 0 };
	const struct http_ask ask = { .method = "HEAD",
				      .url = origin,
				      .timeout_ms = PROVIDER_REACH_MS,
				      .cancel = -1 };
	struct rye_err why = { 0 };
	int r;

	if (!http)
		return memory_fail(err);
	r = http_exchange(http, &ask, &reply, &why);
	/* it listens, whatever it says and however long that takes */
	if (r && !reply.sent && why.code == RYE_DENIED)
		rye_fail(err, why.code,
			 "provider %s is not asked: %.400s; " MEND_WITH
			 "an address that begins with https://, or a server on this machine",
			 provider->name, why.msg);
	else if (r && !reply.sent)
		rye_fail(err, why.code,
			 "provider %s does not answer: %.400s; " MEND_WITH
			 "start its server, or name another provider in config/agent/agent.yaml",
			 provider->name, why.msg);
	else
		r = 0;
	http_reply_done(&reply);
	http_close(http);
	return r;
}

int provider_reach(const struct provider *provider, struct rye_err *err)
{
	auto_free char *origin = provider->vendors ? NULL : reach_origin(provider, err);

	if (provider->vendors)
		return 0;
	return origin ? reach_ask(origin, provider, err) : -(int)err->code;
}
