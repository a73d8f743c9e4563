/* SPDX-License-Identifier: MIT */
/* fuzz_knowledge.c - a knowledge entry's text: fences, front matter, YAML */
#include "parse/parse.h"

#include "fuzz_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_parse(parse_knowledge, data, size);
}
