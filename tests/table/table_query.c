/* SPDX-License-Identifier: MIT */
/* Search language: input is a query, context the text; does it match, is it empty, or why not? */
#include "table/table.h"

#include "scope.h"
#include "buf.h"
#include "str.h"
#include "search/search.h"

#include <stdio.h>

void table_answer(struct table_text input, struct table_text context, char *out, size_t size)
{
	auto_query struct query *query = NULL;
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	struct rye_err err = { 0 };

	query_lower((struct rye_span){ context.bytes, context.len }, &text);
	if (query_parse(input.bytes, NULL, &query, &err))
		snprintf(out, size, "%s", err.msg);
	else
		snprintf(out, size, "%s%s",
			 query_match(query, (struct rye_span){ text.data, text.len }) ? "yes" :
											"no",
			 query_empty(query) ? ", empty" : "");
}
