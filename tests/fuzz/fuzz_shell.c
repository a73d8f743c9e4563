/* SPDX-License-Identifier: MIT */
/* fuzz_shell.c - metadata of a shell script */
#include "parse/parse.h"

#include "fuzz_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_parse(parse_shell, data, size);
}
