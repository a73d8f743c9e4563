/* SPDX-License-Identifier: MIT */
/*
 * capability: input is the capability that a call needs, context the patterns that the thread has,
 * parted by blanks; expected yes or no. With "+" before the input it is a list that a child declares,
 * context is its parent's ("none": it has no parent), expected what is left.
 */
#include "base/json.h"
#include "policy/policy.h"

#include "table/table.h"

#include <stdio.h>
#include <string.h>

static json_t *words(const char *text)
{
	json_t *list = json_array();

	while (*text) {
		size_t n = strcspn(text, " ");

		if (n)
			json_array_append_new(list, json_stringn(text, n));
		text += n + (text[n] == ' ');
	}
	return list;
}

static void put_words(const json_t *list, char *out, size_t size)
{
	size_t i, n = 0;
	json_t *word;

	snprintf(out, size, "nothing");
	json_array_foreach(list, i, word) {
		n += (size_t)snprintf(out + n, size - n, "%s%s", i ? " " : "",
				      json_string_value(word));
	}
}

void table_answer(struct table_text input, struct table_text context, char *out, size_t size)
{
	auto_json json_t *have = words(context.bytes);

	if (*input.bytes == '+') {
		auto_json json_t *declared = words(input.bytes + 1);
		auto_json json_t *left = capabilities_attenuate(
			declared, strcmp(context.bytes, "none") ? have : NULL);

		put_words(left, out, size);
		return;
	}
	snprintf(out, size, "%s", capabilities_cover(have, input.bytes) ? "yes" : "no");
}
