/* SPDX-License-Identifier: MIT */
/*
 * The bytes of the file that keeps the secrets. Messages never repeat a part of the decrypted text.
 * No lock, no state.
 */
#include "secret/secret.h"

#include "memory.h"

#include <sodium.h>

#define NONCE crypto_aead_chacha20poly1305_ietf_NPUBBYTES
#define TAG crypto_aead_chacha20poly1305_ietf_ABYTES

int secret_seal(const json_t *values, const unsigned char key[KEY_LEN], struct rye_blob **ret,
		struct rye_err *err)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	struct rye_blob *blob = NULL;
	unsigned char *at;

	json_canonical(&text, values);
	if (!text.failed && text.len)
		blob = rye_blob_new(NULL, NONCE + text.len + TAG);
	if (!blob)
		return memory_fail(err);
	at = (unsigned char *)blob->data;
	randombytes_buf(at, NONCE);
	crypto_aead_chacha20poly1305_ietf_encrypt(at + NONCE, NULL, (unsigned char *)text.data,
						  text.len, NULL, 0, NULL, at, key);
	sodium_memzero(text.data, text.len);
	*ret = blob;
	return 0;
}

int secret_unseal(struct rye_span sealed, const unsigned char key[KEY_LEN], json_t **ret,
		  struct rye_err *err)
{
	const unsigned char *at = (const unsigned char *)sealed.ptr;
	size_t len = sealed.len < NONCE + TAG ? 0 : sealed.len - NONCE - TAG;
	auto_free char *text = memory_note(malloc(len + 1));
	unsigned long since = memory_failures();
	bool good;

	if (!text)
		return memory_fail(err);
	good = sealed.len >= NONCE + TAG &&
	       !crypto_aead_chacha20poly1305_ietf_decrypt((unsigned char *)text, NULL, NULL,
							  at + NONCE, len + TAG, NULL, 0, at, key);
	/* its error would quote the text */
	*ret = good ? json_parse((struct rye_span){ text, len },
				 JSON_LOAD_LAST_WINS | JSON_LOAD_NUL, "", NULL) :
		      NULL;
	sodium_memzero(text, len);
	if (*ret)
		return 0;
	rye_fail(err, RYE_IO,
		 "the secrets were sealed under another signing key, or their file is damaged");
	return memory_result(since, -RYE_IO, err);
}
