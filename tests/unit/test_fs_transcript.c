/* SPDX-License-Identifier: MIT */
/*
 * test_fs_transcript.c - the bytes behind a conversation's offsets, against a plain array:
 * random insertions, appends, cuts and reads. RYE_SEED replays.
 */
#include "rye_test.h"

#include "talk/talk_inner.h"

#include <stdio.h>
#include <time.h>

#define MODEL 65536

struct model {
	char data[MODEL];
	size_t len;
};

static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void model_insert(struct model *m, size_t off, const char *ptr, size_t n)
{
	if (off > m->len) {
		memset(m->data + m->len, '\n', off - m->len);
		m->len = off;
	}
	memmove(m->data + off + n, m->data + off, m->len - off);
	memcpy(m->data + off, ptr, n);
	m->len += n;
}

static void same(const struct transcript *text, const struct model *m, uint64_t *state)
{
	static char got[MODEL];
	size_t off = next(state) % (m->len + 2), size = next(state) % 600;
	size_t wanted = off < m->len ? m->len - off : 0;

	assert_int_equal(transcript_size(text), m->len);
	assert_int_equal(transcript_read(text, 0, got, MODEL), m->len);
	assert_memory_equal(got, m->data, m->len);
	wanted = wanted < size ? wanted : size;
	assert_int_equal(transcript_read(text, off, got, size), wanted);
	assert_memory_equal(got, m->data + (off < m->len ? off : 0), wanted);
}

static void step(struct transcript *text, struct model *m, uint64_t *state)
{
	char bytes[200];
	size_t n = next(state) % sizeof(bytes), off;

	memset(bytes, 'a' + (char)(next(state) % 26), sizeof(bytes));
	switch (next(state) % 8) {
	case 0:
		off = next(state) % (m->len + 1);
		assert_true(transcript_cut(text, off));
		m->len = off;
		break;
	case 1:
	case 2:
	case 3:
		assert_true(transcript_append(text, (struct rye_span){ bytes, n }));
		model_insert(m, m->len, bytes, n);
		break;
	case 4:
		off = m->len + next(state) % 50;
		assert_true(transcript_insert(text, off, (struct rye_span){ bytes, n }));
		model_insert(m, off, bytes, n);
		break;
	default:
		off = next(state) % (m->len + 1);
		assert_true(transcript_insert(text, off, (struct rye_span){ bytes, n }));
		model_insert(m, off, bytes, n);
	}
}

static void like_an_array(void **state)
{
	const char *given = getenv("RYE_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) | 1;
	static struct model m;

	print_message("# RYE_SEED=%llu\n", (unsigned long long)seed);
	for (int round = 0; round < 60; round++) {
		struct transcript text = { .initial = round % 2 ? rye_blob_new("old reply", 9) :
								  NULL };

		m.len = text.initial ? 9 : 0;
		memcpy(m.data, "old reply", m.len);
		for (int i = 0; i < 150; i++) {
			same(&text, &m, &seed);
			step(&text, &m, &seed);
		}
		transcript_done(&text);
	}
}

/* Old bytes go, offsets stay. */
static void bounded(void **state)
{
	struct transcript text = { 0 };
	size_t n = 8u << 20, total = 0;
	char *bytes = malloc(n), got[4];

	assert_non_null(bytes);
	memset(bytes, 'x', n);
	for (int i = 0; i < 12; i++) {
		assert_true(transcript_insert(&text, total, (struct rye_span){ bytes, n }));
		total += n;
	}
	assert_int_equal(transcript_size(&text), total);
	assert_true(text.head.size <= 3u * TRANSCRIPT_KEEP);
	assert_int_equal(transcript_read(&text, total - 2, got, 4), 2);
	assert_memory_equal(got, "xx", 2);
	assert_int_equal(transcript_read(&text, 0, got, 4), 4);
	assert_memory_equal(got, "\n\n\n\n", 4);
	assert_false(transcript_insert(&text, 1, (struct rye_span){ bytes, 1 }));
	assert_false(transcript_insert(&text, total + TRANSCRIPT_GAP_MAX + 1,
				       (struct rye_span){ bytes, 1 }));
	transcript_done(&text);
	free(bytes);
}

/* Many messages before the first read: no more than appending. */
static void many_unread(void **state)
{
	struct transcript text = { 0 };
	size_t off = 0;

	for (int i = 0; i < 200000; i++) {
		assert_true(transcript_insert(&text, off, (struct rye_span){ "{\"a\":1}\n", 8 }));
		assert_true(transcript_append(&text, (struct rye_span){ "{\"r\":1}\n", 8 }));
		off += 8;
	}
	assert_int_equal(transcript_size(&text), 2 * off);
	assert_int_equal(transcript_unread(&text), off);
	transcript_done(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(like_an_array),
		cmocka_unit_test(bounded),
		cmocka_unit_test(many_unread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
