/* SPDX-License-Identifier: MIT */
/* fuzz_toml.c - TOML, and the trust-store file around it; a failure must say which line. */
#include "str.h"
#include "format/format.h"
#include "trust/trust_inner.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rye_span text = { (const char *)data, size };
	struct rye_err err = { 0 };
	struct trustfile file;
	json_t *doc = parse_toml(text, &err);

	if (!doc && (err.code != RYE_UNPARSABLE || !strstr(err.msg, "line ")))
		abort();
	if (doc && !json_is_object(doc))
		abort();
	json_decref(doc);
	if (!trustfile_read(text, "f0ff50dacf109dea", &file, &err)) {
		if (strcmp(file.key.fp, "f0ff50dacf109dea"))
			abort();
		trustfile_done(&file);
	}
	return 0;
}
