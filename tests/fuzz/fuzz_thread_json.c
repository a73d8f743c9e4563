/* SPDX-License-Identifier: MIT */
/*
 * thread.json of any bytes: nothing is taken that no trusted key has signed; what it is signed over is
 * the same however often it is written and read.
 */
#include "fuzz/fuzz_record.h"

#include "sign/sign.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_again(const json_t *doc)
{
	auto_buf struct rye_buf first = RYE_BUF_INIT, pretty = RYE_BUF_INIT, second = RYE_BUF_INIT;
	auto_json json_t *again = NULL;
	struct thread_cost cost;

	json_canonical(&first, doc);
	json_python_indent(&pretty, doc);
	if (first.failed || pretty.failed)
		return;
	again = json_parse((struct rye_span){ pretty.data, pretty.len }, 0, "again", NULL);
	json_canonical(&second, again);
	if (second.len != first.len || memcmp(first.data, second.data, first.len))
		abort();
	thread_cost_read(json_object_get(doc, "cost"), &cost);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct rye_span text = { (const char *)data, size };
	auto_json json_t *doc = NULL;

	if (!thread_json_parse(fuzz_record(), text, &doc, NULL))
		abort();
	doc = json_parse(text, 0, "text", NULL);
	if (doc)
		write_again(doc);
	return 0;
}
