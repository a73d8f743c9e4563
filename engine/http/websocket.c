/* SPDX-License-Identifier: MIT */
/*
 * A client's end of a WebSocket that only sends, over upgrade.c. The
 * handshake and the frames are ours, since libcurl's own calls for them are not in every build of it
 * (Debian 12 has none). Of one run, on its worker; no lock.
 */
/* what this version has, so that 3.0 does not warn of it */
#define OPENSSL_API_COMPAT 0x10101000L
#include "http/http_inner.h"

#include "scope.h"
#include "str.h"

#include <errno.h>
#include <openssl/sha.h>
#include <sodium.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#define OPCODE_TEXT 1
#define OPCODE_CLOSE 8
#define OPCODE_PING 9
#define OPCODE_PONG 10

struct websocket {
	struct upgrade *line;
	bool open, closed;
	struct websocket_reader reader;
	struct rye_buf out; /* the frame that is being sent */
};

static int websocket_fail(const struct websocket *ws, const char *why, struct rye_err *err)
{
	return upgrade_fail(ws->line, why, err);
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
		return rye_fail(err, RYE_TOO_BIG, "%s: the event is too big",
				upgrade_origin(ws->line));
	return upgrade_write(ws->line, (struct rye_span){ ws->out.data, ws->out.len }, err);
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
		int r = upgrade_read(ws->line, room, sizeof(room), &n, err);

		if (r)
			return r;
		if (!websocket_feed(&ws->reader, (struct rye_span){ room, n }, take_control, ws))
			return rye_fail(err, RYE_INVALID, "%s: sends what is no frame",
					upgrade_origin(ws->line));
	}
	return ws->closed ? websocket_fail(ws, "the server closed the connection", err) : 0;
}

/* ---- the handshake ---- */

#define ACCEPT_HEADER "sec-websocket-accept:"
#define ACCEPT_SIZE 32 /* a digest of 20 bytes in base64, and the end */

/* A server that has read the key answers with this. */
static void make_accept(const char *key, char ret[ACCEPT_SIZE])
{
	static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
	unsigned char digest[SHA_DIGEST_LENGTH];
	SHA_CTX ctx;

	SHA1_Init(&ctx);
	SHA1_Update(&ctx, key, strlen(key));
	SHA1_Update(&ctx, guid, sizeof(guid) - 1);
	SHA1_Final(digest, &ctx);
	sodium_bin2base64(ret, ACCEPT_SIZE, digest, sizeof(digest), sodium_base64_VARIANT_ORIGINAL);
}

static bool websocket_is_accepted(const char *key, struct rye_span head)
{
	const size_t name = strlen(ACCEPT_HEADER);
	char want[ACCEPT_SIZE];

	make_accept(key, want);
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

static int websocket_shake(struct websocket *ws, struct rye_err *err)
{
	auto_buf struct rye_buf head = RYE_BUF_INIT;
	unsigned char random[16];
	char key[32], lines[160];
	size_t end = 0;
	int r;

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return rye_fail_sys(err, errno, "websocket");
	sodium_bin2base64(key, sizeof(key), random, sizeof(random), sodium_base64_VARIANT_ORIGINAL);
	snprintf(lines, sizeof(lines),
		 "Upgrade: websocket\r\nSec-WebSocket-Key: %s\r\nSec-WebSocket-Version: 13\r\n",
		 key);
	r = upgrade_shake(ws->line, lines, &head, &end, err);
	if (r)
		return r;
	if (end < 12 || strncmp(head.data, "HTTP/1.1 101", 12) != 0 ||
	    !websocket_is_accepted(key, (struct rye_span){ head.data, end }))
		return websocket_fail(ws, "the server does not speak WebSocket there", err);
	ws->open = true;
	if (!websocket_feed(&ws->reader, (struct rye_span){ head.data + end, head.len - end },
			    take_control, ws))
		return rye_fail(err, RYE_INVALID, "%s: sends what is no frame",
				upgrade_origin(ws->line));
	return 0;
}

int websocket_open(struct http *http, const struct upgrade_ask *ask, struct websocket **ret,
		   struct rye_err *err)
{
	struct websocket *ws;
	int r;

	if ((strncmp(ask->url, "ws://", 5) != 0 && strncmp(ask->url, "wss://", 6) != 0) ||
	    !upgrade_can(ask->url))
		return rye_fail(err, RYE_INVALID, "sinks: url: wss://HOST/PATH is wanted");
	ws = calloc(1, sizeof(*ws));
	if (!ws)
		return rye_fail(err, RYE_IO, "http: out of memory");
	ws->out = RYE_BUF_INIT;
	r = upgrade_open(http, ask, &ws->line, err);
	if (!r)
		r = websocket_shake(ws, err);
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
	upgrade_close(ws->line);
	buf_done(&ws->out);
	free(ws);
}
