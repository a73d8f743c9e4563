/* SPDX-License-Identifier: MIT */
/*
 * One request over one client: what libcurl is told, what it hands back, and the wait that a
 * cancelled call ends at once. On a worker; no lock: a client belongs to one exchange.
 */
#include "http/http_inner.h"

#include "bounds.h"
#include "clock.h"
#include "scope.h"
#include "str.h"

#include <ctype.h>
#include <poll.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

/* ---- what comes back ---- */

static size_t take_body(char *bytes, size_t one, size_t n, void *arg)
{
	struct exchange *x = arg;
	struct http_reply *reply = x->reply;
	struct rye_span piece = { bytes, n };
	enum http_taken taken = HTTP_KEEP;
	size_t room = x->ask->cap > reply->body.len ? x->ask->cap - reply->body.len : 0;

	(void)one; /* libcurl promises 1 */
	if (!reply->status)
		x->curl->easy_getinfo(x->client->easy, CURLINFO_RESPONSE_CODE, &reply->status);
	reply->body_bytes += n;
	if (x->ask->piece)
		taken = x->ask->piece(x->ask->arg, reply, piece);
	if (taken == HTTP_KEEP)
		buf_add(&reply->body, bytes, MIN_OF(n, room));
	x->enough = taken == HTTP_ENOUGH;
	/* The rest of what is over the cap would only cost the server and the line. */
	if (!x->ask->piece && n > room && reply->body_bytes > x->ask->cap + RYE_HTTP_OVER)
		x->enough = true;
	return x->enough ? CURL_WRITEFUNC_ERROR : n;
}

static void add_header(struct http_reply *reply, struct rye_span name, struct rye_span value)
{
	auto_free char *key = span_dup(name);
	auto_buf struct rye_buf all = RYE_BUF_INIT;
	const char *before;

	if (!key)
		return;
	for (char *c = key; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	before = json_string_value(json_object_get(reply->headers, key));
	if (before)
		buf_addf(&all, "%s, ", before);
	buf_addspan(&all, value);
	/* Header bytes beyond ASCII have no promised encoding. */
	if (all.data)
		utf8_mend(all.data);
	if (!all.failed)
		json_sets(reply->headers, key, all.data ? all.data : "");
}

/* "application/json; charset=utf-8" → "application/json" */
static void note_type(struct http_reply *reply, struct rye_span value)
{
	size_t n = 0;

	while (n < value.len && n < sizeof(reply->type) - 1 && value.ptr[n] != ';' &&
	       value.ptr[n] != ' ') {
		reply->type[n] = (char)tolower((unsigned char)value.ptr[n]);
		n++;
	}
	reply->type[n] = 0;
}

/* A new status line: what came before was an answer like 100 Continue, or trailers of one. */
static void begin_answer(struct exchange *x, struct rye_span line)
{
	struct http_reply *reply = x->reply;
	ssize_t blank = span_find(line, 0, " "), second;

	json_decref(reply->headers);
	reply->headers = json_object();
	reply->type[0] = 0;
	reply->reason[0] = 0;
	reply->status = 0;
	second = blank < 0 ? -1 : span_find(line, (size_t)blank + 1, " ");
	if (second > 0)
		snprintf(reply->reason, sizeof(reply->reason), "%.*s",
			 (int)MIN_OF(line.len - (size_t)second - 1, sizeof(reply->reason) - 1),
			 line.ptr + second + 1);
	utf8_mend(reply->reason);
}

static size_t take_header(char *bytes, size_t one, size_t n, void *arg)
{
	struct exchange *x = arg;
	struct rye_span line = span_trim((struct rye_span){ bytes, n }), name, value;
	ssize_t colon = span_find(line, 0, ":");

	(void)one;
	x->head_bytes += n;
	if (x->head_bytes > RYE_HTTP_HEAD_MAX) {
		buf_adds(&x->refused, "its headers are too big");
		return 0;
	}
	if (span_starts(line, "HTTP/")) {
		begin_answer(x, line);
	} else if (colon > 0) {
		name = span_trim((struct rye_span){ line.ptr, (size_t)colon });
		value = span_trim(span_skip(line, (size_t)colon + 1));
		add_header(x->reply, name, value);
		if (name.len == 12 && !strncasecmp(name.ptr, "content-type", 12))
			note_type(x->reply, value);
	}
	return n;
}

/* ---- where it may go ---- */

static bool address_refused(struct exchange *x, const struct sockaddr *addr)
{
	enum address_kind kind = address_kind(addr);

	if (x->ask->strange && kind != ADDRESS_PUBLIC)
		buf_addf(
			&x->refused,
			"%s is an address of this machine or of a local network; an address that a "
			"caller names may only be a public one",
			x->origin);
	else if (!strncmp(x->origin, "http:", 5) && kind != ADDRESS_LOOPBACK)
		buf_addf(&x->refused, "%s: plain http reaches this machine alone; use https",
			 x->origin);
	return x->refused.len > 0;
}

/* Called for each address of the host: the one that is connected to counts, not its name. */
static curl_socket_t open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *addr)
{
	struct exchange *x = arg;

	(void)purpose;
	if (address_refused(x, &addr->addr))
		return CURL_SOCKET_BAD;
	return socket(addr->family, addr->socktype | SOCK_CLOEXEC, addr->protocol);
}

/* ---- what is sent ---- */

static int header_fault(const char *row, struct rye_err *err)
{
	const char *colon = strchr(row, ':');

	if (!colon || colon == row || row[strcspn(row, "\r\n")])
		return rye_fail(err, RYE_INVALID,
				"headers: %.*s: a name and a value without line ends are wanted",
				(int)strcspn(row, ":\r\n"), row);
	return 0;
}

static int append_header(struct exchange *x, struct curl_slist **list, const char *row,
			 struct rye_err *err)
{
	struct curl_slist *longer = x->curl->slist_append(*list, row);

	if (!longer)
		return rye_fail(err, RYE_IO, "http: out of memory");
	*list = longer;
	return 0;
}

/* libcurl drops "Name:" without a value; an empty value is spelt "Name;". */
static int put_header(struct exchange *x, struct curl_slist **list, const char *row,
		      struct rye_err *err)
{
	const char *colon = strchr(row, ':');
	auto_buf struct rye_buf empty = RYE_BUF_INIT;

	if (colon[1 + strspn(colon + 1, " \t")])
		return append_header(x, list, row, err);
	buf_add(&empty, row, (size_t)(colon - row));
	buf_addc(&empty, ';');
	return append_header(x, list, empty.data ? empty.data : "", err);
}

static int list_headers(struct exchange *x, struct curl_slist **list, struct rye_err *err)
{
	int r = append_header(x, list, "Expect:", err);
	bool typed = false;

	for (char *const *row = x->ask->headers; !r && !x->bare && row && *row; row++) {
		r = header_fault(*row, err);
		typed |= !strncasecmp(*row, "content-type:", 13);
		if (!r)
			r = put_header(x, list, *row, err);
	}
	/* libcurl would say that a body is a form. */
	if (!r && !typed)
		r = append_header(x, list, "Content-Type:", err);
	return r;
}

#define SET(option, value) (void)curl->easy_setopt(easy, option, value)

static void set_rules(struct exchange *x)
{
	const struct curl_table *curl = x->curl;
	CURL *easy = x->client->easy;
	int64_t connect_ms = x->ask->connect_ms ? x->ask->connect_ms : RYE_HTTP_CONNECT_MS;

	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_OPENSOCKETFUNCTION, open_socket);
	SET(CURLOPT_OPENSOCKETDATA, x);
	/* A proxy would hide which address is reached. */
	if (x->ask->strange || !strncmp(x->origin, "http:", 5))
		SET(CURLOPT_PROXY, "");
	if (x->ask->ca_file)
		SET(CURLOPT_CAINFO, x->ask->ca_file);
	SET(CURLOPT_CONNECTTIMEOUT_MS, (long)MIN_OF(x->ask->timeout_ms, connect_ms));
	SET(CURLOPT_QUICK_EXIT, 1L);
	SET(CURLOPT_USERAGENT, "ryefs/" RYE_VERSION);
	SET(CURLOPT_ACCEPT_ENCODING, "");
	SET(CURLOPT_TCP_KEEPALIVE, 1L);
}

static void set_request(struct exchange *x, struct curl_slist *headers)
{
	const struct curl_table *curl = x->curl;
	CURL *easy = x->client->easy;
	bool body = x->ask->body.ptr && !x->bare;

	SET(CURLOPT_URL, x->url);
	SET(CURLOPT_HTTPHEADER, headers);
	if (!strcmp(x->method, "HEAD")) {
		SET(CURLOPT_NOBODY, 1L);
	} else if (body || !strcmp(x->method, "POST")) {
		SET(CURLOPT_POST, 1L);
		SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)(body ? x->ask->body.len : 0));
		SET(CURLOPT_POSTFIELDS, body ? x->ask->body.ptr : "");
	}
	SET(CURLOPT_CUSTOMREQUEST, x->method);
	SET(CURLOPT_WRITEFUNCTION, take_body);
	SET(CURLOPT_WRITEDATA, x);
	SET(CURLOPT_HEADERFUNCTION, take_header);
	SET(CURLOPT_HEADERDATA, x);
	SET(CURLOPT_ERRORBUFFER, x->curl_text);
}

#undef SET

/* ---- the wait ---- */

/* A deadline that moves with the answer may be sooner than the end of all. */
static int64_t end_ms(const struct exchange *x)
{
	const int64_t *deadline = x->ask->deadline_ms;

	return deadline ? MIN_OF(*deadline, x->until_ms) : x->until_ms;
}

static int check_cancel(const struct exchange *x, struct rye_err *err)
{
	struct pollfd wake = { x->ask->cancel, POLLIN, 0 };

	if (x->ask->cancel >= 0 && poll(&wake, 1, 0) > 0)
		return rye_fail(err, RYE_CANCELLED, "Run was cancelled");
	if (x->ask->deadline_ms && clock_ms() >= end_ms(x))
		return rye_fail(err, RYE_TIMEOUT, "%s: nothing came in time", x->origin);
	if (clock_ms() >= x->until_ms)
		return rye_fail(err, RYE_TIMEOUT, "%s: no complete answer within %lld ms",
				x->origin, (long long)x->ask->timeout_ms);
	return 0;
}

/* Until libcurl has an end to tell, the caller is gone or time is over. */
static int await_answer(struct exchange *x, CURLcode *ret, struct rye_err *err)
{
	struct curl_waitfd wake = { x->ask->cancel, CURL_WAIT_POLLIN, 0 };
	CURLM *multi = x->client->multi;
	int running = 1, left, r = 0;
	CURLMsg *msg;

	while (!r) {
		int64_t rest;

		if (x->curl->multi_perform(multi, &running))
			return rye_fail(err, RYE_IO, "http: libcurl failed");
		msg = x->curl->multi_info_read(multi, &left);
		if (msg && msg->msg == CURLMSG_DONE) {
			*ret = msg->data.result;
			return 0;
		}
		r = check_cancel(x, err);
		rest = end_ms(x) - clock_ms();
		if (!r)
			(void)x->curl->multi_poll(multi, &wake, x->ask->cancel >= 0,
						  (int)MIN_OF(MAX_OF(rest, 0), 60000), NULL);
	}
	return r;
}

/* A certificate that is not believed, or no TLS at all; a line that breaks meanwhile is neither. */
static bool is_no_tls(struct exchange *x, CURLcode code)
{
	long os = 0;

	if (code == CURLE_PEER_FAILED_VERIFICATION)
		return true;
	return code == CURLE_SSL_CONNECT_ERROR &&
	       !x->curl->easy_getinfo(x->client->easy, CURLINFO_OS_ERRNO, &os) && !os &&
	       strstr(x->curl_text, "SSL routines");
}

static int tell_failure(struct exchange *x, CURLcode code, struct rye_err *err)
{
	x->reply->no_tls = is_no_tls(x, code);
	if (x->refused.len)
		return rye_fail(err, x->reply->status ? RYE_TOOL_FAILED : RYE_DENIED, "%s",
				x->refused.data);
	if (code == CURLE_OPERATION_TIMEDOUT)
		return rye_fail(err, RYE_TIMEOUT, "%s: no connection in time", x->origin);
	return rye_fail(err, RYE_TOOL_FAILED, "%s: %s", x->origin,
			x->curl_text[0] ? x->curl_text : x->curl->easy_strerror(code));
}

static void read_facts(struct exchange *x)
{
	CURL *easy = x->client->easy;
	curl_off_t wait = 0;
	long connects = 0, bytes = 0;

	x->curl->easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &x->reply->status);
	x->curl->easy_getinfo(easy, CURLINFO_NUM_CONNECTS, &connects);
	x->curl->easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &bytes);
	x->reply->sent |= bytes > 0;
	x->reply->reused = bytes > 0 && !connects;
	if (json_object_get(x->reply->headers, "retry-after") &&
	    !x->curl->easy_getinfo(easy, CURLINFO_RETRY_AFTER, &wait))
		x->reply->retry_after_ms = (int64_t)MIN_OF(wait, RYE_TIMEOUT_MAX_S) * 1000;
}

static int perform(struct exchange *x, struct rye_err *err)
{
	struct http_client *client = x->client;
	CURLcode code = CURLE_OK;
	int r;

	if (x->curl->multi_add_handle(client->multi, client->easy))
		return rye_fail(err, RYE_IO, "http: out of memory");
	r = await_answer(x, &code, err);
	read_facts(x);
	x->curl->multi_remove_handle(client->multi, client->easy);
	if (r)
		return r;
	if (code != CURLE_OK && !(x->enough && x->reply->status))
		return tell_failure(x, code, err);
	if (x->reply->body.failed)
		return rye_fail(err, RYE_IO, "http: out of memory");
	return 0;
}

int exchange_hop(struct exchange *x, struct rye_err *err)
{
	struct curl_slist *headers = NULL;
	int r = list_headers(x, &headers, err);

	x->reply->headers = json_object();
	x->head_bytes = 0;
	x->curl_text[0] = 0;
	if (!r) {
		set_rules(x);
		set_request(x, headers);
		r = perform(x, err);
	}
	x->curl->slist_free_all(headers);
	return r;
}
