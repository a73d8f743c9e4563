/* SPDX-License-Identifier: MIT */
#pragma once
#include <stddef.h>

/*
 * What a table_NAME.c supplies: answer what the group's input gives in its
 * context. The answer, without a newline, goes to out (a string of at most
 * size bytes, never empty). NAME.test holds groups of three lines, input,
 * context, expected, parted by blank lines; # begins a comment line, which names
 * the groups that follow it. In input
 * and context \n \t \\ \" \0 and \xHH stand for bytes; an empty one is "-".
 */
struct table_text {
	const char *bytes; /* followed by a 0 that does not count */
	size_t len;
};

void table_answer(struct table_text input, struct table_text context, char *out, size_t size);
