/* SPDX-License-Identifier: MIT */
/*
 * s3_inner.h: what the files of the store `s3` share: where it is, how a request is signed (Signature Version 4), what
 * an answer says. Frozen once opened. The secret stands in no message, and is wiped at the end.
 */
#ifndef RYE_STORE_S3_INNER_H
#define RYE_STORE_S3_INNER_H

#include "http/http.h"
#include "store/store_inner.h"

#define S3_TEXT_MAX 512

/* s3_place.c: "//BUCKET[/PREFIX]?endpoint=URL&region=NAME&credentials=FILE&timeout=SECONDS" */
struct s3_place {
	char bucket[64], prefix[256]; /* prefix: "", or without a slash at either end */
	char endpoint[S3_TEXT_MAX]; /* "https://host:port", no slash at its end */
	const char *host; /* of it, with its port */
	char region[64], credentials[S3_TEXT_MAX]; /* credentials: "": of the environment */
	int timeout_s;
};
int s3_place_read(const char *where, struct s3_place *ret, struct rye_err *err);

struct s3_keys {
	char id[160], secret[256], token[2048]; /* token: "" when there is none */
};
/* Of the file, which has to be its owner's alone, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. */
int s3_keys_read(const struct s3_place *place, struct s3_keys *ret, struct rye_err *err);
/* The same of a file's text. */
int s3_keys_parse(struct rye_span text, struct s3_keys *ret, struct rye_err *err);

/* s3_sign.c: one request. path: "/bucket/key", of unreserved letters and slashes; query: sorted, encoded, or "". */
struct s3_request {
	const char *method, *path, *query;
	const char *range; /* "bytes=0-9", or NULL */
	struct rye_span body;
};
/* Letters of a header, the longest being that of a token. */
#define S3_HEADERS 6
struct s3_headers {
	char *v[S3_HEADERS + 1]; /* "Name: value", NULL at the end */
	char text[S3_HEADERS][2200];
};
/* stamp: "20130524T000000Z" */
void s3_sign(const struct s3_place *place, const struct s3_keys *keys,
	     const struct s3_request *request, const char *stamp, struct s3_headers *ret);
/* Adds a value of a query. */
void s3_encode(struct rye_buf *ret, const char *text);

/* s3_answer.c: outside bytes; fuzzed. */
#define S3_CODE_MAX 64
/* The Code of an Error, of letters and digits; "": it says none. */
void s3_error_code(struct rye_span body, char ret[S3_CODE_MAX]);
/* One page of a list: fn for each object whose name is one, the place's prefix taken off. */
struct s3_page {
	bool more;
	char token[1024]; /* where the next one begins */
	int stopped; /* what fn returned */
};
int s3_list_read(struct rye_span body, const char *prefix, store_fn fn, void *arg,
		 struct s3_page *ret, struct rye_err *err);

#endif
