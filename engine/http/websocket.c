/* SPDX-License-Identifier: MIT */
/*
 * A client's end of a WebSocket that only sends. libcurl makes the connection, TLS included; the
 * handshake and the frames are ours, since libcurl's own calls for them are not in every build of it
 * (Debian 12 has none). Of one run, on its worker; no lock.
 */
#include "http/http_inner.h"

#include "bounds.h"
#include "clock.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <openssl/evp.h>
#include <poll.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#define OPCODE_TEXT 1
#define OPCODE_CLOSE 8
#define OPCODE_PING 9
#define OPCODE_PONG 10
/* The answer to a handshake: a few lines. */
#define HANDSHAKE_MAX (16u << 10)

struct websocket {
	const struct curl_table *curl;
	struct websocket_ask ask;
	CURL *easy;
	curl_socket_t fd;
	char origin[ORIGIN_MAX];
	bool plain; /* ws: this machine alone */
	bool refused, open, closed;
	struct websocket_reader reader;
	struct rye_buf out; /* the frame that is being sent */
};

static int websocket_fail(const struct websocket *ws, const char *why, struct rye_err *err)
{
	return rye_fail(err, RYE_TOOL_FAILED, "%s: %s", ws->origin, why);
}

/* ---- waiting ---- */

static int websocket_over(const struct websocket *ws, struct rye_err *err)
{
	struct pollfd wake = { ws->ask.cancel, POLLIN, 0 };

	if (ws->ask.cancel >= 0 && poll(&wake, 1, 0) > 0)
		return rye_fail(err, RYE_CANCELLED, "Run was cancelled");
	if (clock_ms() >= ws->ask.until_ms)
		return rye_fail(err, RYE_TIMEOUT, "%s: the time is over", ws->origin);
	return 0;
}

static int websocket_await(const struct websocket *ws, short events, struct rye_err *err)
{
	struct pollfd fds[2] = { { ws->fd, events, 0 }, { ws->ask.cancel, POLLIN, 0 } };
	int64_t left = ws->ask.until_ms - clock_ms();

	(void)poll(fds, 2, (int)MIN_OF(MAX_OF(left, 0), 60000));
	return websocket_over(ws, err);
}

/* libcurl asks now and then while it connects. */
static int connect_unwanted(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	struct rye_err ignored = { 0 };

	(void)a;
	(void)b;
	(void)c;
	(void)d;
	return websocket_over(arg, &ignored) != 0;
}

/* ---- bytes ---- */

static int websocket_write(struct websocket *ws, struct rye_span bytes, struct rye_err *err)
{
	while (bytes.len) {
		size_t n = 0;
		CURLcode code = ws->curl->easy_send(ws->easy, bytes.ptr, bytes.len, &n);
		int r = code == CURLE_AGAIN ? websocket_await(ws, POLLOUT, err) : 0;

		if (r)
			return r;
		if (code != CURLE_OK && code != CURLE_AGAIN)
			return websocket_fail(ws, ws->curl->easy_strerror(code), err);
		bytes = span_skip(bytes, code == CURLE_OK ? n : 0);
	}
	return 0;
}

/* What has come; 0 bytes: nothing yet. */
static int websocket_read(struct websocket *ws, char *room, size_t size, size_t *ret,
			  struct rye_err *err)
{
	CURLcode code = ws->curl->easy_recv(ws->easy, room, size, ret);

	if (code == CURLE_AGAIN) {
		*ret = 0;
		return 0;
	}
	if (code != CURLE_OK || !*ret)
		return websocket_fail(ws, "the server closed the connection", err);
	return 0;
}

static int websocket_frame(struct websocket *ws, unsigned opcode, struct rye_span payload,
			   struct rye_err *err)
{
	unsigned char mask[4];

	if (getrandom(mask, sizeof(mask), 0) != sizeof(mask))
		return rye_fail_sys(err, errno, "websocket");
	buf_clear(&ws->out);
	websocket_put(&ws->out, opcode, payload, mask);
	if (ws->out.failed)
		return rye_fail(err, RYE_TOO_BIG, "%s: the event is too big", ws->origin);
	return websocket_write(ws, (struct rye_span){ ws->out.data, ws->out.len }, err);
}

/* websocket_fn */
static void take_control(void *arg, unsigned opcode, struct rye_span payload)
{
	struct websocket *ws = arg;
	struct rye_err ignored = { 0 };

	ws->closed |= opcode == OPCODE_CLOSE;
	if (opcode == OPCODE_PING && websocket_frame(ws, OPCODE_PONG, payload, &ignored))
		ws->closed = true;
}

/* Answers what the server has asked meanwhile; its messages are passed over. */
static int websocket_listen(struct websocket *ws, struct rye_err *err)
{
	char room[16384];
	size_t n = 1;

	while (n) {
		int r = websocket_read(ws, room, sizeof(room), &n, err);

		if (r)
			return r;
		if (!websocket_feed(&ws->reader, (struct rye_span){ room, n }, take_control, ws))
			return rye_fail(err, RYE_INVALID, "%s: sends what is no frame", ws->origin);
	}
	return ws->closed ? websocket_fail(ws, "the server closed the connection", err) : 0;
}

/* ---- the handshake ---- */

#define ACCEPT_HEADER "sec-websocket-accept:"

/* A server that has read the key answers with this. */
static bool make_accept(const char *key, char ret[40])
{
	static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
	unsigned char digest[EVP_MAX_MD_SIZE];
	char text[80];
	unsigned len = 0;
	int n = snprintf(text, sizeof(text), "%s%s", key, guid);

	if (!EVP_Digest(text, (size_t)n, digest, &len, EVP_sha1(), NULL))
		return false;
	EVP_EncodeBlock((unsigned char *)ret, digest, (int)len);
	return true;
}

static bool websocket_is_accepted(const char *key, struct rye_span head)
{
	const size_t name = strlen(ACCEPT_HEADER);
	char want[40];

	if (!make_accept(key, want))
		return false;
	for (ssize_t end; (end = span_find(head, 0, "\r\n")) >= 0;
	     head = span_skip(head, (size_t)end + 2)) {
		struct rye_span value = { head.ptr, (size_t)end };

		if (value.len < name || strncasecmp(value.ptr, ACCEPT_HEADER, name) != 0)
			continue;
		value = span_trim(span_skip(value, name));
		return value.len == strlen(want) && !memcmp(value.ptr, want, value.len);
	}
	return false;
}

/* The head of the answer; what stands behind it is the first of the frames. */
static int read_head(struct websocket *ws, struct rye_buf *head, size_t *ret_end,
		     struct rye_err *err)
{
	for (;;) {
		char room[2048];
		size_t n = 0;
		ssize_t end;
		int r = websocket_read(ws, room, sizeof(room), &n, err);

		if (!r && !n)
			r = websocket_await(ws, POLLIN, err);
		if (r)
			return r;
		buf_add(head, room, n);
		end = head->len ?
			      span_find((struct rye_span){ head->data, head->len }, 0, "\r\n\r\n") :
			      -1;
		if (end >= 0) {
			*ret_end = (size_t)end + 4;
			return 0;
		}
		if (head->failed || head->len > HANDSHAKE_MAX)
			return websocket_fail(ws, "its answer is too long", err);
	}
}

/* rest: "host:port/path?query" of the address. */
static int ask_upgrade(struct websocket *ws, const char *rest, const char *key, struct rye_err *err)
{
	auto_buf struct rye_buf ask = RYE_BUF_INIT;
	size_t host = strcspn(rest, "/?#");
	const char *path = rest + host;

	buf_addf(&ask, "GET %s%.*s HTTP/1.1\r\nHost: %.*s\r\n", *path == '/' ? "" : "/",
		 (int)strcspn(path, "#"), path, (int)host, rest);
	buf_addf(&ask,
		 "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: %s\r\n"
		 "Sec-WebSocket-Version: 13\r\nUser-Agent: ryefs/" RYE_VERSION "\r\n\r\n",
		 key);
	if (ask.failed)
		return rye_fail(err, RYE_IO, "http: out of memory");
	return websocket_write(ws, (struct rye_span){ ask.data, ask.len }, err);
}

static int websocket_shake(struct websocket *ws, const char *rest, struct rye_err *err)
{
	auto_buf struct rye_buf head = RYE_BUF_INIT;
	unsigned char random[16];
	size_t end = 0;
	char key[32];
	int r;

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return rye_fail_sys(err, errno, "websocket");
	EVP_EncodeBlock((unsigned char *)key, random, sizeof(random));
	r = ask_upgrade(ws, rest, key, err);
	if (!r)
		r = read_head(ws, &head, &end, err);
	if (r)
		return r;
	if (end < 12 || strncmp(head.data, "HTTP/1.1 101", 12) != 0 ||
	    !websocket_is_accepted(key, (struct rye_span){ head.data, end }))
		return websocket_fail(ws, "the server does not speak WebSocket there", err);
	ws->open = true;
	if (!websocket_feed(&ws->reader, (struct rye_span){ head.data + end, head.len - end },
			    take_control, ws))
		return rye_fail(err, RYE_INVALID, "%s: sends what is no frame", ws->origin);
	return 0;
}

/* ---- the connection ---- */

static curl_socket_t websocket_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *addr)
{
	struct websocket *ws = arg;

	(void)purpose;
	enum address_kind kind = address_kind(&addr->addr);

	if ((ws->ask.strange && kind != ADDRESS_PUBLIC) ||
	    (ws->plain && kind != ADDRESS_LOOPBACK)) {
		ws->refused = true;
		return CURL_SOCKET_BAD;
	}
	return socket(addr->family, addr->socktype | SOCK_CLOEXEC, addr->protocol);
}

#define SET(option, value) (void)curl->easy_setopt(ws->easy, option, value)

static void set_connection(struct websocket *ws, const char *url)
{
	const struct curl_table *curl = ws->curl;
	int64_t left = MAX_OF(ws->ask.until_ms - clock_ms(), 1);

	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_URL, url);
	SET(CURLOPT_CONNECT_ONLY, 1L);
	/* HTTP/2 has another handshake */
	SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	SET(CURLOPT_OPENSOCKETFUNCTION, websocket_socket);
	SET(CURLOPT_OPENSOCKETDATA, ws);
	SET(CURLOPT_NOPROGRESS, 0L);
	SET(CURLOPT_XFERINFOFUNCTION, connect_unwanted);
	SET(CURLOPT_XFERINFODATA, ws);
	SET(CURLOPT_TIMEOUT_MS, (long)MIN_OF(left, RYE_HTTP_CONNECT_MS));
	SET(CURLOPT_PROXY, "");
	if (ws->ask.ca_file)
		SET(CURLOPT_CAINFO, ws->ask.ca_file);
}

#undef SET

static int websocket_connect(struct websocket *ws, const char *rest, struct rye_err *err)
{
	auto_buf struct rye_buf url = RYE_BUF_INIT;
	CURLcode code;

	buf_addf(&url, "%s://%s", ws->plain ? "http" : "https", rest);
	ws->easy = ws->curl->easy_init();
	if (!ws->easy || url.failed)
		return rye_fail(err, RYE_IO, "http: out of memory");
	set_connection(ws, url.data);
	code = ws->curl->easy_perform(ws->easy);
	if (ws->refused)
		return rye_fail(
			err, RYE_DENIED,
			ws->ask.strange ?
				"%s: a server that a caller names may only be a public one, by wss" :
				"%s: plain ws reaches this machine alone; use wss",
			ws->origin);
	if (websocket_over(ws, err))
		return -(int)err->code;
	if (code == CURLE_OK)
		code = ws->curl->easy_getinfo(ws->easy, CURLINFO_ACTIVESOCKET, &ws->fd);
	return code == CURLE_OK ? 0 : websocket_fail(ws, ws->curl->easy_strerror(code), err);
}

/* "host…" of "wss://host…"; a user in it would be shown. */
static const char *websocket_rest(const char *url)
{
	const char *rest = strstr(url, "://");
	size_t host = rest ? strcspn(rest + 3, "/?#") : 0;

	if ((strncmp(url, "ws:", 3) != 0 && strncmp(url, "wss:", 4) != 0) || !host ||
	    memchr(rest + 3, '@', host))
		return NULL;
	return rest + 3;
}

int websocket_open(struct http *http, const struct websocket_ask *ask, struct websocket **ret,
		   struct rye_err *err)
{
	const char *rest = websocket_rest(ask->url);
	const struct curl_table *curl;
	struct websocket *ws;
	int r;

	if (!rest)
		return rye_fail(err, RYE_INVALID, "sinks: url: wss://HOST/PATH is wanted");
	curl = http_curl(http, err);
	if (!curl)
		return -(int)err->code;
	ws = calloc(1, sizeof(*ws));
	if (!ws)
		return rye_fail(err, RYE_IO, "http: out of memory");
	ws->ask = *ask;
	ws->curl = curl;
	ws->out = RYE_BUF_INIT;
	ws->plain = !strncmp(ask->url, "ws:", 3);
	snprintf(ws->origin, sizeof(ws->origin), "%.*s",
		 (int)((size_t)(rest - ask->url) + strcspn(rest, "/?#")), ask->url);
	r = websocket_connect(ws, rest, err);
	if (!r)
		r = websocket_shake(ws, rest, err);
	if (r)
		websocket_close(ws);
	else
		*ret = ws;
	return r;
}

int websocket_send(struct websocket *ws, struct rye_span text, struct rye_err *err)
{
	int r = websocket_listen(ws, err);

	return r ? r : websocket_frame(ws, OPCODE_TEXT, text, err);
}

void websocket_close(struct websocket *ws)
{
	struct rye_err ignored = { 0 };

	if (!ws)
		return;
	/* 1000: done. The server's answer is not waited for. */
	if (ws->open && !ws->closed)
		(void)websocket_frame(ws, OPCODE_CLOSE, SPAN("\x03\xe8"), &ignored);
	if (ws->easy)
		ws->curl->easy_cleanup(ws->easy);
	buf_done(&ws->out);
	free(ws);
}
