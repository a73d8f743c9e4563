/* SPDX-License-Identifier: MIT */
/*
 * A run elsewhere, against a node of one thread that answers as it is told: what comes out is written once,
 * the end is believed by its receipt alone, a cut is no end.
 */
#include "told.h"

#include "away/away_inner.h"

#include "base/io.h"
#include "base/sha.h"
#include "scope.h"
#include "str.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define RESULT "{\"status\": \"success\", \"data\": {\"n\": 1}}\n"
#define LIVE "one\ntwo\n"

struct away_place {
	struct key_secret node, worker;
	struct away away;
	struct away_ask ask;
	struct rye_buf live, receipt; /* what was told; the node's */
	const char *result; /* what it sends as the result */
	bool cut; /* it hangs up while it is followed */
	const char *fault; /* it answers so when it is followed */
	unsigned orders, cancels; /* frames that it got */
	struct conn *far;
	pthread_t thread;
	char dir[64];
	struct rye_err err;
};

static void far_reply(struct away_place *p, uint32_t stream)
{
	auto_json json_t *doc = json_pack("{s:s, s:s}", "state", p->orders > 1 ? "done" : "running",
					  "receipt", p->orders > 1 ? p->receipt.data : "");

	conn_send_json(p->far, FRAME_REPLY, stream, doc, NULL);
}

static bool far_file(struct away_place *p, const struct conn_frame *frame)
{
	auto_json json_t *body = frame_json(frame, NULL);
	const char *file = json_str(body, "file");

	if (!strcmp(file, "live") && p->cut)
		return false;
	if (!strcmp(file, "live") && p->fault) {
		auto_json json_t *why =
			json_pack("{s:s, s:s}", "code", p->fault, "message", "gone");

		conn_send_json(p->far, FRAME_ERR, frame->stream, why, NULL);
		return true;
	}
	if (!strcmp(file, "live"))
		conn_send(p->far, FRAME_DATA, frame->stream,
			  span_of(LIVE + json_int(body, "offset", 0)), NULL);
	else if (!strcmp(file, "result.json"))
		conn_send(p->far, FRAME_DATA, frame->stream, span_of(p->result), NULL);
	far_reply(p, frame->stream);
	return true;
}

static void *far_work(void *arg)
{
	struct away_place *p = arg;
	bool on = true;

	while (on) {
		auto_frame struct conn_frame frame = { 0 };

		if (conn_recv(p->far, 0, &frame, NULL))
			break;
		p->orders += frame.type == FRAME_ORDER;
		p->cancels += frame.type == FRAME_CANCEL;
		if (frame.type == FRAME_FOLLOW)
			on = far_file(p, &frame);
		else
			far_reply(p, frame.stream);
	}
	conn_close(p->far);
	return NULL;
}

static void away_heard(void *arg, struct rye_span text)
{
	buf_add(arg, text.ptr, text.len);
}

static void away_key(unsigned char seed, struct key_secret *ret)
{
	unsigned char bytes[KEY_LEN];

	memset(bytes, seed, sizeof(bytes));
	key_secret_seed(bytes, ret);
}

static int away_setup(void **state)
{
	struct away_place *p = test_malloc(sizeof(*p));
	struct away *away = &p->away;
	int ends[2];

	memset(p, 0, sizeof(*p));
	away_key(2, &p->node);
	away_key(3, &p->worker);
	p->result = RESULT;
	snprintf(p->dir, sizeof(p->dir), "/tmp/rye-away.XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	p->ask = (struct away_ask){ .live = away_heard, .live_arg = &p->live };
	p->ask.doc = json_pack("{s:{s:s}}", "options", "project", p->dir);
	p->ask.dir = open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	p->ask.stop = eventfd(0, EFD_CLOEXEC);
	away->ask = &p->ask;
	away->id = "11111111-2222-4333-8444-555555555555";
	away->transcript = -1;
	away->link.pin.key = p->node.pub;
	away->envelope = rye_blob_new("{}", 2);
	snprintf(away->remote.name, sizeof(away->remote.name), "box");
	sha256_hex(SPAN("the order"), away->order.sha);
	assert_works(&p->err, words_open(away, &p->err));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	assert_works(&p->err, conn_over(ends[0], dup(ends[0]), &away->link.conn, &p->err));
	assert_works(&p->err, conn_over(ends[1], dup(ends[1]), &p->far, &p->err));
	*state = p;
	return 0;
}

/* The receipt that the node gives: of this order, of this result. */
static void far_begin(struct away_place *p, const char *order, const char *result)
{
	struct receipt receipt = { .gen = 1, .status = "completed" };
	char vouched[KEY_SIG_TEXT];

	snprintf(receipt.id, sizeof(receipt.id), "%s", p->away.id);
	snprintf(receipt.began, sizeof(receipt.began), "2026-01-01T00:00:00.000000Z");
	snprintf(receipt.ended, sizeof(receipt.ended), "2026-01-01T00:00:01.000000Z");
	memcpy(receipt.node, p->node.pub.fp, KEY_FP);
	sha256_hex(span_of(order), receipt.order);
	sha256_hex(span_of(result), receipt.result);
	receipt_vouch(&p->node, &p->worker.pub, vouched);
	assert_works(&p->err, receipt_sign(&receipt, &p->worker, vouched, &p->receipt, &p->err));
	receipt_done(&receipt);
	assert_int_equal(pthread_create(&p->thread, NULL, far_work, p), 0);
}

static int away_teardown(void **state)
{
	struct away_place *p = *state;

	words_close(&p->away);
	json_decref((json_t *)p->ask.doc);
	remote_link_done(&p->away.link);
	pthread_join(p->thread, NULL);
	json_decref(p->away.stands);
	rye_blob_unref(p->away.envelope);
	unlinkat(p->ask.dir, "receipt.json", 0);
	close(p->ask.dir);
	close(p->ask.stop);
	rmdir(p->dir);
	buf_done(&p->live);
	buf_done(&p->receipt);
	test_free(p);
	return 0;
}

/* To its end; the code of the first step that fails. */
static int away_goes(struct away_place *p, struct away_end *ret)
{
	int r = away_send(&p->away, &p->err);

	if (!r)
		r = away_follow(&p->away, &p->err);
	if (!r)
		r = away_send(&p->away, &p->err);
	return r ? r : away_take(&p->away, ret, &p->err);
}

static void a_run_to_its_end(void **state)
{
	struct away_place *p = *state;
	struct away_end end = { .status = "" };

	far_begin(p, "the order", RESULT);
	assert_int_equal(away_goes(p, &end), 0);
	assert_string_equal(end.status, "completed");
	assert_int_equal(end.outcome.code, RYE_OK);
	assert_string_equal(end.outcome.reply->data, RESULT);
	assert_string_equal(p->live.data, LIVE);
	assert_int_equal(faccessat(p->ask.dir, "receipt.json", F_OK, 0), 0);
	assert_int_equal(p->cancels, 0);
	rye_outcome_done(&end.outcome);
}

static void what_was_printed_comes_once(void **state)
{
	struct away_place *p = *state;

	p->away.live = 4;
	far_begin(p, "the order", RESULT);
	assert_works(&p->err, away_send(&p->away, &p->err));
	assert_works(&p->err, away_follow(&p->away, &p->err));
	assert_string_equal(p->live.data, "two\n");
	assert_int_equal(p->away.live, strlen(LIVE));
}

static void another_order_s_receipt(void **state)
{
	struct away_place *p = *state;
	struct away_end end = { .status = "" };

	far_begin(p, "another order", RESULT);
	assert_int_not_equal(away_goes(p, &end), 0);
	assert_non_null(strstr(p->err.msg, "box: the receipt: "));
	assert_null(end.outcome.reply);
	assert_int_not_equal(faccessat(p->ask.dir, "receipt.json", F_OK, 0), 0);
}

static void another_node_s_receipt(void **state)
{
	struct away_place *p = *state;
	struct away_end end = { .status = "" };

	away_key(7, &p->node);
	far_begin(p, "the order", RESULT);
	assert_int_not_equal(away_goes(p, &end), 0);
	assert_null(end.outcome.reply);
}

static void a_changed_result(void **state)
{
	struct away_place *p = *state;
	struct away_end end = { .status = "" };

	p->result = "{\"status\": \"success\", \"data\": {\"n\": 2}}\n";
	far_begin(p, "the order", RESULT);
	assert_int_equal(away_goes(p, &end), -(int)RYE_MODIFIED);
	assert_null(end.outcome.reply);
}

static void a_cut_is_no_end(void **state)
{
	struct away_place *p = *state;
	struct away_end end = { .status = "" };

	p->cut = true;
	far_begin(p, "the order", RESULT);
	assert_int_equal(away_goes(p, &end), -(int)RYE_UNREACHABLE);
	assert_true(p->away.accepted);
	assert_string_equal(end.status, "");
}

static void a_database_that_is_away_is_no_end(void **state)
{
	struct away_place *p = *state;
	struct away_end end = { .status = "" };
	struct rye_err own = { .code = RYE_IO };

	p->fault = "io";
	far_begin(p, "the order", RESULT);
	assert_int_equal(away_goes(p, &end), -(int)RYE_IO);
	assert_true(away_is_cut(&p->away, &p->err));
	/* as no disk that is full here is */
	p->away.faulted = false;
	assert_false(away_is_cut(&p->away, &own));
	p->away.faulted = true;
	p->away.accepted = false;
	assert_false(away_is_cut(&p->away, &own));
}

static void a_cancel_is_told_once(void **state)
{
	struct away_place *p = *state;
	struct away_end end = { .status = "" };

	assert_int_equal(eventfd_write(p->ask.stop, 1), 0);
	far_begin(p, "the order", RESULT);
	assert_int_equal(away_goes(p, &end), 0);
	assert_int_equal(p->cancels, 1);
	rye_outcome_done(&end.outcome);
}

#define AWAY_TEST(name) cmocka_unit_test_setup_teardown(name, away_setup, away_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		AWAY_TEST(a_run_to_its_end),	    AWAY_TEST(what_was_printed_comes_once),
		AWAY_TEST(another_order_s_receipt), AWAY_TEST(another_node_s_receipt),
		AWAY_TEST(a_changed_result),	    AWAY_TEST(a_cut_is_no_end),
		AWAY_TEST(a_cancel_is_told_once),   AWAY_TEST(a_database_that_is_away_is_no_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
