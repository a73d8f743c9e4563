/* SPDX-License-Identifier: MIT */
/* Search queries from file names and requests: the first line is the query, the rest the text. */
#include "base/auto.h"
#include "base/buf.h"
#include "item/query.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *lf = memchr(data, '\n', size);
	size_t len = lf ? (size_t)(lf - data) : size;
	auto_free char *text = strndup((const char *)data, len);
	auto_buf struct rye_buf lower = RYE_BUF_INIT;
	const struct query_opt opt = { size % 3, size % 5 };
	auto_query struct query *query = NULL;

	query_lower((struct rye_span){ (const char *)data + len, size - len }, &lower);
	if (text && query_parse(text, &opt, &query, NULL) == 0)
		query_match(query, (struct rye_span){ lower.data, lower.len });
	if (query)
		query_near(query, (struct rye_span){ lower.data, lower.len });
	return 0;
}
