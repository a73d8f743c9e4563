/* SPDX-License-Identifier: MIT */
/*
 * fuzz_feed.c - feed_step over the input cut in two ways, and feed_yaml over the whole of it.
 * The first byte says where to cut. Both ways must give the same number of messages before
 * the first garbage.
 */
#include "feed.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t count(const char *bytes, size_t len, size_t cut)
{
	struct feed feed;
	size_t messages = 0;
	char why[240];

	feed_init(&feed);
	for (size_t i = 0; i < len;) {
		size_t used;
		struct rye_span piece = { bytes + i, len - i < cut ? len - i : cut };
		enum feed_verdict verdict = feed_step(&feed, piece, &used);

		if (used == 0 || used > piece.len)
			abort();
		if (verdict == FEED_GARBAGE)
			break;
		messages += verdict == FEED_COMPLETE;
		if (verdict == FEED_COMPLETE && feed_message(&feed).len < 2)
			abort();
		i += used;
	}
	feed_unfinished(&feed, why, sizeof(why));
	feed_done(&feed);
	return messages;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;
	char *json = NULL, why[240];
	size_t len;

	if (size == 0)
		return 0;
	if (count(bytes + 1, size - 1, size) != count(bytes + 1, size - 1, data[0] % 16 + 1))
		abort();
	if (feed_yaml((struct rye_span){ bytes + 1, size - 1 }, &json, &len, why) == 0 && len < 2)
		abort();
	free(json);
	return 0;
}
