/* SPDX-License-Identifier: MIT */
/*
 * Signature Version 4 of one request: a canonical form of it, signed by a key that is derived of the
 * secret, the day and the region. Host, date, digest of the body and range are signed. Pure.
 */
#include "base/sha.h"

#include "store/s3_inner.h"

#include "str.h"

#include <sodium.h>
#include <string.h>

void s3_encode(struct rye_buf *ret, const char *text)
{
	for (; *text; text++)
		buf_addf(
			ret,
			strchr("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-._~",
			       *text) ?
				"%c" :
				"%%%02X",
			(unsigned char)*text);
}

static void hmac(const unsigned char *key, size_t len, const char *text, unsigned char ret[SHA_LEN])
{
	crypto_auth_hmacsha256_state state;

	crypto_auth_hmacsha256_init(&state, key, len);
	crypto_auth_hmacsha256_update(&state, (const unsigned char *)text, strlen(text));
	crypto_auth_hmacsha256_final(&state, ret);
	sodium_memzero(&state, sizeof(state));
}

static void sign_text(const struct s3_place *place, const struct s3_keys *keys, const char *stamp,
		      const char *text, char ret[SHA_HEX])
{
	unsigned char key[SHA_LEN], sum[SHA_LEN];
	char begin[sizeof(keys->secret) + 8], day[9];

	snprintf(begin, sizeof(begin), "AWS4%s", keys->secret);
	snprintf(day, sizeof(day), "%.8s", stamp);
	hmac((const unsigned char *)begin, strlen(begin), day, key);
	hmac(key, sizeof(key), place->region, key);
	hmac(key, sizeof(key), "s3", key);
	hmac(key, sizeof(key), "aws4_request", key);
	hmac(key, sizeof(key), text, sum);
	sodium_bin2hex(ret, SHA_HEX, sum, sizeof(sum));
	sodium_memzero(begin, sizeof(begin));
	sodium_memzero(key, sizeof(key));
}

struct s3_signing {
	const struct s3_place *place;
	const struct s3_keys *keys;
	const struct s3_request *request;
	const char *stamp, *sha; /* sha: of the body */
};

/* Headers in the order of their names, and those names. */
static void canonical_headers(const struct s3_signing *what, struct rye_buf *ret,
			      struct rye_buf *ret_names)
{
	buf_addf(ret, "host:%s\n", what->place->host);
	buf_adds(ret_names, "host");
	if (what->request->range) {
		buf_addf(ret, "range:%s\n", what->request->range);
		buf_adds(ret_names, ";range");
	}
	buf_addf(ret, "x-amz-content-sha256:%s\nx-amz-date:%s\n", what->sha, what->stamp);
	buf_adds(ret_names, ";x-amz-content-sha256;x-amz-date");
	if (*what->keys->token) {
		buf_addf(ret, "x-amz-security-token:%s\n", what->keys->token);
		buf_adds(ret_names, ";x-amz-security-token");
	}
}

static char *next_header(struct s3_headers *headers)
{
	size_t n = 0;

	while (headers->v[n])
		n++;
	headers->v[n + 1] = NULL;
	return headers->v[n] = headers->text[n];
}

#define HEADER_SIZE sizeof(((struct s3_headers *)0)->text[0])

void s3_sign(const struct s3_place *place, const struct s3_keys *keys,
	     const struct s3_request *request, const char *stamp, struct s3_headers *ret)
{
	auto_buf struct rye_buf headers = RYE_BUF_INIT, names = RYE_BUF_INIT;
	auto_buf struct rye_buf canonical = RYE_BUF_INIT, text = RYE_BUF_INIT;
	char sha[SHA_HEX], sum[SHA_HEX], signature[SHA_HEX];
	const struct s3_signing what = { place, keys, request, stamp, sha };

	sha256_hex(request->body, sha);
	canonical_headers(&what, &headers, &names);
	buf_addf(&canonical, "%s\n%s\n%s\n%s\n%s\n%s", request->method, request->path,
		 request->query, buf_span(&headers).ptr, buf_span(&names).ptr, sha);
	sha256_hex(buf_span(&canonical), sum);
	buf_addf(&text, "AWS4-HMAC-SHA256\n%s\n%.8s/%s/s3/aws4_request\n%s", stamp, stamp,
		 place->region, sum);
	sign_text(place, keys, stamp, buf_span(&text).ptr, signature);
	ret->v[0] = NULL;
	snprintf(next_header(ret), HEADER_SIZE, "Host: %s", place->host);
	snprintf(next_header(ret), HEADER_SIZE, "x-amz-content-sha256: %s", sha);
	snprintf(next_header(ret), HEADER_SIZE, "x-amz-date: %s", stamp);
	if (request->range)
		snprintf(next_header(ret), HEADER_SIZE, "Range: %s", request->range);
	if (*keys->token)
		snprintf(next_header(ret), HEADER_SIZE, "x-amz-security-token: %s", keys->token);
	snprintf(next_header(ret), HEADER_SIZE,
		 "Authorization: AWS4-HMAC-SHA256 Credential=%s/%.8s/%s/s3/aws4_request, "
		 "SignedHeaders=%s, Signature=%s",
		 keys->id, stamp, place->region, buf_span(&names).ptr, signature);
}
