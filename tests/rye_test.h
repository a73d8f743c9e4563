/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * rye_test.h - cmocka with the headers it wants before it, for tests/unit and
 * tests/prop. CMOCKA_MESSAGE_OUTPUT=TAP, set by meson, makes every case count.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/*
 * cmocka 1.1.5 reports skip() as "not ok # SKIP", which meson takes for a failure.
 * This ends the case; scripts/test counts it as skipped. why is a string literal.
 */
#define test_skip(why)                                 \
	do {                                           \
		print_message("# skipped: " why "\n"); \
		return;                                \
	} while (0)
