/* SPDX-License-Identifier: MIT */
/* Frames, cards, and a connection whose two ends are this program's. */
#include "told.h"

#include "clock.h"
#include "conn/conn.h"
#include "str.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>

#define MADE "2026-01-02T03:04:05Z"
#define BOX "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE"

static void make_key(unsigned char first, struct key_secret *ret)
{
	unsigned char seed[KEY_LEN] = { first };

	key_secret_seed(seed, ret);
}

static void open_both(struct conn *ret[2])
{
	struct rye_err err = { 0 };
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	for (int i = 0; i < 2; i++)
		if (conn_over(pair[i], pair[i], &ret[i], &err))
			fail_msg("%s", err.msg);
}

/* Feeds the reader so many bytes at a time; 1: a frame. */
static int feed(struct frame_reader *reader, struct rye_span bytes, size_t step,
		struct conn_frame *ret, struct rye_err *err)
{
	int r = 0;

	while (!r && bytes.len) {
		size_t len;
		char *place = frame_reader_place(reader, &len);

		assert_true(len > 0);
		len = MIN_OF(MIN_OF(len, step), bytes.len);
		memcpy(place, bytes.ptr, len);
		bytes = span_skip(bytes, len);
		r = frame_reader_fed(reader, len, ret, err);
	}
	return r;
}

static void frames_in_pieces_of_any_size(void **state)
{
	char text[FRAME_HEAD + 5] = "";

	frame_head((unsigned char *)text, FRAME_WORD, 0x01020304, 5);
	memcpy(text + FRAME_HEAD, "hello", 5);
	assert_memory_equal(text, "\x22\x01\x02\x03\x04\x00\x00\x00\x05", FRAME_HEAD);
	for (size_t step = 1; step < sizeof(text); step++) {
		struct frame_reader reader = { .most = 5 };
		auto_frame struct conn_frame frame = { 0 };

		assert_int_equal(feed(&reader, (struct rye_span){ text, sizeof(text) }, step,
				      &frame, NULL),
				 1);
		assert_int_equal(frame.type, FRAME_WORD);
		assert_int_equal(frame.stream, 0x01020304);
		assert_true(span_eq(frame_span(&frame), "hello"));
	}
}

static void a_body_over_the_limit_is_not_allocated(void **state)
{
	struct frame_reader reader = { .most = 100 };
	struct rye_err err = { 0 };
	struct conn_frame frame = { 0 };
	char head[FRAME_HEAD];

	frame_head((unsigned char *)head, FRAME_PACK, 1, 101);
	assert_refused(&err, RYE_TOO_BIG,
		       feed(&reader, (struct rye_span){ head, FRAME_HEAD }, 9, &frame, &err));
	assert_null(reader.body);
	frame_reader_done(&reader);
}

static void an_empty_body_is_a_frame(void **state)
{
	struct frame_reader reader = { .most = 100 };
	auto_frame struct conn_frame frame = { 0 };
	char head[FRAME_HEAD];

	frame_head((unsigned char *)head, FRAME_PING, 7, 0);
	assert_int_equal(feed(&reader, (struct rye_span){ head, FRAME_HEAD }, 4, &frame, NULL), 1);
	assert_int_equal(frame.body->len, 0);
}

static void a_fault_keeps_code_and_sentence(void **state)
{
	struct rye_err why = { 0 }, err = { 0 };
	struct conn_frame frame = { .type = FRAME_ERR };
	auto_json json_t *doc = NULL;

	rye_fail(&why, RYE_STALE, "demo was pushed by %s", "A");
	doc = frame_fault(&why);
	frame.body = json_blob(doc, false);
	assert_refused(&err, RYE_STALE, frame_fault_read(&frame, &err));
	assert_string_equal(err.msg, why.msg);
	frame_done(&frame);
	frame.body = rye_blob_new("{\"code\":\"of tomorrow\"}", 22);
	assert_refused(&err, RYE_IO, frame_fault_read(&frame, &err));
	frame_done(&frame);
}

static void a_card_is_whole_or_none(void **state)
{
	auto_key struct key_secret key = { 0 };
	auto_key struct key_secret other = { 0 };
	auto_json json_t *card = NULL;
	const char *name;
	json_t *value;
	struct card read;

	make_key(1, &key);
	make_key(2, &other);
	card = card_make(&key, BOX, MADE);
	assert_int_equal(card_read(card, &read, NULL), 0);
	assert_string_equal(read.sign.fp, key.pub.fp);
	assert_string_equal(read.box, BOX);
	json_object_foreach(card, name, value) {
		auto_json json_t *bad = json_deep_copy(card);

		json_object_set_new(bad, name, json_string("x"));
		assert_int_equal(card_read(bad, &read, NULL), -RYE_INVALID);
		json_object_del(bad, name);
		assert_int_equal(card_read(bad, &read, NULL), -RYE_INVALID);
	}
	/* another key's name on it */
	json_object_set_new(card, "sign", json_string(other.pub.pem));
	json_object_set_new(card, "fp", json_string(other.pub.fp));
	assert_int_equal(card_read(card, &read, NULL), -RYE_INVALID);
}

static void a_proof_is_of_one_side_and_one_meeting(void **state)
{
	auto_key struct key_secret key = { 0 };
	struct hello hello = { .fp = "0123456789abcdef" };
	char proof[KEY_SIG_TEXT];

	make_key(1, &key);
	hello_nonce(hello.client);
	hello_nonce(hello.node);
	hello_prove(&hello, HELLO_NODE, &key, proof);
	assert_true(hello_proven(&hello, HELLO_NODE, key.pub.bytes, proof));
	assert_false(hello_proven(&hello, HELLO_CLIENT, key.pub.bytes, proof));
	hello_nonce(hello.client);
	assert_false(hello_proven(&hello, HELLO_NODE, key.pub.bytes, proof));
}

/* Answers HELLO with that card, proven by that key. */
struct impostor {
	struct conn *conn;
	const struct key_secret *card, *key;
};

static void *impostor_main(void *arg)
{
	struct impostor *who = arg;
	auto_frame struct conn_frame frame = { 0 };
	struct hello hello = { 0 };
	auto_json json_t *doc = NULL;
	char proof[KEY_SIG_TEXT];

	if (conn_recv(who->conn, clock_ms() + 5000, &frame, NULL) ||
	    hello_client_read(&frame, &hello, NULL))
		return NULL;
	memcpy(hello.fp, who->card->pub.fp, KEY_FP);
	hello_nonce(hello.node);
	hello_prove(&hello, HELLO_NODE, who->key, proof);
	doc = json_pack("{s:i, s:s, s:o, s:s}", "version", HELLO_VERSION, "nonce", hello.node,
			"card", card_make(who->card, BOX, MADE), "proof", proof);
	conn_send_json(who->conn, FRAME_HELLO, 0, doc, NULL);
	return NULL;
}

static int meet_impostor(const struct key_secret *card, const struct key_secret *key)
{
	struct conn *ends[2];
	struct impostor who = { .card = card, .key = key };
	struct hello hello = { 0 };
	struct card read;
	pthread_t thread;
	int r;

	open_both(ends);
	who.conn = ends[1];
	assert_int_equal(pthread_create(&thread, NULL, impostor_main, &who), 0);
	r = hello_node(ends[0], clock_ms() + 5000, &hello, &read, NULL);
	pthread_join(thread, NULL);
	conn_close(ends[0]);
	conn_close(ends[1]);
	return r;
}

static void a_copied_card_is_not_the_node(void **state)
{
	auto_key struct key_secret key = { 0 };
	auto_key struct key_secret thief = { 0 };

	make_key(1, &key);
	make_key(2, &thief);
	assert_int_equal(meet_impostor(&key, &key), 0);
	assert_int_equal(meet_impostor(&key, &thief), -RYE_KEY_CHANGED);
}

/* Sends 64 frames of a megabyte, and reads what comes. */
static void *sender_main(void *arg)
{
	struct conn *conn = arg;
	auto_blob struct rye_blob *body = rye_blob_new(NULL, 1 << 20);

	memset(body->data, 'x', body->len);
	for (uint32_t i = 1; i <= 32; i++)
		if (conn_send(conn, FRAME_DATA, i, (struct rye_span){ body->data, body->len },
			      NULL))
			return (void *)"cannot send";
	for (uint32_t i = 1; i <= 32; i++) {
		auto_frame struct conn_frame frame = { 0 };

		if (conn_recv(conn, clock_ms() + 30000, &frame, NULL))
			return (void *)"cannot receive";
		if (frame.stream != i || frame.body->len != 1 << 20)
			return (void *)"out of order";
	}
	return NULL;
}

static void two_ends_that_both_send_do_not_wait_for_each_other(void **state)
{
	pthread_t threads[2];
	struct conn *ends[2];
	struct conn_counts counts;

	open_both(ends);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, sender_main, ends[i]), 0);
	for (int i = 0; i < 2; i++) {
		void *fault;

		pthread_join(threads[i], &fault);
		if (fault)
			fail_msg("%s", (const char *)fault);
	}
	conn_counts(ends[0], &counts);
	assert_int_equal(counts.sent, 32 * ((1 << 20) + FRAME_HEAD));
	assert_int_equal(counts.received, counts.sent);
	conn_close(ends[0]);
	conn_close(ends[1]);
}

static void waiting_ends_in_time_or_when_stopped(void **state)
{
	struct conn *ends[2];
	struct rye_err err = { 0 };
	struct conn_frame frame;

	open_both(ends);
	assert_refused(&err, RYE_TIMEOUT, conn_recv(ends[0], clock_ms() + 20, &frame, &err));
	conn_stop(ends[0]);
	assert_refused(&err, RYE_CANCELLED, conn_recv(ends[0], 0, &frame, &err));
	assert_refused(&err, RYE_CANCELLED,
		       conn_send(ends[0], FRAME_PING, 1, (struct rye_span){ "", 0 }, &err));
	conn_close(ends[0]);
	assert_refused(&err, RYE_UNREACHABLE, conn_recv(ends[1], 0, &frame, &err));
	conn_close(ends[1]);
}

static void what_a_program_said_last_is_the_reason(void **state)
{
	struct rye_err err = { 0 };
	struct conn *conn = NULL;
	struct conn_frame frame;

	assert_works(&err,
		     conn_open("command:/bin/sh -c echo%20one>&2;echo%20two%20words>&2;exit%201",
			       &conn, &err));
	assert_refused(&err, RYE_UNREACHABLE, conn_recv(conn, clock_ms() + 10000, &frame, &err));
	assert_string_equal(err.msg, "sh said: two words");
	conn_close(conn);
	assert_works(&err, conn_open("command:/bin/true", &conn, &err));
	assert_refused(&err, RYE_UNREACHABLE, conn_recv(conn, clock_ms() + 10000, &frame, &err));
	assert_string_equal(err.msg, "true has ended without a word");
	conn_close(conn);
	assert_refused(&err, RYE_UNREACHABLE,
		       conn_open("command:no-such-program-here", &conn, &err));
}

static void urls(void **state)
{
	static const char *const good[] = {
		"ssh://host",	  "ssh://me@host:2222/srv/node", "ssh://me@[::1]:22/~/node",
		"ssh://10.0.0.1", "command:ryefs node --stdio",	 "command:/bin/x a%20b 100%25"
	};
	static const char *const bad[] = {
		"",
		"host",
		"ftp://host",
		"ssh://",
		"ssh://-oProxyCommand=x",
		"ssh://a b",
		"ssh://me@-x",
		"ssh://host:",
		"ssh://host:x",
		"ssh://host:123456",
		"ssh://-l@h",
		"ssh://h$(id)",
		"ssh://h/a\nb",
		"command:",
		"command: ",
		"command:./x",
		"command:x %zz",
		"command:x a%00b",
		"command:x %2",
	};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		if (conn_check(good[i], NULL))
			fail_msg("%s is refused", good[i]);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (conn_check(bad[i], NULL) != -RYE_INVALID)
			fail_msg("%s is not refused", bad[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_in_pieces_of_any_size),
		cmocka_unit_test(a_body_over_the_limit_is_not_allocated),
		cmocka_unit_test(an_empty_body_is_a_frame),
		cmocka_unit_test(a_fault_keeps_code_and_sentence),
		cmocka_unit_test(a_card_is_whole_or_none),
		cmocka_unit_test(a_proof_is_of_one_side_and_one_meeting),
		cmocka_unit_test(a_copied_card_is_not_the_node),
		cmocka_unit_test(two_ends_that_both_send_do_not_wait_for_each_other),
		cmocka_unit_test(waiting_ends_in_time_or_when_stopped),
		cmocka_unit_test(what_a_program_said_last_is_the_reason),
		cmocka_unit_test(urls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
