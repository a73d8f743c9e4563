/* SPDX-License-Identifier: MIT */
/*
 * fuzz_feed.c - feed_step over the input cut in two ways; what is complete goes to the engine's
 * reader of messages. The first byte says where to cut. JSON may be cut anywhere: without YAML
 * and blank lines both ways must give the same messages before the first garbage.
 */
#include "talk/talk_inner.h"

#include "parse/parse.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct count {
	size_t messages;
	bool framed; /* by the writes: another cutting may give others */
};

static void read_message(const struct feed *feed, struct count *count)
{
	struct rye_err err = { 0 };
	json_t *doc = message_read(feed_message(feed), feed->form, &err);

	if (doc ? !json_is_object(doc) : !err.code || !*err.msg)
		abort();
	json_decref(doc);
	count->messages++;
	if (feed->form != RYE_FORM_JSON)
		count->framed = true;
}

static struct count count_messages(const char *bytes, size_t len, size_t cut)
{
	struct count count = { 0, memchr(bytes, '\n', len) != NULL };
	struct feed feed;
	char why[FEED_WHY];

	feed_init(&feed);
	for (size_t i = 0; i < len;) {
		struct rye_span piece = { bytes + i, len - i < cut ? len - i : cut };
		enum feed_verdict verdict = FEED_MORE;

		for (size_t used; piece.len && verdict != FEED_GARBAGE;) {
			verdict = feed_step(&feed, piece, &used);
			if (used == 0 || used > piece.len)
				abort();
			if (verdict == FEED_COMPLETE)
				read_message(&feed, &count);
			piece = (struct rye_span){ piece.ptr + used, piece.len - used };
			i += used;
		}
		count.framed |= verdict == FEED_GARBAGE;
		if (verdict == FEED_GARBAGE)
			break;
	}
	feed_unfinished(&feed, why, sizeof(why));
	feed_done(&feed);
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data + 1;
	struct count whole, cut;

	if (size == 0)
		return 0;
	whole = count_messages(bytes, size - 1, size);
	cut = count_messages(bytes, size - 1, data[0] % 16 + 1);
	if (!whole.framed && !cut.framed && whole.messages != cut.messages)
		abort();
	return 0;
}
