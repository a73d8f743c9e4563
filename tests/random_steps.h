/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * random_steps.h - chance for tests of laws: the seed is printed, RYE_SEED replays a run.
 */
#include "rye_test.h"

#include <time.h>

struct random {
	uint64_t state;
};

static inline uint64_t random_next(struct random *r)
{
	r->state ^= r->state << 13;
	r->state ^= r->state >> 7;
	r->state ^= r->state << 17;
	return r->state;
}

static inline size_t random_below(struct random *r, size_t n)
{
	return random_next(r) % n;
}

static inline struct random random_seed(void)
{
	const char *given = getenv("RYE_SEED");
	uint64_t value = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) * 2654435761u;

	print_message("# RYE_SEED=%llu\n", (unsigned long long)value);
	return (struct random){ value | 1 };
}
