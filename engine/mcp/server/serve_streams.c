/* SPDX-License-Identifier: MIT */
/*
 * What is told of changes: on streams that modern clients ask for, and to a legacy client of
 * standard input and output as it comes. The engine's watcher only notes what changed; the teller
 * thread of this server sends the notices, one of a kind a second.
 *
 * Lock: that of struct serve, the topics that changed and the list of open requests.
 */
#include "mcp/server/server_inner.h"

#include "clock.h"

#include <errno.h>
#include <string.h>

/* Streams at once; each holds a connection and its thread. */
#define STREAMS_MAX 64
#define NOTICE_NS NS_PER_S

static const struct serve_topic_row {
	enum serve_topic topic;
	const char *member, *method;
} topics[] = {
	{ SERVE_TOOLS, "toolsListChanged", "notifications/tools/list_changed" },
	{ SERVE_PROMPTS, "promptsListChanged", "notifications/prompts/list_changed" },
	{ SERVE_RESOURCES, "resourcesListChanged", "notifications/resources/list_changed" },
};

/* ---- listening ---- */

static unsigned topics_offered(const struct serve *serve)
{
	return SERVE_TOOLS | (serve->opt.no_prompts ? 0 : SERVE_PROMPTS) |
	       (serve->opt.no_resources ? 0 : SERVE_RESOURCES);
}

static json_t *stream_meta(const struct serve_request *request)
{
	return json_pack("{s:O}", MCP_META "subscriptionId", request->id);
}

/* A place among the streams, of which the teller knows nothing yet. */
static bool stream_open(struct serve_request *request)
{
	struct serve *serve = request->serve;

	GUARD(&serve->lock);
	if (serve->streams >= STREAMS_MAX)
		return false;
	serve->streams++;
	request->topics = SERVE_STREAM;
	return true;
}

static void stream_begin(struct serve_request *request, unsigned asked)
{
	GUARD(&request->serve->lock);
	request->topics |= asked;
}

json_t *serve_listen(struct serve_request *request, const json_t *params, struct serve_fault *fault)
{
	const json_t *wanted = json_object_get(params, "notifications");
	auto_json json_t *notice = NULL;
	json_t *accepted = json_object();
	unsigned asked = 0;

	for (size_t i = 0; i < ARRAY_SIZE(topics); i++) {
		if (!json_flag(wanted, topics[i].member, false) ||
		    !(topics_offered(request->serve) & topics[i].topic))
			continue;
		asked |= topics[i].topic;
		json_set(accepted, topics[i].member, json_true());
	}
	notice = mcp_notice("notifications/subscriptions/acknowledged",
			    json_pack("{s:o, s:o}", "notifications", accepted, "_meta",
				      stream_meta(request)));
	if (!json_is_object(wanted))
		return serve_fail(fault, MCP_BAD_PARAMS, "notifications: an object is wanted");
	if (!stream_open(request))
		return serve_fail(fault, MCP_INTERNAL, "there are %d streams already", STREAMS_MAX);
	/* First the acknowledgement, then what changes. */
	serve_reply_put(request->reply, notice, false);
	stream_begin(request, asked);
	return NULL;
}

/* ---- the teller ---- */

/* A stream, and what of the changes it asked for. */
struct stream_news {
	struct serve_request *request; /* a reference */
	unsigned topics;
};

/* The open streams of these topics. */
static size_t find_streams(struct serve *serve, unsigned changed,
			   struct stream_news ret[STREAMS_MAX])
{
	size_t n = 0;

	GUARD(&serve->lock);
	for (struct serve_request *at = serve->open; at && n < STREAMS_MAX; at = at->next)
		if (at->topics & changed)
			ret[n++] =
				(struct stream_news){ serve_request_ref(at), at->topics & changed };
	return n;
}

/* stream: its request; NULL: a legacy client is told. */
static void tell_topics(struct serve_reply *reply, unsigned changed,
			const struct serve_request *stream)
{
	for (size_t i = 0; i < ARRAY_SIZE(topics); i++) {
		auto_json json_t *notice = NULL;

		if (!(changed & topics[i].topic))
			continue;
		notice = mcp_notice(topics[i].method,
				    stream ? json_pack("{s:o}", "_meta", stream_meta(stream)) :
					     NULL);
		serve_reply_put(reply, notice, false);
	}
}

static struct serve_reply *legacy_client(struct serve *serve)
{
	GUARD(&serve->lock);
	return serve->legacy;
}

static void tell_changed(struct serve *serve, unsigned changed)
{
	struct serve_reply *legacy = legacy_client(serve);
	struct stream_news told[STREAMS_MAX];
	size_t n = find_streams(serve, changed, told);

	if (legacy)
		tell_topics(legacy, changed & topics_offered(serve), NULL);
	while (n--) {
		tell_topics(told[n].request->reply, told[n].topics, told[n].request);
		serve_request_unref(told[n].request);
	}
}

/* What changed, once something has; 0: the server ends. */
static unsigned await_change(struct serve *serve)
{
	GUARD(&serve->lock);
	while (!serve->changed && !serve->stopping)
		pthread_cond_wait(&serve->work, &serve->lock);
	return serve->stopping ? 0 : steal(&serve->changed);
}

static void streams_rest(struct serve *serve)
{
	int64_t end = clock_ns() + NOTICE_NS;

	GUARD(&serve->lock);
	while (!serve->stopping && clock_cond_wait(&serve->work, &serve->lock, end) != ETIMEDOUT)
		;
}

static void *serve_teller_main(void *arg)
{
	struct serve *serve = arg;
	unsigned changed;

	while ((changed = await_change(serve))) {
		tell_changed(serve, changed);
		streams_rest(serve);
	}
	return NULL;
}

/* On a thread of the engine, which must not wait. */
static void on_change(void *arg, const struct rye_change *change)
{
	struct serve *serve = arg;
	unsigned changed = 0;

	if (change->type == RYE_CHANGE_ALL)
		changed = SERVE_PROMPTS | SERVE_RESOURCES;
	else if (change->type == RYE_CHANGE_PATH && change->kind == RYE_DIRECTIVE)
		changed = SERVE_PROMPTS;
	else if (change->type == RYE_CHANGE_PATH &&
		 (change->kind == RYE_KNOWLEDGE || change->kind == RYE_SKILL))
		changed = SERVE_RESOURCES;
	if (!changed)
		return;
	GUARD(&serve->lock);
	serve->changed |= changed;
	pthread_cond_broadcast(&serve->work);
}

bool serve_teller_start(struct serve *serve)
{
	serve->telling = !pthread_create(&serve->teller, NULL, serve_teller_main, serve);
	if (serve->telling)
		rye_watch(serve->rye, on_change, serve);
	return serve->telling;
}

void serve_teller_stop(struct serve *serve)
{
	rye_watch(serve->rye, NULL, NULL);
	{
		GUARD(&serve->lock);
		serve->stopping = true;
		pthread_cond_broadcast(&serve->work);
	}
	if (serve->telling)
		pthread_join(serve->teller, NULL);
	serve->telling = false;
}

/* Over standard output the end is a notice and the response, over HTTP the response alone. */
static void stream_end(struct serve_request *request)
{
	auto_json json_t *notice = NULL;

	if (!request->frame.http) {
		notice = mcp_notice("notifications/cancelled",
				    json_pack("{s:O}", "requestId", request->id));
		serve_reply_put(request->reply, notice, false);
	}
	serve_answer(request, json_pack("{s:o}", "_meta", stream_meta(request)));
}

void serve_streams_end(struct serve *serve)
{
	struct stream_news open[STREAMS_MAX];
	size_t n = find_streams(serve, SERVE_STREAM, open);

	while (n--) {
		stream_end(open[n].request);
		serve_request_unref(open[n].request);
	}
}
