/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * board_place.h - a board for a test: a file in a directory of its own, or what RYE_TEST_BOARD names. The
 * runs of a test are told from others by their principal.
 */
#include "told.h"

#include "board/board.h"
#include "scope.h"
#include "str.h"

#include <stdio.h>
#include <unistd.h>

#define LEASE_MS 300
#define SILENT_MS 400

struct board_place {
	char dir[64], where[512], principal[BOARD_FP_MAX];
	struct board *board;
	struct rye_err err;
};

static inline void board_place_make(struct board_place *p)
{
	const char *given = getenv("RYE_TEST_BOARD");
	char id[ID_UUID_MAX];

	*p = (struct board_place){ .dir = "/tmp/rye-board-XXXXXX" };
	assert_non_null(mkdtemp(p->dir));
	if (given)
		snprintf(p->where, sizeof(p->where), "%s", given);
	else
		snprintf(p->where, sizeof(p->where), "sqlite:%s/board.db", p->dir);
	id_uuid(id);
	snprintf(p->principal, sizeof(p->principal), "%.8s%.4s%.4s", id, id + 9, id + 14);
	assert_works(&p->err, board_open(p->where, &p->board, &p->err));
}

static inline void board_place_drop(struct board_place *p)
{
	char path[128];

	board_close(p->board);
	for (const char *const *s = (const char *const[]){ "", "-wal", "-shm", ".bell", NULL }; *s;
	     s++) {
		snprintf(path, sizeof(path), "%s/board.db%s", p->dir, *s);
		unlink(path);
	}
	rmdir(p->dir);
}

/* Labels that other tests' workers at the same board do not have. */
static inline const char *board_labels(const struct board_place *p, char ret[32])
{
	snprintf(ret, 32, "[\"%s\"]", p->principal);
	return ret;
}

static inline struct board_order board_order_of(const struct board_place *p, const char *id,
						const char *labels)
{
	static const char sha[] =
		"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

	return (struct board_order){ .id = id,
				     .principal = p->principal,
				     .sha = sha,
				     .body = "{\"order\":{}}",
				     .labels = labels,
				     .queued = 100000,
				     .jobs = 100000 };
}
