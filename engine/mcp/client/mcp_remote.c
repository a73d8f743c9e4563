/* SPDX-License-Identifier: MIT */
/*
 * Speaking with a server at an address: each message is a POST, its answer JSON or a stream of
 * events. A legacy server may keep a session and number its events, so that a broken stream goes
 * on; with a modern one a broken stream is a lost request. No redirect is followed, and what the
 * server says decides neither where anything is sent nor what is sent along. On the worker of the
 * call, sessions end on the keeper thread; no lock.
 */
#include "mcp/client/client_inner.h"

#include "bounds.h"
#include "clock.h"
#include "http/http.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <poll.h>
#include <string.h>

/* Milliseconds that a stream may take to end behind its answer; then its connection is not kept. */
#define REMOTE_END_MS 20

struct remote_exchange {
	struct mcp_hearing hearing; /* first */
	struct sse sse; /* of the stream that is read */
	bool streamed;
	int64_t until_ms; /* of the HTTP exchange */
};

/* ---- requests beside the open one ---- */

/* struct mcp_wire's: a word that needs no answer; what comes of it changes nothing. */
static void post_word(struct mcp_peer *peer, const json_t *doc)
{
	const struct mcp_remote *remote = mcp_remote_of(peer->kept);
	const struct mcp_header_ask head = { .own = remote->headers,
					     .message = doc,
					     .version = remote->kept.state.version,
					     .session = remote->session };
	char **headers = mcp_headers_make(&head);
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	struct http_reply reply = { 0 };
	struct rye_err err = { 0 };
	struct http_ask ask = { .method = "POST",
				.url = remote->url,
				.headers = headers,
				.timeout_ms = RYE_MCP_TELL_MS,
				.cancel = -1 };

	json_put(&text, doc, false);
	ask.body = buf_span(&text);
	if (headers && !text.failed)
		(void)http_exchange(mcp_ground(peer->mcp)->http, &ask, &reply, &err);
	http_reply_done(&reply);
	mcp_headers_free(headers);
}

/* struct mcp_hearing's */
static void post_answer(struct mcp_hearing *hearing, const json_t *doc)
{
	post_word(hearing->peer, doc);
}

/* ---- what comes ---- */

/* The stream should end by itself now. */
static void await_end(struct remote_exchange *x)
{
	x->until_ms = x->hearing.over ? clock_ms() + REMOTE_END_MS : x->hearing.until_ms;
}

/* sse_fn. An event without data is there for its id. */
static void hear_event(void *arg, const struct sse_event *event)
{
	struct remote_exchange *x = arg;

	if (x->hearing.over || !event->data.len)
		return;
	mcp_hear(&x->hearing, event->data);
	await_end(x);
}

/* struct http_ask's */
static enum http_taken remote_piece(void *arg, const struct http_reply *reply,
				    struct rye_span bytes)
{
	struct remote_exchange *x = arg;

	if (strcmp(reply->type, "text/event-stream") != 0) {
		if (reply->body_bytes <= RYE_MCP_MESSAGE_MAX)
			return HTTP_KEEP;
		mcp_hear_flood(&x->hearing);
		return HTTP_ENOUGH;
	}
	x->streamed = true;
	if (!sse_feed(&x->sse, bytes, hear_event, x) && !x->hearing.over)
		mcp_hear_flood(&x->hearing);
	return x->hearing.over && x->hearing.heard != MCP_HEARD_ANSWER ? HTTP_ENOUGH : HTTP_TAKEN;
}

static bool is_session_id(const char *text)
{
	for (const char *c = text; *c; c++)
		if (*c < 0x21 || *c > 0x7e)
			return false;
	return *text && strlen(text) < MCP_SESSION_SIZE;
}

/* What the answer's headers tell. */
static void note_headers(struct remote_exchange *x, const struct http_reply *reply)
{
	struct mcp_remote *remote = mcp_remote_of(x->hearing.peer->kept);
	const char *session = json_str(reply->headers, "mcp-session-id");

	x->hearing.turn->status = reply->status;
	if (!strcmp(json_str(x->hearing.turn->request, "method"), "initialize") &&
	    is_session_id(session))
		snprintf(remote->session, sizeof(remote->session), "%s", session);
	if (reply->status == 401 || reply->status == 403) {
		json_decref(x->hearing.peer->challenge);
		x->hearing.peer->challenge =
			mcp_challenge(json_str(reply->headers, "www-authenticate"));
	}
}

/* The beginning of a text that is no message: an error page says why. */
static void note_body(struct remote_exchange *x, struct rye_span body)
{
	body.len = MIN_OF(body.len, RYE_MCP_BODY_TOLD);
	free(x->hearing.peer->body);
	x->hearing.peer->body = body.len ? span_dup(body) : NULL;
	if (x->hearing.peer->body)
		utf8_mend(x->hearing.peer->body);
}

/* A whole answer that was no stream. */
static void hear_body(struct remote_exchange *x, const struct http_reply *reply)
{
	struct rye_span body = { reply->body.data ? reply->body.data : "", reply->body.len };
	struct rye_err *err = &x->hearing.peer->err;

	if (body.len)
		mcp_hear(&x->hearing, body);
	if (x->hearing.over)
		return;
	if (reply->status >= 300 && reply->status < 400) {
		rye_fail(err, RYE_TOOL_FAILED,
			 "the server redirects to %.300s, which is not followed",
			 json_str(reply->headers, "location"));
		mcp_hearing_end(&x->hearing, MCP_HEARD_REFUSED);
		return;
	}
	note_body(x, body);
	if (reply->status >= 400) {
		mcp_hearing_end(&x->hearing, MCP_HEARD_STATUS);
		return;
	}
	rye_fail(err, RYE_TOOL_FAILED, "the answer (%ld, %s) is no message: %.120s", reply->status,
		 *reply->type ? reply->type : "of no type",
		 x->hearing.peer->body ? x->hearing.peer->body : "it is empty");
	mcp_hearing_end(&x->hearing, MCP_HEARD_NOISE);
}

/* ---- one exchange ---- */

/* libcurl's, or the rule's, reason → what that means here. */
static enum mcp_heard heard_of(struct remote_exchange *x, const struct rye_err *err)
{
	x->hearing.peer->err = *err;
	switch (err->code) {
	case RYE_TIMEOUT:
		return MCP_HEARD_SILENCE;
	case RYE_CANCELLED:
		return MCP_HEARD_CANCEL;
	default:
		return x->streamed ? MCP_HEARD_END : MCP_HEARD_REFUSED;
	}
}

static char **exchange_headers(const struct remote_exchange *x, const char *last_event)
{
	const struct mcp_remote *remote = mcp_remote_of(x->hearing.peer->kept);
	const struct mcp_header_ask ask = {
		.own = x->hearing.peer->ask->spec->headers,
		.message = last_event ? NULL : x->hearing.turn->request,
		.version = remote->kept.state.version,
		.session = remote->session,
		.last_event = last_event,
		.mirror = x->hearing.peer->mirror,
	};

	return mcp_headers_make(&ask);
}

/* body .ptr NULL: a GET that takes a stream up again behind last_event. */
static void exchange_once(struct remote_exchange *x, struct rye_span body, const char *last_event)
{
	char **headers = exchange_headers(x, last_event);
	const struct http_ask ask = {
		.method = body.ptr ? "POST" : "GET",
		.url = x->hearing.peer->ask->spec->url,
		.headers = headers,
		.body = body,
		.timeout_ms = MAX_OF(x->hearing.peer->ask->until_ms - clock_ms(), 1),
		.deadline_ms = &x->until_ms,
		.cap = RYE_MCP_MESSAGE_MAX,
		.cancel = x->hearing.peer->ask->cancel,
		.piece = remote_piece,
		.arg = x,
	};
	struct http_reply reply = { 0 };
	struct rye_err err = { 0 };
	int r = -1;

	await_end(x);
	if (headers)
		r = http_exchange(mcp_ground(x->hearing.peer->mcp)->http, &ask, &reply, &err);
	else
		rye_fail(&err, RYE_INVALID, "a header has a line end, or memory is short");
	if (x->streamed && !r)
		sse_end(&x->sse, hear_event, x);
	if (reply.status)
		note_headers(x, &reply);
	if (!x->hearing.over && r)
		mcp_hearing_end(&x->hearing, heard_of(x, &err));
	else if (!x->hearing.over && !x->streamed)
		hear_body(x, &reply);
	http_reply_done(&reply);
	mcp_headers_free(headers);
}

/* ---- a stream that broke ---- */

/* False: the call is cancelled, or its time is over. */
static bool pause_for(const struct remote_exchange *x, int64_t ms)
{
	struct pollfd wake = { x->hearing.peer->ask->cancel, POLLIN, 0 };
	int64_t left = x->hearing.until_ms - clock_ms();

	return ms < left && poll(&wake, 1, (int)ms) == 0;
}

/* Where the events of a legacy server's stream bear ids, what is missing of it can be asked for. */
static void resume_stream(struct remote_exchange *x)
{
	for (int i = 0; i < RYE_MCP_RESUMES; i++) {
		auto_free char *last = x->sse.id.len ? strdup(x->sse.id.data) : NULL;
		int64_t retry = x->sse.retry_ms >= 0 ? x->sse.retry_ms : RYE_MCP_RESUME_MS;
		bool ended = !x->hearing.over || x->hearing.heard == MCP_HEARD_END;

		if (!ended || !x->streamed || !last || !is_session_id(last) || !pause_for(x, retry))
			break;
		sse_done(&x->sse);
		x->sse = SSE_INIT;
		/* Until the stream says otherwise. */
		x->sse.retry_ms = retry;
		buf_adds(&x->sse.id, last);
		x->hearing.over = false;
		exchange_once(x, (struct rye_span){ NULL, 0 }, last);
		if (x->hearing.over && x->hearing.heard == MCP_HEARD_STATUS)
			x->hearing.over = x->streamed = false;
	}
}

static bool claims_modern(const json_t *request)
{
	const json_t *meta = json_object_get(json_object_get(request, "params"), "_meta");

	return *json_str(meta, MCP_META "protocolVersion");
}

/* A connection that is closed says it to a modern server; a legacy one works on. */
static void cancel_work(struct remote_exchange *x)
{
	auto_json json_t *notice = NULL;

	if (claims_modern(x->hearing.turn->request))
		return;
	notice = mcp_cancel_notice(&x->hearing, x->hearing.heard);
	if (notice)
		post_word(x->hearing.peer, notice);
}

/* struct mcp_wire's */
static enum mcp_heard remote_ask(struct mcp_peer *peer, struct mcp_turn *turn)
{
	struct remote_exchange x = { .sse = SSE_INIT };
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	x.hearing.send = post_answer;
	mcp_hearing_begin(&x.hearing, peer, turn);
	json_put(&text, turn->request, false);
	if (text.failed || text.len > RYE_MCP_MESSAGE_MAX) {
		rye_fail(&peer->err, RYE_TOO_BIG, "the request is over %u bytes",
			 RYE_MCP_MESSAGE_MAX);
		return MCP_HEARD_REFUSED;
	}
	exchange_once(&x, buf_span(&text), NULL);
	if (!claims_modern(turn->request))
		resume_stream(&x);
	if (!x.hearing.over) {
		rye_fail(&peer->err, RYE_TOOL_FAILED, "the stream of its answer ended early");
		mcp_hearing_end(&x.hearing, MCP_HEARD_END);
	}
	if (x.hearing.heard == MCP_HEARD_SILENCE || x.hearing.heard == MCP_HEARD_CANCEL)
		cancel_work(&x);
	if (x.hearing.heard == MCP_HEARD_ANSWER && turn->status < 400)
		mcp_remote_of(peer->kept)->worked = true;
	sse_done(&x.sse);
	return x.hearing.heard;
}

/* ---- sessions ---- */

/* struct mcp_wire's. 404 is the rule; 400 is what one widely used server says. */
static bool remote_expired(struct mcp_peer *peer, const struct mcp_turn *turn, enum mcp_heard heard)
{
	struct mcp_remote *remote = mcp_remote_of(peer->kept);
	json_int_t code = json_int(turn->ret->error, "code", 0);

	if (!*remote->session || (heard != MCP_HEARD_STATUS && heard != MCP_HEARD_ANSWER))
		return false;
	if (turn->status != 404 && (turn->status != 400 || !remote->worked))
		return false;
	/* These codes bear no meaning of their own; another one is an answer. */
	if (heard == MCP_HEARD_ANSWER && (code < -32019 || code > -32000))
		return false;
	remote->session[0] = 0;
	remote->worked = false;
	remote->kept.state.open = false;
	remote->kept.state.tools_until_ms = 0;
	return true;
}

/* struct mcp_wire's: an address has no processes. */
static bool remote_renew(struct mcp_peer *peer, struct rye_err *err)
{
	(void)peer;
	rye_fail(err, RYE_TOOL_FAILED, "the server is not answering");
	return false;
}

static void remote_free(struct mcp_remote *remote)
{
	mcp_headers_free(remote->headers);
	mcp_state_done(&remote->kept.state);
	free(remote->url);
	free(remote);
}

/* struct mcp_wire's: nothing is sent yet. Address and headers are kept to end the session with. */
static int remote_start(struct mcp *mcp, const struct mcp_spec *spec, struct mcp_kept **ret,
			struct rye_err *err)
{
	struct mcp_remote *remote = calloc(1, sizeof(*remote));
	size_t n = 0;

	if (!remote)
		return memory_fail(err);
	remote->kept.wire = &mcp_wire_http;
	memcpy(remote->kept.key, spec->key, SHA_HEX);
	remote->url = strdup(spec->url);
	while (spec->headers && spec->headers[n])
		n++;
	remote->headers = calloc(n + 1, sizeof(char *));
	for (size_t i = 0; i < n && remote->headers && (!i || remote->headers[i - 1]); i++)
		remote->headers[i] = strdup(spec->headers[i]);
	if (!remote->url || !remote->headers || (n && !remote->headers[n - 1])) {
		remote_free(remote);
		return memory_fail(err);
	}
	*ret = &remote->kept;
	return 0;
}

const struct mcp_wire mcp_wire_http = {
	.http = true,
	.start = remote_start,
	.ask = remote_ask,
	.tell = post_word,
	.renew = remote_renew,
	.expired = remote_expired,
};

void mcp_remote_end(struct http *http, struct mcp_remote *remote, int64_t until_ms)
{
	const struct mcp_header_ask head = { .own = remote->headers,
					     .version = remote->kept.state.version,
					     .session = remote->session };
	char **headers = *remote->session ? mcp_headers_make(&head) : NULL;
	struct http_reply reply = { 0 };
	struct rye_err err = { 0 };
	const struct http_ask ask = { .method = "DELETE",
				      .url = remote->url,
				      .headers = headers,
				      .timeout_ms = until_ms - clock_ms(),
				      .cancel = -1 };

	if (headers && ask.timeout_ms > 0)
		(void)http_exchange(http, &ask, &reply, &err);
	http_reply_done(&reply);
	mcp_headers_free(headers);
	remote_free(remote);
}
