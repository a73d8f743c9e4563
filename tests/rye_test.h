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
