/* SPDX-License-Identifier: MIT */
/* board_without.c: the row of PostgreSQL in a program that was built where libpq was not: it says so. */
#include "board/board_inner.h"

static int without_open(struct board *board, const char *where, const struct board_tables *tables,
			struct rye_err *err)
{
	(void)board;
	(void)tables;
	(void)where;
	return rye_fail(err, RYE_UNSUPPORTED,
			"this ryefs was built without PostgreSQL: install libpq-dev and build it "
			"anew");
}

const struct board_engine board_postgres = { .scheme = "postgresql", .open = without_open };
