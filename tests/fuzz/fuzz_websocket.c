/* SPDX-License-Identifier: MIT */
/*
 * What a WebSocket's server sends. The first byte says where the rest is cut; whole, cut there and
 * byte by byte it has to tell the same control frames, and the same end.
 */
#include "http/http.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void note(void *arg, unsigned opcode, struct rye_span payload)
{
	buf_addf(arg, "[%u:%zu:", opcode, payload.len);
	buf_addspan(arg, payload);
}

static void read_in_pieces(struct rye_span text, size_t first, size_t step, struct rye_buf *ret)
{
	struct websocket_reader reader = { .n = 0 };
	size_t n = first < text.len ? first : text.len;
	bool good = websocket_feed(&reader, (struct rye_span){ text.ptr, n }, note, ret);

	while (good && n < text.len) {
		size_t more = step && step < text.len - n ? step : text.len - n;

		good = websocket_feed(&reader, (struct rye_span){ text.ptr + n, more }, note, ret);
		n += more;
	}
	buf_addc(ret, good ? '+' : '-');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_buf struct rye_buf whole = RYE_BUF_INIT, cut = RYE_BUF_INIT, bytes = RYE_BUF_INIT;
	struct rye_span text = { (const char *)data + 1, size ? size - 1 : 0 };

	if (!size)
		return 0;
	read_in_pieces(text, text.len, 0, &whole);
	read_in_pieces(text, data[0], 0, &cut);
	read_in_pieces(text, 0, 1, &bytes);
	if (whole.len != cut.len || whole.len != bytes.len ||
	    memcmp(whole.data, cut.data, whole.len) || memcmp(whole.data, bytes.data, whole.len))
		abort();
	return 0;
}
