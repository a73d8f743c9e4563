/* SPDX-License-Identifier: MIT */
/*
 * fuzz_interp.c - the first line is the inputs as JSON (or anything else: none), the rest the
 * text. The result is UTF-8 when the text was, and stays under its cap.
 */
#include "item/item.h"

#include "fuzz_parse.h"

#define CAP (1 << 16)

static const char *env(void *arg, const char *name)
{
	return name[0] == 'E' ? "{input:a}" : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rye_span text = { (const char *)data, size }, line = { 0 };
	auto_buf struct rye_buf out = { .cap = CAP };
	struct interp in = { .env = env };
	auto_json json_t *inputs = NULL, *map = NULL, *filled = NULL;
	struct rye_err err = { 0 };

	span_line(&text, &line);
	inputs = json_parse(line, JSON_LOAD_LAST_WINS, "inputs", NULL);
	in.inputs = inputs;
	interp_text(&in, text, &out);
	if (out.len > CAP)
		abort();
	if (out.failed || !utf8_valid(text))
		return 0;
	if (!utf8_valid((struct rye_span){ out.data, out.len }))
		abort();
	map = json_pack("{s:s%, s:[{s:s%}]}", "body", text.ptr ? text.ptr : "", text.len, "actions",
			"item_id", text.ptr ? text.ptr : "", text.len);
	filled = map ? interp_map(&in, map, &err) : NULL;
	return 0;
}
