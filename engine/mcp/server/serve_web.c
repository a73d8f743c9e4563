/* SPDX-License-Identifier: MIT */
/*
 * One exchange of HTTP, on the thread of its connection: the head, the gate before the body is read,
 * the body, the message, and the answer: JSON, or a stream of events when something has to be sent
 * before the answer. While it waits the thread watches the socket: a modern client cancels by
 * closing it. One request comes by a connection, so that nothing that stands behind a body is read.
 */
#include "mcp/server/server_inner.h"

#include "bounds.h"
#include "str.h"

#include <poll.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>

/* A stream with nothing to tell, and a request that takes long, show that they live. */
#define ALIVE_MS 15000
#define ALIVE ": alive\n\n"
#define HEAD_MAX (16u << 10)
/* Of a line between chunks, and of all lines behind the last one. */
#define LINE_MAX_BYTES 256
#define TRAILERS_MAX 64
/* For a client to read why it was refused: what it still sends is dropped meanwhile, a message's worth
 * at most, and no longer than a request has (serve_links_look shuts it). */
#define DROP_MS 1000
#define DROP_MAX RYE_MCP_MESSAGE_MAX

struct web_exchange {
	struct serve_site *site;
	struct serve_link *link;
	struct serve_head head; /* its texts lie in `text` */
	struct serve_heard heard;
	struct rye_buf body;
	struct serve_reply *reply; /* NULL: there is no request yet */
	struct rye_span rest; /* has come and is not used yet */
	char text[HEAD_MAX]; /* the head, and what came with it */
	char piece[HEAD_MAX]; /* what came behind that */
};

/* ---- answers ---- */

static bool web_send(const struct web_exchange *x, struct rye_span text, int flags)
{
	while (text.len) {
		ssize_t n = send(x->link->fd, text.ptr, text.len, MSG_NOSIGNAL | flags);

		if (n <= 0)
			return false;
		text = span_skip(text, (size_t)n);
	}
	return true;
}

static const char *status_text(unsigned status)
{
	static const struct {
		unsigned status;
		const char *text;
	} rows[] = {
		{ 200, "OK" },
		{ 202, "Accepted" },
		{ 400, "Bad Request" },
		{ 401, "Unauthorized" },
		{ 403, "Forbidden" },
		{ 404, "Not Found" },
		{ 405, "Method Not Allowed" },
		{ 406, "Not Acceptable" },
		{ 413, "Content Too Large" },
		{ 415, "Unsupported Media Type" },
		{ 431, "Request Header Fields Too Large" },
		{ 501, "Not Implemented" },
		{ 505, "HTTP Version Not Supported" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].status == status)
			return rows[i].text;
	return "";
}

/* The head of an answer but for how long its body is; type: NULL without one. */
static void put_head(struct rye_buf *out, unsigned status, const char *type)
{
	time_t now = time(NULL);
	struct tm utc;
	char date[64];

	strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &utc));
	buf_addf(out, "HTTP/1.1 %u %s\r\nDate: %s\r\nConnection: close\r\n", status,
		 status_text(status), date);
	if (type)
		buf_addf(out, "Content-Type: %s\r\n", type);
	if (status == 401)
		buf_adds(out, "WWW-Authenticate: Bearer realm=\"ryefs\"\r\n");
	if (status == 405)
		buf_adds(out, "Allow: POST\r\n");
}

static void web_answer(const struct web_exchange *x, unsigned status, const char *type,
		       struct rye_span text)
{
	auto_buf struct rye_buf head = RYE_BUF_INIT;
	bool bare = x->head.verb && !strcmp(x->head.verb, "HEAD");

	put_head(&head, status, type);
	buf_addf(&head, "Content-Length: %zu\r\n\r\n", text.len);
	if (!head.failed && web_send(x, buf_span(&head), MSG_MORE) && !bare)
		web_send(x, text, 0);
}

/* error: NULL for an empty body. */
static void web_refuse(const struct web_exchange *x, unsigned status, const json_t *error)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	if (error)
		json_put(&text, error, false);
	web_answer(x, status, error ? "application/json" : NULL, buf_span(&text));
}

/* ---- streams ---- */

/* An event, or a comment that shows that we live; a client of HTTP/1.0 knows no chunks. */
static bool send_event(const struct web_exchange *x, const struct serve_part *part)
{
	auto_buf struct rye_buf event = RYE_BUF_INIT, chunk = RYE_BUF_INIT;

	if (part)
		buf_addf(&event, "event: message\ndata: %s\n\n", part->text);
	else
		buf_adds(&event, ALIVE);
	if (x->head.old)
		return !event.failed && web_send(x, buf_span(&event), 0);
	buf_addf(&chunk, "%zx\r\n%s\r\n", event.len, event.data);
	return !chunk.failed && web_send(x, buf_span(&chunk), 0);
}

/* part: what it begins with, or NULL; taken over, as each that follows. */
static void web_stream(const struct web_exchange *x, struct serve_part *part)
{
	auto_buf struct rye_buf head = RYE_BUF_INIT;
	enum serve_wait got = SERVE_PART;
	bool sent;

	put_head(&head, 200, "text/event-stream");
	buf_addf(&head, "Cache-Control: no-cache, no-transform\r\nX-Accel-Buffering: no\r\n%s\r\n",
		 x->head.old ? "" : "Transfer-Encoding: chunked\r\n");
	sent = !head.failed && web_send(x, buf_span(&head), MSG_MORE);
	while (got == SERVE_PART || got == SERVE_TIME) {
		sent = sent && send_event(x, part);
		serve_part_free(part);
		part = NULL;
		got = sent ? serve_reply_wait(x->reply, x->link->fd, ALIVE_MS, &part) : SERVE_GONE;
	}
	if (got == SERVE_OVER && !x->head.old)
		web_send(x, SPAN("0\r\n\r\n"), 0);
}

/* The answer of a request that was taken. */
static void web_await(const struct web_exchange *x)
{
	int wait_ms = x->reply->sort == SERVE_EVENTS ? ALIVE_MS : -1;
	struct serve_part *part = NULL;
	enum serve_wait got = serve_reply_wait(x->reply, x->link->fd, wait_ms, &part);
	bool bad = part && (part->code == MCP_HEADER_MISMATCH ||
			    part->code == MCP_NEEDS_CAPABILITY || part->code == MCP_BAD_VERSION);

	if (got == SERVE_TIME || (part && !part->last)) {
		web_stream(x, part);
		return;
	}
	if (part)
		web_answer(x, bad ? 400 : 200, "application/json",
			   (struct rye_span){ part->text, part->len });
	serve_part_free(part);
}

static void web_take_body(struct web_exchange *x)
{
	bool events = serve_takes_events(x->head.accept);
	auto_json json_t *error = NULL;
	unsigned status;

	x->reply = serve_reply_new(events ? SERVE_EVENTS : SERVE_ONE);
	if (!x->reply)
		return;
	status = serve_hear(x->site->serve, x->reply, buf_span(&x->body), &x->heard, &error);
	buf_done(&x->body);
	if (status)
		web_refuse(x, status, error);
	else
		web_await(x);
}

/* ---- reading: 0; HTTP_MORE: the client has gone, or was too slow; a status, and *why ---- */

static unsigned web_refusal(unsigned status, const char *text, const char **why)
{
	*why = text;
	return status;
}

static unsigned read_head(struct web_exchange *x, const char **why)
{
	unsigned r = HTTP_MORE;
	size_t n = 0, head;

	while (r == HTTP_MORE && n < HEAD_MAX) {
		ssize_t got = recv(x->link->fd, x->text + n, HEAD_MAX - n, 0);

		if (got <= 0)
			return HTTP_MORE;
		n += (size_t)got;
		r = http_head_check((struct rye_span){ x->text, n }, why);
	}
	if (r == HTTP_MORE)
		return web_refusal(431, "the head of the request is longer than 16 KiB", why);
	if (r)
		return r;
	head = (size_t)((char *)memmem(x->text, n, "\r\n\r\n", 4) - x->text) + 4;
	x->rest = (struct rye_span){ x->text + head, n - head };
	x->text[head - 2] = 0;
	serve_head_read(x->text, &x->head, &x->heard);
	return 0;
}

/* Something that has come, behind the head; false: nothing will. */
static bool has_rest(struct web_exchange *x)
{
	ssize_t n;

	if (x->rest.len)
		return true;
	n = recv(x->link->fd, x->piece, sizeof(x->piece), 0);
	x->rest = (struct rye_span){ x->piece, n > 0 ? (size_t)n : 0 };
	return n > 0;
}

static unsigned read_bytes(struct web_exchange *x, size_t n, const char **why)
{
	if (n > RYE_MCP_MESSAGE_MAX - x->body.len)
		return web_refusal(413, SERVE_TOO_BIG, why);
	while (n) {
		size_t some;

		if (!has_rest(x))
			return HTTP_MORE;
		some = MIN_OF(n, x->rest.len);
		buf_add(&x->body, x->rest.ptr, some);
		x->rest = span_skip(x->rest, some);
		n -= some;
	}
	return x->body.failed ? HTTP_MORE : 0;
}

/* A line of the body, looked at as it comes. */
static unsigned read_line(struct web_exchange *x, serve_line_fn check, size_t *ret,
			  const char **why)
{
	char line[LINE_MAX_BYTES];
	unsigned r = HTTP_MORE;

	for (size_t n = 0; r == HTTP_MORE; r = check((struct rye_span){ line, n }, ret, why)) {
		if (n == sizeof(line))
			return web_refusal(400, "a line of the body is too long", why);
		if (!has_rest(x))
			return HTTP_MORE;
		line[n++] = *x->rest.ptr;
		x->rest = span_skip(x->rest, 1);
	}
	return r;
}

static unsigned read_chunks(struct web_exchange *x, const char **why)
{
	size_t length = 1, line = 1;
	unsigned r = 0;

	while (!r && length) {
		r = read_line(x, serve_chunk_check, &length, why);
		if (!r)
			r = read_bytes(x, length, why);
		if (!r && length)
			r = read_line(x, http_line_check, &line, why);
		if (!r && length && line)
			r = web_refusal(400, "a chunk is longer than it says", why);
	}
	line = 1;
	for (int i = 0; !r && line; i++)
		r = i < TRAILERS_MAX ? read_line(x, http_line_check, &line, why) :
				       web_refusal(400, "there is too much behind the body", why);
	return r;
}

static unsigned read_body(struct web_exchange *x, const char **why)
{
	const struct serve_head *head = &x->head;
	size_t length = head->length ? strtoull(head->length, NULL, 10) : 0;

	if (head->expect && !head->old && !strcasecmp(head->expect, "100-continue") &&
	    !web_send(x, SPAN("HTTP/1.1 100 Continue\r\n\r\n"), 0))
		return HTTP_MORE;
	return head->transfer ? read_chunks(x, why) : read_bytes(x, length, why);
}

/* False: *fault says why not; without a code the client has gone, or was too slow. */
static bool read_request(struct web_exchange *x, struct serve_fault *fault)
{
	const char *why = NULL;
	unsigned r = read_head(x, &why);

	x->head.stranger = x->link->stranger;
	if (!r && serve_gate_check(&x->site->gate, &x->head, fault))
		return false;
	if (!r)
		r = read_body(x, &why);
	if (r && r != HTTP_MORE)
		serve_gate_refuse(fault, r, why);
	return !r;
}

/* ---- the exchange ---- */

/* A close with bytes unread would take the answer away from the client. */
static void drop_rest(int fd)
{
	struct pollfd ready = { fd, POLLIN, 0 };
	char bytes[4096];
	ssize_t n = 1;

	shutdown(fd, SHUT_WR);
	for (size_t at = 0; n > 0 && at < DROP_MAX && poll(&ready, 1, DROP_MS) == 1;
	     at += (size_t)n)
		n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
}

void serve_web_run(struct serve_site *site, struct serve_link *link)
{
	struct web_exchange *x = calloc(1, sizeof(*x));
	struct serve_fault fault = { 0 };
	auto_json json_t *error = NULL;

	if (!x)
		return;
	*x = (struct web_exchange){ site, link, .heard.http = true };
	x->body.cap = RYE_MCP_MESSAGE_MAX;
	if (read_request(x, &fault)) {
		serve_link_busy(&site->links, link, true);
		web_take_body(x);
		serve_link_busy(&site->links, link, false);
	} else if (fault.code) {
		error = serve_error(NULL, &fault);
		web_refuse(x, fault.status, error);
		drop_rest(link->fd);
	}
	if (x->reply) {
		serve_cancel_gone(site->serve, x->reply);
		serve_reply_unref(x->reply);
	}
	buf_done(&x->body);
	free(x);
}
