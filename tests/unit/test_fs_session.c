/* SPDX-License-Identifier: MIT */
/*
 * test_fs_session.c - a part of the mount that cannot be made is named, with the errno of the
 * system call that failed, and what was made before it is taken apart again.
 */
#include "item_place.h"

#include "caller/caller.h"
#include "core/listing.h"
#include "core/notify.h"
#include "proc.h"
#include "session_parts.h"

#include <errno.h>

static struct {
	int threads; /* so many may still be made; negative: any number */
	bool no_proc;
} faults;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
			  void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
			  void *arg);
int __real_nodes_open(uint16_t epoch, struct nodes **ret);
int __wrap_nodes_open(uint16_t epoch, struct nodes **ret);
int __wrap_proc_cage(pid_t tid, struct proc_cage *ret);
int __real_proc_cage(pid_t tid, struct proc_cage *ret);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
			  void *arg)
{
	if (faults.threads == 0)
		return EAGAIN;
	if (faults.threads > 0)
		faults.threads--;
	return __real_pthread_create(thread, attr, fn, arg);
}

int __wrap_proc_cage(pid_t tid, struct proc_cage *ret)
{
	return faults.no_proc ? -EACCES : __real_proc_cage(tid, ret);
}

/* The engine has its threads when the first part of the front is made. */
static int threads_left;

int __wrap_nodes_open(uint16_t epoch, struct nodes **ret)
{
	faults.threads = threads_left;
	return __real_nodes_open(epoch, ret);
}

/* Opens the parts of a mount with so many threads to be had; what is said of the failure. */
static int open_parts(int threads, struct rye_err *err)
{
	struct test_place place;
	struct options opt = { .wait_s = 1 };
	struct front front = { .opt = &opt, .uid = geteuid(), .ready_fd = -1 };
	int r;

	place_make(&place);
	opt.engine = (struct rye_options){ .project = place.project,
					   .user_base = place.user,
					   .system_roots = place.system };
	faults.threads = -1;
	threads_left = threads;
	*err = (struct rye_err){ 0 };
	r = session_parts_open(&front, NULL, err);
	faults.threads = -1;
	session_stop_notices(&front);
	session_parts_close(&front);
	place_drop(&place);
	return r;
}

static void all_there(void **state)
{
	struct rye_err err;

	faults.no_proc = false;
	assert_works(&err, open_parts(-1, &err));
}

static void no_proc(void **state)
{
	struct rye_err err;

	faults.no_proc = true;
	assert_refused(&err, RYE_IO, open_parts(-1, &err));
	faults.no_proc = false;
	/* this machine's trouble, not a denial by the mount */
	assert_int_equal(err.code, RYE_IO);
	assert_int_equal(err.sys, EACCES);
	assert_string_equal(err.msg, "cannot make the table of callers: Permission denied");
}

/* Each number of threads below what a mount takes: none of them is fatal, all are told. */
static void few_threads(void **state)
{
	struct rye_err err;
	int n = 0;

	while (open_parts(n, &err)) {
		assert_int_equal(err.sys, EAGAIN);
		assert_non_null(strstr(err.msg, "Resource temporarily unavailable"));
		if (n == 0)
			assert_non_null(strstr(err.msg, "the notify threads"));
		assert_in_range(++n, 1, 16);
	}
	assert_int_equal(n, 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_there),
		cmocka_unit_test(no_proc),
		cmocka_unit_test(few_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
