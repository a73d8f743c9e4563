/* SPDX-License-Identifier: MIT */
/*
 * The file of the secrets. As it stands it opens under no key; sealed first, it is the text that
 * another program may have put there: what a tool gets of it is a variable that may be set, and what
 * is sealed again reads as the same.
 */
#include "secret/secret.h"

#include "process/process.h"
#include "str.h"

#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const unsigned char key[KEY_LEN] = "a key of the tests, 32 bytes lo";

#define NONCE crypto_aead_chacha20poly1305_ietf_NPUBBYTES
#define TAG crypto_aead_chacha20poly1305_ietf_ABYTES

static void check_values(const json_t *values)
{
	auto_blob struct rye_blob *sealed = NULL;
	auto_json json_t *again = NULL;
	json_t *object = (json_t *)values, *value;
	const char *name;

	json_object_foreach(object, name, value) {
		const char *given = secret_value(values, name);

		if (given && (!env_name_ok(name) || !env_dotenv_may(name) || !*given ||
			      !utf8_valid(span_of(given))))
			abort();
	}
	if (secret_seal(values, key, &sealed, NULL) ||
	    secret_unseal((struct rye_span){ sealed->data, sealed->len }, key, &again, NULL) ||
	    json_object_size(again) != json_object_size(values))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_free unsigned char *sealed = malloc(NONCE + size + TAG);
	auto_json json_t *values = NULL;
	auto_json json_t *none = NULL;

	if (!sealed || sodium_init() < 0)
		abort();
	if (!secret_unseal((struct rye_span){ (const char *)data, size }, key, &none, NULL))
		abort();
	memset(sealed, 7, NONCE);
	crypto_aead_chacha20poly1305_ietf_encrypt(sealed + NONCE, NULL, data, size, NULL, 0, NULL,
						  sealed, key);
	if (!secret_unseal((struct rye_span){ (char *)sealed, NONCE + size + TAG }, key, &values,
			   NULL))
		check_values(values);
	return 0;
}
