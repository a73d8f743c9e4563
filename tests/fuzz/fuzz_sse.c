/* SPDX-License-Identifier: MIT */
/* Event streams: the same events, however they are cut. */
#include "http/http.h"

#include "fuzz_pieces.h"

static void note(void *arg, const struct sse_event *event)
{
	buf_addf(arg, "[%s|%s|%zu:", event->type, event->id, event->data.len);
	buf_addspan(arg, event->data);
}

/* It never has enough: what is too much shows in the events. */
static bool feed_sse(void *reader, struct rye_span piece, struct rye_buf *told)
{
	sse_feed(reader, piece, note, told);
	return true;
}

static void read_sse(const struct fuzz_cut *cut, struct rye_buf *told)
{
	struct sse sse = SSE_INIT;

	fuzz_feed(feed_sse, &sse, cut, told);
	sse_end(&sse, note, told);
	sse_done(&sse);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_pieces(read_sse, data, size);
}
