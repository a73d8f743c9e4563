/* SPDX-License-Identifier: MIT */
/* fuzz_yaml.c - any YAML document */
#include "format/format.h"

#include "fuzz_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_parse(parse_yaml, data, size);
}
