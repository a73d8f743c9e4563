/* SPDX-License-Identifier: MIT */
/* What a WebSocket's server sends: the same control frames and the same end, however it is cut. */
#include "http/http.h"

#include "fuzz_pieces.h"

static void note(void *arg, unsigned opcode, struct rye_span payload)
{
	buf_addf(arg, "[%u:%zu:", opcode, payload.len);
	buf_addspan(arg, payload);
}

static bool feed_websocket(void *reader, struct rye_span piece, struct rye_buf *told)
{
	return websocket_feed(reader, piece, note, told);
}

static void read_websocket(const struct fuzz_cut *cut, struct rye_buf *told)
{
	struct websocket_reader reader = { .n = 0 };
	bool good = fuzz_feed(feed_websocket, &reader, cut, told);

	buf_addc(told, good ? '+' : '-');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_pieces(read_websocket, data, size);
}
