/* SPDX-License-Identifier: MIT */
/*
 * Search queries from file names and requests: the first line is the query, the rest the text.
 * A sieve of the text never says no to what matches.
 */
#include "scope.h"
#include "buf.h"
#include "search/search.h"
#include "search/search_inner.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct query *query, struct rye_span text)
{
	unsigned char bits[64] = { 0 };
	const struct rye_span sieve = { (const char *)bits, sizeof(bits) };

	sieve_fill(bits, sizeof(bits), text);
	if (query_match(query, text) && !query_may(query, sieve))
		abort();
	query_near(query, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *lf = memchr(data, '\n', size);
	size_t len = lf ? (size_t)(lf - data) : size;
	/* by hand: ASan's strict_string_checks wants a NUL in what strndup reads */
	auto_free char *text = calloc(1, len + 1);
	auto_buf struct rye_buf lower = RYE_BUF_INIT;
	const struct query_opt opt = { size % 3, size % 5 };
	auto_query struct query *query = NULL;

	if (text)
		memcpy(text, data, len);
	query_lower((struct rye_span){ (const char *)data + len, size - len }, &lower);
	if (text && query_parse(text, &opt, &query, NULL) == 0)
		check(query, (struct rye_span){ lower.data, lower.len });
	return 0;
}
