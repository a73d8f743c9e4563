/* SPDX-License-Identifier: MIT */
/*
 * Frames of RFC 6455 as a client writes and reads them. What the server sends is not wanted here:
 * its messages are passed over, its control frames told. Pure; outside bytes: fuzzed.
 */
#include "http/http.h"

#include "scope.h"
#include "str.h"

#include <string.h>

#define FRAME_LAST 0x80
#define FRAME_MASKED 0x80
#define FRAME_CONTROL 0x08
#define FRAME_CONTROL_MAX 125

void websocket_put(struct rye_buf *out, unsigned opcode, struct rye_span payload,
		   const unsigned char mask[4])
{
	int bytes = payload.len < 126 ? 0 : payload.len < 65536 ? 2 : 8;
	size_t start;

	buf_addc(out, (char)(FRAME_LAST | opcode));
	buf_addc(out, (char)(FRAME_MASKED | (bytes == 0 ? payload.len : bytes == 2 ? 126 : 127)));
	for (int i = bytes; i-- > 0;)
		buf_addc(out, (char)((uint64_t)payload.len >> (8 * i)));
	buf_add(out, (const char *)mask, 4);
	start = out->len;
	buf_addspan(out, payload);
	for (size_t i = 0; !out->failed && i < payload.len; i++)
		out->data[start + i] = (char)((unsigned char)out->data[start + i] ^ mask[i % 4]);
}

/* Bytes of the frame's head, as far as they say how many there are. */
static size_t head_length(const struct websocket_reader *reader)
{
	unsigned size = reader->n < 2 ? 0 : reader->held[1] & 0x7f;

	return size == 127 ? 10 : size == 126 ? 4 : 2;
}

static uint64_t payload_length(const struct websocket_reader *reader)
{
	size_t head = head_length(reader);
	uint64_t len = head > 2 ? 0 : reader->held[1] & 0x7f;

	for (size_t i = 2; i < head; i++)
		len = len << 8 | reader->held[i];
	return len;
}

/* The head is there: what follows of a control frame is kept, of another one counted. */
static bool frame_begin(struct websocket_reader *reader)
{
	uint64_t len = payload_length(reader);
	bool control = reader->held[0] & FRAME_CONTROL;

	/* A server masks nothing; a control frame is short and whole. */
	if (reader->held[1] & FRAME_MASKED)
		return false;
	if (control && (len > FRAME_CONTROL_MAX || !(reader->held[0] & FRAME_LAST)))
		return false;
	reader->opcode = reader->held[0] & 0x0f;
	reader->left = len;
	reader->inside = true;
	reader->n = 0;
	return true;
}

static void frame_end(struct websocket_reader *reader, websocket_fn fn, void *arg)
{
	if (reader->opcode & FRAME_CONTROL)
		fn(arg, reader->opcode, (struct rye_span){ (const char *)reader->held, reader->n });
	reader->inside = false;
	reader->n = 0;
}

static size_t take_payload(struct websocket_reader *reader, struct rye_span bytes)
{
	size_t n = reader->left < bytes.len ? (size_t)reader->left : bytes.len;

	if (reader->opcode & FRAME_CONTROL && n) {
		memcpy(reader->held + reader->n, bytes.ptr, n);
		reader->n += n;
	}
	reader->left -= n;
	return n;
}

bool websocket_feed(struct websocket_reader *reader, struct rye_span bytes, websocket_fn fn,
		    void *arg)
{
	size_t at = 0;

	for (;;) {
		if (reader->inside) {
			at += take_payload(reader, span_skip(bytes, at));
			if (reader->left)
				return true;
			frame_end(reader, fn, arg);
		}
		if (at == bytes.len)
			return true;
		reader->held[reader->n++] = (unsigned char)bytes.ptr[at++];
		if (reader->n >= 2 && reader->n == head_length(reader) && !frame_begin(reader))
			return false;
	}
}
