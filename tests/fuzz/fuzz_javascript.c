/* SPDX-License-Identifier: MIT */
/* fuzz_javascript.c - metadata of a JavaScript file */
#include "parse/parse.h"

#include "fuzz_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_parse(parse_javascript, data, size);
}
