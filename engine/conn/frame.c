/* SPDX-License-Identifier: MIT */
/*
 * Frames out of bytes and into bytes. A body is allocated once its length was read and found small
 * enough, and read where it stays. No I/O, no lock.
 */
#include "conn/conn.h"

#include "memory.h"
#include "str.h"

#include <string.h>

static void put_u32(unsigned char *to, uint32_t n)
{
	for (int i = 0; i < 4; i++)
		to[i] = (unsigned char)(n >> (24 - 8 * i));
}

static uint32_t get_u32(const unsigned char *from)
{
	return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

void frame_done(struct conn_frame *frame)
{
	rye_blob_unref(frame->body);
	*frame = (struct conn_frame){ 0 };
}

void frame_head(unsigned char ret[FRAME_HEAD], enum frame_type type, uint32_t stream, size_t len)
{
	ret[0] = (unsigned char)type;
	put_u32(ret + 1, stream);
	put_u32(ret + 5, (uint32_t)len);
}

json_t *frame_json(const struct conn_frame *frame, struct rye_err *err)
{
	return json_parse(frame_span(frame), 0, "frame", err);
}

void frame_reader_done(struct frame_reader *reader)
{
	rye_blob_unref(reader->body);
	*reader = (struct frame_reader){ .most = reader->most };
}

char *frame_reader_place(struct frame_reader *reader, size_t *ret_len)
{
	if (reader->have < FRAME_HEAD) {
		*ret_len = FRAME_HEAD - reader->have;
		return (char *)reader->head + reader->have;
	}
	*ret_len = reader->body->len - reader->got;
	return reader->body->data + reader->got;
}

/* The head is whole. */
static int frame_begin(struct frame_reader *reader, struct rye_err *err)
{
	uint32_t len = get_u32(reader->head + 5);

	if (len > reader->most)
		return rye_fail(err, RYE_TOO_BIG,
				"a frame of %u bytes has come, at most %u are wanted", len,
				reader->most);
	reader->body = rye_blob_new(NULL, len);
	return reader->body ? 0 : memory_fail(err);
}

int frame_reader_fed(struct frame_reader *reader, size_t n, struct conn_frame *ret,
		     struct rye_err *err)
{
	bool head = reader->have < FRAME_HEAD;
	int r = 0;

	if (head)
		reader->have += n;
	else
		reader->got += n;
	if (reader->have < FRAME_HEAD)
		return 0;
	if (head)
		r = frame_begin(reader, err);
	if (r < 0 || reader->got < reader->body->len)
		return r;
	*ret = (struct conn_frame){ .type = (enum frame_type)reader->head[0],
				    .stream = get_u32(reader->head + 1),
				    .body = steal(&reader->body) };
	reader->have = reader->got = 0;
	return 1;
}

json_t *frame_fault(const struct rye_err *err)
{
	return json_pack("{s:s, s:s}", "code", rye_code_name(err->code), "message", err->msg);
}

int frame_fault_read(const struct conn_frame *frame, struct rye_err *err)
{
	auto_json json_t *doc = frame_json(frame, NULL);
	const char *message = json_str(doc, "message");
	enum rye_code code = rye_code_named(json_str(doc, "code"));

	return rye_fail(err, code ? code : RYE_IO, "%s",
			*message ? message : "it failed there, and nothing is said of it");
}
