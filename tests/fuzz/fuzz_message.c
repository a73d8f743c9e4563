/* SPDX-License-Identifier: MIT */
/*
 * fuzz_message.c - one message of each form, as the front framed it. The first byte chooses
 * the form; what is read is an object, what is not has a sentence.
 */
#include "parse/parse.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum rye_form forms[] = { RYE_FORM_JSON, RYE_FORM_YAML, RYE_FORM_LINE };
	struct rye_err err = { 0 };
	json_t *doc;

	if (!size)
		return 0;
	doc = message_read((struct rye_span){ (const char *)data + 1, size - 1 },
			   forms[data[0] % 3], &err);
	if (doc ? !json_is_object(doc) : !err.code || !*err.msg)
		abort();
	json_decref(doc);
	return 0;
}
