/* SPDX-License-Identifier: MIT */
/* libcurl: loaded once, by one of the threads that want it; where it cannot be, what is short or to be installed. */
#include "rye_test.h"

#include "err.h"
#include "http/http_inner.h"

#include <errno.h>

static char *dlerror_says; /* NULL: dlopen is the real one */
static _Atomic int loads;

void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags);
char *__wrap_dlerror(void);

void *__wrap_dlopen(const char *name, int flags)
{
	loads++;
	return dlerror_says ? NULL : __real_dlopen(name, flags);
}

char *__wrap_dlerror(void)
{
	return dlerror_says;
}

static void what_is_short_is_no_missing_library(void **state)
{
	static const struct {
		const char *says, *want;
		enum rye_code code;
		int sys;
	} rows[] = {
		{ "libcurl.so.4: failed to map segment from shared object",
		  "http: libcurl.so.4: Cannot allocate memory", RYE_IO, ENOMEM },
		{ "libz.so.1: cannot allocate memory for program header",
		  "http: libcurl.so.4: Cannot allocate memory", RYE_IO, ENOMEM },
		{ "libcurl.so.4: cannot open shared object file: Too many open files",
		  "http: libcurl.so.4: Too many open files", RYE_BUSY, EMFILE },
		{ "libcurl.so.4: cannot open shared object file: No such file or directory",
		  "http: libcurl.so.4: cannot open shared object file: No such file or directory; "
		  "install libcurl4",
		  RYE_UNSUPPORTED, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rye_err err = { 0 };

		dlerror_says = (char *)rows[i].says;
		assert_null(curl_table_load(&err));
		assert_int_equal(err.code, rows[i].code);
		assert_int_equal(err.sys, rows[i].sys);
		assert_string_equal(err.msg, rows[i].want);
	}
}

static void *ask(void *http)
{
	struct rye_err err = { 0 };

	return (void *)http_curl(http, &err);
}

/* A load that failed is tried again by the next exchange. */
static void threads_that_ask_together_have_one_load(void **state)
{
	struct http *http = http_open();
	const struct curl_table *curl;
	struct rye_err err = { 0 };
	pthread_t threads[8];

	assert_non_null(http);
	dlerror_says = (char *)"libcurl.so.4: failed to map segment from shared object";
	assert_null(http_curl(http, &err));
	assert_int_equal(err.sys, ENOMEM);
	dlerror_says = NULL;
	loads = 0;
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask, http), 0);
	curl = http_curl(http, &err);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
		void *got;

		pthread_join(threads[i], &got);
		assert_ptr_equal(got, curl);
	}
	assert_int_equal(loads, 1);
	http_close(http);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_short_is_no_missing_library),
		cmocka_unit_test(threads_that_ask_together_have_one_load),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
