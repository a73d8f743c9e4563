/* SPDX-License-Identifier: MIT */
/* A list of pieces from outside: what is taken has the size that was told, and is written again as it was. */
#include "pack/pack.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct rye_span text = { (const char *)data, size };
	auto_buf struct rye_buf again = RYE_BUF_INIT;
	auto_free struct piece *v = NULL;
	uint64_t sum = 0;
	size_t n;

	/* the size is asked for with the one of two pieces of 524288 bytes, then with none */
	if (pieces_parse(text, 1048576, &v, &n, NULL) && pieces_parse(text, 0, &v, &n, NULL))
		return 0;
	for (size_t i = 0; i < n; i++) {
		sum += v[i].size;
		pieces_add(&again, &v[i]);
	}
	if ((sum && sum != 1048576) || again.len < size ||
	    (size && memcmp(again.data, data, size) != 0))
		abort();
	return 0;
}
