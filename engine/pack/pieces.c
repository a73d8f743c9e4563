/* SPDX-License-Identifier: MIT */
/* The blob that lists the pieces of a big file. It comes from outside: its sizes are added up. Pure. */
#include "pack/pack.h"

#include "str.h"

/* "SHA SIZE" with at least one digit */
#define PIECE_LINE (SHA_HEX + 2)

void pieces_add(struct rye_buf *text, const struct piece *piece)
{
	char hex[SHA_HEX];

	digest_hex(&piece->sha, hex);
	buf_addf(text, "%s %u\n", hex, piece->size);
}

static bool parse_piece(struct rye_span line, struct piece *ret)
{
	uint64_t size = 0;

	if (line.len < PIECE_LINE - 1 || line.len > SHA_HEX + 7 || line.ptr[SHA_HEX - 1] != ' ' ||
	    line.ptr[SHA_HEX] == '0' ||
	    !digest_parse((struct rye_span){ line.ptr, SHA_HEX - 1 }, &ret->sha))
		return false;
	for (size_t i = SHA_HEX; i < line.len; i++) {
		if (line.ptr[i] < '0' || line.ptr[i] > '9')
			return false;
		size = size * 10 + (uint64_t)(line.ptr[i] - '0');
	}
	ret->size = (uint32_t)size;
	return size <= BLOB_MAX;
}

int pieces_parse(struct rye_span text, uint64_t size, struct piece **ret, size_t *ret_n,
		 struct rye_err *err)
{
	auto_free struct piece *v = calloc(text.len / PIECE_LINE + 1, sizeof(*v));
	struct rye_span line;
	uint64_t sum = 0;
	size_t n = 0;

	if (!v)
		return rye_fail(err, RYE_IO, "list of pieces: out of memory");
	for (; span_line(&text, &line); n++) {
		if (!parse_piece(line, &v[n]))
			return rye_fail(err, RYE_INVALID,
					"list of pieces, line %zu: wanted is SHA SIZE", n + 1);
		sum += v[n].size;
	}
	if (sum != size)
		return rye_fail(err, RYE_INVALID,
				"list of pieces: they have %llu bytes, the file has %llu",
				(unsigned long long)sum, (unsigned long long)size);
	*ret = steal(&v);
	*ret_n = n;
	return 0;
}
