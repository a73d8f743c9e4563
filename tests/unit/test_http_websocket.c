/* SPDX-License-Identifier: MIT */
/* Frames of a WebSocket: what is sent, and what a server says at every split of its bytes. */
#include "http/http.h"
#include "rye_test.h"
#include "str.h"

static void note(void *arg, unsigned opcode, struct rye_span payload)
{
	buf_addf(arg, "%u/", opcode);
	buf_addspan(arg, payload);
	buf_addc(arg, ';');
}

static void wants(struct rye_span all, const char *wanted, bool good)
{
	for (size_t cut = 0; cut <= all.len; cut++) {
		auto_buf struct rye_buf got = RYE_BUF_INIT;
		struct websocket_reader reader = { .n = 0 };
		bool fed;

		buf_adds(&got, "");
		fed = websocket_feed(&reader, (struct rye_span){ all.ptr, cut }, note, &got);
		if (fed)
			fed = websocket_feed(&reader, span_skip(all, cut), note, &got);
		assert_int_equal(fed, good);
		assert_string_equal(got.data ? got.data : "", wanted);
	}
}

static void control_frames_are_told(void **state)
{
	(void)state;
	wants(SPAN("\x89\x00"), "9/;", true);
	wants(SPAN("\x89\x02hi\x8a\x01!"), "9/hi;10/!;", true);
	wants(SPAN("\x81\x03"
		   "abc\x89\x01x"),
	      "9/x;", true);
	/* between the parts of a message */
	wants(SPAN("\x01\x01"
		   "a\x89\x00\x80\x01"
		   "b\x88\x02\x03\xe8"),
	      "9/;8/\x03\xe8;", true);
}

static void long_messages_are_passed_over(void **state)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	(void)state;
	buf_add(&text, "\x82\x7e\x01\x00", 4);
	for (int i = 0; i < 256; i++)
		buf_addc(&text, (char)0x89);
	buf_add(&text, "\x82\x7f\0\0\0\0\0\0\0\x02zz\x89\x01y", 15);
	wants((struct rye_span){ text.data, text.len }, "9/y;", true);
}

static void what_is_no_frame(void **state)
{
	(void)state;
	wants(SPAN("\x81\x81"), "", false); /* masked */
	wants(SPAN("\x89\x7e\x01\x00"), "", false); /* a long ping */
	wants(SPAN("\x09\x00"), "", false); /* a ping in parts */
	wants(SPAN("\x89\x00\x81\x81"), "9/;", false);
}

static void sent_frames_are_masked(void **state)
{
	static const unsigned char mask[4] = { 1, 2, 3, 4 };
	auto_buf struct rye_buf out = RYE_BUF_INIT, big = RYE_BUF_INIT;

	(void)state;
	websocket_put(&out, 1, SPAN("abcde"), mask);
	assert_int_equal(out.len, 11);
	assert_memory_equal(out.data, "\x81\x85\x01\x02\x03\x04\x60\x60\x60\x60\x64", 11);
	buf_clear(&out);
	for (int i = 0; i < 70000; i++)
		buf_addc(&big, 'x');
	websocket_put(&out, 1, (struct rye_span){ big.data, 300 }, mask);
	assert_int_equal(out.len, 308);
	assert_memory_equal(out.data, "\x81\xfe\x01\x2c", 4);
	buf_clear(&out);
	websocket_put(&out, 1, (struct rye_span){ big.data, 70000 }, mask);
	assert_memory_equal(out.data, "\x81\xff\0\0\0\0\0\x01\x11\x70", 10);
	assert_int_equal(out.len, 70014);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(control_frames_are_told),
		cmocka_unit_test(long_messages_are_passed_over),
		cmocka_unit_test(what_is_no_frame),
		cmocka_unit_test(sent_frames_are_masked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
