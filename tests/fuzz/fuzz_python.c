/* SPDX-License-Identifier: MIT */
/* fuzz_python.c - metadata of a Python file */
#include "parse/parse.h"

#include "fuzz_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_parse(parse_python, data, size);
}
