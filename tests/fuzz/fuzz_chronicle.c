/* SPDX-License-Identifier: MIT */
/*
 * Lines of a transcript: nothing is called intact that no trusted key has signed; the conversation and
 * the entry made of it are UTF-8, and what is cut from it begins with the user.
 */
#include "fuzz/fuzz_record.h"
#include "messages_read.h"

#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_messages(struct rye_span text)
{
	auto_json json_t *list = NULL, *kept = NULL;

	if (messages_of(text, &list, NULL))
		return;
	kept = messages_trim(list, (int64_t)text.len / 8);
	if (json_array_size(kept) && strcmp(json_str(json_array_get(kept, 0), "role"), "user") != 0)
		abort();
	if (json_array_size(kept) > json_array_size(list))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const heads[] = { NULL, "", "ab" };
	const struct story story = { .directive = "t/hello", .status = "running" };
	const struct rye_span text = { (const char *)data, size };
	auto_buf struct rye_buf out = RYE_BUF_INIT;
	struct chronicle_check check;
	char line[64];

	chronicle_check(fuzz_record(), text, heads[size % 3], &check);
	if (check.code == RYE_OK || check.checkpoints)
		abort();
	chronicle_check_line(&check, line, sizeof(line));
	check_messages(text);
	story_put(&out, FUZZ_THREAD, &story, CHRONICLE_TEXT(text), NULL);
	if (!out.failed && !utf8_valid((struct rye_span){ out.data, out.len }))
		abort();
	return 0;
}
