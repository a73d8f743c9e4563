/* SPDX-License-Identifier: MIT */
/*
 * fuzz_run_frames.c - bodies of the frames about runs, as a principal may send them: the first byte says which of ORDER,
 * FOLLOW, WORD, CANCEL and LIST, the rest is the body. A node of its own, whose board has one run that is over: of an
 * open one a worker would be started.
 */
#include "base/io.h"
#include "board/board.h"
#include "door/door.h"
#include "scope.h"
#include "str.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The seeds ask for this one. */
#define RUN "018f0000-0000-7000-8000-000000000001"
#define SOME_SHA "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static const enum frame_type fuzzed[] = { FRAME_ORDER, FRAME_FOLLOW, FRAME_WORD, FRAME_CANCEL,
					  FRAME_LIST };

static char top[] = "/tmp/fuzz-runs.XXXXXX";
static struct node_dir node;
static struct door_session session;

static void fuzz_end(void)
{
	conn_close(session.conn);
	board_close(session.board);
	io_remove_tree(AT_FDCWD, top, 8);
}

static void fuzz_run_over(void)
{
	const struct board_order order = { .id = RUN,
					   .principal = session.who.key.fp,
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

	if (board_submit(session.board, &order, &run, NULL) ||
	    board_claim(session.board, &seat, &claim, NULL) != 1 ||
	    board_write(session.board, &claim.run, &part, span_of("some lines\n"), NULL) ||
	    board_settle(session.board, &claim.run, &end, &settled, NULL))
		abort();
}

static void fuzz_begin(void)
{
	static const unsigned char seed[KEY_LEN] = { 1 };
	int out = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int in = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (!mkdtemp(top) || conn_over(in, out, &session.conn, NULL))
		abort();
	node = (struct node_dir){ .path = top, .dir = open(top, O_PATH | O_CLOEXEC) };
	key_secret_seed(seed, &node.key);
	session.node = &node;
	session.who.key = node.key.pub;
	session.who.queued = session.who.jobs = 4;
	if (node_board(&node, &session.board, NULL))
		abort();
	fuzz_run_over();
	atexit(fuzz_end);
}

/* An answer is sent, or the error says why not. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct conn_frame frame = { .stream = 1 };
	struct rye_err err = { 0 };

	if (!session.conn)
		fuzz_begin();
	if (!size)
		return 0;
	frame.type = fuzzed[data[0] % ARRAY_SIZE(fuzzed)];
	frame.body = rye_blob_new((const char *)data + 1, size - 1);
	for (size_t i = 0; i < door_n_rows; i++)
		if (door_rows[i].type == frame.type) {
			int r = door_rows[i].fn(&session, &frame, &err);

			if (r && (r != -(int)err.code || !*err.msg))
				abort();
		}
	frame_done(&frame);
	return 0;
}
