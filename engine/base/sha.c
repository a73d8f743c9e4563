/* SPDX-License-Identifier: MIT */
/*
 * SHA-256. One EVP context per call: contexts are not shared between threads and cost less
 * than the hash of one item. Cannot fail but by lack of memory, which aborts (fixed size).
 */
#include "base/sha.h"

#include "str.h"

#include <openssl/evp.h>
#include <stdlib.h>

static void hash_parts(const struct rye_span *parts, size_t n, unsigned char *ret)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	bool ok = ctx && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL);

	for (size_t i = 0; ok && i < n; i++)
		ok = EVP_DigestUpdate(ctx, parts[i].ptr, parts[i].len);
	if (!ok || !EVP_DigestFinal_ex(ctx, ret, NULL))
		abort();
	EVP_MD_CTX_free(ctx);
}

void sha256_of(struct rye_span bytes, unsigned char ret[SHA_LEN])
{
	hash_parts(&bytes, 1, ret);
}

void sha256_hex(struct rye_span bytes, char ret[SHA_HEX])
{
	sha256_parts(&bytes, 1, ret);
}

void sha256_parts(const struct rye_span *parts, size_t n, char ret[SHA_HEX])
{
	unsigned char raw[SHA_LEN];

	hash_parts(parts, n, raw);
	hex_of(raw, SHA_LEN, ret);
}
