/* SPDX-License-Identifier: MIT */
/*
 * A set of digests: open addressing over their own bytes, which are spread evenly as they are. A principal may choose
 * them, but only so that its own collection is slow. No lock.
 */
#include "pack/pack_inner.h"

#include <string.h>

#define SET_FIRST 1024

static size_t set_place(const struct mark_set *set, const struct digest *digest)
{
	static const struct digest none;
	uint64_t at;

	memcpy(&at, digest->bytes, sizeof(at));
	for (at &= set->room - 1; !digest_is(&set->v[at], &none); at = (at + 1) & (set->room - 1))
		if (digest_is(&set->v[at], digest))
			break;
	return (size_t)at;
}

bool mark_set_has(const struct mark_set *set, const struct digest *digest)
{
	return set->room && digest_is(&set->v[set_place(set, digest)], digest);
}

static bool set_grow(struct mark_set *set)
{
	struct mark_set more = { .room = set->room ? 2 * set->room : SET_FIRST };
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

int mark_set_add(struct mark_set *set, const struct digest *digest, bool *ret_new,
		 struct rye_err *err)
{
	struct digest *place;

	if (2 * (set->n + 1) > set->room && !set_grow(set))
		return rye_fail(err, RYE_IO, "depot: out of memory");
	place = &set->v[set_place(set, digest)];
	*ret_new = !digest_is(place, digest);
	set->n += *ret_new;
	*place = *digest;
	return 0;
}

void mark_set_done(struct mark_set *set)
{
	free(set->v);
	*set = (struct mark_set){ 0 };
}
