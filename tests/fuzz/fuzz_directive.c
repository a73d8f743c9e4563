/* SPDX-License-Identifier: MIT */
/* fuzz_directive.c - a directive's text: shape, opaque blocks, XML, metadata */
#include "parse/parse.h"

#include "fuzz_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_parse(parse_directive, data, size);
}
