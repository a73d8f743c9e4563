/* SPDX-License-Identifier: MIT */
/*
 * What a worker remembers of orders: each is begun once, by whichever worker of the machine, and an
 * idempotent one once for each attempt.
 */
#include "told.h"

#include "base/io.h"
#include "worker/worker_inner.h"

#include <fcntl.h>

static void an_order_is_begun_once(void **state)
{
	const struct order order = { .id = "0b9a8c3e-0000-4000-8000-000000000001",
				     .not_after = (int64_t)time(NULL) + 600 };
	char dir[] = "/tmp/rye-worker-XXXXXX", path[64];
	struct db *one = NULL, *other = NULL;
	struct rye_err err = { 0 };
	bool has = true;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/executed.db", dir);
	assert_works(&err, executed_open(path, &one, &err));
	assert_works(&err, executed_open(path, &other, &err));
	assert_works(&err, executed_has(one, order.id, &has, &err));
	assert_false(has);
	assert_int_equal(executed_add(one, &order, 1, false, &err), 1);
	assert_int_equal(executed_add(one, &order, 1, false, &err), 0);
	assert_int_equal(executed_add(other, &order, 2, false, &err), 0);
	assert_int_equal(executed_add(other, &order, 2, true, &err), 1);
	assert_int_equal(executed_add(one, &order, 2, true, &err), 0);
	assert_works(&err, executed_has(other, order.id, &has, &err));
	assert_true(has);
	db_close(one);
	db_close(other);
	io_remove_tree(AT_FDCWD, dir, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(an_order_is_begun_once) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
