/* SPDX-License-Identifier: MIT */
/* Digests as bytes and as the 64 digits that they are written with. Pure. */
#include "pack/pack.h"

#include "str.h"

static unsigned digit_value(char c)
{
	return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a' + 10);
}

bool digest_parse(struct rye_span hex, struct digest *ret)
{
	if (hex.len != SHA_HEX - 1 || !is_hex_lower(hex))
		return false;
	for (size_t i = 0; i < SHA_LEN; i++)
		ret->bytes[i] = (unsigned char)(digit_value(hex.ptr[2 * i]) << 4 |
						digit_value(hex.ptr[2 * i + 1]));
	return true;
}

void digest_hex(const struct digest *digest, char ret[SHA_HEX])
{
	hex_of(digest->bytes, SHA_LEN, ret);
}

struct digest digest_of(struct rye_span bytes)
{
	struct digest digest = { 0 };

	sha256_of(bytes, digest.bytes);
	return digest;
}
