/* SPDX-License-Identifier: MIT */
#pragma once
/* fuzz_door.h - a node of its own in a directory that goes at the end, and one session whose answers go to /dev/null. */
#include "base/io.h"
#include "board/board.h"
#include "door/door.h"
#include "scope.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static char fuzz_top[] = "/tmp/fuzz-door.XXXXXX";
static struct node_dir fuzz_node;
static struct door_session fuzz_session;

static inline void fuzz_door_end(void)
{
	conn_close(fuzz_session.conn);
	board_close(fuzz_session.board);
	/* a depot goes with the process */
	io_remove_tree(AT_FDCWD, fuzz_top, 8);
}

static inline void fuzz_door_begin(void)
{
	static const unsigned char seed[KEY_LEN] = { 1 };
	int out = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int in = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (!mkdtemp(fuzz_top) || conn_over(in, out, &fuzz_session.conn, NULL))
		abort();
	fuzz_node =
		(struct node_dir){ .path = fuzz_top, .dir = open(fuzz_top, O_PATH | O_CLOEXEC) };
	key_secret_seed(seed, &fuzz_node.key);
	fuzz_session.node = &fuzz_node;
	fuzz_session.who.key = fuzz_node.key.pub;
	atexit(fuzz_door_end);
}

/* The first byte says which of the n types it is, the rest is the body. An answer is sent, or the error says why not. */
static inline void fuzz_door_frame(const enum frame_type *types, size_t n, const uint8_t *data,
				   size_t size)
{
	struct conn_frame frame = { .stream = 1 };
	struct rye_err err = { 0 };

	if (!size)
		return;
	frame.type = types[data[0] % n];
	frame.body = rye_blob_new((const char *)data + 1, size - 1);
	for (size_t i = 0; i < door_n_rows; i++)
		if (door_rows[i].type == frame.type) {
			int r = door_rows[i].fn(&fuzz_session, &frame, &err);

			if (r && (r != -(int)err.code || !*err.msg))
				abort();
		}
	frame_done(&frame);
}
