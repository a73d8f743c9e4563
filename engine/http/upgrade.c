/* SPDX-License-Identifier: MIT */
/*
 * A connection that begins as a request of HTTP and goes on as something else: connected by libcurl,
 * TLS included; the request and what follows are bytes of ours. Of one thread at a time; no lock.
 */
#include "http/http_inner.h"

#include "bounds.h"
#include "clock.h"
#include "scope.h"
#include "str.h"

#include <poll.h>
#include <string.h>

/* The head of the answer: a few lines. */
#define ANSWER_MAX (16u << 10)

struct upgrade {
	const struct curl_table *curl;
	struct upgrade_ask ask;
	const char *rest; /* of the address, behind "://" */
	CURL *easy;
	curl_socket_t fd;
	char origin[ORIGIN_MAX];
	bool plain; /* this machine alone */
	bool refused;
};

int upgrade_fail(const struct upgrade *up, const char *why, struct rye_err *err)
{
	return rye_fail(err, RYE_TOOL_FAILED, "%s: %s", up->origin, why);
}

/* ---- waiting ---- */

static int upgrade_over(const struct upgrade *up, struct rye_err *err)
{
	struct pollfd wake = { up->ask.cancel, POLLIN, 0 };

	if (up->ask.cancel >= 0 && poll(&wake, 1, 0) > 0)
		return rye_fail(err, RYE_CANCELLED, "Run was cancelled");
	if (clock_ms() >= up->ask.until_ms)
		return rye_fail(err, RYE_TIMEOUT, "%s: the time is over", up->origin);
	return 0;
}

int upgrade_await(const struct upgrade *up, short events, struct rye_err *err)
{
	struct pollfd fds[2] = { { up->fd, events, 0 }, { up->ask.cancel, POLLIN, 0 } };
	int64_t left = up->ask.until_ms - clock_ms();

	(void)poll(fds, 2, (int)MIN_OF(MAX_OF(left, 0), 60000));
	return upgrade_over(up, err);
}

/* libcurl asks now and then while it connects. */
static int connect_unwanted(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	struct rye_err ignored = { 0 };

	(void)a;
	(void)b;
	(void)c;
	(void)d;
	return upgrade_over(arg, &ignored) != 0;
}

/* ---- bytes ---- */

int upgrade_put(struct upgrade *up, struct rye_span bytes, size_t *ret, struct rye_err *err)
{
	CURLcode code = up->curl->easy_send(up->easy, bytes.ptr, bytes.len, ret);

	if (code == CURLE_AGAIN)
		*ret = 0;
	else if (code != CURLE_OK)
		return upgrade_fail(up, up->curl->easy_strerror(code), err);
	return 0;
}

int upgrade_write(struct upgrade *up, struct rye_span bytes, struct rye_err *err)
{
	while (bytes.len) {
		size_t n = 0;
		int r = upgrade_put(up, bytes, &n, err);

		if (!r && !n)
			r = upgrade_await(up, POLLOUT, err);
		if (r)
			return r;
		bytes = span_skip(bytes, n);
	}
	return 0;
}

/* What has come; 0 bytes: nothing yet. */
int upgrade_read(struct upgrade *up, char *room, size_t size, size_t *ret, struct rye_err *err)
{
	CURLcode code = up->curl->easy_recv(up->easy, room, size, ret);

	if (code == CURLE_AGAIN) {
		*ret = 0;
		return 0;
	}
	if (code != CURLE_OK || !*ret)
		return upgrade_fail(up, "the server closed the connection", err);
	return 0;
}

/* The head of the answer; what stands behind it is the first of the frames. */
static int read_head(struct upgrade *up, struct rye_buf *head, size_t *ret_end, struct rye_err *err)
{
	for (;;) {
		char room[2048];
		size_t n = 0;
		ssize_t end;
		int r = upgrade_read(up, room, sizeof(room), &n, err);

		if (!r && !n)
			r = upgrade_await(up, POLLIN, err);
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
		if (head->failed || head->len > ANSWER_MAX)
			return upgrade_fail(up, "its answer is too long", err);
	}
}

static int send_ask(struct upgrade *up, const char *lines, struct rye_err *err)
{
	auto_buf struct rye_buf ask = RYE_BUF_INIT;
	size_t host = strcspn(up->rest, "/?#");
	const char *path = up->rest + host;

	buf_addf(&ask, "GET %s%.*s HTTP/1.1\r\nHost: %.*s\r\n", *path == '/' ? "" : "/",
		 (int)strcspn(path, "#"), path, (int)host, up->rest);
	buf_addf(&ask, "Connection: Upgrade\r\n%sUser-Agent: ryefs/" RYE_VERSION "\r\n\r\n", lines);
	if (ask.failed)
		return rye_fail(err, RYE_IO, "http: out of memory");
	return upgrade_write(up, buf_span(&ask), err);
}

int upgrade_shake(struct upgrade *up, const char *lines, struct rye_buf *ret, size_t *ret_end,
		  struct rye_err *err)
{
	int r = send_ask(up, lines, err);

	return r ? r : read_head(up, ret, ret_end, err);
}

/* ---- the connection ---- */

static curl_socket_t upgrade_open_socket(void *arg, curlsocktype purpose,
					 struct curl_sockaddr *addr)
{
	struct upgrade *up = arg;

	(void)purpose;
	enum address_kind kind = address_kind(&addr->addr);

	if ((up->ask.strange && kind != ADDRESS_PUBLIC) ||
	    (up->plain && kind != ADDRESS_LOOPBACK)) {
		up->refused = true;
		return CURL_SOCKET_BAD;
	}
	return socket(addr->family, addr->socktype | SOCK_CLOEXEC, addr->protocol);
}

#define SET(option, value) (void)curl->easy_setopt(up->easy, option, value)

static void set_connection(struct upgrade *up, const char *url)
{
	const struct curl_table *curl = up->curl;
	int64_t left = MAX_OF(up->ask.until_ms - clock_ms(), 1);

	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_URL, url);
	SET(CURLOPT_CONNECT_ONLY, 1L);
	/* HTTP/2 has another handshake */
	SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	SET(CURLOPT_OPENSOCKETFUNCTION, upgrade_open_socket);
	SET(CURLOPT_OPENSOCKETDATA, up);
	SET(CURLOPT_NOPROGRESS, 0L);
	SET(CURLOPT_XFERINFOFUNCTION, connect_unwanted);
	SET(CURLOPT_XFERINFODATA, up);
	SET(CURLOPT_TIMEOUT_MS, (long)MIN_OF(left, RYE_HTTP_CONNECT_MS));
	SET(CURLOPT_TCP_KEEPALIVE, 1L);
	SET(CURLOPT_PROXY, "");
	if (up->ask.ca_file)
		SET(CURLOPT_CAINFO, up->ask.ca_file);
}

#undef SET

static int upgrade_refuse(const struct upgrade *up, struct rye_err *err)
{
	const char *safe = *up->ask.url == 'w' ? "wss" : "https";

	if (up->ask.strange)
		return rye_fail(err, RYE_DENIED,
				"%s: a server that a caller names may only be a public one, by %s",
				up->origin, safe);
	return rye_fail(err, RYE_DENIED, "%s: plain %.*s reaches this machine alone; use %s",
			up->origin, (int)strlen(safe) - 1, safe, safe);
}

static int upgrade_connect(struct upgrade *up, struct rye_err *err)
{
	auto_buf struct rye_buf url = RYE_BUF_INIT;
	CURLcode code;

	buf_addf(&url, "%s://%s", up->plain ? "http" : "https", up->rest);
	up->easy = up->curl->easy_init();
	if (!up->easy || url.failed)
		return rye_fail(err, RYE_IO, "http: out of memory");
	set_connection(up, url.data);
	code = up->curl->easy_perform(up->easy);
	if (up->refused)
		return upgrade_refuse(up, err);
	if (upgrade_over(up, err))
		return -(int)err->code;
	if (code == CURLE_OK)
		code = up->curl->easy_getinfo(up->easy, CURLINFO_ACTIVESOCKET, &up->fd);
	return code == CURLE_OK ? 0 : upgrade_fail(up, up->curl->easy_strerror(code), err);
}

/* "host…" of "wss://host…"; a user in it would be shown. */
static const char *upgrade_rest(const char *url)
{
	const char *rest = strstr(url, "://");
	size_t host = rest ? strcspn(rest + 3, "/?#") : 0;

	return host && !memchr(rest + 3, '@', host) ? rest + 3 : NULL;
}

bool upgrade_can(const char *url)
{
	return upgrade_rest(url) != NULL;
}

int upgrade_open(struct http *http, const struct upgrade_ask *ask, struct upgrade **ret,
		 struct rye_err *err)
{
	const char *rest = upgrade_rest(ask->url);
	const struct curl_table *curl = rest ? http_curl(http, err) : NULL;
	struct upgrade *up;
	int r;

	if (!rest)
		return rye_fail(err, RYE_INVALID, "the address names no host, or a user");
	if (!curl)
		return -(int)err->code;
	up = calloc(1, sizeof(*up));
	if (!up)
		return rye_fail(err, RYE_IO, "http: out of memory");
	*up = (struct upgrade){ .curl = curl, .ask = *ask, .rest = rest };
	up->plain = !strncmp(ask->url, "ws:", 3) || !strncmp(ask->url, "http:", 5);
	snprintf(up->origin, sizeof(up->origin), "%.*s",
		 (int)((size_t)(rest - ask->url) + strcspn(rest, "/?#")), ask->url);
	r = upgrade_connect(up, err);
	if (r)
		upgrade_close(up);
	else
		*ret = up;
	return r;
}

const char *upgrade_origin(const struct upgrade *up)
{
	return up->origin;
}

int upgrade_socket(const struct upgrade *up)
{
	return up->fd;
}

void upgrade_close(struct upgrade *up)
{
	if (!up)
		return;
	if (up->easy)
		up->curl->easy_cleanup(up->easy);
	free(up);
}
