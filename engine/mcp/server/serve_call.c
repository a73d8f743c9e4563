/* SPDX-License-Identifier: MIT */
/*
 * tools/call: arguments → a request of the engine → its reply as the result of a tool. The engine's
 * teller thread of the call sends progress and then the answer; it never waits here.
 *
 * Lock: that of struct serve, for the call of a request and the number of calls.
 */
#include "mcp/server/server_inner.h"

#include "format/format.h"
#include "bounds.h"
#include "clock.h"
#include "str.h"

#include <stdatomic.h>
#include <string.h>

/* Text for clients that do not read structured content; more fills a model's context for nothing. */
#define TEXT_MAX (256u << 10)
/* A reply that leaves room for what a message has around it. */
#define REPLY_MAX (RYE_MCP_MESSAGE_MAX - (1u << 20))
/* Between two signs of progress. */
#define PROGRESS_MS 250
#define PROGRESS_TEXT 200

/* ---- results ---- */

static const char too_big[] = "the reply is bigger than a message may be; have the tool write to a "
			      "file, or ask for less";

static json_t *error_reply(const char *text)
{
	return json_pack("{s:s, s:s}", "status", "error", "error", text);
}

/* The whole, or its beginning with a sentence that says so. */
static json_t *reply_text(const struct rye_buf *text)
{
	if (text->len <= TEXT_MAX)
		return json_stringn(text->data, text->len);
	return json_sprintf("%.*s\n[the beginning of a reply of %zu bytes; structuredContent has "
			    "all of it]",
			    (int)utf8_start(text->data, TEXT_MAX), text->data, text->len);
}

/* A client that goes on with a thread has to know it; what the thread said does not name it. */
static void put_thread(json_t *content, const json_t *reply)
{
	const char *id = json_str(reply, "thread_id");

	if (*id && !json_object_get(reply, "async"))
		json_array_append_new(content, json_pack("{s:s, s:o}", "type", "text", "text",
							 json_sprintf("thread %s", id)));
}

json_t *serve_tool_said(json_t *reply)
{
	auto_json json_t *whole = reply, *said = plain_said(reply);
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	json_t *content = json_array();

	plain_put(&text, said);
	if (text.failed || text.len > REPLY_MAX) {
		buf_clear(&text);
		buf_adds(&text, too_big);
		json_object_set_new(whole, "status", json_string("error"));
	}
	json_array_append_new(content,
			      json_pack("{s:s, s:o}", "type", "text", "text",
					json_stringn(text.len ? text.data : "", text.len)));
	put_thread(content, whole);
	return json_pack("{s:o, s:b}", "content", content, "isError", plain_failed(whole));
}

json_t *serve_tool_result(json_t *reply)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	json_put(&text, reply, false);
	if (text.failed || text.len > REPLY_MAX) {
		json_decref(reply);
		buf_done(&text);
		reply = error_reply(too_big);
		json_put(&text, reply, false);
	}
	return json_pack("{s:[{s:s, s:o}], s:o, s:b}", "content", "type", "text", "text",
			 reply_text(&text), "structuredContent", reply, "isError",
			 plain_failed(reply));
}

/* ---- progress ---- */

static json_t *event_text(const struct rye_event *event)
{
	struct rye_span line, rest = event->bytes;
	char text[PROGRESS_TEXT + 4];
	auto_free char *copy = NULL;

	if (event->type == RYE_EVENT_STATE)
		return json_string(event->state == RYE_STATE_STARTED ? "started" : "ending");
	if (event->type == RYE_EVENT_PROGRESS)
		return json_sprintf("%llu bytes", (unsigned long long)event->done);
	while (span_line(&rest, &line))
		if (span_trim(line).len)
			break;
	copy = span_dup(line);
	utf8_cut(copy ? copy : "", text, sizeof(text));
	return json_string(text);
}

static void on_call_event(void *arg, const struct rye_event *event)
{
	struct serve_request *request = arg;
	auto_json json_t *notice = NULL;
	int64_t now = clock_ms();

	if (atomic_load(&request->over) || (request->told && now - request->told_ms < PROGRESS_MS))
		return;
	request->told_ms = now;
	request->told++;
	notice =
		mcp_notice("notifications/progress",
			   json_pack("{s:O, s:I, s:o}", "progressToken", request->token, "progress",
				     (json_int_t)request->told, "message", event_text(event)));
	serve_reply_put(request->reply, notice, false);
}

/* ---- the call ---- */

static void on_call_done(void *arg, const struct rye_outcome *outcome)
{
	struct serve_request *request = arg;
	struct serve *serve = request->serve;
	json_t *reply = json_loadb(outcome->reply->data, outcome->reply->len, JSON_ALLOW_NUL, NULL);
	json_t *task = NULL;

	if (!reply)
		reply = error_reply("the reply cannot be read");
	if (request->async && request->frame.tasks)
		task = serve_task_begun(serve, reply);
	if (task)
		json_decref(reply);
	if (!task)
		task = request->plain ? serve_tool_said(reply) : serve_tool_result(reply);
	serve_answer(request, task);
	serve_request_unref(request);
}

static void call_start(struct serve_request *request, const json_t *message)
{
	struct serve *serve = request->serve;
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	struct rye_request ask = { .verb = request->tool->verb,
				   .kind = RYE_KIND__MAX,
				   .id = "",
				   .uid = getuid() };
	struct rye_call *call = NULL;

	json_put(&text, message, false);
	ask.message = buf_span(&text);
	if (request->token && !request->async)
		ask.events = (struct rye_event_listener){ on_call_event, request };
	serve_request_ref(request);
	rye_start(serve->rye, &ask, on_call_done, request, &call);
	{
		GUARD(&serve->lock);
		request->call = call;
	}
	/* A cancellation that came meanwhile found no call to end. */
	if (atomic_load(&request->over))
		rye_call_cancel(call, RYE_CANCELLED);
}

/* Of an item `all` is what the engine does by itself; only searches take the word. */
static void adapt_source(json_t *message)
{
	if (!json_object_get(message, "query") && !strcmp(json_str(message, "source"), "all"))
		json_object_del(message, "source");
}

static const struct serve_tool *find_tool(struct serve_request *request, const json_t *params,
					  struct serve_fault *fault)
{
	const char *name = serve_text(params, "name");
	const struct serve_tool *tool = name ? serve_tool_find(request->serve, name) : NULL;

	if (!name)
		serve_fail(fault, MCP_BAD_PARAMS, "name: a tool's name is wanted");
	else if (!tool && !strcmp(name, "rye_sign") && !request->serve->opt.read_only)
		serve_fail(fault, MCP_BAD_PARAMS,
			   "Unknown tool: rye_sign; a client may sign only where the server was "
			   "started with --allow-sign");
	else if (!tool)
		serve_fail(fault, MCP_BAD_PARAMS, "Unknown tool: %.100s", name);
	return tool;
}

json_t *serve_tools_call(struct serve_request *request, const json_t *params,
			 struct serve_fault *fault)
{
	const json_t *given = json_object_get(params, "arguments");
	auto_json json_t *arguments = NULL;
	const char *stranger;
	char text[200];

	request->tool = find_tool(request, params, fault);
	if (!request->tool)
		return NULL;
	if (given && !json_is_object(given))
		return serve_fail(fault, MCP_BAD_PARAMS, "arguments: an object is wanted");
	/* We ask nothing, so no state that comes back is ours; answers to nothing are passed over. */
	if (json_object_get(params, "requestState"))
		return serve_fail(fault, MCP_BAD_PARAMS, "requestState: this server gave none");
	arguments = given ? json_copy((json_t *)given) : json_object();
	stranger = serve_tool_stranger(request->serve, request->tool, arguments);
	if (stranger) {
		snprintf(text, sizeof(text), "%s takes no argument %.100s", request->tool->name,
			 stranger);
		utf8_mend(text);
		return request->tool->verb == RYE_EXECUTE ? serve_tool_said(error_reply(text)) :
							    serve_tool_result(error_reply(text));
	}
	if (request->tool->verb == RYE_FETCH)
		adapt_source(arguments);
	request->plain = request->tool->verb == RYE_EXECUTE &&
			 !json_is_true(json_object_get(arguments, "trace"));
	request->async = json_is_true(json_object_get(arguments, "async"));
	call_start(request, arguments);
	return NULL;
}
