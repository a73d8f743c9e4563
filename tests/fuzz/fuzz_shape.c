/* SPDX-License-Identifier: MIT */
/*
 * fuzz_shape.c - which element of a directive is the signed one. An accepted element starts
 * at the first byte of the hashed region and does not end behind it.
 */
#include "str.h"
#include "parse/parse.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rye_span text = { (const char *)data, size }, region;
	struct directive_shape shape;
	struct rye_err err = { 0 };

	if (directive_shape(text, &shape, &err) < 0) {
		if (err.code != RYE_UNPARSABLE || !err.msg[0])
			abort();
		return 0;
	}
	if (!digest_element(text, &region) || shape.xml.ptr != region.ptr ||
	    shape.xml.len > region.len || !span_starts(shape.xml, "<directive"))
		abort();
	if (shape.preamble.len + shape.xml.len + shape.body.len > size || shape.line < 2)
		abort();
	return 0;
}
