/* SPDX-License-Identifier: MIT */
/*
 * http.h: one HTTP exchange, its connections, and event streams. libcurl does the wire; this room
 * decides where a request may go, what is kept of an answer, and when it ends.
 *
 * libcurl is loaded at the first exchange: with its thirty libraries it would cost every start of
 * the program 7 ms (twice the time to open a workspace), and most workspaces never need it.
 */
#ifndef RYE_HTTP_HTTP_H
#define RYE_HTTP_HTTP_H

#include "base/json.h"
#include "buf.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * http.c: the connections of one engine, kept for the next exchange with the same server.
 *
 * Lock: `lock` of struct http guards the list of idle clients; no exchange is made under it.
 */

struct http;

struct http *http_open(void); /* NULL: no memory */
void http_close(struct http *http); /* when no exchange is under way */

struct http_reply {
	long status; /* 0: none came */
	json_t *headers; /* object: lower-case name → text, of several lines joined by ", "; owned */
	struct rye_buf body; /* at most `cap` of it */
	uint64_t body_bytes; /* that came; more than body.len: cut */
	char reason[64]; /* of the status line; "" with HTTP/2 */
	char type[64]; /* of Content-Type, lower case, without parameters */
	int64_t retry_after_ms; /* -1: not said */
	bool sent; /* the server may have seen the request */
	bool reused; /* over a connection that was there */
	bool no_tls; /* no certificate that is believed, or no TLS: trying again is of no use */
};

void http_reply_done(struct http_reply *reply);

enum http_taken {
	HTTP_KEEP, /* into the reply's body */
	HTTP_TAKEN,
	HTTP_ENOUGH, /* the rest is not wanted: the exchange succeeds */
};

struct http_ask {
	const char *method, *url;
	char *const *headers; /* "Name: value", NULL at the end; or NULL */
	struct rye_span body; /* .ptr NULL: none */
	int64_t timeout_ms; /* of the whole exchange, redirects included; > 0 */
	int64_t connect_ms; /* to connect; 0: RYE_HTTP_CONNECT_MS */
	const int64_t *deadline_ms; /* clock_ms(), which `piece` may move; or NULL */
	size_t cap; /* of the body that is kept */
	int cancel; /* readable once the caller has given up; -1: never */
	unsigned redirects; /* followed at most; 0: the redirect is the answer */
	bool strange; /* the address is a caller's: public hosts only */
	const char *ca_file; /* trusted instead of the system's authorities; or NULL */
	/* Each piece of a body as it comes, status and headers known. NULL: all is kept. */
	enum http_taken (*piece)(void *arg, const struct http_reply *reply, struct rye_span bytes);
	void *arg;
};

/*
 * 0 whenever an answer came, whatever its status. Else RYE_TIMEOUT, RYE_CANCELLED, RYE_DENIED (an
 * address that is not allowed), RYE_INVALID (method, address or header that cannot be sent),
 * RYE_TOOL_FAILED (no connection, a broken one). ret->sent tells whether it may be repeated.
 * The messages name the server alone: an address may hold a secret.
 */
int http_exchange(struct http *http, const struct http_ask *ask, struct http_reply *ret,
		  struct rye_err *err);

/*
 * address.c: where a request may go. Plain http reaches this machine alone, and what a caller
 * named never reaches inside a network. The address that is connected to decides, not its name.
 */

struct sockaddr;

enum address_kind {
	ADDRESS_LOOPBACK,
	ADDRESS_PRIVATE, /* of a local network, or of no use on the internet */
	ADDRESS_PUBLIC,
};
enum address_kind address_kind(const struct sockaddr *addr);

/* Is it what the name of a header may be? */
bool http_is_token(struct rye_span text);

/*
 * head.c: the head of a request, as a server reads it. Pure; outside bytes, fuzzed.
 */
#define HTTP_MORE 1u /* it is not whole yet */

/*
 * 0: the head is whole and everybody reads it alike; HTTP_MORE; or the status of a refusal, and *why.
 * text begins with the request's first byte.
 */
unsigned http_head_check(struct rye_span text, const char **why);
/* The same of one line of anything, whose length is told. */
unsigned http_line_check(struct rye_span text, size_t *ret, const char **why);

struct http_line {
	const char *verb, *path; /* without its query */
	bool old; /* HTTP/1.0 */
};
typedef void (*http_header_fn)(void *arg, const char *name, const char *value);
/* Cuts such a head, up to the CR LF of its last line, into what all point to; fn: each header. */
void http_head_cut(char *text, struct http_line *ret, http_header_fn fn, void *arg);

/*
 * listen.c: sockets of this machine alone: 127.0.0.1 and, where there is IPv6, ::1.
 */
/* port 0: any. mend: how else. ret[i] < 0: none. RYE_BUSY: the port is in use. */
struct http_listen_ask {
	int port, backlog;
	const char *mend;
};
int http_listen(const struct http_listen_ask *ask, int ret[2], int *ret_port, struct rye_err *err);

/*
 * tunnel.c: a connection that a server was asked to go on with as `protocol` (RFC 9110, 7.8): *ret_fd is
 * a socket, of which a thread carries the bytes to the server and back; it ends when either end does.
 */
struct tunnel;

struct tunnel_ask {
	const char *url; /* https://HOST[:PORT][/PATH]; http: of this machine alone */
	const char *protocol;
	const char *ca_file; /* trusted instead of the system's authorities; or NULL */
	int64_t within_ms; /* to connect and be answered */
};
/* RYE_INVALID, RYE_DENIED (plain http elsewhere), RYE_UNSUPPORTED, RYE_TIMEOUT, RYE_UNREACHABLE. */
int tunnel_open(const struct tunnel_ask *ask, struct tunnel **ret, int *ret_fd,
		struct rye_err *err);
/* *ret_fd was closed before. NULL is fine. */
void tunnel_close(struct tunnel *tunnel);

/*
 * sse.c: text/event-stream as it comes in pieces. Outside bytes: fuzzed. CR, LF and CR LF end a
 * line, comments are dropped, an event without data is none; a last event without its blank line
 * is told by sse_end.
 */

struct sse_event {
	const char *type; /* "" when the stream does not say */
	const char *id; /* the last one that was given; "" none yet */
	struct rye_span data; /* lines joined by LF */
};

typedef void (*sse_fn)(void *arg, const struct sse_event *event);

struct sse {
	struct rye_buf line, data, type, id; /* of what is not finished */
	int64_t retry_ms; /* -1: the stream has not said */
	bool begun; /* a byte order mark would have been first */
	bool after_cr, has_data;
	bool too_big; /* an event over RYE_SSE_EVENT_MAX: the stream is of no use any more */
};

#define SSE_INIT ((struct sse){ .retry_ms = -1 })

/* False: an event is too big; nothing more is told. */
bool sse_feed(struct sse *sse, struct rye_span bytes, sse_fn fn, void *arg);
void sse_end(struct sse *sse, sse_fn fn, void *arg);
void sse_done(struct sse *sse);

/*
 * sink.c: where else the events of a stream go.
 */

enum sink_type { SINK_RETURN, SINK_NULL, SINK_FILE, SINK_WEBSOCKET };

struct sink_plan {
	enum sink_type type;
	char *target; /* file: its path below the project; websocket: its address; else NULL */
	bool strange; /* websocket: a caller says which server: public hosts only */
	bool raw; /* file: the data as it is, not a line of JSON */
	unsigned flush_every; /* file: events between two writes */
	unsigned attempts; /* websocket: connections that are made again for one event */
};

struct sinks_ask {
	const struct sink_plan *plans; /* outlive the sinks */
	size_t n;
	const char *project; /* outlives them */
	const char *ca_file; /* trusted instead of the system's authorities; or NULL; outlives them */
	int64_t until_ms; /* clock_ms() */
	int cancel; /* readable once the caller has given up; -1: never */
};

struct sinks;

/* Opens all of them, or none. */
int sinks_open(struct http *http, const struct sinks_ask *ask, struct sinks **ret,
	       struct rye_err *err);
void sinks_put(struct sinks *sinks, struct rye_span data); /* NULL is taken */
/* What each has got: [{type, events, …}]; a new reference. NULL is taken. */
json_t *sinks_close(struct sinks *sinks);

/*
 * websocket_frame.c: frames of a WebSocket. Outside bytes: fuzzed.
 */

struct websocket_reader {
	unsigned char held[128]; /* of a frame's head, or of a control frame's payload */
	size_t n;
	unsigned opcode;
	uint64_t left; /* of the payload */
	bool inside;
};

/* A control frame: close, ping, pong; at most 125 bytes. */
typedef void (*websocket_fn)(void *arg, unsigned opcode, struct rye_span payload);

/* False: these are no frames of a server; there is nothing to read any more. */
bool websocket_feed(struct websocket_reader *reader, struct rye_span bytes, websocket_fn fn,
		    void *arg);
/* One whole frame, masked as a client's have to be. */
void websocket_put(struct rye_buf *out, unsigned opcode, struct rye_span payload,
		   const unsigned char mask[4]);

#endif
