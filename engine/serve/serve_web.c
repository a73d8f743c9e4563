/* SPDX-License-Identifier: MIT */
/*
 * One exchange of HTTP, on the thread of its connection: the gate before the body is read, the body,
 * the message, and the answer: JSON, or a stream of events when something has to be sent before the
 * answer. While it waits the thread watches the socket: a modern client cancels by closing it.
 */
#include "serve/serve_inner.h"

#include "bounds.h"

#include <string.h>
#include <strings.h>

/* A stream with nothing to tell, and a request that takes long, show that they live. */
#define ALIVE_MS 15000
#define ALIVE ": alive\n\n"
/* Bytes of a stream handed over at once. */
#define BLOCK_SIZE (64u << 10)

/* That mean something here. */
#define HEADERS 11

struct web_exchange {
	struct serve_site *site;
	struct MHD_Connection *connection;
	struct serve_link *link;
	struct serve_head head; /* borrowed from the connection */
	struct serve_heard heard;
	char *trimmed[HEADERS]; /* values that had blanks behind them */
	size_t n_trimmed;
	struct rye_buf body;
	struct serve_reply *reply; /* NULL: there is no request yet */
	struct rye_buf event; /* of a stream: what is being sent */
	size_t sent;
	struct serve_fault refusal; /* by the gate; its code is 0: there was none */
	bool told; /* the refusal has been sent */
	int socket;
};

/* A client that is refused may still be sending: what is read of its body, so that the close that
 * follows does not take the answer with it (a socket closed with unread bytes is reset). */
#define REFUSED_BODY_MAX (64 << 10)

/* ---- answers ---- */

/* type: NULL for an empty body. */
static enum MHD_Result answer(struct web_exchange *x, unsigned status, const char *type,
			      struct rye_span text)
{
	const struct mhd_table *mhd = x->site->mhd;
	struct MHD_Response *response =
		mhd->create_response_from_buffer(text.len, (void *)text.ptr, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result done;

	if (!response)
		return MHD_NO;
	if (type)
		mhd->add_response_header(response, "Content-Type", type);
	if (status == 401)
		mhd->add_response_header(response, "WWW-Authenticate", "Bearer realm=\"ryefs\"");
	if (status == 405)
		mhd->add_response_header(response, "Allow", "POST");
	mhd->add_response_header(response, "Connection", "close");
	done = mhd->queue_response(x->connection, status, response);
	mhd->destroy_response(response);
	return done;
}

static enum MHD_Result web_fault(struct web_exchange *x, const json_t *id,
				 struct serve_fault *fault)
{
	auto_json json_t *error = serve_error(id, fault);
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	json_put(&text, error, false);
	return answer(x, fault->status, "application/json",
		      (struct rye_span){ text.data, text.len });
}

static enum MHD_Result web_part(struct web_exchange *x, const struct serve_part *part)
{
	bool bad = part->code == MCP_HEADER_MISMATCH || part->code == MCP_NEEDS_CAPABILITY ||
		   part->code == MCP_BAD_VERSION;

	return answer(x, bad ? 400 : 200, "application/json",
		      (struct rye_span){ part->text, part->len });
}

/* ---- streams ---- */

static void web_put_event(struct web_exchange *x, const struct serve_part *part)
{
	buf_adds(&x->event, "event: message\ndata: ");
	buf_add(&x->event, part->text, part->len);
	buf_adds(&x->event, "\n\n");
}

/* While the thread waits on purpose, the client owes nothing. */
static enum serve_wait web_wait(struct web_exchange *x, int timeout_ms, struct serve_part **ret)
{
	const struct mhd_table *mhd = x->site->mhd;
	enum serve_wait got;

	mhd->set_connection_option(x->connection, MHD_CONNECTION_OPTION_TIMEOUT, 0u);
	got = serve_reply_wait(x->reply, x->socket, timeout_ms, ret);
	mhd->set_connection_option(x->connection, MHD_CONNECTION_OPTION_TIMEOUT,
				   (unsigned)SERVE_READER_S);
	return got;
}

static ssize_t web_read(void *arg, uint64_t pos, char *out, size_t max)
{
	struct web_exchange *x = arg;
	struct serve_part *part = NULL;
	size_t n;

	if (x->sent == x->event.len) {
		buf_clear(&x->event);
		x->sent = 0;
		switch (web_wait(x, ALIVE_MS, &part)) {
		case SERVE_PART:
			web_put_event(x, part);
			serve_part_free(part);
			break;
		case SERVE_TIME:
			buf_adds(&x->event, ALIVE);
			break;
		case SERVE_OVER:
			return MHD_CONTENT_READER_END_OF_STREAM;
		default:
			return MHD_CONTENT_READER_END_WITH_ERROR;
		}
	}
	if (x->event.failed)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	n = MIN_OF(max, x->event.len - x->sent);
	memcpy(out, x->event.data + x->sent, n);
	x->sent += n;
	return (ssize_t)n;
}

/* part: what it begins with, or NULL. */
static enum MHD_Result web_stream(struct web_exchange *x, const struct serve_part *part)
{
	const struct mhd_table *mhd = x->site->mhd;
	struct MHD_Response *response =
		mhd->create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_SIZE, web_read, x, NULL);
	enum MHD_Result done;

	if (!response)
		return MHD_NO;
	if (part)
		web_put_event(x, part);
	else
		buf_adds(&x->event, ALIVE);
	mhd->add_response_header(response, "Content-Type", "text/event-stream");
	mhd->add_response_header(response, "Cache-Control", "no-cache, no-transform");
	mhd->add_response_header(response, "X-Accel-Buffering", "no");
	mhd->add_response_header(response, "Connection", "close");
	done = mhd->queue_response(x->connection, 200, response);
	mhd->destroy_response(response);
	return done;
}

/* The answer of a request that was taken. */
static enum MHD_Result web_await(struct web_exchange *x)
{
	struct serve_part *part = NULL;
	enum MHD_Result done;

	switch (web_wait(x, x->reply->events ? ALIVE_MS : -1, &part)) {
	case SERVE_PART:
		done = part->last ? web_part(x, part) : web_stream(x, part);
		serve_part_free(part);
		return done;
	case SERVE_TIME:
		return web_stream(x, NULL);
	default:
		return MHD_NO; /* it was cancelled, or the client is gone */
	}
}

/* ---- the message ---- */

static enum MHD_Result web_take_message(struct web_exchange *x, const struct mcp_message *message)
{
	bool events = serve_takes_events(x->head.accept);
	struct serve_fault fault = { 0 };

	if (message->kind == MCP_REQUEST && !events &&
	    !strcmp(message->method, "subscriptions/listen")) {
		serve_fail(&fault, MCP_NO_REQUEST, "Accept: text/event-stream is wanted");
		fault.status = 406;
		return web_fault(x, message->id, &fault);
	}
	x->reply = serve_reply_new(events);
	if (!x->reply)
		return MHD_NO;
	if (!serve_take(x->site->serve, &x->reply->sink, message, &x->heard, &fault))
		return web_fault(x, message->id, &fault);
	if (message->kind != MCP_REQUEST)
		return answer(x, 202, NULL, (struct rye_span){ "", 0 });
	return web_await(x);
}

static enum MHD_Result web_take_body(struct web_exchange *x)
{
	struct serve_fault fault = { 0 };
	struct mcp_message message;
	enum MHD_Result done;

	serve_link_busy(&x->site->links, x->link, true);
	if (mcp_read((struct rye_span){ x->body.data ? x->body.data : "", x->body.len },
		     &message) == MCP_JUNK) {
		serve_junk(&message, &fault);
		return web_fault(x, NULL, &fault);
	}
	buf_done(&x->body);
	done = web_take_message(x, &message);
	mcp_message_done(&message);
	return done;
}

/* ---- libmicrohttpd's side ---- */

/* A value without the blanks behind it, which are no part of it. Lives as long as the exchange. */
static const char *trim_value(struct web_exchange *x, const char *value)
{
	size_t n = strlen(value);

	while (n && strchr(" \t", value[n - 1]))
		n--;
	if (!value[n] || x->n_trimmed == HEADERS)
		return value;
	x->trimmed[x->n_trimmed] = strndup(value, n);
	return x->trimmed[x->n_trimmed] ? x->trimmed[x->n_trimmed++] : "";
}

/* A header that is there twice says nothing that could be believed. */
static enum MHD_Result note_header(void *arg, enum MHD_ValueKind kind, const char *key,
				   const char *value)
{
	struct web_exchange *x = arg;
	const struct {
		const char *name;
		const char **at;
	} wanted[HEADERS] = {
		{ "Accept", &x->head.accept },
		{ "Authorization", &x->head.authorization },
		{ "Content-Encoding", &x->head.encoding },
		{ "Content-Length", &x->head.length },
		{ "Content-Type", &x->head.type },
		{ "Host", &x->head.host },
		{ "MCP-Protocol-Version", &x->heard.version },
		{ "Mcp-Method", &x->heard.method },
		{ "Mcp-Name", &x->heard.name },
		{ "Origin", &x->head.origin },
		{ "Transfer-Encoding", &x->head.transfer },
	};

	/* "X : y": servers that read it differently disagree where a request ends */
	x->head.odd |= !serve_header_name_ok(key);

	for (size_t i = 0; i < HEADERS; i++)
		if (!strcasecmp(key, wanted[i].name))
			*wanted[i].at = *wanted[i].at || !value ? "" : trim_value(x, value);
	return MHD_YES;
}

static enum MHD_Result begin_exchange(struct serve_site *site, struct MHD_Connection *connection,
				      struct web_exchange **ret)
{
	struct web_exchange *x = calloc(1, sizeof(*x));
	const union MHD_ConnectionInfo *info;

	if (!x)
		return MHD_NO;
	x->site = site;
	x->connection = connection;
	x->heard.http = true;
	x->body.cap = RYE_MCP_MESSAGE_MAX;
	info = site->mhd->get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	x->socket = info ? info->connect_fd : -1;
	info = site->mhd->get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	x->link = info ? info->socket_context : NULL;
	x->head.stranger = site->gate.socket && (!x->link || x->link->stranger);
	site->mhd->get_connection_values(connection, MHD_HEADER_KIND, note_header, x);
	*ret = x;
	return MHD_YES;
}

/* Is the body of a refused request so small that its end is waited for? */
static bool refused_is_read(const struct web_exchange *x)
{
	return x->head.length && *x->head.length && !x->head.transfer &&
	       strtoull(x->head.length, NULL, 10) <= REFUSED_BODY_MAX;
}

/* The library takes no answer in the middle of a body, and a client may never end one. */
static enum MHD_Result web_cut_off(struct web_exchange *x)
{
	serve_link_refuse(x->socket, 413, "the message is bigger than a message may be");
	return MHD_NO;
}

static enum MHD_Result web_refuse(struct web_exchange *x)
{
	x->told = true;
	return web_fault(x, NULL, &x->refusal);
}

enum MHD_Result serve_web_handle(void *arg, struct MHD_Connection *connection, const char *url,
				 const char *method, const char *version, const char *upload_data,
				 size_t *upload_size, void **state)
{
	struct web_exchange *x = *state;

	if (!x) {
		if (begin_exchange(arg, connection, &x) == MHD_NO)
			return MHD_NO;
		*state = x;
		x->head.verb = method;
		x->head.path = url;
		if (!serve_gate_check(&x->site->gate, &x->head, &x->refusal) || refused_is_read(x))
			return MHD_YES;
		return web_refuse(x);
	}
	if (x->told)
		return MHD_YES;
	if (!*upload_size)
		return x->refusal.code ? web_refuse(x) : web_take_body(x);
	if (!x->refusal.code)
		buf_add(&x->body, upload_data, *upload_size);
	*upload_size = 0;
	return x->body.failed ? web_cut_off(x) : MHD_YES;
}

void serve_web_completed(void *arg, struct MHD_Connection *connection, void **state,
			 enum MHD_RequestTerminationCode code)
{
	struct web_exchange *x = *state;

	if (!x)
		return;
	*state = NULL;
	if (x->reply) {
		serve_cancel_gone(x->site->serve, &x->reply->sink);
		serve_sink_unref(&x->reply->sink);
	}
	serve_link_busy(&x->site->links, x->link, false);
	while (x->n_trimmed)
		free(x->trimmed[--x->n_trimmed]);
	buf_done(&x->body);
	buf_done(&x->event);
	free(x);
}

void serve_web_connection(void *arg, struct MHD_Connection *connection, void **state,
			  enum MHD_ConnectionNotificationCode code)
{
	struct serve_site *site = arg;
	const union MHD_ConnectionInfo *info;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		serve_link_close(&site->links, *state);
		*state = NULL;
		return;
	}
	info = site->mhd->get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	*state = info ? serve_link_find(&site->links, info->connect_fd) : NULL;
}
