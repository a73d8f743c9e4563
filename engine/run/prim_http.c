/* SPDX-License-Identifier: MIT */
/*
 * The primitive `http_client`: one HTTP request, tried again where that is safe, its answer as the
 * tool's result. On a worker; no lock.
 */
#include "plan/plan.h"

#include "bounds.h"
#include "clock.h"
#include "http/http.h"
#include "run/run_inner.h"
#include "scope.h"
#include "str.h"

#include <stdio.h>
#include <string.h>

/* Events of a stream that a result keeps; more are counted. */
#define HTTP_EVENTS_MAX 10000

/* One request with all its attempts. */
struct http_run {
	const struct run *run;
	const struct plan *plan;
	const struct http_plan *own;
	int64_t until_ms; /* clock_ms() */
	struct sse sse;
	json_t *events; /* array of strings; NULL: not a stream */
	size_t event_count, event_bytes;
	struct sinks *sinks; /* of the run, not of one attempt; NULL: none */
	bool returned; /* events are kept for the result */
	struct rye_err err; /* of the last attempt; .code RYE_OK: an answer came */
};

static int http_plan(struct planner *planner, struct plan *plan, struct rye_err *err)
{
	struct http_plan *own = plan->own;

	if (!plan->confine.net)
		return rye_fail(err, RYE_DENIED,
				"the network is not open to %s: its requires needs net.http",
				planner->chain->v[0].item->id);
	own->may_write = plan->confine.write;
	return http_plan_make(planner, own, err);
}

static void http_done(void *own)
{
	http_plan_done(own);
}

/* ---- streams ---- */

/* sse_fn */
static void keep_event(void *arg, const struct sse_event *event)
{
	struct http_run *http = arg;

	http->event_count++;
	events_output(http->run->call->events, RYE_STDOUT, event->data);
	events_output(http->run->call->events, RYE_STDOUT, SPAN("\n"));
	sinks_put(http->sinks, event->data);
	if (!http->returned)
		return;
	http->event_bytes += event->data.len;
	if (json_array_size(http->events) < HTTP_EVENTS_MAX &&
	    http->event_bytes <= http->plan->output_cap)
		json_array_append_new(http->events, result_text(event->data));
}

/* An answer that is no stream of events, an error above all, is kept whole. */
static enum http_taken http_piece(void *arg, const struct http_reply *reply, struct rye_span bytes)
{
	struct http_run *http = arg;

	if (!http->own->stream || strcmp(reply->type, "text/event-stream") != 0) {
		events_progress(http->run->call->events, reply->body_bytes);
		return reply->body_bytes > http->plan->output_cap + RYE_HTTP_OVER ? HTTP_ENOUGH :
										    HTTP_KEEP;
	}
	if (!http->events)
		http->events = json_array();
	return sse_feed(&http->sse, bytes, keep_event, http) ? HTTP_TAKEN : HTTP_ENOUGH;
}

static void forget_stream(struct http_run *http)
{
	sse_done(&http->sse);
	json_decref(http->events);
	http->sse = SSE_INIT;
	http->events = NULL;
	http->event_count = http->event_bytes = 0;
}

/* ---- attempts ---- */

static void trace_attempt(const struct http_run *http, const struct http_reply *reply, int64_t ms)
{
	if (!http->run->reply.trace)
		return;
	json_array_append_new(http->run->reply.trace,
			      json_pack("{s:s, s:s, s:i, s:I, s:b, s:I}", "step", "http", "method",
					http->own->method, "status", (int)reply->status, "bytes",
					(json_int_t)reply->body_bytes, "reused", reply->reused,
					"ms", (json_int_t)ms));
}

static void http_attempt(struct http_run *http, struct http_reply *reply)
{
	const struct http_plan *own = http->own;
	int64_t begun = clock_ms();
	const struct http_ask ask = {
		.method = own->method,
		.url = own->url,
		.headers = own->headers,
		.body = own->body ? (struct rye_span){ own->body->data, own->body->len } :
				    (struct rye_span){ NULL, 0 },
		.timeout_ms = MAX_OF(http->until_ms - begun, 1),
		.cap = http->plan->output_cap,
		.cancel = call_wake(http->run->call),
		.redirects = own->redirects,
		.strange = own->strange,
		.ca_file = own->ca_file,
		.piece = http_piece,
		.arg = http,
	};

	forget_stream(http);
	http->err = (struct rye_err){ 0 };
	(void)http_exchange(http->run->exec->http, &ask, reply, &http->err);
	if (http->events)
		sse_end(&http->sse, keep_event, http);
	trace_attempt(http, reply, clock_ms() - begun);
}

/* Doing it twice is as doing it once. */
static bool is_idempotent(const char *method)
{
	return strcmp(method, "POST") != 0 && strcmp(method, "PATCH") != 0;
}

/* No answer came, or one that says "later": 429 and 503 did nothing. */
static bool may_repeat(const struct http_run *http, const struct http_reply *reply)
{
	bool again = is_idempotent(http->own->method);

	switch (http->err.code) {
	case RYE_OK:
		return reply->status == 429 || reply->status == 503 ||
		       (again && (reply->status == 502 || reply->status == 504));
	case RYE_TOOL_FAILED:
		return again || !reply->sent;
	default:
		return false;
	}
}

/* What the server asks for, else the plan's; -1: there is no time for it. */
static int64_t http_pause_ms(const struct http_run *http, const struct http_reply *reply,
			     int attempt)
{
	int64_t pause = http->own->linear ? 1000 : (int64_t)1000 << MIN_OF(attempt - 1, 16);

	if (reply->retry_after_ms >= 0)
		pause = reply->retry_after_ms;
	return clock_ms() + pause < http->until_ms ? pause : -1;
}

static bool http_wait(const struct http_run *http, int64_t ms)
{
	return ms >= 0 && call_pause(http->run->call, ms);
}

static int http_attempts(struct http_run *http, struct http_reply *reply)
{
	int n = 1;

	http_attempt(http, reply);
	while (n < http->own->attempts && may_repeat(http, reply) &&
	       http_wait(http, http_pause_ms(http, reply, n))) {
		http_reply_done(reply);
		http_attempt(http, reply);
		n++;
	}
	return n;
}

/* ---- the result ---- */

static json_t *body_of(const struct http_run *http, const struct http_reply *reply)
{
	struct rye_span body = { reply->body.data ? reply->body.data : "", reply->body.len };
	json_t *doc = NULL;

	if (http->events)
		return json_incref(http->events);
	if (reply->body_bytes == reply->body.len)
		doc = json_parse(body, JSON_LOAD_ANY | JSON_LOAD_LAST_WINS | JSON_LOAD_NUL, "body",
				 NULL);
	return doc ? doc : result_text(body);
}

static json_t *http_data(const struct http_run *http, const struct http_reply *reply)
{
	json_t *data = json_object();

	json_set(data, "status_code", json_integer(reply->status));
	json_set(data, "headers", reply->headers ? json_incref(reply->headers) : json_object());
	json_set(data, "body", body_of(http, reply));
	if (http->events)
		json_set(data, "event_count", json_integer((json_int_t)http->event_count));
	if (http->events ? http->returned && http->event_count > json_array_size(http->events) :
			   reply->body_bytes > reply->body.len) {
		json_set(data, "truncated", json_true());
		json_set(data, "body_bytes", json_integer((json_int_t)reply->body_bytes));
	}
	return data;
}

/* The names of RFC 9110, for servers and protocol versions that send none. */
static const char *reason_of(const struct http_reply *reply)
{
	static const struct {
		long status;
		const char *reason;
	} rows[] = {
		{ 400, "Bad Request" },	       { 401, "Unauthorized" },
		{ 403, "Forbidden" },	       { 404, "Not Found" },
		{ 405, "Method Not Allowed" }, { 409, "Conflict" },
		{ 413, "Content Too Large" },  { 422, "Unprocessable Content" },
		{ 429, "Too Many Requests" },  { 500, "Internal Server Error" },
		{ 502, "Bad Gateway" },	       { 503, "Service Unavailable" },
		{ 504, "Gateway Timeout" },
	};

	for (size_t i = 0; !reply->reason[0] && i < ARRAY_SIZE(rows); i++)
		if (rows[i].status == reply->status)
			return rows[i].reason;
	return reply->reason;
}

static void http_failed(const struct http_run *http, int attempts, struct result *ret)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	ret->code = http->err.code;
	ret->retryable = http->err.code == RYE_TIMEOUT;
	if (attempts > 1)
		buf_addf(&text, "Request failed after %d attempts: ", attempts);
	buf_adds(&text, http->err.msg);
	ret->error = buf_steal(&text);
}

static void http_result(const struct http_run *http, const struct http_reply *reply, int attempts,
			struct result *ret)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	*ret = (struct result){ .warnings = json_array(), .data = http_data(http, reply) };
	if (http->err.code != RYE_OK) {
		http_failed(http, attempts, ret);
		return;
	}
	if (http->sse.too_big)
		json_array_append_new(ret->warnings,
				      json_string(
					      "an event of the stream was too big: the rest was "
					      "not read"));
	if (reply->status >= 200 && reply->status < 400) {
		ret->error = strdup("");
		return;
	}
	ret->code = RYE_TOOL_FAILED;
	buf_addf(&text, "HTTP %ld: %s", reply->status, reason_of(reply));
	ret->error = buf_steal(&text);
}

/* False: one cannot be opened, and nothing is asked of the server. */
static bool open_sinks(struct http_run *http)
{
	const struct sinks_ask ask = {
		.plans = http->own->sinks,
		.n = http->own->n_sinks,
		.ca_file = http->own->ca_file,
		.project = http->run->exec->base.project,
		.until_ms = http->until_ms,
		.cancel = call_wake(http->run->call),
	};

	http->returned = !ask.n;
	for (size_t i = 0; i < ask.n; i++)
		http->returned |= ask.plans[i].type == SINK_RETURN;
	return !ask.n || !sinks_open(http->run->exec->http, &ask, &http->sinks, &http->err);
}

static void http_run(struct run *run, const struct plan *plan, struct result *ret)
{
	struct http_run http = {
		.run = run,
		.plan = plan,
		.own = plan->own,
		.until_ms = clock_ms() + plan->timeout_ms,
		.sse = SSE_INIT,
	};
	struct http_reply reply = { 0 };
	int attempts = open_sinks(&http) ? http_attempts(&http, &reply) : 0;
	auto_json json_t *sinks = sinks_close(http.sinks);

	http_result(&http, &reply, attempts, ret);
	if (http.own->n_sinks)
		json_object_set(ret->data, "sinks", sinks);
	if (attempts > 1)
		json_set(run->reply.metadata, "attempts", json_integer(attempts));
	http_reply_done(&reply);
	forget_stream(&http);
}

const struct prim_ops prim_http = {
	.own_size = sizeof(struct http_plan),
	.plan = http_plan,
	.run = http_run,
	.done = http_done,
};
