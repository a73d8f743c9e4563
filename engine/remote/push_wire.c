/* SPDX-License-Identifier: MIT */
/*
 * The frames of a push. Packs are sent one behind the other without waiting; an answer that is an error is
 * seen before the next one is made. No lock: one thread has the connection.
 */
#include "remote/remote_inner.h"

#include "clock.h"
#include "memory.h"
#include "str.h"

#include <string.h>

/* Milliseconds for an answer: a node may have to look at 200 000 rows. */
#define PUSH_MS 300000
#define ASK_MAX (FRAME_MAX / sizeof(struct digest))

int push_heads_read(const json_t *reply, struct push_head *ret, struct rye_err *err)
{
	*ret = (struct push_head){ .number = json_int(reply, "number", 0),
				   .holes = json_int(reply, "holes", 0) };
	snprintf(ret->by, sizeof(ret->by), "%s", json_str(reply, "by"));
	if (ret->number && !digest_parse(span_of(json_str(reply, "manifest")), &ret->manifest))
		return rye_fail(err, RYE_UNPARSABLE, "the node names no manifest");
	return 0;
}

int push_heads(struct conn *conn, const char *project, struct push_head *ret, struct rye_err *err)
{
	auto_json json_t *body = json_pack("{s:s}", "project", project), *reply = NULL;
	const struct conn_ask ask = { .type = FRAME_HEADS,
				      .body = body,
				      .until = clock_ms() + PUSH_MS };
	int r = conn_ask(conn, &ask, &reply, err);

	return r ? r : push_heads_read(reply, ret, err);
}

int push_bytes(struct conn *conn, enum frame_type type, uint32_t stream, struct rye_span bytes,
	       struct rye_err *err)
{
	size_t n;
	int r;

	/* one that is not full ends them, if need be an empty one */
	do {
		n = MIN_OF(bytes.len, FRAME_MAX);
		r = conn_send(conn, type, stream, (struct rye_span){ bytes.ptr, n }, err);
		bytes = span_skip(bytes, n);
	} while (!r && n == FRAME_MAX);
	return r;
}

/* 1: the answer of the stream; 0: another one. */
static int read_answer(const struct conn_frame *frame, uint32_t stream, json_t **ret,
		       struct rye_err *err)
{
	if (frame->type == FRAME_ERR)
		return frame_fault_read(frame, err);
	if (frame->type != FRAME_REPLY || frame->stream != stream)
		return 0;
	*ret = frame_json(frame, err);
	return *ret ? 1 : -(int)err->code;
}

int push_answers(struct conn *conn, uint32_t stream, json_t **ret, struct rye_err *err)
{
	for (;;) {
		auto_frame struct conn_frame frame = { 0 };
		struct rye_err why = { 0 };
		int r = conn_recv(conn, clock_ms() + (stream ? PUSH_MS : 0), &frame, &why);

		if (r == -RYE_TIMEOUT && !stream)
			return 0;
		if (!r)
			r = read_answer(&frame, stream, ret, &why);
		if (r < 0)
			*err = why;
		if (r)
			return MIN_OF(r, 0);
	}
}

struct asked {
	unsigned char *ret;
	size_t len; /* bytes wanted */
};

static int take_bits(struct asked *asked, struct rye_span bits, struct rye_err *err)
{
	if (bits.len != asked->len)
		return rye_fail(err, RYE_UNPARSABLE, "the node answers for %zu bytes, not %zu",
				bits.len, asked->len);
	memcpy(asked->ret, bits.ptr, bits.len);
	return 0;
}

/* DATA and REPLY of one ASK. */
static int await_bits(struct conn *conn, uint32_t stream, struct asked *asked, struct rye_err *err)
{
	for (;;) {
		auto_frame struct conn_frame frame = { 0 };
		int r = conn_recv(conn, clock_ms() + PUSH_MS, &frame, err);

		if (!r && frame.type == FRAME_ERR)
			r = frame_fault_read(&frame, err);
		if (r)
			return r;
		if (frame.stream == stream && frame.type == FRAME_REPLY)
			return asked->len ?
				       rye_fail(err, RYE_UNPARSABLE, "the node has not answered") :
				       0;
		if (frame.stream == stream && frame.type == FRAME_DATA) {
			r = take_bits(asked, frame_span(&frame), err);
			if (r)
				return r;
			asked->len = 0;
		}
	}
}

int push_asked(struct conn *conn, const struct snapshot_blobs *blobs, unsigned char *ret,
	       struct rye_err *err)
{
	for (size_t at = 0; at < blobs->n; at += ASK_MAX) {
		size_t n = MIN_OF(blobs->n - at, ASK_MAX);
		auto_free struct digest *v = memory_note(malloc(n * sizeof(*v)));
		struct asked asked = { ret + at / 8, (n + 7) / 8 };
		uint32_t stream = conn_stream(conn);
		int r;

		if (!v)
			return memory_fail(err);
		for (size_t i = 0; i < n; i++)
			v[i] = blobs->v[at + i].sha;
		r = conn_send(conn, FRAME_ASK, stream,
			      (struct rye_span){ (char *)v, n * sizeof(*v) }, err);
		if (!r)
			r = await_bits(conn, stream, &asked, err);
		if (r)
			return r;
	}
	return 0;
}
