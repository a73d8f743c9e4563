/* SPDX-License-Identifier: MIT */
/*
 * What the mount tells of itself, .ryefs/log and .ryefs/changes: bounded, whole lines, the newest
 * last, and what stands in a name makes no line of its own.
 */
#include "rye_test.h"

#include "scope.h"
#include "views/views.h"

#include <stdio.h>
#include <string.h>

#define STAMP (sizeof("2026-01-02T03:04:05Z ") - 1)

static struct journal *opened(bool debug)
{
	struct journal *journal = NULL;

	assert_int_equal(journal_open(&(struct journal_how){ "log", false, debug }, &journal), 0);
	return journal;
}

/* Its lines without their times, joined by "|". */
static void lines_are(struct journal *journal, const char *wanted)
{
	auto_blob struct rye_blob *text = journal_text(journal);
	char got[512] = "";
	size_t n = 0;

	for (const char *at = text->data, *end = at + text->len; at < end;) {
		const char *lf = memchr(at, '\n', (size_t)(end - at));

		assert_true(lf && lf - at >= (ptrdiff_t)STAMP);
		n += (size_t)snprintf(got + n, sizeof(got) - n, "%.*s|",
				      (int)(lf - at - (ptrdiff_t)STAMP), at + STAMP);
		assert_true(n < sizeof(got));
		at = lf + 1;
	}
	assert_string_equal(got, wanted);
}

static void a_line_for_each(void **state)
{
	struct journal *journal = opened(false);

	(void)state;
	journal_log(journal, RYE_LOG_WARN, "index", "slow");
	journal_log(journal, RYE_LOG_DEBUG, "index", "not told");
	journal_change(journal, "tools/a.py");
	lines_are(journal, "warning index: slow|tools/a.py|");
	assert_int_equal(journal_size(journal),
			 2 * STAMP + strlen("warning index: slow\n") + strlen("tools/a.py\n"));
	journal_close(journal);
	journal = opened(true);
	journal_log(journal, RYE_LOG_DEBUG, "index", "told");
	lines_are(journal, "debug index: told|");
	journal_close(journal);
}

static void a_name_is_one_line(void **state)
{
	struct journal *journal = opened(false);

	(void)state;
	journal_change(journal, "tools/a\n2026-01-02T03:04:05Z tools/b\x1b[2J\x7f");
	lines_are(journal, "tools/a?2026-01-02T03:04:05Z tools/b?[2J?|");
	journal_close(journal);
}

/* The first line stands for more changes until it may have been read; then another one is due. */
static void what_is_not_seen_is_told_once(void **state)
{
	struct journal *journal = opened(false);

	(void)state;
	for (int round = 0; round < 3; round++) {
		/* a second may end in between */
		for (int i = 0; i < 20; i++)
			journal_change(journal, "tools/a.py");
		assert_in_range(journal_size(journal), 1, 2 * (STAMP + strlen("tools/a.py\n")));
		journal_close(journal);
		journal = opened(false);
	}
	for (int i = 0; i < 5; i++) {
		journal_change(journal, "tools/a.py");
		assert_int_equal(journal_size(journal), (i + 1) * (STAMP + strlen("tools/a.py\n")));
	}
	for (int i = 0; i < 5; i++) {
		journal_change(journal, "tools/a.py");
		rye_blob_unref(journal_text(journal));
	}
	assert_int_equal(journal_size(journal), 10 * (STAMP + strlen("tools/a.py\n")));
	journal_close(journal);
}

static void the_older_half_goes(void **state)
{
	struct journal *journal = opened(false);
	char path[1100], last[16];
	unsigned n = 0;

	(void)state;
	memset(path, 'x', sizeof(path));
	for (; n < 3000; n++) {
		snprintf(path + 1000, sizeof(path) - 1000, "/%u", n);
		journal_change(journal, path);
		assert_in_range(journal_size(journal), 1, 2 * JOURNAL_MAX);
	}
	{
		auto_blob struct rye_blob *text = journal_text(journal);
		int len = snprintf(last, sizeof(last), "/%u\n", n - 1);

		assert_true(text->len >= JOURNAL_MAX);
		assert_memory_equal(text->data + text->len - len, last, (size_t)len);
		/* a line's beginning */
		assert_memory_equal(text->data + STAMP - 2, "Z xxx", 5);
	}
	journal_close(journal);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_for_each),
		cmocka_unit_test(a_name_is_one_line),
		cmocka_unit_test(what_is_not_seen_is_told_once),
		cmocka_unit_test(the_older_half_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
