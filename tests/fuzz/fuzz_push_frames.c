/* SPDX-License-Identifier: MIT */
/*
 * fuzz_push_frames.c - bodies of the frames of a push and a pull, as a principal may send them: HEADS, ASK, MANIFEST, GET,
 * GC and PACK, to a node with a depot that has nothing.
 */
#include "fuzz_door.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const enum frame_type fuzzed[] = { FRAME_HEADS, FRAME_ASK,  FRAME_MANIFEST,
					  FRAME_GET,   FRAME_PACK, FRAME_GC };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!fuzz_session.conn) {
		fuzz_door_begin();
		fuzz_session.who.bytes = fuzz_session.who.push = 1 << 20;
	}
	fuzz_door_frame(fuzzed, ARRAY_SIZE(fuzzed), data, size);
	return 0;
}
