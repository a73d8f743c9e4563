/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * rye_test.h - cmocka with the headers it wants before it, for tests/unit and
 * tests/prop. CMOCKA_MESSAGE_OUTPUT=TAP, set by meson, makes every case count;
 * RYE_TEST_CASE names the one case that is to run (should-fail/mutants.py).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

__attribute__((constructor)) static void test_chosen(void)
{
	const char *name = getenv("RYE_TEST_CASE");

	if (name)
		cmocka_set_test_filter(name);
}

/*
 * cmocka 1.1.5 reports skip() as "not ok # SKIP", which meson takes for a failure.
 * This ends the case; scripts/test counts it as skipped. why is a string literal.
 */
#define test_skip(why)                                 \
	do {                                           \
		print_message("# skipped: " why "\n"); \
		return;                                \
	} while (0)
