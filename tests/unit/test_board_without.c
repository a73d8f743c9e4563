/* SPDX-License-Identifier: MIT */
/*
 * A program that was built where libpq was not: a board in a file is as ever, one in PostgreSQL says what to install. The
 * row that such a program has takes the place of the library's.
 */
#include "rye_test.h"

#include "../../engine/board/board_without.c"
#include "board/board.h"
#include "told.h"

#include <stdlib.h>
#include <string.h>

static void postgres_says_what_to_install(void **state)
{
	struct board *board = NULL;
	struct rye_err err = { 0 };

	(void)state;
	assert_refused(&err, RYE_UNSUPPORTED,
		       board_open("postgresql://rye@127.0.0.1/rye", &board, &err));
	assert_null(board);
	assert_non_null(strstr(err.msg, "install libpq-dev"));
}

static void a_file_is_as_ever(void **state)
{
	char dir[] = "/tmp/rye-board-XXXXXX", where[80], path[80];
	struct board *board = NULL;
	struct board_head head;
	struct rye_err err = { 0 };

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(where, sizeof(where), "sqlite:%s/board.db", dir);
	assert_works(&err, board_open(where, &board, &err));
	assert_works(&err, board_head(board, "0123456789abcdef", "demo", &head, &err));
	assert_int_equal(head.number, 0);
	board_close(board);
	snprintf(path, sizeof(path), "%s/board.db", dir);
	unlink(path);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(postgres_says_what_to_install),
		cmocka_unit_test(a_file_is_as_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
