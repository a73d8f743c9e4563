/* SPDX-License-Identifier: MIT */
/*
 * memo.h: a bounded, thread-safe set of 32-byte digests: which signatures have already been
 * checked and found good. It may forget, it never invents.
 */
#ifndef RYE_TRUST_MEMO_H
#define RYE_TRUST_MEMO_H

#include "base/sha.h"

struct memo;

struct memo *memo_new(void); /* NULL: out of memory */
void memo_free(struct memo *memo); /* NULL is fine */
bool memo_has(struct memo *memo, const unsigned char digest[SHA_LEN]);
void memo_add(struct memo *memo, const unsigned char digest[SHA_LEN]);

#endif
