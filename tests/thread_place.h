/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * thread_place.h - spaces with an engine over them, and the registry of the project's threads as another
 * program has it open.
 */
#include "exec_tools.h"
#include "told.h"

#include "record/record.h"

struct bench {
	struct exec_place place;
	struct rye *rye;
	struct db *db;
};

static inline int bench_open(void **state)
{
	struct bench *b = test_calloc(1, sizeof(*b));
	char path[400];

	exec_place_make(&b->place);
	b->rye = place_engine(&b->place.place, (struct rye_options){ 0 });
	place_write(b->place.place.project, "state/threads/.keep", SPAN(""));
	snprintf(path, sizeof(path), "%s/.ai/state/threads/registry.db", b->place.place.project);
	assert_works(&told_err, registry_open(path, &b->db, &told_err));
	*state = b;
	return 0;
}

static inline int bench_close(void **state)
{
	struct bench *b = *state;

	db_close(b->db);
	rye_close(b->rye);
	nftw(b->place.place.base, place_remove_, 16, FTW_DEPTH | FTW_PHYS);
	test_free(b);
	return 0;
}
