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
#include <sys/mman.h>

#define SHARDS 16
/* 16 × 4 096 digests: 2 MiB when full, twice the signatures of a workspace of 10 000 items. */
#define BUCKETS 2048
#define WAYS 2

struct bucket {
	unsigned char ways[WAYS][SHA_LEN]; /* the newer first; all zero: free */
};

struct shard {
	pthread_mutex_t lock;
	struct bucket *slots; /* BUCKETS of them, of the memo's table */
};

struct memo {
	struct shard shards[SHARDS];
	struct bucket *table;
};

#define TABLE_SIZE (sizeof(struct bucket) * SHARDS * BUCKETS)

/*
 * Pages as they are touched, of a kernel that clears them: an engine for one run touches some twenty. An allocator would
 * clear all of the table, where it has had such a piece before.
 */
struct memo *memo_new(void)
{
	struct memo *memo = calloc(1, sizeof(*memo));
	void *table;

	if (!memo)
		return NULL;
	table = mmap(NULL, TABLE_SIZE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (table == MAP_FAILED) {
		free(memo);
		return NULL;
	}
	madvise(table, TABLE_SIZE, MADV_NOHUGEPAGE);
	memo->table = table;
	for (size_t i = 0; i < SHARDS; i++) {
		pthread_mutex_init(&memo->shards[i].lock, NULL);
		memo->shards[i].slots = memo->table + i * BUCKETS;
	}
	return memo;
}

void memo_free(struct memo *memo)
{
	if (memo)
		munmap(memo->table, TABLE_SIZE);
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
