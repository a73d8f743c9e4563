/* SPDX-License-Identifier: MIT */
/*
 * search_inner.h: what the files of search/ share.
 */
#ifndef RYE_SEARCH_SEARCH_INNER_H
#define RYE_SEARCH_SEARCH_INNER_H

#include "str.h"

/* Bytes that a text of this length deserves; a power of two. */
size_t sieve_size(size_t len);
/* bits: sieve_size bytes, zeroed by the caller. */
void sieve_fill(unsigned char *bits, size_t size, struct rye_span text);
/* False: the text behind the sieve does not hold `part`. */
bool sieve_may(struct rye_span sieve, struct rye_span part);

#endif
