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

struct sha_run {
	EVP_MD_CTX *ctx;
};

struct sha_run *sha_run_new(void)
{
	struct sha_run *run = malloc(sizeof(*run));

	if (!run || !(run->ctx = EVP_MD_CTX_new()) ||
	    !EVP_DigestInit_ex(run->ctx, EVP_sha256(), NULL))
		abort();
	return run;
}

void sha_run_free(struct sha_run *run)
{
	if (run)
		EVP_MD_CTX_free(run->ctx);
	free(run);
}

void sha_run_add(struct sha_run *run, struct rye_span bytes)
{
	if (!EVP_DigestUpdate(run->ctx, bytes.ptr, bytes.len))
		abort();
}

void sha_run_hex(const struct sha_run *run, char ret[SHA_HEX])
{
	EVP_MD_CTX *copy = EVP_MD_CTX_new();
	unsigned char raw[SHA_LEN];

	if (!copy || !EVP_MD_CTX_copy_ex(copy, run->ctx) || !EVP_DigestFinal_ex(copy, raw, NULL))
		abort();
	EVP_MD_CTX_free(copy);
	hex_of(raw, SHA_LEN, ret);
}
