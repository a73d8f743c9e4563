/* SPDX-License-Identifier: MIT */
/*
 * Where a store `s3` is, and the keys to it. The address is signed configuration and is shown; it has no secret, and
 * one that is written into it is told without being repeated. No lock, no state.
 */
#include "base/io.h"

#include "store/s3_inner.h"

#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WANTED \
	"wanted is s3://BUCKET[/PREFIX]?endpoint=https://HOST[:PORT]&region=NAME&credentials=FILE"
#define CREDENTIALS_MAX (16u << 10)
#define TIMEOUT_S 60

static bool all_of(struct rye_span text, const char *letters)
{
	for (size_t i = 0; i < text.len; i++)
		if (!text.ptr[i] || !strchr(letters, text.ptr[i]))
			return false;
	return true;
}

#define DIGITS "0123456789"
#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

static int take_text(struct rye_span text, char *ret, size_t size, struct rye_err *err)
{
	if (text.len >= size)
		return rye_fail(err, RYE_INVALID, "store s3: a part of its address is too long");
	snprintf(ret, size, "%.*s", (int)text.len, text.ptr);
	return 0;
}

static int read_bucket(struct rye_span text, struct s3_place *ret, struct rye_err *err)
{
	ssize_t slash = span_find(text, 0, "/");
	struct rye_span bucket = { text.ptr, slash < 0 ? text.len : (size_t)slash };
	struct rye_span prefix = span_skip(text, MIN_OF(text.len, bucket.len + 1));
	int r;

	while (prefix.len && prefix.ptr[prefix.len - 1] == '/')
		prefix.len--;
	if (bucket.len < 3 || !all_of(bucket, LOWER DIGITS ".-") || *bucket.ptr == '.')
		return rye_fail(
			err, RYE_INVALID,
			"store s3: '%.*s' is no bucket's name, of 3 characters at least; " WANTED,
			(int)bucket.len, bucket.ptr);
	if (!all_of(prefix, LOWER UPPER DIGITS "._-/") || span_starts(prefix, "/") ||
	    span_find(prefix, 0, "//") >= 0 || span_find(prefix, 0, "..") >= 0)
		return rye_fail(
			err, RYE_INVALID,
			"store s3: its prefix may have parts of letters, digits, '.', '_' and "
			"'-'");
	r = take_text(bucket, ret->bucket, sizeof(ret->bucket), err);
	return r ? r : take_text(prefix, ret->prefix, sizeof(ret->prefix), err);
}

static int read_endpoint(struct rye_span text, struct s3_place *ret, struct rye_err *err)
{
	bool tls = span_starts(text, "https://");
	size_t scheme = tls ? strlen("https://") : strlen("http://");
	int r;

	while (text.len > scheme && text.ptr[text.len - 1] == '/')
		text.len--;
	if ((!tls && !span_starts(text, "http://")) || text.len <= scheme ||
	    !all_of(span_skip(text, scheme), LOWER UPPER DIGITS ".-:[]"))
		return rye_fail(
			err, RYE_INVALID,
			"store s3: endpoint: wanted is https://HOST[:PORT], or http:// of this "
			"machine alone");
	r = take_text(text, ret->endpoint, sizeof(ret->endpoint), err);
	ret->host = ret->endpoint + scheme;
	return r;
}

static int read_timeout(struct rye_span text, struct s3_place *ret, struct rye_err *err)
{
	if (!text.len || text.len > 3 || !all_of(text, DIGITS) || text.ptr[0] == '0')
		return rye_fail(err, RYE_INVALID, "store s3: timeout: wanted are 1 to 999 seconds");
	ret->timeout_s = (int)strtol(text.ptr, NULL, 10);
	return 0;
}

static int read_word(struct rye_span name, struct rye_span value, struct s3_place *ret,
		     struct rye_err *err)
{
	if (span_eq(name, "endpoint"))
		return read_endpoint(value, ret, err);
	if (span_eq(name, "timeout"))
		return read_timeout(value, ret, err);
	if (span_eq(name, "region"))
		return value.len && all_of(value, LOWER DIGITS "-") ?
			       take_text(value, ret->region, sizeof(ret->region), err) :
			       rye_fail(err, RYE_INVALID,
					"store s3: region: wanted is a name, as eu-central-1");
	if (span_eq(name, "credentials"))
		return span_starts(value, "/") ?
			       take_text(value, ret->credentials, sizeof(ret->credentials), err) :
			       rye_fail(
				       err, RYE_INVALID,
				       "store s3: credentials: wanted is the absolute path of a file");
	return rye_fail(err, RYE_INVALID,
			"store s3: its address has another word than endpoint, region, credentials "
			"and timeout; a secret does not belong there: credentials=FILE");
}

int s3_place_read(const char *where, struct s3_place *ret, struct rye_err *err)
{
	struct rye_span rest = span_of(where), words;
	ssize_t mark = span_find(rest, 0, "?");
	int r;

	*ret = (struct s3_place){ .region = "us-east-1", .timeout_s = TIMEOUT_S };
	if (!span_starts(rest, "//"))
		return rye_fail(err, RYE_INVALID, "store s3: " WANTED);
	words = mark < 0 ? SPAN("") : span_skip(rest, (size_t)mark + 1);
	rest.len = mark < 0 ? rest.len : (size_t)mark;
	r = read_bucket(span_skip(rest, 2), ret, err);
	while (!r && words.len) {
		ssize_t next = span_find(words, 0, "&");
		struct rye_span word = { words.ptr, next < 0 ? words.len : (size_t)next };
		ssize_t equals = span_find(word, 0, "=");

		r = read_word((struct rye_span){ word.ptr, equals < 0 ? word.len : (size_t)equals },
			      equals < 0 ? SPAN("") : span_skip(word, (size_t)equals + 1), ret,
			      err);
		words = span_skip(words, next < 0 ? words.len : (size_t)next + 1);
	}
	if (!r && !*ret->endpoint) {
		snprintf(ret->endpoint, sizeof(ret->endpoint), "https://s3.%s.amazonaws.com",
			 ret->region);
		ret->host = ret->endpoint + strlen("https://");
	}
	return r;
}

/* ---- keys ---- */

static bool key_good(const char *text)
{
	for (; *text; text++)
		if (*text <= ' ' || *text >= 0x7f)
			return false;
	return true;
}

static int keys_check(const struct s3_keys *keys, struct rye_err *err)
{
	if (!*keys->id || !*keys->secret)
		return rye_fail(
			err, RYE_INVALID,
			"wanted are lines aws_access_key_id = ID and aws_secret_access_key = "
			"SECRET");
	return key_good(keys->id) && key_good(keys->secret) && key_good(keys->token) ?
		       0 :
		       rye_fail(err, RYE_INVALID, "a key in it has letters that no key has");
}

static bool keys_line(struct rye_span line, struct s3_keys *ret)
{
	const struct {
		const char *name;
		char *to;
		size_t size;
	} rows[] = {
		{ "aws_access_key_id", ret->id, sizeof(ret->id) },
		{ "aws_secret_access_key", ret->secret, sizeof(ret->secret) },
		{ "aws_session_token", ret->token, sizeof(ret->token) },
	};
	ssize_t equals = span_find(line, 0, "=");
	struct rye_span name, value;

	if (equals < 0)
		return true;
	name = span_trim((struct rye_span){ line.ptr, (size_t)equals });
	value = span_trim(span_skip(line, (size_t)equals + 1));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!span_eq(name, rows[i].name))
			continue;
		if (value.len >= rows[i].size)
			return false;
		snprintf(rows[i].to, rows[i].size, "%.*s", (int)value.len, value.ptr);
	}
	return true;
}

int s3_keys_parse(struct rye_span text, struct s3_keys *ret, struct rye_err *err)
{
	memset(ret, 0, sizeof(*ret));
	while (text.len) {
		ssize_t end = span_find(text, 0, "\n");
		size_t len = end < 0 ? text.len : (size_t)end;

		if (!keys_line((struct rye_span){ text.ptr, len }, ret))
			return rye_fail(err, RYE_INVALID, "a key in it is too long");
		text = span_skip(text, end < 0 ? len : len + 1);
	}
	return keys_check(ret, err);
}

static int keys_file(const char *path, struct s3_keys *ret, struct rye_err *err)
{
	auto_blob struct rye_blob *text = NULL;
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return rye_fail_sys(err, errno, "store s3: credentials=%s", path);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 077)
		return rye_fail(err, RYE_DENIED,
				"store s3: %s is not this user's alone\n" MEND_WITH "chmod 600 %s",
				path, path);
	r = io_read_fd(fd, CREDENTIALS_MAX, &text, NULL);
	if (r < 0)
		return rye_fail_sys(err, -r, "store s3: credentials=%s", path);
	r = s3_keys_parse((struct rye_span){ text->data, text->len }, ret, err);
	explicit_bzero(text->data, text->len);
	return r ? rye_wrap(err, "store s3: credentials=%s", path) : 0;
}

static void keys_env(const char *name, char *ret, size_t size)
{
	const char *text = getenv(name);

	if (text && strlen(text) < size)
		snprintf(ret, size, "%s", text);
}

int s3_keys_read(const struct s3_place *place, struct s3_keys *ret, struct rye_err *err)
{
	memset(ret, 0, sizeof(*ret));
	if (*place->credentials)
		return keys_file(place->credentials, ret, err);
	keys_env("AWS_ACCESS_KEY_ID", ret->id, sizeof(ret->id));
	keys_env("AWS_SECRET_ACCESS_KEY", ret->secret, sizeof(ret->secret));
	keys_env("AWS_SESSION_TOKEN", ret->token, sizeof(ret->token));
	if (keys_check(ret, NULL))
		return rye_fail(
			err, RYE_INVALID,
			"store s3://%s: there are no keys to it: name a file of mode 0600 by "
			"credentials=FILE, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
			place->bucket);
	return 0;
}
