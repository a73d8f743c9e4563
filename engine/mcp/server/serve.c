/* SPDX-License-Identifier: MIT */
/*
 * Open requests: from a message that was read to the one answer that it gets, whichever thread has
 * it. The thread that read a request answers it at once or leaves it to a call of the engine, whose
 * teller thread answers then; a cancellation may come in between from a third. The first of them
 * that marks the request as over has it.
 *
 * Lock: `lock` of struct serve, the list of open requests. No message is sent and no call is made
 * or cancelled under it.
 */
#include "mcp/server/server_inner.h"

#include "clock.h"

#include <stdatomic.h>
#include <string.h>

struct serve_request *serve_request_ref(struct serve_request *request)
{
	atomic_fetch_add(&request->refs, 1);
	return request;
}

void serve_request_unref(struct serve_request *request)
{
	if (atomic_fetch_sub(&request->refs, 1) != 1)
		return;
	rye_call_unref(request->call);
	serve_reply_unref(request->reply);
	json_decref(request->id);
	json_decref(request->token);
	free(request);
}

/* A request on its way in. */
struct serve_coming {
	struct serve *serve;
	struct serve_reply *reply;
	const struct mcp_message *message;
	const struct serve_heard *heard;
	struct serve_frame frame;
	const struct serve_method *method;
};

static struct serve_request *request_new(const struct serve_coming *coming)
{
	struct serve_request *request = calloc(1, sizeof(*request));
	struct serve *serve = coming->serve;
	json_t *meta = json_object_get(coming->message->params, "_meta");
	json_t *token = json_object_get(meta, "progressToken");

	if (!request)
		return NULL;
	request->refs = 2; /* the list's, and the reading thread's */
	request->serve = serve;
	request->reply = serve_reply_ref(coming->reply);
	request->frame = coming->frame;
	/* Copies: the message goes, and other threads print these. */
	request->id = json_deep_copy(coming->message->id);
	if (json_is_string(token) || json_is_integer(token))
		request->token = json_deep_copy(token);
	{
		GUARD(&serve->lock);
		if (!serve->stopping) {
			request->next = serve->open;
			serve->open = request;
			return request;
		}
	}
	request->refs = 1;
	serve_request_unref(request);
	return NULL;
}

/* ---- the one answer ---- */

static void request_unlist(struct serve_request *request)
{
	struct serve *serve = request->serve;
	struct serve_request **at;

	{
		GUARD(&serve->lock);
		for (at = &serve->open; *at && *at != request; at = &(*at)->next)
			;
		if (!*at)
			return;
		*at = request->next;
		serve->streams -= request->topics != 0;
	}
	serve_request_unref(request);
}

void serve_answer(struct serve_request *request, json_t *result)
{
	auto_json json_t *message = NULL;

	if (atomic_exchange(&request->over, true)) {
		json_decref(result);
		return;
	}
	if (request->frame.era == MCP_MODERN) {
		json_t *meta = json_object_get(result, "_meta");

		if (!json_object_get(result, "resultType"))
			json_sets(result, "resultType", "complete");
		if (!meta)
			json_set(result, "_meta", meta = json_object());
		json_set(meta, MCP_META "serverInfo", mcp_claim());
	}
	message = mcp_response(request->id, result);
	serve_reply_put(request->reply, message, true);
	request_unlist(request);
}

json_t *serve_error(const json_t *id, struct serve_fault *fault)
{
	return mcp_error(id, fault->code, fault->text, steal(&fault->data));
}

static void serve_refuse(struct serve_request *request, struct serve_fault *fault)
{
	auto_json json_t *message = serve_error(request->id, fault);

	if (atomic_exchange(&request->over, true))
		return;
	serve_reply_put(request->reply, message, true);
	request_unlist(request);
}

/* It is not wanted any more: its call ends, nothing is sent. */
static void serve_cancel(struct serve_request *request)
{
	struct serve *serve = request->serve;
	struct rye_call *call;

	if (atomic_exchange(&request->over, true))
		return;
	{
		GUARD(&serve->lock);
		call = request->call;
	}
	rye_call_cancel(call, RYE_CANCELLED);
	serve_reply_put(request->reply, NULL, true);
	request_unlist(request);
}

/* The open request of that id and reply (NULL: any of a legacy one, if only one has it). */
static struct serve_request *serve_find(struct serve *serve, const struct serve_reply *reply,
					const json_t *id)
{
	struct serve_request *found = NULL;
	size_t n = 0;

	GUARD(&serve->lock);
	for (struct serve_request *at = serve->open; at; at = at->next) {
		if (!json_equal(at->id, id) ||
		    (reply ? at->reply != reply : at->frame.era != MCP_LEGACY))
			continue;
		found = at;
		n++;
	}
	return n == 1 ? serve_request_ref(found) : NULL;
}

static struct serve_request *find_gone(struct serve *serve, const struct serve_reply *reply)
{
	GUARD(&serve->lock);
	for (struct serve_request *at = serve->open; at; at = at->next)
		if (at->reply == reply && at->frame.era == MCP_MODERN)
			return serve_request_ref(at);
	return NULL;
}

void serve_cancel_gone(struct serve *serve, const struct serve_reply *reply)
{
	struct serve_request *request = find_gone(serve, reply);

	if (!request)
		return;
	serve_cancel(request);
	serve_request_unref(request);
}

/* ---- messages ---- */

void serve_junk(const struct mcp_message *message, struct serve_fault *fault)
{
	if (message->is_json)
		serve_fail(fault, MCP_NO_REQUEST,
			   "Invalid Request: one JSON-RPC message is wanted");
	else
		serve_fail(fault, MCP_BAD_JSON, "Parse error: this is not JSON");
	fault->status = 400;
}

static void take_notice(struct serve *serve, struct serve_reply *reply,
			const struct mcp_message *message, const struct serve_heard *heard)
{
	const json_t *id = json_object_get(message->params, "requestId");
	struct serve_request *request;

	if (strcmp(message->method, "notifications/cancelled") != 0 || !id)
		return;
	/* Over HTTP a cancellation comes by itself: whose it is only its id can tell. */
	request = serve_find(serve, heard->http ? NULL : reply, id);
	if (!request)
		return;
	serve_cancel(request);
	serve_request_unref(request);
}

static bool find_method(struct serve_coming *coming, struct serve_fault *fault)
{
	const struct mcp_message *message = coming->message;
	enum mcp_era era = coming->frame.era;

	coming->method = serve_method_find(coming->serve, message->method, era);
	if (!coming->method) {
		serve_fail(fault, MCP_NO_METHOD, "Method not found: %.100s", message->method);
		fault->status = era == MCP_MODERN ? 404 : 200;
		return false;
	}
	if (!coming->heard->http || era != MCP_MODERN)
		return true;
	return serve_headers_agree(message, coming->heard, mcp_subject(message->method), fault);
}

static bool take_request(const struct serve_coming *coming, struct serve_fault *fault)
{
	const json_t *params = coming->message->params;
	struct serve_request *request;
	json_t *result;

	if (params && !json_is_object(params))
		return serve_fail(fault, MCP_BAD_PARAMS, "params: an object is wanted");
	request = request_new(coming);
	if (!request)
		return serve_fail(fault, MCP_INTERNAL, "the server ends, or has no memory");
	result = coming->method->fn(request, params, fault);
	if (result)
		serve_answer(request, result);
	else if (fault->code)
		serve_refuse(request, fault);
	serve_request_unref(request);
	return true;
}

static bool take_message(struct serve *serve, struct serve_reply *reply,
			 const struct mcp_message *message, const struct serve_heard *heard,
			 struct serve_fault *fault)
{
	struct serve_coming coming = { serve, reply, message, heard, .method = NULL };

	if (message->kind == MCP_RESPONSE) /* we ask nothing: what it answers is not ours */
		return true;
	if (message->kind == MCP_REQUEST && reply->sort == SERVE_ONE &&
	    !strcmp(message->method, "subscriptions/listen")) {
		serve_gate_refuse(fault, 406, "Accept: text/event-stream is wanted");
		return false;
	}
	if (!serve_era(message, heard, &coming.frame, fault))
		return false;
	coming.frame.tasks &= serve->tasks;
	if (message->kind == MCP_NOTICE) {
		take_notice(serve, reply, message, heard);
		return true;
	}
	return find_method(&coming, fault) && take_request(&coming, fault);
}

unsigned serve_hear(struct serve *serve, struct serve_reply *reply, struct rye_span text,
		    struct serve_heard *heard, json_t **ret_error)
{
	struct serve_fault fault = { 0 };
	struct mcp_message message;
	unsigned status;

	if (mcp_read(text, &message) == MCP_JUNK)
		serve_junk(&message, &fault);
	heard->opened |= serve_initialize_is(&message);
	if (message.kind != MCP_JUNK && take_message(serve, reply, &message, heard, &fault)) {
		status = message.kind == MCP_REQUEST ? 0 : 202;
	} else {
		status = fault.status;
		*ret_error = serve_error(message.id, &fault);
	}
	/* Over standard output a notice has no answer. */
	if (message.kind == MCP_NOTICE && !heard->http)
		json_decref(steal(ret_error));
	mcp_message_done(&message);
	return status;
}

/* ---- beginning and end ---- */

void serve_signals(sigset_t *ret)
{
	sigemptyset(ret);
	sigaddset(ret, SIGINT);
	sigaddset(ret, SIGTERM);
	sigaddset(ret, SIGHUP);
}

struct serve *serve_new(struct rye *rye, const struct serve_options *opt, bool tasks)
{
	struct serve *serve = calloc(1, sizeof(*serve));

	if (!serve) {
		rye_close(rye);
		return NULL;
	}
	serve->rye = rye;
	serve->opt = *opt;
	serve->tasks = tasks && !opt->read_only;
	pthread_mutex_init(&serve->lock, NULL);
	clock_cond_init(&serve->work);
	if (serve_teller_start(serve))
		return serve;
	serve_free(serve);
	return NULL;
}

size_t serve_open_count(struct serve *serve)
{
	size_t n = 0;

	GUARD(&serve->lock);
	for (const struct serve_request *at = serve->open; at; at = at->next)
		n += at->topics == 0;
	return n;
}

static struct serve_request *take_open(struct serve *serve)
{
	GUARD(&serve->lock);
	return serve->open ? serve_request_ref(serve->open) : NULL;
}

void serve_end(struct serve *serve)
{
	struct serve_request *request;

	serve_teller_stop(serve);
	serve_streams_end(serve);
	while ((request = take_open(serve))) {
		serve_cancel(request);
		serve_request_unref(request);
		/* Where another thread is about to answer it, it is off the list in a moment. */
		sched_yield();
	}
}

void serve_free(struct serve *serve)
{
	if (!serve)
		return;
	/* Its threads tell the ends of cancelled calls first. */
	rye_close(serve->rye);
	serve_reply_unref(serve->legacy);
	pthread_cond_destroy(&serve->work);
	pthread_mutex_destroy(&serve->lock);
	free(serve);
}
