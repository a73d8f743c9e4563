/* SPDX-License-Identifier: MIT */
#pragma once
/* fuzz_record.h - a thread whose files are the fuzzer's, and a trust store that knows no key. */
#include "record/record.h"
#include "scope.h"
#include "space/space.h"
#include "str.h"

#include <stdlib.h>

#define FUZZ_THREAD "t/hello/hello-1"

static inline const struct record *fuzz_record(void)
{
	static const struct rye_options opt = { .project = "/nonexistent/project",
						.user_base = "/nonexistent/user",
						.system_roots = "" };
	static struct spaces *spaces;
	static struct record record = { .ai = -1, .dir = -1, .id = FUZZ_THREAD };

	if (!spaces &&
	    (spaces_open(&opt, &spaces, NULL) || trust_box_new(spaces, NULL, &record.trust, NULL)))
		abort();
	return &record;
}
