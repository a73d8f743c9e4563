/* SPDX-License-Identifier: MIT */
/*
 * A board: each order once, whatever is repeated; what becomes of leases that are not renewed; results of
 * attempts that were given up. RYE_TEST_BOARD names another board than a file of SQLite.
 */
#include "board_place.h"
#include "own_fds.h"

#include "board/board_inner.h"
#include "board/lots.h"
#include "clock.h"
#include "str.h"

#include <errno.h>

struct board_test {
	struct board_place place;
	char id[ID_UUID_MAX], labels[32];
	struct board_order order;
	struct board_seat seat;
};

static int board_setup(void **state)
{
	struct board_test *t = test_malloc(sizeof(*t));

	board_place_make(&t->place);
	board_labels(&t->place, t->labels);
	id_uuid(t->id);
	t->order = board_order_of(&t->place, t->id, t->labels);
	t->seat = (struct board_seat){ "worker-1", t->labels, LEASE_MS, SILENT_MS };
	*state = t;
	return 0;
}

static int board_teardown(void **state)
{
	struct board_test *t = *state;

	board_place_drop(&t->place);
	test_free(t);
	return 0;
}

static void submit(struct board_test *t)
{
	struct board_run run;

	assert_int_equal(board_submit(t->place.board, &t->order, &run, &t->place.err), 0);
	assert_string_equal(run.state, "queued");
}

static void claim(struct board_test *t, struct board_run *ret)
{
	auto_claim struct board_claim got;

	assert_int_equal(board_claim(t->place.board, &t->seat, &got, &t->place.err), 1);
	*ret = got.run;
}

/* Its state now; and what came of it, when that is asked for. */
static void assert_state(struct board_test *t, const char *state, const char *receipt,
			 const char *late)
{
	struct board_run run;

	assert_int_equal(board_find(t->place.board, t->place.principal, t->id, &run, &t->place.err),
			 0);
	assert_string_equal(run.state, state);
	assert_int_equal(run.receipt != NULL, receipt != NULL);
	assert_int_equal(run.late != NULL, late != NULL);
	if (receipt)
		assert_string_equal(run.receipt->data, receipt);
	if (late)
		assert_string_equal(run.late->data, late);
	board_run_done(&run);
}

static enum board_settled settle(struct board_test *t, const struct board_run *run,
				 const char *receipt)
{
	struct board_end end = { "done", receipt };
	enum board_settled is;

	assert_int_equal(board_settle(t->place.board, run, &end, &is, &t->place.err), 0);
	return is;
}

/* Until the state is that, by the board's own looking; 5 s. */
static void wait_state(struct board_test *t, const char *state)
{
	int64_t end = clock_ms() + 5000;
	struct board_run run = { .id = "" };

	do {
		board_expire(t->place.board, &t->seat, &t->place.err);
		board_find(t->place.board, t->place.principal, t->id, &run, &t->place.err);
		board_run_done(&run);
		if (!strcmp(run.state, state))
			return;
		board_wait(t->place.board, -1, BOARD_ORDER | BOARD_WORD | BOARD_TOLD, 20);
	} while (clock_ms() < end);
	fail_msg("still %s, not %s", run.state, state);
}

struct sender {
	struct board_test *t;
	int bad;
};

static void *send_ten_times(void *arg)
{
	struct sender *sender = arg;
	struct board *board;
	struct rye_err err;
	struct board_run run;

	sender->bad = board_open(sender->t->place.where, &board, &err) != 0;
	for (int i = 0; !sender->bad && i < 10; i++)
		sender->bad = board_submit(board, &sender->t->order, &run, &err) != 0 ||
			      strcmp(run.id, sender->t->id) != 0;
	board_close(board);
	return NULL;
}

static int count_run(void *arg, const struct board_run *run)
{
	++*(int *)arg;
	return 0;
}

/* 14: five connections send the same order ten times each. */
static void an_order_that_is_sent_often_is_one_run(void **state)
{
	struct board_test *t = *state;
	struct board_order other = t->order;
	struct sender senders[5];
	pthread_t threads[5];
	struct board_run run;
	int n = 0;

	for (int i = 0; i < 5; i++) {
		senders[i] = (struct sender){ t, 0 };
		assert_int_equal(pthread_create(&threads[i], NULL, send_ten_times, &senders[i]), 0);
	}
	for (int i = 0; i < 5; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(senders[i].bad, 0);
	}
	assert_int_equal(
		board_list(t->place.board, t->place.principal, 0, count_run, &n, &t->place.err), 0);
	assert_int_equal(n, 1);
	claim(t, &run);
	assert_int_equal(settle(t, &run, "receipt"), BOARD_SETTLED);
	assert_int_equal(board_submit(t->place.board, &t->order, &run, &t->place.err), 0);
	assert_string_equal(run.state, "done");

	other.sha = "ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
	assert_int_equal(board_submit(t->place.board, &other, &run, &t->place.err), -RYE_STATE);
	assert_int_equal(t->place.err.sys, EEXIST);
	other = t->order;
	other.principal = "0123456789abcdef";
	assert_int_equal(board_submit(t->place.board, &other, &run, &t->place.err), -RYE_STATE);
	assert_string_equal(run.id, "");
}

static void a_principal_has_limits(void **state)
{
	struct board_test *t = *state;
	struct board_order second = t->order;
	auto_claim struct board_claim none = { .body = NULL };
	struct board_run run, first;
	char id[ID_UUID_MAX];

	t->order.jobs = second.jobs = 1;
	second.queued = 1;
	second.id = id;
	id_uuid(id);
	submit(t);
	assert_int_equal(board_submit(t->place.board, &second, &run, &t->place.err), -RYE_BUSY);
	assert_int_equal(t->place.err.sys, EAGAIN);
	claim(t, &first);
	assert_int_equal(board_submit(t->place.board, &second, &run, &t->place.err), 0);
	/* one at a time */
	assert_int_equal(board_claim(t->place.board, &t->seat, &none, &t->place.err), 0);
	settle(t, &first, "receipt");
	claim(t, &run);
	assert_string_equal(run.id, id);
}

static void a_worker_takes_what_fits_its_labels(void **state)
{
	struct board_test *t = *state;
	auto_claim struct board_claim got = { .body = NULL };
	struct board_seat seat = t->seat;
	char more[64];

	submit(t);
	seat.labels = "[]";
	t->order.labels = "[]";
	seat.labels = "[\"a100\"]";
	assert_int_equal(board_claim(t->place.board, &seat, &got, &t->place.err), 0);
	snprintf(more, sizeof(more), "[\"a100\",\"%s\"]", t->place.principal);
	seat.labels = more;
	assert_int_equal(board_claim(t->place.board, &seat, &got, &t->place.err), 1);
	assert_string_equal(got.run.id, t->id);
	assert_int_equal(got.run.gen, 1);
	assert_string_equal(got.body->data, t->order.body);
}

static void another_principal_sees_nothing(void **state)
{
	struct board_test *t = *state;
	struct board_run run;
	struct rye_err *err = &t->place.err;
	const char *other = "0123456789abcdef";
	int64_t n;

	submit(t);
	assert_refused(err, RYE_NOT_FOUND, board_find(t->place.board, other, t->id, &run, err));
	assert_refused(err, RYE_NOT_FOUND, board_cancel(t->place.board, other, t->id, &run, err));
	assert_refused(err, RYE_NOT_FOUND, board_say(t->place.board, other, t->id, "x", &n, err));
	assert_refused(err, RYE_NOT_FOUND, board_forget(t->place.board, other, t->id, err));
}

/* 16 */
static void a_silent_run_may_still_end(void **state)
{
	struct board_test *t = *state;
	struct board_told told;
	struct board_run run;

	submit(t);
	claim(t, &run);
	wait_state(t, "silent");
	assert_int_equal(board_renew(t->place.board, &t->seat, &run, &told, &t->place.err), 0);
	assert_false(told.gone);
	assert_state(t, "running", NULL, NULL);
	wait_state(t, "silent");
	assert_int_equal(settle(t, &run, "receipt"), BOARD_SETTLED);
	assert_state(t, "done", "receipt", NULL);
}

static void a_lost_run_is_never_begun_again(void **state)
{
	struct board_test *t = *state;
	auto_claim struct board_claim none = { .body = NULL };
	struct board_told told;
	struct board_run run;

	submit(t);
	claim(t, &run);
	wait_state(t, "lost");
	assert_int_equal(board_claim(t->place.board, &t->seat, &none, &t->place.err), 0);
	assert_int_equal(board_renew(t->place.board, &t->seat, &run, &told, &t->place.err), 0);
	assert_true(told.gone);
	assert_int_equal(settle(t, &run, "receipt"), BOARD_LATE);
	assert_int_equal(settle(t, &run, "receipt"), BOARD_LATE);
	assert_state(t, "lost", NULL, "receipt");
}

static void an_idempotent_one_is_begun_again_and_has_one_result(void **state)
{
	struct board_test *t = *state;
	struct board_run first, second;

	t->order.again = true;
	submit(t);
	claim(t, &first);
	wait_state(t, "queued");
	claim(t, &second);
	assert_int_equal(second.gen, 2);
	assert_int_equal(settle(t, &first, "of the first"), BOARD_STALE);
	assert_state(t, "running", NULL, NULL);
	assert_int_equal(settle(t, &second, "of the second"), BOARD_SETTLED);
	assert_int_equal(settle(t, &first, "of the first"), BOARD_STALE);
	assert_state(t, "done", "of the second", NULL);
}

static void an_unheard_answer_is_asked_for_again(void **state)
{
	struct board_test *t = *state;
	auto_claim struct board_claim again = { .body = NULL };
	auto_claim struct board_claim none = { .body = NULL };
	struct board_run run;

	submit(t);
	claim(t, &run);
	assert_int_equal(board_claimed(t->place.board, &t->seat, 0, &again, &t->place.err), 1);
	assert_string_equal(again.run.id, t->id);
	assert_int_equal(again.run.gen, run.gen);
	assert_int_equal(settle(t, &run, "receipt"), BOARD_SETTLED);
	assert_int_equal(settle(t, &run, "receipt"), BOARD_SETTLED);
	assert_int_equal(settle(t, &run, "another receipt"), BOARD_STALE);
	assert_state(t, "done", "receipt", NULL);
	assert_int_equal(board_claimed(t->place.board, &t->seat, 0, &none, &t->place.err), 0);
}

static void what_waits_is_cancelled_at_once(void **state)
{
	struct board_test *t = *state;
	auto_claim struct board_claim none = { .body = NULL };
	struct board_run run;

	t->order.sealed = "sealed";
	submit(t);
	assert_int_equal(
		board_cancel(t->place.board, t->place.principal, t->id, &run, &t->place.err), 0);
	assert_string_equal(run.state, "cancelled");
	assert_int_equal(board_claim(t->place.board, &t->seat, &none, &t->place.err), 0);
	assert_int_equal(board_cancel(t->place.board, t->place.principal, t->id, &run,
				      &t->place.err),
			 -RYE_STATE);
	assert_non_null(strstr(t->place.err.msg, "is over"));
}

struct hearing {
	struct board_test *t;
	struct rye_buf words;
};

/* As a worker does: it asks the board before it has heard all of them. */
static int note_word(void *arg, const char *word)
{
	struct hearing *hearing = arg;
	struct board_run run;

	assert_int_equal(board_find(hearing->t->place.board, hearing->t->place.principal,
				    hearing->t->id, &run, &hearing->t->place.err),
			 0);
	board_run_done(&run);
	buf_adds(&hearing->words, word);
	buf_addc(&hearing->words, '|');
	return 0;
}

static void a_running_one_is_told(void **state)
{
	struct board_test *t = *state;
	struct board *board = t->place.board;
	struct rye_err *err = &t->place.err;
	struct hearing hearing = { .t = t };
	struct board_told told;
	struct board_run run;
	int64_t n;

	submit(t);
	claim(t, &run);
	assert_works(err, board_say(board, t->place.principal, t->id, "say: one", &n, err));
	assert_int_equal(n, 1);
	assert_works(err, board_say(board, t->place.principal, t->id, "say: two", &n, err));
	assert_int_equal(n, 2);
	assert_works(err, board_renew(board, &t->seat, &run, &told, err));
	assert_false(told.cancel);
	assert_int_equal(told.words, 2);
	assert_works(err, board_words(board, t->id, 1, note_word, &hearing, err));
	assert_string_equal(hearing.words.data, "say: two|");
	buf_done(&hearing.words);
	assert_works(err, board_cancel(board, t->place.principal, t->id, &run, err));
	assert_string_equal(run.state, "running");
	assert_works(err, board_renew(board, &t->seat, &run, &told, err));
	assert_true(told.cancel);
	settle(t, &run, "receipt");
	assert_refused(err, RYE_STATE, board_say(board, t->place.principal, t->id, "x", &n, err));
}

/* 22: each byte once, in order, also where what was written is written again. */
static void output_is_read_from_any_offset(void **state)
{
	struct board_test *t = *state;
	struct board *board = t->place.board;
	struct rye_err *err = &t->place.err;
	struct board_part part = { t->id, "live", 0 };
	struct board_run run, stale;
	auto_buf struct rye_buf got = RYE_BUF_INIT;

	submit(t);
	claim(t, &run);
	assert_works(err, board_write(board, &run, &part, SPAN("hello \0"), err));
	assert_works(err, board_write(board, &run, &part, SPAN("hello \0"), err));
	part.off = 7;
	assert_works(err, board_write(board, &run, &part, SPAN("world"), err));
	for (int64_t off = 0; off <= 12; off++) {
		part.off = off;
		buf_clear(&got);
		assert_works(err, board_read(board, &part, 100, &got, err));
		assert_int_equal(got.len, 12 - off);
		assert_memory_equal(buf_span(&got).ptr, "hello \0world" + off, got.len);
		buf_clear(&got);
		assert_works(err, board_read(board, &part, 3, &got, err));
		assert_int_equal(got.len, MIN_OF(3, 12 - off));
	}
	stale = run;
	stale.gen = 0;
	assert_refused(err, RYE_STATE, board_write(board, &stale, &part, SPAN("x"), err));
	settle(t, &run, "receipt");
	assert_works(err, board_forget(board, t->place.principal, t->id, err));
	part.off = 0;
	buf_clear(&got);
	assert_works(err, board_read(board, &part, 100, &got, err));
	assert_int_equal(got.len, 0);
	assert_state(t, "done", NULL, NULL);
}

static void a_head_moves_by_one(void **state)
{
	struct board_test *t = *state;
	struct board_advance to = { t->place.principal, "demo", "m1", 0 };
	struct board_head head;
	struct rye_err *err = &t->place.err;

	assert_works(err, board_head(t->place.board, to.principal, "demo", &head, err));
	assert_int_equal(head.number, 0);
	assert_works(err, board_advance(t->place.board, &to, &head, err));
	assert_int_equal(head.number, 1);
	to.manifest = "m2";
	assert_refused(err, RYE_STATE, board_advance(t->place.board, &to, &head, err));
	assert_int_equal(err->sys, ESTALE);
	assert_string_equal(head.manifest, "m1");
	to.expected = 1;
	assert_works(err, board_advance(t->place.board, &to, &head, err));
	assert_int_equal(head.number, 2);
	assert_string_equal(head.manifest, "m2");
	to.expected = 1;
	assert_refused(err, RYE_STATE, board_advance(t->place.board, &to, &head, err));
}

static int count_root(void *arg, const char *manifest)
{
	buf_addf(arg, "%s ", manifest);
	return 0;
}

static void roots_are(struct board_test *t, int64_t keep_ms, const char *wanted)
{
	auto_buf struct rye_buf roots = RYE_BUF_INIT;

	assert_int_equal(board_roots(t->place.board, t->place.principal, keep_ms, count_root,
				     &roots, &t->place.err),
			 0);
	if (roots.len != strlen(wanted))
		fail_msg("roots are %s, wanted are %s", roots.data, wanted);
	for (const char *s = wanted; *s; s += 3) {
		char name[4] = { s[0], s[1], s[2] };

		assert_non_null(strstr(roots.data, name));
	}
}

/* The last five of each project, and what runs begin with and leave. */
static void manifests_in_use_are_told(void **state)
{
	struct board_test *t = *state;
	char manifest[] = "p0";
	struct board_advance to = { t->place.principal, "roots", manifest, 0 };
	struct board_head head;
	struct rye_err *err = &t->place.err;
	struct board_end end = { "done", "a receipt", "r2" };
	enum board_settled settled;
	struct board_run run;

	for (; to.expected < 7; to.expected++, manifest[1]++)
		assert_works(err, board_advance(t->place.board, &to, &head, err));
	to.project = "other", manifest[0] = 'o', to.expected = 0;
	assert_works(err, board_advance(t->place.board, &to, &head, err));
	t->order.manifest = "r1";
	submit(t);
	roots_are(t, 0, "p2 p3 p4 p5 p6 o7 r1 ");
	claim(t, &run);
	assert_works(err, board_settle(t->place.board, &run, &end, &settled, err));
	roots_are(t, 100000, "p2 p3 p4 p5 p6 o7 r1 r2 ");
	roots_are(t, -100000, "p2 p3 p4 p5 p6 o7 ");
	assert_works(err, board_forget(t->place.board, t->place.principal, t->id, err));
	roots_are(t, 100000, "p2 p3 p4 p5 p6 o7 ");
}

/* Its last files and what it has used, with its end; told again, since the answer was not heard, they are there once. */
static void an_end_is_kept_whole(void **state)
{
	struct board_test *t = *state;
	const struct board_piece pieces[] = { { { t->id, "output", 0 }, SPAN("text") },
					      { { t->id, "empty", 0 }, SPAN("") } };
	const struct board_used more = { .spend = 0.5, .seconds = 2 };
	const struct board_end end = { .state = "done",
				       .receipt = "a receipt",
				       .pieces = pieces,
				       .n = ARRAY_SIZE(pieces),
				       .used = &more };
	struct board *board = t->place.board;
	struct rye_err *err = &t->place.err;
	struct board_used used;
	enum board_settled is;
	struct board_run run;

	submit(t);
	claim(t, &run);
	for (int i = 0; i < 2; i++) {
		auto_buf struct rye_buf bytes = RYE_BUF_INIT;

		assert_int_equal(board_settle(board, &run, &end, &is, err), 0);
		assert_int_equal(is, BOARD_SETTLED);
		assert_int_equal(board_read(board, &pieces[0].part, 100, &bytes, err), 0);
		assert_int_equal(bytes.len, 4);
		assert_int_equal(board_account(board, t->place.principal, NULL, &used, err), 0);
		assert_true(used.spend > 0.49 && used.spend < 0.51 && used.seconds < 2.1);
	}
	/* of an attempt that counts no more nothing is kept, and what it has used counts */
	run.gen++;
	assert_int_equal(board_settle(board, &run, &end, &is, err), 0);
	assert_int_equal(is, BOARD_STALE);
	assert_int_equal(board_account(board, t->place.principal, NULL, &used, err), 0);
	assert_true(used.spend > 0.99 && used.spend < 1.01);
}

static void a_month_has_a_cap(void **state)
{
	struct board_test *t = *state;
	struct board_used used, more = { 0.6, 2, 10 }, back = { -0.4, 0, 0 };
	struct rye_err *err = &t->place.err;
	const char *who = t->place.principal;

	assert_works(err, board_spend(t->place.board, who, &more, 1.0, err));
	assert_refused(err, RYE_BUDGET, board_spend(t->place.board, who, &more, 1.0, err));
	assert_works(err, board_account(t->place.board, who, NULL, &used, err));
	assert_true(used.spend > 0.59 && used.spend < 0.61);
	assert_int_equal(used.bytes, 10);
	assert_works(err, board_spend(t->place.board, who, &back, 1.0, err));
	assert_works(err, board_spend(t->place.board, who, &more, 1.0, err));
	assert_works(err, board_spend(t->place.board, who, &more, -1, err));
	assert_works(err, board_account(t->place.board, who, "1999-01", &used, err));
	assert_int_equal(used.bytes, 0);
}

#define WITH_BOARD(fn) cmocka_unit_test_setup_teardown(fn, board_setup, board_teardown)

/* ---- which of many asks ---- */

#define RINGS 70000 /* more than a FIFO holds */
#define HEARD_MS 5000

/* What is done over one connection is heard over the others at once, however often none of them listened. */
static void what_waits_is_woken(void **state)
{
	struct board_test *t = *state;
	struct board *others[2], *first = t->place.board;
	int64_t begun;

	if (getenv("RYE_TEST_BOARD"))
		test_skip("a server of a database wakes its clients in its own way");
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_int_equal(board_open(t->place.where, &others[i], &t->place.err), 0);
	for (int i = 0; i < RINGS; i++)
		board_wake(first, BOARD_ORDER, t->id);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		while (board_wait(others[i], -1, BOARD_ORDER, 0))
			continue;
		assert_int_equal(board_wait(others[i], -1, BOARD_ORDER, 1), 0);
	}
	submit(t);
	begun = clock_ms();
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		assert_int_equal(board_wait(others[i], -1, BOARD_ORDER, HEARD_MS), BOARD_ORDER);
		assert_int_equal(board_wait(others[i], -1, BOARD_ORDER, 1), 0);
		board_close(others[i]);
	}
	assert_true(clock_ms() - begun < HEARD_MS);
	assert_int_equal(own_fds("anon_inode:inotify"), 0);
}

/* How long it waits for an order that is put there at the time 1000. */
static int64_t lot_ms(struct lots *lots)
{
	lots_begin(lots);
	assert_int_equal(lots_hear(lots, "1 a", 1000), BOARD_ORDER);
	return lots_at(lots) - 1000;
}

static void one_of_many_asks_for_an_order(void **state)
{
	struct lots lots = { 0 };
	int64_t most = 0;
	char id[16];

	/* alone it asks at once */
	assert_int_equal(lot_ms(&lots), 0);
	/* what was taken is not asked for, what was not is */
	assert_int_equal(lots_hear(&lots, "1 b", 1000), BOARD_ORDER);
	assert_int_equal(lots_hear(&lots, "0 a", 1000), 0);
	assert_int_equal(lots_at(&lots), 1000);
	assert_int_equal(lots_hear(&lots, "0 b", 1000), 0);
	assert_true(lots_at(&lots) == INT64_MAX);
	/* news of runs are no orders */
	assert_int_equal(lots_hear(&lots, "6 a", 1000), BOARD_WORD | BOARD_TOLD);
	assert_true(lots_at(&lots) == INT64_MAX);
	/* others are faster: it waits longer, and never more than some seconds */
	for (int i = 0; i < 64; i++) {
		int64_t ms = lot_ms(&lots);

		assert_in_range(ms, 0, 4000);
		most = MAX_OF(most, ms);
		lots_drawn(&lots);
	}
	assert_in_range(most, 400, 4000);
	/* one that gets what it asks for waits less and less */
	for (int i = 0; i < 16; i++) {
		lot_ms(&lots);
		lots_drawn(&lots);
		lots_won(&lots);
	}
	assert_int_equal(lot_ms(&lots), 0);
	/* more than are told apart: it asks */
	for (int i = 0; i < LOTS_MAX + 8; i++) {
		snprintf(id, sizeof(id), "1 %d", i);
		lots_hear(&lots, id, 1000);
	}
	for (int i = 0; i < LOTS_MAX + 8; i++) {
		snprintf(id, sizeof(id), "0 %d", i);
		lots_hear(&lots, id, 1000);
	}
	assert_true(lots_at(&lots) < INT64_MAX);
	/* what another version of the program says */
	assert_int_equal(lots_hear(&lots, "", 1000), BOARD_ORDER | BOARD_WORD | BOARD_TOLD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_BOARD(an_order_that_is_sent_often_is_one_run),
		WITH_BOARD(a_principal_has_limits),
		WITH_BOARD(a_worker_takes_what_fits_its_labels),
		WITH_BOARD(another_principal_sees_nothing),
		WITH_BOARD(a_silent_run_may_still_end),
		WITH_BOARD(a_lost_run_is_never_begun_again),
		WITH_BOARD(an_idempotent_one_is_begun_again_and_has_one_result),
		WITH_BOARD(an_unheard_answer_is_asked_for_again),
		WITH_BOARD(what_waits_is_cancelled_at_once),
		WITH_BOARD(a_running_one_is_told),
		WITH_BOARD(output_is_read_from_any_offset),
		WITH_BOARD(a_head_moves_by_one),
		WITH_BOARD(manifests_in_use_are_told),
		WITH_BOARD(an_end_is_kept_whole),
		WITH_BOARD(a_month_has_a_cap),
		WITH_BOARD(what_waits_is_woken),
		cmocka_unit_test(one_of_many_asks_for_an_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
