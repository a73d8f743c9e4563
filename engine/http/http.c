/* SPDX-License-Identifier: MIT */
/*
 * Clients that wait for the next exchange with their server, and the exchange as callers see it:
 * redirects followed one by one, since each hop is a new decision about where to go and what to
 * bring along.
 *
 * Lock: `lock` of struct http guards its members. Neither is libcurl loaded nor a request made under
 * it: the worker that needs libcurl first loads it, others wait for that one.
 */
#include "http/http_inner.h"

#include "bounds.h"
#include "clock.h"
#include "scope.h"
#include "str.h"

#include <ctype.h>
#include <string.h>

struct http {
	pthread_mutex_t lock;
	pthread_cond_t loaded;
	bool loading;
	const struct curl_table *curl; /* NULL: not wanted yet; once there it stays to the end */
	struct http_client *idle; /* newest first */
	size_t n;
};

struct http *http_open(void)
{
	struct http *http = calloc(1, sizeof(*http));

	if (!http)
		return NULL;
	pthread_mutex_init(&http->lock, NULL);
	pthread_cond_init(&http->loaded, NULL);
	return http;
}

/* Whether it is on the caller to load libcurl, which ends with loading_done; else *curl is there. */
static bool loading_begin(struct http *http, const struct curl_table **curl)
{
	GUARD(&http->lock);
	while (http->loading)
		pthread_cond_wait(&http->loaded, &http->lock);
	*curl = http->curl;
	http->loading = !http->curl;
	return http->loading;
}

/* NULL: it could not be loaded, the next exchange tries again. */
static void loading_done(struct http *http, const struct curl_table *curl)
{
	GUARD(&http->lock);
	http->curl = curl;
	http->loading = false;
	pthread_cond_broadcast(&http->loaded);
}

const struct curl_table *http_curl(struct http *http, struct rye_err *err)
{
	const struct curl_table *curl;

	if (loading_begin(http, &curl)) {
		curl = curl_table_load(err);
		loading_done(http, curl);
	}
	return curl;
}

static void client_free(const struct curl_table *curl, struct http_client *client)
{
	if (client->easy)
		curl->easy_cleanup(client->easy);
	if (client->multi)
		curl->multi_cleanup(client->multi);
	free(client);
}

static void clients_free(const struct curl_table *curl, struct http_client *list)
{
	while (list) {
		struct http_client *next = list->next;

		client_free(curl, list);
		list = next;
	}
}

void http_close(struct http *http)
{
	if (!http)
		return;
	clients_free(http->curl, http->idle);
	curl_table_free(http->curl);
	pthread_cond_destroy(&http->loaded);
	pthread_mutex_destroy(&http->lock);
	free(http);
}

/* Takes out those that have waited too long, or stand behind the last that may wait. */
static struct http_client *take_stale(struct http *http)
{
	int64_t oldest = clock_ms() - RYE_IDLE_S * 1000;
	struct http_client **at = &http->idle, *stale = NULL;
	size_t n = 0;

	while (*at) {
		struct http_client *client = *at;

		if (++n <= RYE_HTTP_IDLE && client->idle_since >= oldest) {
			at = &client->next;
			continue;
		}
		*at = client->next;
		client->next = stale;
		stale = client;
		http->n--;
	}
	return stale;
}

/* The list's lock is held. */
static struct http_client *take_idle(struct http *http, const char *origin, bool strange)
{
	for (struct http_client **at = &http->idle; *at; at = &(*at)->next) {
		struct http_client *client = *at;

		if (client->strange != strange || strcmp(client->origin, origin) != 0)
			continue;
		*at = client->next;
		http->n--;
		return client;
	}
	return NULL;
}

static struct http_client *client_new(const struct curl_table *curl, struct rye_err *err)
{
	struct http_client *client = calloc(1, sizeof(*client));

	if (!client) {
		rye_fail(err, RYE_IO, "http: out of memory");
		return NULL;
	}
	client->easy = curl->easy_init();
	client->multi = curl->multi_init();
	if (client->easy && client->multi) {
		curl->multi_setopt(client->multi, CURLMOPT_MAXCONNECTS, 2L);
		return client;
	}
	client_free(curl, client);
	rye_fail(err, RYE_IO, "http: out of memory");
	return NULL;
}

/*
 * One idle client of that origin and rule, or a new one. It is given back when its exchange is over;
 * a broken one is dropped.
 */
static struct http_client *http_take(struct http *http, const char *origin, bool strange,
				     struct rye_err *err)
{
	struct http_client *client, *stale;

	{
		GUARD(&http->lock);
		stale = take_stale(http);
		client = take_idle(http, origin, strange);
	}
	clients_free(http->curl, stale);
	if (!client)
		client = client_new(http->curl, err);
	if (client) {
		snprintf(client->origin, sizeof(client->origin), "%s", origin);
		client->strange = strange;
	}
	return client;
}

static void http_give(struct http *http, struct http_client *client, bool broken)
{
	struct http_client *stale;

	if (broken) {
		client_free(http->curl, client);
		return;
	}
	http->curl->easy_reset(client->easy);
	client->idle_since = clock_ms();
	{
		GUARD(&http->lock);
		client->next = http->idle;
		http->idle = client;
		http->n++;
		stale = take_stale(http);
	}
	clients_free(http->curl, stale);
}

void http_reply_done(struct http_reply *reply)
{
	json_decref(reply->headers);
	buf_done(&reply->body);
	*reply = (struct http_reply){ 0 };
}

bool http_is_token(struct rye_span text)
{
	for (size_t i = 0; i < text.len; i++)
		if (!text.ptr[i] || (!isalnum((unsigned char)text.ptr[i]) &&
				     !strchr("!#$%&'*+-.^_`|~", text.ptr[i])))
			return false;
	return text.len;
}

/* ---- addresses ---- */

static char *url_part(const struct curl_table *curl, CURLU *url, CURLUPart part, unsigned flags)
{
	char *text = NULL, *copy;

	if (curl->url_get(url, part, &text, flags))
		return NULL;
	copy = strdup(text);
	curl->free(text);
	return copy;
}

/* "scheme://host:port" into ret; a user or password in an address is refused: it would be shown. */
static int read_origin(const struct curl_table *curl, CURLU *url, char ret[ORIGIN_MAX],
		       struct rye_err *err)
{
	auto_free char *scheme = url_part(curl, url, CURLUPART_SCHEME, 0);
	auto_free char *host = url_part(curl, url, CURLUPART_HOST, 0);
	auto_free char *port = url_part(curl, url, CURLUPART_PORT, CURLU_DEFAULT_PORT);
	auto_free char *user = url_part(curl, url, CURLUPART_USER, 0);

	if (!scheme || !host || !port || !*host)
		return rye_fail(err, RYE_INVALID, "url: https://HOST/PATH is wanted");
	if (user)
		return rye_fail(err, RYE_INVALID,
				"url: a user in an address is refused; use auth or a header");
	if (strcmp(scheme, "https") != 0 && strcmp(scheme, "http") != 0)
		return rye_fail(err, RYE_INVALID, "url: %s://%s: https is wanted", scheme, host);
	if (snprintf(ret, ORIGIN_MAX, "%s://%s:%s", scheme, host, port) >= ORIGIN_MAX)
		return rye_fail(err, RYE_INVALID, "url: the host's name is too long");
	return 0;
}

static int find_origin(const struct curl_table *curl, const char *text, char ret[ORIGIN_MAX],
		       struct rye_err *err)
{
	CURLU *url = curl->url();
	int r;

	if (!url)
		return rye_fail(err, RYE_IO, "http: out of memory");
	if (curl->url_set(url, CURLUPART_URL, text, 0))
		r = rye_fail(err, RYE_INVALID, "url: not an address: https://HOST/PATH is wanted");
	else
		r = read_origin(curl, url, ret, err);
	curl->url_cleanup(url);
	return r;
}

/* ---- redirects ---- */

static bool is_redirect(long status)
{
	return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

static bool only_reads(const char *method)
{
	return !strcmp(method, "GET") || !strcmp(method, "HEAD");
}

/*
 * Where the answer sends us, or NULL: nowhere, or nowhere we go. What is sent on is decided
 * here: to another server no header and no body of the request, and never from https to http.
 */
static char *next_hop(struct exchange *x)
{
	char *where = NULL;

	if (!is_redirect(x->reply->status) ||
	    x->curl->easy_getinfo(x->client->easy, CURLINFO_REDIRECT_URL, &where) || !where)
		return NULL;
	if (x->reply->status == 303 && strcmp(x->method, "HEAD") != 0) {
		x->method = "GET";
		x->bare |= !only_reads(x->ask->method);
	}
	return strdup(where);
}

static bool may_follow(const struct exchange *x, const char *from, const char *to)
{
	if (!strncmp(from, "https:", 6) && strncmp(to, "https:", 6) != 0)
		return false;
	return only_reads(x->method) || !strcmp(from, to);
}

static bool follow(struct exchange *x, const char *from, char to[ORIGIN_MAX], char **url)
{
	auto_free char *next = next_hop(x);
	struct rye_err ignored = { 0 };

	if (!next || find_origin(x->curl, next, to, &ignored) || !may_follow(x, from, to))
		return false;
	x->bare |= strcmp(from, to) != 0;
	free(*url);
	*url = steal(&next);
	return true;
}

static void forget_answer(struct http_reply *reply)
{
	bool sent = reply->sent;

	http_reply_done(reply);
	*reply = (struct http_reply){ .retry_after_ms = -1, .sent = sent };
}

static int make_hop(struct http *http, struct exchange *x, struct rye_err *err)
{
	int r;

	x->client = http_take(http, x->origin, x->ask->strange, err);
	if (!x->client)
		return -(int)err->code;
	r = exchange_hop(x, err);
	return r;
}

int http_exchange(struct http *http, const struct http_ask *ask, struct http_reply *ret,
		  struct rye_err *err)
{
	struct exchange x = { .ask = ask,
			      .reply = ret,
			      .method = ask->method,
			      .until_ms = clock_ms() + ask->timeout_ms };
	char origin[ORIGIN_MAX], next[ORIGIN_MAX];
	auto_free char *url = strdup(ask->url);
	bool again = true;
	int r;

	*ret = (struct http_reply){ .retry_after_ms = -1 };
	x.curl = http_curl(http, err);
	if (!x.curl)
		return -(int)err->code;
	r = url ? find_origin(x.curl, url, origin, err) :
		  rye_fail(err, RYE_IO, "http: out of memory");
	for (unsigned hop = 0; !r && again; hop++) {
		x.url = url;
		x.origin = origin;
		r = make_hop(http, &x, err);
		again = !r && hop < ask->redirects && follow(&x, origin, next, &url);
		if (x.client)
			http_give(http, x.client, r != 0 || x.enough);
		if (again) {
			forget_answer(ret);
			memcpy(origin, next, sizeof(origin));
		}
	}
	buf_done(&x.refused);
	return r;
}
