/* SPDX-License-Identifier: MIT */
/*
 * A runner's parts that need no thread: which orders it knows, what it keeps of what its item prints,
 * and how it says that the work ended.
 */
#include "rye_test.h"

#include "bounds.h"
#include "runner/runner_inner.h"
#include "scope.h"
#include "str.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void orders_of_another_version_are_none(void **state)
{
	(void)state;
	assert_non_null(orders_find(ORDERS_TOOL));
	assert_non_null(orders_find(ORDERS_GRAPH));
	assert_non_null(orders_find(ORDERS_DIRECTIVE));
	assert_null(orders_find(""));
	assert_null(orders_find("of another version"));
}

static off_t size_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return st.st_size;
}

/* Puts it with standard output, which has all of it, in a file; the size of that then. */
static off_t put_apart(struct live *live, struct rye_span text)
{
	char path[] = "/tmp/rye-runner-XXXXXX";
	auto_close int out = mkstemp(path), saved = dup(STDOUT_FILENO);

	assert_true(out >= 0 && saved >= 0);
	unlink(path);
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	live_put(live, text);
	dup2(saved, STDOUT_FILENO);
	return size_of(out);
}

/* What is told as it comes is bounded; what is left out is told once, and all of it is in spawn.log. */
static void what_is_told_is_bounded(void **state)
{
	char path[] = "/tmp/rye-runner-XXXXXX", gap[200];
	struct live live = { .fd = mkstemp(path), .len = RYE_OUTPUT_MAX - 200 };
	off_t size;

	(void)state;
	assert_true(live.fd >= 0);
	unlink(path);
	assert_int_equal(put_apart(&live, SPAN("as it comes\n")), 12);
	assert_int_equal(size_of(live.fd), 12);
	memset(gap, 'x', sizeof(gap));
	assert_int_equal(put_apart(&live, (struct rye_span){ gap, 150 }), 150);
	size = size_of(live.fd);
	/* the line that says so, which has room */
	assert_in_range(size, 13, 12 + 128);
	assert_true(pread(live.fd, gap, sizeof(gap) - 1, 12) > 0);
	assert_non_null(memmem(gap, sizeof(gap), "left out here", strlen("left out here")));
	/* and nothing behind it, however short */
	assert_int_equal(put_apart(&live, SPAN("x")), 1);
	assert_int_equal(size_of(live.fd), size);
	live_close(&live);
}

/* What was done all the same is done: a cancel that comes too late says nothing else. */
static void how_it_ended(void **state)
{
	struct runner_wait wait = { .cancelled = true };

	(void)state;
	wait.outcome.code = RYE_OK;
	assert_string_equal(wait_status(&wait), "completed");
	wait.outcome.code = RYE_CANCELLED;
	assert_string_equal(wait_status(&wait), "cancelled");
	wait.cancelled = false;
	wait.outcome.code = RYE_TOOL_FAILED;
	assert_string_equal(wait_status(&wait), "error");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(orders_of_another_version_are_none),
		cmocka_unit_test(what_is_told_is_bounded),
		cmocka_unit_test(how_it_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
