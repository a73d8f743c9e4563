/* SPDX-License-Identifier: MIT */
/*
 * hash.h: FNV-1a, for tables, inode numbers and versions. Not for what an attacker may choose
 * where a collision would matter. Its low bits are weak on short texts: a table that takes few of
 * them folds the high half in.
 */
#ifndef RYE_COMMON_HASH_H
#define RYE_COMMON_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_BASIS UINT64_C(0xcbf29ce484222325)

static inline uint64_t hash_add(uint64_t hash, uint64_t value)
{
	return (hash ^ value) * UINT64_C(0x100000001b3);
}

static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t len)
{
	const unsigned char *p = bytes;

	for (size_t i = 0; i < len; i++)
		hash = hash_add(hash, p[i]);
	return hash;
}

static inline uint64_t hash_text(uint64_t hash, const char *text)
{
	while (*text)
		hash = hash_add(hash, (unsigned char)*text++);
	return hash;
}

#endif
