/* SPDX-License-Identifier: MIT */
/*
 * A set of digests: open addressing over their own bytes, which are spread evenly as they are. A principal may choose
 * them, but only so that its own collection is slow. No lock.
 */
#include "pack/pack_inner.h"

#include <string.h>

#define SET_FIRST 1024

static size_t set_place(const struct digest_set *set, const struct digest *digest)
{
	static const struct digest none;
	uint64_t at;

	memcpy(&at, digest->bytes, sizeof(at));
	for (at &= set->room - 1; !digest_is(&set->v[at], &none); at = (at + 1) & (set->room - 1))
		if (digest_is(&set->v[at], digest))
			break;
	return (size_t)at;
}

bool digest_set_has(const struct digest_set *set, const struct digest *digest)
{
	return set->room && digest_is(&set->v[set_place(set, digest)], digest);
}

static bool set_grow(struct digest_set *set)
{
	struct digest_set more = { .room = set->room ? 2 * set->room : SET_FIRST };
	static const struct digest none;

	more.v = calloc(more.room, sizeof(*more.v));
	if (!more.v)
		return false;
	for (size_t i = 0; i < set->room; i++)
		if (!digest_is(&set->v[i], &none))
			more.v[set_place(&more, &set->v[i])] = set->v[i];
	more.n = set->n;
	free(set->v);
	*set = more;
	return true;
}

int digest_set_add(struct digest_set *set, const struct digest *digest)
{
	struct digest *place;

	if (2 * (set->n + 1) > set->room && !set_grow(set))
		return -1;
	place = &set->v[set_place(set, digest)];
	if (digest_is(place, digest))
		return 0;
	*place = *digest;
	set->n++;
	return 1;
}

void digest_set_done(struct digest_set *set)
{
	free(set->v);
	*set = (struct digest_set){ 0 };
}
