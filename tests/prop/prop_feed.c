/* SPDX-License-Identifier: MIT */
/*
 * prop_feed.c - any cutting of a stream of JSON messages gives the same messages.
 *
 * Random streams of objects and the blank lines behind them, some damaged, are fed whole, byte
 * by byte and in random pieces. (YAML is framed by its write: prop_messages.c.) RYE_SEED
 * replays a run; it is printed.
 */
#include "random_steps.h"

#include "talk/talk_inner.h"

#include <stdio.h>

#define CASES 4000
#define STREAM 512

static const char *const words[] = {
	"{}",
	"{}\n",
	"{}\n\n",
	"{\"a\":1}",
	"{\"a\":\"\\\"}{\"}\r\n",
	"{\"a\":[1,{\"b\":[]}],\n\"c\":\"\xc3\xa9\"}\n",
	" \t{ \n\"k\": \"}\" }\n",
	"\xef\xbb\xbf{\"mark\":1}\n",
	"{\"long\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}",
	"{\"open\":",
	"{\"a\":1]",
	"{\"a\":\"b\n",
};
#define GOOD 9

static size_t compose(struct random *r, char *stream, size_t kinds)
{
	size_t len = 0, n = 1 + random_below(r, 8);

	for (size_t i = 0; i < n; i++) {
		const char *word = words[random_below(r, kinds)];

		if (len + strlen(word) > STREAM)
			break;
		memcpy(stream + len, word, strlen(word));
		len += strlen(word);
	}
	return len;
}

/* What came of it, up to and with the first garbage. */
struct verdicts {
	size_t n, len;
	bool broken, unfinished;
	char text[STREAM * 8];
};

static bool feed_piece(struct feed *feed, struct rye_span piece, struct verdicts *v)
{
	while (piece.len) {
		size_t used;
		enum feed_verdict verdict = feed_step(feed, piece, &used);
		struct rye_span message = feed_message(feed);

		piece = (struct rye_span){ piece.ptr + used, piece.len - used };
		if (verdict == FEED_COMPLETE) {
			v->n++;
			v->len += (size_t)snprintf(v->text + v->len, sizeof(v->text) - v->len,
						   "%.*s|", (int)message.len, message.ptr);
		}
		if (verdict == FEED_GARBAGE)
			return false;
	}
	return true;
}

/* max 0: whole. */
static void cut(struct random *r, const char *stream, size_t len, size_t max, struct verdicts *v)
{
	struct feed feed;
	char why[240];

	memset(v, 0, sizeof(*v));
	feed_init(&feed);
	for (size_t i = 0; i < len && !v->broken;) {
		size_t n = max ? 1 + random_below(r, max) : len;
		/* a copy of its own, so that a sanitizer sees a read behind it */
		char *piece;

		n = n < len - i ? n : len - i;
		piece = malloc(n);
		assert_non_null(piece);
		memcpy(piece, stream + i, n);
		v->broken = !feed_piece(&feed, (struct rye_span){ piece, n }, v);
		free(piece);
		i += n;
	}
	v->unfinished = feed_unfinished(&feed, why, sizeof(why));
	feed_done(&feed);
}

static void any_cutting(void **state)
{
	struct random r = random_seed();
	static const size_t cuts[] = { 1, 2, 5, 64 };

	for (int i = 0; i < CASES; i++) {
		char stream[STREAM];
		size_t kinds = i % 2 ? GOOD : sizeof(words) / sizeof(words[0]);
		size_t len = compose(&r, stream, kinds);
		struct verdicts whole, pieces;

		cut(&r, stream, len, 0, &whole);
		assert_false(kinds == GOOD && (whole.broken || whole.unfinished));
		for (size_t c = 0; c < sizeof(cuts) / sizeof(cuts[0]); c++) {
			cut(&r, stream, len, cuts[c], &pieces);
			assert_string_equal(pieces.text, whole.text);
			assert_int_equal(pieces.n, whole.n);
			assert_int_equal(pieces.broken, whole.broken);
			assert_int_equal(pieces.unfinished, whole.unfinished);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(any_cutting) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
