/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * fuzz_parse.h - what holds of every parser of item text, whatever the bytes: a map or a
 * reason; a message that is one UTF-8 text; a map that can be written down and read back.
 */
#include "base/json.h"
#include "str.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef json_t *(*fuzz_parse_fn)(struct rye_span text, struct rye_err *err);

static inline void fuzz_value(const json_t *value)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	json_put(&text, value, false);
	if (text.failed)
		abort();
	json_python_str(&text, value);
	if (!text.failed && !utf8_valid((struct rye_span){ text.data, text.len }))
		abort();
}

static inline int fuzz_parse(fuzz_parse_fn parse, const uint8_t *data, size_t size)
{
	struct rye_err err = { 0 };
	auto_json json_t *value = parse((struct rye_span){ (const char *)data, size }, &err);

	if ((!value && !err.code) || !utf8_valid(span_of(err.msg)))
		abort();
	if (value)
		fuzz_value(value);
	return 0;
}
