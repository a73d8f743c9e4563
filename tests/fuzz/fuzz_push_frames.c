/* SPDX-License-Identifier: MIT */
/*
 * fuzz_push_frames.c - bodies of the frames of a push and a pull, as a principal may send them: the first byte says which
 * of HEADS, ASK, MANIFEST, GET and PACK, the rest is the body. A node of its own, with a depot that has nothing.
 */
#include "base/io.h"
#include "door/door.h"
#include "pack/pack.h"
#include "scope.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const enum frame_type fuzzed[] = { FRAME_HEADS, FRAME_ASK, FRAME_MANIFEST, FRAME_GET,
					  FRAME_PACK };

static char top[] = "/tmp/fuzz-push.XXXXXX";
static struct node_dir node;
static struct door_session session;

static void fuzz_end(void)
{
	conn_close(session.conn);
	/* the depot goes with the process */
	io_remove_tree(AT_FDCWD, top, 8);
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
	session.who.bytes = session.who.push = 1 << 20;
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
