/* SPDX-License-Identifier: MIT */
/*
 * fuzz_run_frames.c - bodies of the frames about runs, as a principal may send them: ORDER, FOLLOW, WORD,
 * CANCEL and LIST, to a node whose board has one run that is over: of an open one a worker would be started.
 */
#include "fuzz_door.h"

#include "str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The seeds ask for this one. */
#define RUN "018f0000-0000-7000-8000-000000000001"
#define SOME_SHA "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static const enum frame_type fuzzed[] = { FRAME_ORDER, FRAME_FOLLOW, FRAME_WORD, FRAME_CANCEL,
					  FRAME_LIST };

static void fuzz_run_over(void)
{
	const struct board_order order = { .id = RUN,
					   .principal = fuzz_session.who.key.fp,
					   .sha = SOME_SHA,
					   .body = "{}",
					   .labels = "[]",
					   .queued = 4,
					   .jobs = 4 };
	const struct board_seat seat = { "worker-1", "[]", 10000, 10000 };
	const struct board_end end = { "done", "{}" };
	const struct board_part part = { RUN, "live", 0 };
	auto_claim struct board_claim claim = { .body = NULL };
	enum board_settled settled;
	struct board_run run;

	if (board_submit(fuzz_session.board, &order, &run, NULL) ||
	    board_claim(fuzz_session.board, &seat, &claim, NULL) != 1 ||
	    board_write(fuzz_session.board, &claim.run, &part, span_of("some lines\n"), NULL) ||
	    board_settle(fuzz_session.board, &claim.run, &end, &settled, NULL))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!fuzz_session.conn) {
		fuzz_door_begin();
		fuzz_session.who.queued = fuzz_session.who.jobs = 4;
		if (node_board(&fuzz_node, &fuzz_session.board, NULL))
			abort();
		fuzz_run_over();
	}
	fuzz_door_frame(fuzzed, ARRAY_SIZE(fuzzed), data, size);
	return 0;
}
