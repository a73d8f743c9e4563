/* SPDX-License-Identifier: MIT */
/*
 * What each file's digest was: lines of "INODE SIZE MTIME CTIME SHA PATH", "!" in place of the digest of a
 * private key. It is a memory, no proof: packs are made of bytes whose digest was computed. A line that
 * cannot be read is left out. No lock; the last process to write has its way.
 */
#include "base/io.h"
#include "snapshot/snapshot_inner.h"

#include "hash.h"
#include "str.h"

#include <fcntl.h>
#include <stdlib.h>
#include <time.h>

struct stat_cache {
	int dir;
	const char *name;
	char *text; /* what the rows' paths lie in */
	struct stat_row *rows; /* sorted by path */
	size_t n;
	struct rye_buf next; /* for the next time */
	uint64_t was; /* a hash of the file */
	struct timespec now;
};

static uint64_t time_of(const struct timespec *at)
{
	return (uint64_t)at->tv_sec * 1000000000u + (uint64_t)at->tv_nsec;
}

static bool take_number(char **at, uint64_t *ret)
{
	char *end;

	*ret = strtoull(*at, &end, 10);
	if (end == *at || *end != ' ')
		return false;
	*at = end + 1;
	return true;
}

static bool row_read(char *line, struct stat_row *row)
{
	size_t len;

	*row = (struct stat_row){ 0 };
	if (!take_number(&line, &row->ino) || !take_number(&line, &row->size) ||
	    !take_number(&line, &row->mtime) || !take_number(&line, &row->ctime))
		return false;
	len = strcspn(line, " ");
	row->key = len == 1 && *line == '!';
	if (!line[len] || (!row->key && !digest_parse((struct rye_span){ line, len }, &row->sha)))
		return false;
	row->path = line + len + 1;
	return true;
}

static int by_row(const void *a, const void *b)
{
	const struct stat_row *x = a, *y = b;

	return strcmp(x->path, y->path);
}

static void cache_read(struct stat_cache *cache)
{
	auto_blob struct rye_blob *text = NULL;
	size_t lines = 0;

	if (cache->dir < 0 || io_read_at(cache->dir, cache->name, MANIFEST_MAX, &text))
		return;
	cache->was = hash_bytes(HASH_BASIS, text->data, text->len);
	for (size_t i = 0; i < text->len; i++)
		lines += text->data[i] == '\n';
	cache->text = span_dup((struct rye_span){ text->data, text->len });
	cache->rows = calloc(lines + 1, sizeof(*cache->rows));
	if (!cache->text || !cache->rows)
		return;
	for (char *at = cache->text, *end; (end = strchr(at, '\n')); at = end + 1) {
		*end = '\0';
		cache->n += row_read(at, &cache->rows[cache->n]);
	}
	if (cache->n)
		qsort(cache->rows, cache->n, sizeof(*cache->rows), by_row);
}

struct stat_cache *stat_cache_open(int dir, const char *name)
{
	struct stat_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return NULL;
	cache->dir = dir;
	cache->name = name;
	cache->next.cap = MANIFEST_MAX;
	/* of the time before anything is read: what changes later has a later time */
	clock_gettime(CLOCK_REALTIME, &cache->now);
	cache_read(cache);
	return cache;
}

void stat_cache_free(struct stat_cache *cache)
{
	if (!cache)
		return;
	free(cache->text);
	free(cache->rows);
	buf_done(&cache->next);
	free(cache);
}

const struct stat_row *stat_cache_find(const struct stat_cache *cache, const char *path,
				       const struct stat *st)
{
	const struct stat_row want = { .path = (char *)path };
	const struct stat_row *row =
		cache->n ? bsearch(&want, cache->rows, cache->n, sizeof(want), by_row) : NULL;

	if (!row || row->ino != st->st_ino || row->size != (uint64_t)st->st_size ||
	    row->mtime != time_of(&st->st_mtim) || row->ctime != time_of(&st->st_ctim))
		return NULL;
	return row;
}

void stat_cache_put(struct stat_cache *cache, const char *path, const struct stat *st,
		    const struct digest *sha, bool key)
{
	char hex[SHA_HEX] = "!";

	if (cache->dir < 0 || !stat_settled(st, &cache->now))
		return;
	if (!key)
		digest_hex(sha, hex);
	buf_addf(&cache->next, "%llu %llu %llu %llu %s %s\n", (unsigned long long)st->st_ino,
		 (unsigned long long)st->st_size, (unsigned long long)time_of(&st->st_mtim),
		 (unsigned long long)time_of(&st->st_ctim), hex, path);
}

void stat_cache_save(struct stat_cache *cache)
{
	const struct rye_buf *next = &cache->next;

	if (cache->dir >= 0 && !next->failed &&
	    cache->was != hash_bytes(HASH_BASIS, next->data, next->len))
		io_remember_at(cache->dir, cache->name, buf_span(&cache->next), 0600);
}
