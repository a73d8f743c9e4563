/* SPDX-License-Identifier: MIT */
/*
 * What a worker remembers of orders: each is begun once, by whichever worker of the machine, and an
 * idempotent one once for each attempt. What a worker is called.
 */
#include "told.h"

#include "base/io.h"
#include "str.h"
#include "worker/worker_inner.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>

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
	assert_works(&err, executed_add(one, &order, 1, false, &err));
	assert_works(&err, executed_add(other, &order, 2, false, &err));
	assert_int_equal(executed_add(other, &order, 2, true, &err), 1);
	assert_works(&err, executed_add(one, &order, 2, true, &err));
	assert_works(&err, executed_has(other, order.id, &has, &err));
	assert_true(has);
	db_close(one);
	db_close(other);
	io_remove_tree(AT_FDCWD, dir, 3);
}

static void machine_is(int dir, const char *id)
{
	assert_int_equal(io_replace_at(dir, "machine-id", span_of(id), 0600), 0);
}

static void seat_is(const struct node_dir *node, const char *machine, char ret[SEAT_MAX])
{
	struct rye_err err = { 0 };

	assert_works(&err, worker_seat(node, machine, ret, &err));
}

/* A copy of a directory on another machine has another name there, though all its files are the same. */
static void a_machine_is_part_of_a_workers_name(void **state)
{
	char dir[] = "/tmp/rye-worker-XXXXXX", machine[64];
	char here[SEAT_MAX], again[SEAT_MAX], there[SEAT_MAX], bare[SEAT_MAX];
	struct node_dir node = { .path = dir };

	assert_non_null(mkdtemp(dir));
	node.dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(node.dir >= 0);
	assert_int_equal(io_mkdirs_at(node.dir, "work", 0700), 0);
	snprintf(machine, sizeof(machine), "%s/machine-id", dir);
	machine_is(node.dir, "0123456789abcdef0123456789abcdef\n");
	seat_is(&node, machine, here);
	seat_is(&node, machine, again);
	assert_string_equal(here, again);
	machine_is(node.dir, "fedcba9876543210fedcba9876543210\n");
	seat_is(&node, machine, there);
	assert_string_not_equal(here, there);
	unlinkat(node.dir, "machine-id", 0);
	seat_is(&node, machine, bare);
	assert_string_not_equal(bare, there);
	close(node.dir);
	io_remove_tree(AT_FDCWD, dir, 3);
}

static int aside_work(struct errand *errand, struct rye_err *err)
{
	return 0;
}

static void aside_then(struct errand *errand, int r, const struct rye_err *why)
{
	errand->has_left = true;
}

static void assert_woken(const struct node_worker *worker)
{
	struct pollfd polled = { .fd = worker->wake, .events = POLLIN };
	eventfd_t n;

	assert_int_equal(poll(&polled, 1, 10000), 1);
	assert_int_equal(eventfd_read(worker->wake, &n), 0);
}

/* Both ends of it wake the worker: that of the thread, and that of what follows there. */
static void what_follows_a_work_aside_has_its_round_at_once(void **state)
{
	struct node_worker worker = { .wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	struct threads *begun = (struct threads *)&worker; /* it has been; nothing asks it */
	struct errand errand = { .worker = &worker, .threads = begun, .renew_at = INT64_MAX };

	assert_true(worker.wake >= 0);
	errand_aside(&errand, aside_work, aside_then);
	assert_woken(&worker);
	assert_works(&told_err, errand_aside_step(&errand, false, &told_err));
	assert_true(errand.has_left);
	assert_woken(&worker);
	close(worker.wake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_order_is_begun_once),
		cmocka_unit_test(a_machine_is_part_of_a_workers_name),
		cmocka_unit_test(what_follows_a_work_aside_has_its_round_at_once)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
