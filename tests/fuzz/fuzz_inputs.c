/* SPDX-License-Identifier: MIT */
/* fuzz_inputs.c - the query behind a name: pairs of UTF-8 without NUL, or a reason. */
#include "item/item.h"

#include "fuzz_parse.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rye_err err = { 0 };
	auto_json json_t *map = NULL;
	char *query = malloc(size + 1);

	if (!query)
		return 0;
	memcpy(query, data, size);
	query[size] = 0;
	map = inputs_query(query, &err);
	if ((!map && !err.code) || !utf8_valid(span_of(err.msg)))
		abort();
	if (map)
		fuzz_value(map);
	free(query);
	return 0;
}
