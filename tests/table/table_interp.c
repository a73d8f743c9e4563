/* SPDX-License-Identifier: MIT */
/*
 * interp: input is the text of a directive, context the inputs as JSON (`-`: none), expected
 * the text filled in. The environment has EV=e, EV2={input:a}, EMPTY= and nothing else.
 */
#include "str.h"
#include "item/item.h"

#include "table/table.h"

#include <stdio.h>

static const char *env(void *arg, const char *name)
{
	if (!strcmp(name, "EV"))
		return "e";
	if (!strcmp(name, "EV2"))
		return "{input:a}";
	return strcmp(name, "EMPTY") ? NULL : "";
}

void table_answer(struct table_text input, struct table_text context, char *out, size_t size)
{
	auto_json json_t *inputs = json_loadb(context.bytes, context.len, 0, NULL);
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	struct interp in = { .inputs = inputs, .env = env };

	interp_text(&in, (struct rye_span){ input.bytes, input.len }, &text);
	snprintf(out, size, "%s", !text.failed && text.len ? text.data : "-");
	for (char *c = out; *c; c++)
		if (*c == '\n')
			*c = '~'; /* a line end, in one line */
}
