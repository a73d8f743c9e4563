/* SPDX-License-Identifier: MIT */
/*
 * A project with more private files than a box can hide: that it is so is found once for a call, and
 * found again once some are removed.
 */
#include "rye_test.h"
#include "item_place.h"

#include "sandbox/sandbox_inner.h"
#include "scope.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#define DIRS 4000

/* So many directories, which are gone through first, and a file too many in one that lies deeper. */
static void make_project(const char *base)
{
	char path[400];

	for (int i = 0; i < DIRS; i++) {
		snprintf(path, sizeof(path), "%s/d%d", base, i);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	snprintf(path, sizeof(path), "%s/d0/deep", base);
	assert_int_equal(mkdir(path, 0700), 0);
	for (int i = 0; i <= PRIVATE_FILES; i++) {
		snprintf(path, sizeof(path), "%s/d0/deep/%d.env", base, i);
		close(open(path, O_CREAT | O_CLOEXEC, 0600));
	}
}

static bool too_many(struct privates *privates)
{
	__attribute__((cleanup(veil_rows_done))) struct veil_rows rows = { 0 };

	privates_rows(privates, &(const struct veil_want){ .write = true, .shown = SHOW_GIT },
		      &rows);
	assert_true(!rows.failed || rows.sys == E2BIG);
	return rows.failed;
}

static void too_many_are_found_once(void **state)
{
	struct test_place *place = *state;
	struct privates *privates = privates_open(place->project, true);
	bool once = false;
	char path[400];

	assert_non_null(privates);
	make_project(place->project);
	snprintf(path, sizeof(path), "%s/d0/deep/0.env", place->project);
	/* on a busy machine this thread may be away for longer than that is believed */
	for (int i = 0; i < 50 && !once; i++) {
		close(open(path, O_CREAT | O_CLOEXEC, 0600));
		assert_int_equal(privates_stamp(privates), 0);
		/* one fewer, which only a search would find */
		assert_int_equal(unlink(path), 0);
		once = too_many(privates);
	}
	assert_true(once);
	usleep(1100000); /* PRIVATE_TOO_MANY_MS, and more */
	assert_false(too_many(privates));
	assert_int_not_equal(privates_stamp(privates), 0);
	privates_close(privates);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		place_test(too_many_are_found_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
