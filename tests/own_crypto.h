/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * own_crypto.h - OpenSSL's allocations are ours, too, in a test that lets allocations fail. Before anything
 * else calls OpenSSL; false: something has.
 */
#include <openssl/crypto.h>
#include <stdbool.h>
#include <stdlib.h>

static inline void *own_crypto_malloc(size_t n, const char *file, int line)
{
	return malloc(n);
}

static inline void *own_crypto_realloc(void *old, size_t n, const char *file, int line)
{
	return realloc(old, n);
}

static inline void own_crypto_free(void *p, const char *file, int line)
{
	free(p);
}

static inline bool own_crypto(void)
{
	return CRYPTO_set_mem_functions(own_crypto_malloc, own_crypto_realloc, own_crypto_free);
}
