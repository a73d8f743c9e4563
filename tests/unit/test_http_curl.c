/* SPDX-License-Identifier: MIT */
/* A libcurl that cannot be loaded: what is short for a moment, and what has to be installed. */
#include "rye_test.h"

#include "err.h"
#include "http/http_inner.h"

#include <errno.h>

static char *dlerror_says;

void *__wrap_dlopen(const char *name, int flags);
char *__wrap_dlerror(void);

void *__wrap_dlopen(const char *name, int flags)
{
	return NULL;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_short_is_no_missing_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
