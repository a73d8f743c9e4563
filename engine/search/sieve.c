/* SPDX-License-Identifier: MIT */
/*
 * A Bloom filter with one hash over groups of three bytes. One bit per group suffices: a word
 * of eight letters asks for six of them. Pure.
 */
#include "search/search_inner.h"

#include <stdint.h>

/* Texts of a page and more: about a third of the bits are set, 2 KiB is where gain ends. */
#define SIZE_MIN 64
#define SIZE_TOP 2048
#define GROUP 3

size_t sieve_size(size_t len)
{
	size_t size = SIZE_MIN;

	while (size < SIZE_TOP && size < len / 8)
		size *= 2;
	return size;
}

static uint32_t bit_of(const char *at, size_t size)
{
	uint32_t group = (uint32_t)(unsigned char)at[0] | (uint32_t)(unsigned char)at[1] << 8 |
			 (uint32_t)(unsigned char)at[2] << 16;

	group *= 0x9e3779b1u;
	return (group >> 8 ^ group >> 20) & (uint32_t)(size * 8 - 1);
}

void sieve_fill(unsigned char *bits, size_t size, struct rye_span text)
{
	for (size_t i = 0; i + GROUP <= text.len; i++) {
		uint32_t bit = bit_of(text.ptr + i, size);

		bits[bit / 8] |= (unsigned char)(1u << bit % 8);
	}
}

bool sieve_may(struct rye_span sieve, struct rye_span part)
{
	for (size_t i = 0; i + GROUP <= part.len; i++) {
		uint32_t bit = bit_of(part.ptr + i, sieve.len);

		if (!((unsigned char)sieve.ptr[bit / 8] & 1u << bit % 8))
			return false;
	}
	return true;
}
