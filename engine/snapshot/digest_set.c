/* SPDX-License-Identifier: MIT */
/* Digests, by their first bytes: open addressing, at most half full. The caller's; no lock. */
#include "snapshot/snapshot_inner.h"

#include "hash.h"

void digest_set_done(struct digest_set *set)
{
	free(set->v);
	free(set->used);
}

static size_t digest_set_place(const struct digest_set *set, const struct digest *sha)
{
	size_t at = (size_t)hash_bytes(HASH_BASIS, sha->bytes, 8) & (set->size - 1);

	while (set->used[at] && !digest_is(&set->v[at], sha))
		at = (at + 1) & (set->size - 1);
	return at;
}

static bool digest_set_grow(struct digest_set *set)
{
	struct digest_set more = { .size = set->size ? 2 * set->size : 1024 };

	more.v = calloc(more.size, sizeof(*more.v));
	more.used = calloc(more.size, sizeof(*more.used));
	if (!more.v || !more.used) {
		digest_set_done(&more);
		return false;
	}
	for (size_t i = 0; i < set->size; i++)
		if (set->used[i]) {
			size_t at = digest_set_place(&more, &set->v[i]);

			more.v[at] = set->v[i];
			more.used[at] = true;
			more.n++;
		}
	digest_set_done(set);
	*set = more;
	return true;
}

int digest_set_add(struct digest_set *set, const struct digest *sha)
{
	size_t at;

	if (2 * set->n >= set->size && !digest_set_grow(set))
		return -1;
	at = digest_set_place(set, sha);
	if (set->used[at])
		return 0;
	set->used[at] = true;
	set->v[at] = *sha;
	set->n++;
	return 1;
}

bool digest_set_has(const struct digest_set *set, const struct digest *sha)
{
	return set->size && set->used[digest_set_place(set, sha)];
}
