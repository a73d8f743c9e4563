/* SPDX-License-Identifier: MIT */
/* capabilities.md of any bytes: no tools are read of one that no trusted key has signed. */
#include "fuzz/fuzz_record.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_json json_t *tools = NULL;

	if (!capabilities_md_parse(fuzz_record(), (struct rye_span){ (const char *)data, size },
				   &tools, NULL))
		abort();
	return 0;
}
