/* SPDX-License-Identifier: MIT */
/* glob: input is the pattern, context the text, expected yes or no. */
#include "str.h"

#include "table/table.h"

#include <stdio.h>

void table_answer(struct table_text input, struct table_text context, char *out, size_t size)
{
	snprintf(out, size, "%s", glob_match(input.bytes, context.bytes) ? "yes" : "no");
}
