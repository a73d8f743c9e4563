/* SPDX-License-Identifier: MIT */
/*
 * fuzz_frame.c - what the other end of a connection sends: the first byte is how many bytes come at a
 * time, the rest is cut into frames as they come, and each body is read as whatever it may be.
 */
#include "conn/conn.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_body(const struct conn_frame *frame)
{
	auto_json json_t *doc = frame_json(frame, NULL);
	struct conn_frame as = *frame;
	struct hello_auth auth;
	struct hello hello = { 0 };
	struct card card;
	struct rye_err err = { 0 };

	if (!frame_fault_read(frame, &err) || !err.code || !*err.msg)
		abort();
	as.type = FRAME_HELLO;
	hello_client_read(&as, &hello, NULL);
	as.type = FRAME_AUTH;
	if (!hello_auth_read(&as, &auth, NULL))
		hello_proven(&hello, HELLO_CLIENT, auth.key.bytes, auth.proof);
	card_read(doc, &card, NULL);
	card_read(json_object_get(doc, "card"), &card, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct frame_reader reader = { .most = 4096 };
	size_t step = size ? data[0] + 1u : 1, at = 1;

	while (at < size) {
		auto_frame struct conn_frame frame = { 0 };
		size_t len;
		char *place = frame_reader_place(&reader, &len);
		int r;

		if (!len)
			abort();
		len = len < step ? len : step;
		len = len < size - at ? len : size - at;
		memcpy(place, data + at, len);
		at += len;
		r = frame_reader_fed(&reader, len, &frame, NULL);
		if (r < 0)
			break;
		if (r && frame.body->len > reader.most)
			abort();
		if (r)
			read_body(&frame);
	}
	frame_reader_done(&reader);
	return 0;
}
