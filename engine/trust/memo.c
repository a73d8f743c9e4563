/* SPDX-License-Identifier: MIT */
/*
 * The memo: a two-way table of whole digests. A crowded bucket forgets its older entry, which
 * costs one verification (37 us) and nothing else. Shards keep threads apart; a lock guards
 * its shard's slots and is never held over anything but a compare and a copy.
 */
#include "trust/trust_inner.h"

#include "scope.h"

#include <stdlib.h>
#include <string.h>

#define SHARDS 16
/* 16 × 4 096 digests: 2 MiB when full, twice the signatures of a workspace of 10 000 items. */
#define BUCKETS 2048
#define WAYS 2

struct bucket {
	unsigned char ways[WAYS][SHA_LEN]; /* the newer first; all zero: free */
};

struct shard {
	pthread_mutex_t lock;
	struct bucket *slots; /* BUCKETS of them */
};

struct memo {
	struct shard shards[SHARDS];
};

struct memo *memo_new(void)
{
	struct memo *memo = calloc(1, sizeof(*memo));

	for (int i = 0; memo && i < SHARDS; i++) {
		struct shard *shard = &memo->shards[i];

		pthread_mutex_init(&shard->lock, NULL);
		shard->slots = calloc(BUCKETS, sizeof(*shard->slots));
		if (!shard->slots) {
			memo_free(memo);
			return NULL;
		}
	}
	return memo;
}

void memo_free(struct memo *memo)
{
	for (int i = 0; memo && i < SHARDS; i++)
		free(memo->shards[i].slots);
	free(memo);
}

/* Digests are uniform: their first bytes are the hash. */
static struct bucket *memo_bucket_of(struct memo *memo, const unsigned char digest[SHA_LEN],
				     struct shard **ret_shard)
{
	struct shard *shard = &memo->shards[digest[0] % SHARDS];
	size_t bucket = ((size_t)digest[1] | (size_t)digest[2] << 8) % BUCKETS;

	*ret_shard = shard;
	return &shard->slots[bucket];
}

bool memo_has(struct memo *memo, const unsigned char digest[SHA_LEN])
{
	struct shard *shard;
	struct bucket *bucket = memo_bucket_of(memo, digest, &shard);
	bool found = false;

	GUARD(&shard->lock);
	for (int i = 0; i < WAYS; i++)
		found = found || !memcmp(bucket->ways[i], digest, SHA_LEN);
	return found;
}

void memo_add(struct memo *memo, const unsigned char digest[SHA_LEN])
{
	struct shard *shard;
	struct bucket *bucket = memo_bucket_of(memo, digest, &shard);

	GUARD(&shard->lock);
	memcpy(bucket->ways[1], bucket->ways[0], SHA_LEN);
	memcpy(bucket->ways[0], digest, SHA_LEN);
}
