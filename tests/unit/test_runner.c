/* SPDX-License-Identifier: MIT */
/*
 * A runner's parts that need no thread: which orders it knows, what it keeps of what its item prints,
 * and how it says that the work ended.
 */
#include "rye_test.h"

#include "own_fds.h"

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

/* Made under another name and renamed, as every file there is. */
static void mark(int fd, const char *name)
{
	assert_int_equal(mknodat(fd, "made", S_IFREG | 0600, 0), 0);
	assert_int_equal(renameat(fd, "made", fd, name), 0);
}

/* It is told of what is made in the directory, and ends by the mark alone; at its end nothing has to be waited for. */
static void a_mark_is_heard(void **state)
{
	char dir[] = "/tmp/rye-runner-XXXXXX";
	struct orders orders = { .dir = -1, .doc = json_pack("{s:s}", "type", ORDERS_REMOTE) };
	struct runner_wait wait;
	sigset_t before;

	(void)state;
	assert_non_null(mkdtemp(dir));
	orders.dir = open(dir, O_RDONLY | O_DIRECTORY);
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	wait_init(&wait, &orders);
	assert_true(wait.notices >= 0);
	assert_int_equal(own_fds("anon_inode:inotify"), 0);
	mark(orders.dir, "other");
	assert_int_equal(wait_signal(&wait), SIGIO);
	/* what else was told of it: it stands for one look */
	while (sigtimedwait(&wait.signals, NULL, &(struct timespec){ 0 }) == SIGIO)
		continue;
	assert_false(wait_heard(&wait, SIGIO));
	mark(orders.dir, CANCEL_MARK);
	assert_int_equal(wait_signal(&wait), SIGIO);
	assert_true(wait_heard(&wait, SIGIO));
	assert_false(wait_heard(&wait, SIGIO));
	/* a kernel that gives no notices */
	close(wait.notices);
	wait.notices = -1;
	while (sigtimedwait(&wait.signals, NULL, &(struct timespec){ 0 }) == SIGIO)
		continue;
	assert_int_equal(wait_signal(&wait), SIGIO);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	unlinkat(orders.dir, CANCEL_MARK, 0);
	unlinkat(orders.dir, "other", 0);
	close(orders.dir);
	rmdir(dir);
	json_decref(orders.doc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(orders_of_another_version_are_none),
		cmocka_unit_test(what_is_told_is_bounded),
		cmocka_unit_test(how_it_ended),
		cmocka_unit_test(a_mark_is_heard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
