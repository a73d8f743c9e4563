/* SPDX-License-Identifier: MIT */
/*
 * A project with more private files, or repositories, than a box can take: of files that is found once for a call, and
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

static int rows_sys(struct privates *privates, const struct veil_want *want)
{
	__attribute__((cleanup(veil_rows_done))) struct veil_rows rows = { 0 };

	privates_rows(privates, want, &rows);
	return rows.failed ? rows.sys : 0;
}

/* Each is a few mounts of a box; one that only reads needs none of them. */
static void repositories_are_counted(void **state)
{
	const struct veil_want reads = { .write = false },
			       opens = { .write = true, .shown = SHOW_GIT },
			       writes = { .write = true };
	struct test_place *place = *state;
	char path[400];
	struct privates *privates;

	for (int i = 0; i <= PRIVATE_GITS; i++) {
		snprintf(path, sizeof(path), "%s/r%d", place->project, i);
		assert_int_equal(mkdir(path, 0700), 0);
		snprintf(path, sizeof(path), "%s/r%d/.git", place->project, i);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	privates = privates_open(place->project, true);
	assert_non_null(privates);
	assert_int_equal(rows_sys(privates, &writes), VEIL_GITS);
	assert_int_equal(rows_sys(privates, &reads), 0);
	assert_int_equal(rows_sys(privates, &opens), 0);
	assert_int_equal(rmdir(path), 0);
	privates_close(privates);
	privates = privates_open(place->project, true);
	assert_int_equal(rows_sys(privates, &writes), 0);
	privates_close(privates);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		place_test(too_many_are_found_once),
		place_test(repositories_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
