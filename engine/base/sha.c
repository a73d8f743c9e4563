/* SPDX-License-Identifier: MIT */
/*
 * SHA-256 by OpenSSL's functions that keep their state where the caller has it: they take no memory
 * and cannot fail. Those of EVP, by which an algorithm is chosen at run time, can.
 * Called by all threads.
 */
/* what this version has, so that 3.0 does not warn of it */
#define OPENSSL_API_COMPAT 0x10101000L
#include "base/sha.h"

#include "str.h"

#include <openssl/sha.h>
#include <stdlib.h>

static void hash_parts(const struct rye_span *parts, size_t n, unsigned char *ret)
{
	SHA256_CTX ctx;

	SHA256_Init(&ctx);
	for (size_t i = 0; i < n; i++)
		SHA256_Update(&ctx, parts[i].ptr, parts[i].len);
	SHA256_Final(ret, &ctx);
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
	SHA256_CTX ctx;
};

struct sha_run *sha_run_new(void)
{
	struct sha_run *run = malloc(sizeof(*run));

	if (run)
		SHA256_Init(&run->ctx);
	return run;
}

void sha_run_free(struct sha_run *run)
{
	free(run);
}

void sha_run_add(struct sha_run *run, struct rye_span bytes)
{
	SHA256_Update(&run->ctx, bytes.ptr, bytes.len);
}

void sha_run_hex(const struct sha_run *run, char ret[SHA_HEX])
{
	SHA256_CTX copy = run->ctx;
	unsigned char raw[SHA_LEN];

	SHA256_Final(raw, &copy);
	hex_of(raw, SHA_LEN, ret);
}
