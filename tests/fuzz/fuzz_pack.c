/* SPDX-License-Identifier: MIT */
/*
 * A pack from outside. Its digest is made right, so that the parser is reached; every place that is
 * told lies within, and what is verified unpacks once more, to the digest that it has.
 */
#include "pack/pack.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_place(struct rye_span pack, const struct pack_place *place)
{
	auto_buf struct rye_buf blob = RYE_BUF_INIT;
	struct digest is;

	if (place->off > pack.len || place->zlen > pack.len - place->off ||
	    place->at > place->len || place->size > place->len - place->at)
		abort();
	if (pack_unpack((struct rye_span){ pack.ptr + place->off, place->zlen }, place, &blob,
			NULL))
		abort();
	is = digest_of(buf_span(&blob));
	if (!digest_is(&is, &place->sha))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_buf struct rye_buf pack = RYE_BUF_INIT;
	auto_free struct pack_place *places = NULL, *all = NULL;
	struct digest name;
	size_t n;

	buf_add(&pack, (const char *)data, size);
	if (pack.failed)
		return 0;
	pack_places(buf_span(&pack), &places, &n, &name, NULL);
	free(steal(&places));
	name = digest_of(buf_span(&pack));
	buf_add(&pack, (const char *)name.bytes, SHA_LEN);
	if (pack_places(buf_span(&pack), &places, &n, &name, NULL) ||
	    pack_verify(buf_span(&pack), &all, &n, &name, NULL))
		return 0;
	for (size_t i = 0; i < n; i++)
		check_place(buf_span(&pack), &all[i]);
	return 0;
}
