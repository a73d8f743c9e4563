/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * rye_json.h - comparing what parsers give with JSON text, for tests/unit.
 */
#include "base/json.h"
#include "str.h"

#include "rye_test.h"

/* value (taken) is what `want` says, key order included; NULL is spelled "!". */
static inline void same_json(json_t *value, const char *want)
{
	auto_buf struct rye_buf got = RYE_BUF_INIT;
	auto_json json_t *wanted = NULL;
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	if (value)
		json_put(&got, value, false);
	else
		buf_adds(&got, "!");
	json_decref(value);
	if (!strcmp(want, "!")) {
		assert_string_equal(got.data, want);
		return;
	}
	wanted = json_loads(want, JSON_DECODE_ANY, NULL);
	assert_non_null(wanted);
	json_put(&text, wanted, false);
	assert_string_equal(got.data, text.data);
}

typedef json_t *(*test_parse_fn)(struct rye_span text, struct rye_err *err);

/* parse gives `want` and no error. */
static inline void parses(test_parse_fn parse, const char *text, const char *want)
{
	struct rye_err err = { 0 };
	json_t *value = parse(span_of(text), &err);

	assert_string_equal(err.msg, "");
	same_json(value, want);
}

/* parse says something with `part` in it; what it returns is `want`. */
static inline void faults(test_parse_fn parse, const char *text, const char *part, const char *want)
{
	struct rye_err err = { 0 };
	json_t *value = parse(span_of(text), &err);

	assert_int_equal(err.code, RYE_UNPARSABLE);
	if (!strstr(err.msg, part))
		assert_string_equal(err.msg, part);
	same_json(value, want);
}
