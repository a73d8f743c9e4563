/* SPDX-License-Identifier: MIT */
/*
 * sha.h: SHA-256 by OpenSSL (SHA-NI: 1.1 µs for 2 KB, against 4.6 of libsodium), from its archive where there
 * is one: to load the library was a third of what starting the program takes.
 */
#ifndef RYE_BASE_SHA_H
#define RYE_BASE_SHA_H

#include <rye/rye.h>

#define SHA_LEN 32
#define SHA_HEX 65

void sha256_of(struct rye_span bytes, unsigned char ret[SHA_LEN]);
void sha256_hex(struct rye_span bytes, char ret[SHA_HEX]);
/* The digest of several spans read as one text. */
void sha256_parts(const struct rye_span *parts, size_t n, char ret[SHA_HEX]);

/* A digest of what is added bit by bit. The caller frees it; NULL: out of memory. */
struct sha_run;
struct sha_run *sha_run_new(void);
void sha_run_free(struct sha_run *run); /* NULL is fine */
void sha_run_add(struct sha_run *run, struct rye_span bytes);
/* Of all so far; more may be added then. */
void sha_run_hex(const struct sha_run *run, char ret[SHA_HEX]);

#endif
