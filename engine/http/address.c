/* SPDX-License-Identifier: MIT */
/*
 * Kinds of addresses, by the special-purpose registries of RFC 6890 and its successors. Pure.
 */
#include "http/http.h"

#include "scope.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

struct range4 {
	uint32_t net;
	unsigned bits;
};

/* "This" network, private, shared, link-local, protocol, documentation, benchmark, multicast,
 * reserved. */
static const struct range4 private4[] = {
	{ 0x00000000, 8 },  { 0x0a000000, 8 },	{ 0x64400000, 10 }, { 0xa9fe0000, 16 },
	{ 0xac100000, 12 }, { 0xc0000000, 24 }, { 0xc0000200, 24 }, { 0xc0a80000, 16 },
	{ 0xc6120000, 15 }, { 0xc6336400, 24 }, { 0xcb007100, 24 }, { 0xe0000000, 4 },
	{ 0xf0000000, 4 },
};

static enum address_kind kind4(uint32_t host)
{
	if (host >> 24 == 127)
		return ADDRESS_LOOPBACK;
	for (size_t i = 0; i < ARRAY_SIZE(private4); i++)
		if (!((host ^ private4[i].net) >> (32 - private4[i].bits)))
			return ADDRESS_PRIVATE;
	return ADDRESS_PUBLIC;
}

static enum address_kind kind6(const unsigned char b[16])
{
	static const unsigned char none[16], mapped[12] = { [10] = 0xff, [11] = 0xff },
					     translated[12] = { 0x00, 0x64, 0xff, 0x9b };
	uint32_t last = (uint32_t)b[12] << 24 | (uint32_t)b[13] << 16 | (uint32_t)b[14] << 8 |
			b[15];

	if (!memcmp(b, none, 15) && b[15] == 1)
		return ADDRESS_LOOPBACK;
	/* An IPv4 address in another coat is what it is. */
	if (!memcmp(b, mapped, 12) || !memcmp(b, translated, 12))
		return kind4(last);
	if (b[0] == 0x20 && b[1] == 0x02) /* 6to4 */
		return kind4((uint32_t)b[2] << 24 | (uint32_t)b[3] << 16 | (uint32_t)b[4] << 8 |
			     b[5]);
	/* Only 2000::/3 is given out, less documentation and Teredo. */
	if (b[0] >> 5 != 1 || (b[0] == 0x20 && b[1] == 0x01 &&
			       ((b[2] == 0x0d && b[3] == 0xb8) || (b[2] == 0 && b[3] == 0))))
		return ADDRESS_PRIVATE;
	return ADDRESS_PUBLIC;
}

enum address_kind address_kind(const struct sockaddr *addr)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;

	switch (addr->sa_family) {
	case AF_INET:
		memcpy(&v4, addr, sizeof(v4));
		return kind4(ntohl(v4.sin_addr.s_addr));
	case AF_INET6:
		memcpy(&v6, addr, sizeof(v6));
		return kind6(v6.sin6_addr.s6_addr);
	default:
		return ADDRESS_PRIVATE;
	}
}
