/* SPDX-License-Identifier: MIT */
/*
 * fuzz_s3.c - what a server of S3 answers, and a file of keys: names that come out of a list are names of
 * objects, a code is of letters and digits, a key has no line end that could begin another header.
 */
#include "store/s3_inner.h"
#include "str.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int fuzz_object(void *arg, const struct store_object *object)
{
	(void)arg;
	if (store_name_check(object->name, NULL))
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rye_span text = { (const char *)data, size };
	struct rye_err err = { 0 };
	char code[S3_CODE_MAX];
	struct s3_page page;
	struct s3_keys keys;

	s3_error_code(text, code);
	for (const char *c = code; *c; c++)
		if (!strchr("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", *c))
			abort();
	if (s3_list_read(text, size % 2 ? "some" : "", fuzz_object, NULL, &page, &err) &&
	    err.code != RYE_UNREACHABLE)
		abort();
	if (!s3_keys_parse(text, &keys, &err) &&
	    (!*keys.id || strpbrk(keys.id, "\r\n ") || strpbrk(keys.token, "\r\n ")))
		abort();
	return 0;
}
