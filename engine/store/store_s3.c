/* SPDX-License-Identifier: MIT */
/*
 * The store `s3`: a bucket of a server that speaks Amazon's S3, by its path: ENDPOINT/BUCKET/PREFIX/NAME. Objects
 * are written once and named by their digest, so a request may be made again, and no condition is needed. A
 * redirect is never followed. What is wrong with the way there is another error than what is wrong with an object. No lock.
 */
#include "store/s3_inner.h"

#include "clock.h"
#include "scope.h"
#include "str.h"

#include <string.h>
#include <strings.h>
#include <time.h>

/* A request, of a server that answers with 5xx or not at all; between them 0.1, 0.2, 0.4 s. */
#define TRIES 4
/* Of a deletion, which may happen while others wait: 2 of 8 s. */
#define DEL_TRIES 2
#define DEL_TIMEOUT_S 8
#define PAUSE_MS 100
#define CONNECT_MS 5000
/* Of an answer that is no object. */
#define WORDS_MAX (8u << 20)
/* Of 1000 names each. */
#define PAGES_MAX 100000

struct store_s3 {
	struct s3_place place;
	struct s3_keys keys;
	struct http *http;
};

/* One request, its tries, its answer. */
struct s3_try {
	const struct store_s3 *own;
	struct s3_request request;
	const char *url;
	size_t cap; /* of the body that is wanted */
	int tries, timeout_s;
	struct http_reply reply;
	char code[S3_CODE_MAX];
};

static void s3_close(void *arg)
{
	struct store_s3 *own = arg;

	if (own->http)
		http_close(own->http);
	explicit_bzero(&own->keys, sizeof(own->keys));
	free(own);
}

static int s3_open(const char *where, void **ret_own, struct rye_err *err)
{
	struct store_s3 *own = calloc(1, sizeof(*own));
	int r;

	if (!own)
		return rye_fail(err, RYE_IO, "store s3: out of memory");
	r = s3_place_read(where, &own->place, err);
	if (!r)
		r = s3_keys_read(&own->place, &own->keys, err);
	if (!r) {
		own->http = http_open();
		r = own->http ? 0 : rye_fail(err, RYE_IO, "store s3: out of memory");
	}
	if (r)
		s3_close(own);
	else
		*ret_own = own;
	return r;
}

/* ---- one request ---- */

/* A body without an end is not read to it. */
static enum http_taken within_cap(void *arg, const struct http_reply *reply, struct rye_span bytes)
{
	const struct s3_try *try = arg;

	(void)bytes;
	return reply->body_bytes > MAX_OF(try->cap, WORDS_MAX) ? HTTP_ENOUGH : HTTP_KEEP;
}

static int try_once(struct s3_try *try, struct rye_err *err)
{
	const struct store_s3 *own = try->own;
	time_t now = time(NULL);
	struct s3_headers *headers = malloc(sizeof(*headers));
	struct http_ask ask = { .method = try->request.method,
				.url = try->url,
				.timeout_ms = (int64_t)try->timeout_s * 1000,
				.connect_ms = CONNECT_MS,
				.cap = MAX_OF(try->cap, WORDS_MAX) + 1,
				.cancel = -1,
				.ca_file = getenv("SSL_CERT_FILE"),
				.piece = within_cap,
				.arg = try };
	struct tm tm;
	char stamp[24];
	int r;

	if (!headers)
		return rye_fail(err, RYE_IO, "store s3: out of memory");
	gmtime_r(&now, &tm);
	strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &tm);
	s3_sign(&own->place, &own->keys, &try->request, stamp, headers);
	ask.headers = headers->v;
	if (!strcmp(try->request.method, "PUT"))
		ask.body = try->request.body;
	r = http_exchange(own->http, &ask, &try->reply, err);
	explicit_bzero(headers, sizeof(*headers));
	free(headers);
	return r;
}

/* Worth another try: the server is at fault, or busy, or a line changed what was sent. */
static bool is_passing(const struct s3_try *try)
{
	static const char *const codes[] = { "RequestTimeout", "SlowDown", "BadDigest",
					     "XAmzContentSHA256Mismatch" };
	bool passing = try->reply.status >= 500 || try->reply.status == 429;

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		passing |= !strcmp(try->code, codes[i]);
	return passing;
}

static int s3_unreachable(const struct s3_place *place, const struct rye_err *why,
			  struct rye_err *err)
{
	const char *what = why->msg;
	size_t n = strlen(place->endpoint);

	/* it begins with the server's address */
	if (!strncmp(what, place->endpoint, n) && what[n] == ':')
		what += n + 1 + (what[n + 1] == ' ');
	return rye_fail(err, why->code == RYE_UNSUPPORTED ? RYE_UNSUPPORTED : RYE_UNREACHABLE,
			"store s3://%s: %s cannot be reached: %.300s; is endpoint= right?",
			place->bucket, place->endpoint, what);
}

/* 0: an answer came, whatever its status. */
static int try_all(struct s3_try *try, struct rye_err *err)
{
	struct rye_err why = { 0 };
	int r = 0;

	for (int i = 0; i < try->tries; i++) {
		struct timespec pause = { 0, (long)(PAUSE_MS << MIN_OF(i, 3)) * NS_PER_MS };

		http_reply_done(&try->reply);
		memset(&try->reply, 0, sizeof(try->reply));
		why = (struct rye_err){ 0 };
		*try->code = '\0';
		r = try_once(try, &why);
		if (!r && try->reply.status >= 300)
			s3_error_code(buf_span(&try->reply.body), try->code);
		if (why.code == RYE_DENIED || why.code == RYE_INVALID ||
		    why.code == RYE_UNSUPPORTED || try->reply.no_tls || (!r && !is_passing(try)))
			break;
		if (i + 1 < try->tries)
			nanosleep(&pause, NULL);
	}
	return r ? s3_unreachable(&try->own->place, &why, err) : 0;
}

/* What an answer that is not wanted says, and what to do. Never of an object: that it is not there is told before. */
static int s3_refused(const struct s3_try *try, struct rye_err *err)
{
	static const struct {
		const char *code, *why;
	} rows[] = {
		{ "SignatureDoesNotMatch",
		  "the secret to the key is not right: look into credentials=, and region=" },
		{ "InvalidAccessKeyId", "it does not know the key: look into credentials=" },
		{ "ExpiredToken", "the session token has expired: get another one" },
		{ "AccessDenied",
		  "the key may not do that: its policy has to allow to list, get, put and delete" },
		{ "RequestTimeTooSkewed", "its clock and this machine's differ: set this one" },
		{ "NoSuchBucket",
		  "there is no such bucket: make it, or name another one by store=" },
		{ "PermanentRedirect",
		  "the bucket is elsewhere: endpoint= and region= are to name its place" },
		{ "AuthorizationHeaderMalformed", "region= is another one there" },
		{ "QuotaExceeded", "the bucket is full" },
	};
	const struct s3_place *place = &try->own->place;
	long status = try->reply.status;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!strcmp(try->code, rows[i].code))
			return rye_fail(err, status == 403 ? RYE_DENIED : RYE_UNREACHABLE,
					"store s3://%s at %s: %s (%s)", place->bucket,
					place->endpoint, rows[i].why, try->code);
	if (status >= 300 && status < 400)
		return rye_fail(
			err, RYE_UNREACHABLE,
			"store s3://%s: %s sends elsewhere (status %ld), which is not followed: "
			"endpoint= is to name the place itself",
			place->bucket, place->endpoint, status);
	return rye_fail(err, status == 403 || status == 401 ? RYE_DENIED : RYE_UNREACHABLE,
			"store s3://%s: %s answers with status %ld%s%s%s", place->bucket,
			place->endpoint, status, *try->code ? ", " : "", try->code,
			status >= 500 ? ", several times; try again later" : "");
}

/* name NULL: the bucket itself. */
static void s3_path(const struct store_s3 *own, const char *name, struct rye_buf *ret)
{
	const struct s3_place *place = &own->place;

	buf_addf(ret, "/%s", place->bucket);
	if (name && *place->prefix)
		buf_addf(ret, "/%s", place->prefix);
	if (name)
		buf_addf(ret, "/%s", name);
}

/* Asks; the answer is the caller's to release. */
static int s3_ask(struct s3_try *try, const char *name, struct rye_err *err)
{
	auto_buf struct rye_buf path = RYE_BUF_INIT, url = RYE_BUF_INIT;
	const char *query = try->request.query ? try->request.query : "";
	int r;

	s3_path(try->own, name, &path);
	buf_addf(&url, "%s%s%s%s", try->own->place.endpoint, buf_span(&path).ptr, *query ? "?" : "",
		 query);
	if (path.failed || url.failed)
		return rye_fail(err, RYE_IO, "store s3: out of memory");
	try->request.path = path.data;
	try->request.query = query;
	try->url = url.data;
	r = try_all(try, err);
	try->request.path = try->url = NULL;
	return r;
}

static struct s3_try s3_begin(const struct store_s3 *own, const char *method)
{
	return (struct s3_try){ .own = own,
				.request = { .method = method, .body = { "", 0 } },
				.tries = TRIES,
				.timeout_s = own->place.timeout_s };
}

/* ---- what a store does ---- */

static int s3_put(void *arg, const char *name, struct rye_span bytes, struct rye_err *err)
{
	struct s3_try try = s3_begin(arg, "PUT");
	int r;

	try.request.body = bytes;
	r = s3_ask(&try, name, err);
	if (!r && try.reply.status != 200 && try.reply.status != 201)
		r = s3_refused(&try, err);
	http_reply_done(&try.reply);
	return r;
}

static int s3_take(const struct s3_try *try, const struct store_range *range, struct rye_buf *ret,
		   struct rye_err *err)
{
	const struct http_reply *reply = &try->reply;
	bool part = try->request.range;

	if (reply->status == 404 && !strcmp(try->code, "NoSuchKey"))
		return rye_fail(err, RYE_NOT_FOUND, "store: there is no %s", range->name);
	if (reply->status == 416)
		return rye_fail(err, RYE_IO, "store: %s has been cut", range->name);
	if (reply->status != (part ? 206 : 200))
		return part && reply->status == 200 ?
			       rye_fail(err, RYE_UNREACHABLE,
					"store s3://%s: %s does not know Range",
					try->own->place.bucket, try->own->place.endpoint) :
			       s3_refused(try, err);
	if (part ? reply->body_bytes != range->len : reply->body_bytes > STORE_OBJECT_MAX)
		return rye_fail(err, part ? RYE_IO : RYE_TOO_BIG,
				"store: of %s come %llu bytes, wanted are %s%zu", range->name,
				(unsigned long long)reply->body_bytes, part ? "" : "at most ",
				part ? range->len : (size_t)STORE_OBJECT_MAX);
	buf_addspan(ret, buf_span(&reply->body));
	return ret->failed ? rye_fail(err, RYE_IO, "store: %s: out of memory", range->name) : 0;
}

static int s3_get(void *arg, const struct store_range *range, struct rye_buf *ret,
		  struct rye_err *err)
{
	struct s3_try try = s3_begin(arg, "GET");
	bool part = range->len != STORE_WHOLE || range->off;
	char text[64];
	int r;

	if (!range->len)
		return 0;
	if (range->len == STORE_WHOLE)
		snprintf(text, sizeof(text), "bytes=%llu-", (unsigned long long)range->off);
	else
		snprintf(text, sizeof(text), "bytes=%llu-%llu", (unsigned long long)range->off,
			 (unsigned long long)(range->off + range->len - 1));
	if (part && range->len == STORE_WHOLE)
		return rye_fail(err, RYE_INVALID, "store: the rest of %s cannot be asked for",
				range->name);
	try.request.range = part ? text : NULL;
	try.cap = part ? range->len : STORE_OBJECT_MAX;
	r = s3_ask(&try, range->name, err);
	if (!r)
		r = s3_take(&try, range, ret, err);
	http_reply_done(&try.reply);
	return r;
}

static int s3_del(void *arg, const char *name, struct rye_err *err)
{
	struct s3_try try = s3_begin(arg, "DELETE");
	int r;

	try.tries = DEL_TRIES;
	try.timeout_s = MIN_OF(try.timeout_s, DEL_TIMEOUT_S);
	r = s3_ask(&try, name, err);
	if (!r && try.reply.status != 204 && try.reply.status != 200 &&
	    !(try.reply.status == 404 && !strcmp(try.code, "NoSuchKey")))
		r = s3_refused(&try, err);
	http_reply_done(&try.reply);
	return r;
}

/* ---- lists ---- */

/* Its words in the order of their names, as they are signed. */
static void list_query(const struct store_s3 *own, const char *token, struct rye_buf *ret)
{
	auto_buf struct rye_buf prefix = RYE_BUF_INIT;

	if (*token) {
		buf_adds(ret, "continuation-token=");
		s3_encode(ret, token);
		buf_addc(ret, '&');
	}
	buf_adds(ret, "list-type=2&max-keys=1000&prefix=");
	if (*own->place.prefix) {
		buf_addf(&prefix, "%s/", own->place.prefix);
		s3_encode(ret, buf_span(&prefix).ptr);
	}
}

static int list_page(const struct store_s3 *own, store_fn fn, void *arg, struct s3_page *page,
		     struct rye_err *err)
{
	struct s3_try try = s3_begin(own, "GET");
	auto_buf struct rye_buf query = RYE_BUF_INIT;
	int r;

	list_query(own, page->token, &query);
	if (query.failed)
		return rye_fail(err, RYE_IO, "store s3: out of memory");
	try.request.query = query.data;
	try.cap = WORDS_MAX;
	r = s3_ask(&try, NULL, err);
	if (!r && try.reply.status != 200)
		r = s3_refused(&try, err);
	else if (!r &&
		 s3_list_read(buf_span(&try.reply.body), own->place.prefix, fn, arg, page, err))
		r = rye_wrap(err, "store s3://%s at %s", own->place.bucket, own->place.endpoint);
	http_reply_done(&try.reply);
	return r;
}

static int s3_list(void *arg, store_fn fn, void *fn_arg, struct rye_err *err)
{
	struct s3_page page = { .more = true };

	for (int i = 0; i < PAGES_MAX && page.more; i++) {
		char before[sizeof(page.token)];
		int r;

		memcpy(before, page.token, sizeof(before));
		r = list_page(arg, fn, fn_arg, &page, err);
		if (r || page.stopped)
			return r ? r : page.stopped;
		if (page.more && !strcmp(before, page.token))
			break;
	}
	return page.more ? rye_fail(err, RYE_UNREACHABLE, "store s3: its list has no end") : 0;
}

const struct store_ops store_s3 = {
	.scheme = "s3",
	.open = s3_open,
	.close = s3_close,
	.put = s3_put,
	.get = s3_get,
	.list = s3_list,
	.del = s3_del,
};
