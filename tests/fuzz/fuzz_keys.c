/* SPDX-License-Identifier: MIT */
/*
 * fuzz_keys.c - key texts. The input as PEM, and the input as the DER inside a private key's
 * PEM. What is accepted must come out again as a text that is accepted.
 */
#include "str.h"
#include "trust/trust.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_secret(struct rye_span pem)
{
	auto_key struct key_secret key = { 0 };
	auto_key struct key_secret again = { 0 };
	char text[256];

	if (key_secret_parse(pem, &key, NULL) < 0)
		return;
	key_secret_pem(&key, text);
	if (key_secret_parse(span_of(text), &again, NULL) < 0 ||
	    memcmp(key.bytes, again.bytes, sizeof(key.bytes)))
		abort();
}

static void check_public(struct rye_span pem)
{
	struct key_public key, again;

	if (key_public_parse(pem, &key, NULL) < 0)
		return;
	if (key_public_parse(span_of(key.pem), &again, NULL) < 0 || strcmp(key.fp, again.fp))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rye_span text = { (const char *)data, size };
	char pem[900], base64[600];

	check_public(text);
	check_secret(text);
	if (size > 400)
		return 0;
	sodium_bin2base64(base64, sizeof(base64), data, size, sodium_base64_VARIANT_ORIGINAL);
	snprintf(pem, sizeof(pem), "-----BEGIN PRIVATE KEY-----\n%s\n-----END PRIVATE KEY-----\n",
		 base64);
	check_secret(span_of(pem));
	return 0;
}
