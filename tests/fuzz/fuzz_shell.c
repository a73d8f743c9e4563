/* SPDX-License-Identifier: MIT */
/* fuzz_shell.c - metadata of a shell script, and of one in another language */
#include "parse/parse.h"

#include "fuzz_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_parse(parse_shell, data, size);
	return fuzz_parse(parse_script, data, size);
}
