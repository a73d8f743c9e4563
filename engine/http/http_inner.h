/* SPDX-License-Identifier: MIT */
/*
 * http_inner.h: what the files of http/ share.
 */
#ifndef RYE_HTTP_HTTP_INNER_H
#define RYE_HTTP_HTTP_INNER_H

#include "http/http.h"

#include <curl/curl.h>

/* curl_table.c: libcurl's functions that are used here, by their names without "curl_". */
#define CURL_FUNCTIONS(F)      \
	F(easy_cleanup)        \
	F(easy_getinfo)        \
	F(easy_init)           \
	F(easy_perform)        \
	F(easy_recv)           \
	F(easy_reset)          \
	F(easy_send)           \
	F(easy_setopt)         \
	F(easy_strerror)       \
	F(free)                \
	F(global_init)         \
	F(multi_add_handle)    \
	F(multi_cleanup)       \
	F(multi_info_read)     \
	F(multi_init)          \
	F(multi_perform)       \
	F(multi_poll)          \
	F(multi_remove_handle) \
	F(multi_setopt)        \
	F(slist_append)        \
	F(slist_free_all)      \
	F(url)                 \
	F(url_cleanup)         \
	F(url_get)             \
	F(url_set)

/* libcurl's headers wrap some of these names in macros that check types; typeof takes none. */
#define CURL_MEMBER(name) __typeof__(&(curl_##name)) name;
struct curl_table {
	CURL_FUNCTIONS(CURL_MEMBER)
};

/* NULL with *err filled when libcurl is not installed. The table is frozen. */
const struct curl_table *curl_table_load(struct rye_err *err);
void curl_table_free(const struct curl_table *table);

/* "https://host:port", the part of an address that names the server; cut when longer. */
#define ORIGIN_MAX 300

/* One libcurl handle with its connections; of one exchange at a time. */
struct http_client {
	struct http_client *next; /* idle ones, newest first */
	CURL *easy;
	CURLM *multi;
	char origin[ORIGIN_MAX]; /* it last spoke to */
	bool strange; /* its connections were made under that rule */
	int64_t idle_since; /* clock_ms() */
};

const struct curl_table *http_curl(struct http *http, struct rye_err *err);

/* exchange.c: one request and its answer, no redirect followed. */
struct exchange {
	const struct curl_table *curl;
	const struct http_ask *ask;
	struct http_client *client;
	struct http_reply *reply;
	const char *origin;
	const char *method, *url; /* of this hop */
	bool bare; /* another server than the one asked: no headers, no body */
	int64_t until_ms; /* clock_ms() */
	size_t head_bytes;
	struct rye_buf refused; /* the rule that stopped it */
	bool enough;
	char curl_text[CURL_ERROR_SIZE];
};
int exchange_hop(struct exchange *x, struct rye_err *err);

/* upgrade.c: a connection that begins as a request of HTTP and goes on as something else. */
struct upgrade;

struct upgrade_ask {
	const char *url; /* wss://… or https://…; ws and http: this machine alone. Outlives it */
	const char *ca_file; /* as that of struct sinks_ask */
	int64_t until_ms; /* clock_ms() */
	int cancel; /* readable once the caller has given up; -1: never */
	bool strange; /* a caller says which server: public hosts only */
};

/* Does it name a host, and no user, whose name would be shown? */
bool upgrade_can(const char *url);
/* Connects. Errors as http_exchange; RYE_TOOL_FAILED alone may be tried again. */
int upgrade_open(struct http *http, const struct upgrade_ask *ask, struct upgrade **ret,
		 struct rye_err *err);
/*
 * Asks, with these lines of its head, each with its CR LF; *ret gets the answer: its head up to
 * *ret_end, then what came behind it.
 */
int upgrade_shake(struct upgrade *up, const char *lines, struct rye_buf *ret, size_t *ret_end,
		  struct rye_err *err);
int upgrade_write(struct upgrade *up, struct rye_span bytes, struct rye_err *err);
/* What has come; 0 bytes: nothing yet. */
int upgrade_read(struct upgrade *up, char *room, size_t size, size_t *ret, struct rye_err *err);
int upgrade_await(const struct upgrade *up, short events, struct rye_err *err);
/* How much of bytes is taken; 0: nothing now. */
int upgrade_put(struct upgrade *up, struct rye_span bytes, size_t *ret, struct rye_err *err);
int upgrade_socket(const struct upgrade *up);
int upgrade_fail(const struct upgrade *up, const char *why, struct rye_err *err);
const char *upgrade_origin(const struct upgrade *up); /* "wss://host:port" */
void upgrade_close(struct upgrade *up); /* NULL is taken */

/* websocket.c: the sending end of a WebSocket. */
struct websocket;

/* Errors as upgrade_open. */
int websocket_open(struct http *http, const struct upgrade_ask *ask, struct websocket **ret,
		   struct rye_err *err);
/* One message. After an error there is nothing to do but to close it. */
int websocket_send(struct websocket *ws, struct rye_span text, struct rye_err *err);
void websocket_close(struct websocket *ws); /* NULL is taken */

#endif
