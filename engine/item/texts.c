/* SPDX-License-Identifier: MIT */
/*
 * texts.c - renderings on their way from the scan to the first reader.
 *
 * Owns a table of blobs by item, the oldest go first. `lock` guards all of it; blobs are
 * released outside. Called by the cache alone, which decides what may be put in and taken out.
 */
#include "item/texts.h"

#include "base/auto.h"
#include "base/id.h"

#include <string.h>

#define SLOTS 4096
/* What an entry costs beside its bytes. */
#define OVERHEAD 160

struct entry {
	struct entry *chain;
	struct entry *newer, *older;
	struct rye_blob *text;
	uint64_t gen;
	enum rye_kind kind;
	char id[];
};

struct texts {
	pthread_mutex_t lock;
	struct entry *slots[SLOTS];
	struct entry *newest, *oldest;
	size_t bytes;
};

struct texts *texts_new(void)
{
	struct texts *texts = calloc(1, sizeof(*texts));

	if (texts)
		pthread_mutex_init(&texts->lock, NULL);
	return texts;
}

void texts_free(struct texts *texts)
{
	if (!texts)
		return;
	texts_clear(texts);
	pthread_mutex_destroy(&texts->lock);
	free(texts);
}

/* Lock held. */
static struct entry **slot_of(struct texts *texts, enum rye_kind kind, const char *id)
{
	struct entry **at = &texts->slots[(id_hash(kind, id) >> 24) % SLOTS];

	while (*at && ((*at)->kind != kind || strcmp((*at)->id, id) != 0))
		at = &(*at)->chain;
	return at;
}

static size_t cost_of(const struct entry *entry)
{
	return entry->text->len + OVERHEAD;
}

/* Lock held. The entry is the caller's then. */
static struct entry *take_out(struct texts *texts, struct entry **at)
{
	struct entry *entry = *at;

	*at = entry->chain;
	*(entry->newer ? &entry->newer->older : &texts->newest) = entry->older;
	*(entry->older ? &entry->older->newer : &texts->oldest) = entry->newer;
	texts->bytes -= cost_of(entry);
	entry->chain = NULL;
	return entry;
}

/* Lock held. */
static void put_in(struct texts *texts, struct entry **at, struct entry *entry)
{
	entry->chain = *at;
	*at = entry;
	entry->newer = NULL;
	entry->older = texts->newest;
	*(texts->newest ? &texts->newest->newer : &texts->oldest) = entry;
	texts->newest = entry;
	texts->bytes += cost_of(entry);
}

static void release(struct entry *entry)
{
	while (entry) {
		struct entry *next = entry->chain;

		rye_blob_unref(entry->text);
		free(entry);
		entry = next;
	}
}

/* Lock held: what has to go, as a chain. */
static struct entry *shrink(struct texts *texts, size_t bytes)
{
	struct entry *gone = NULL;

	while (texts->oldest && texts->bytes > bytes) {
		struct entry *oldest = texts->oldest;
		struct entry *out = take_out(texts, slot_of(texts, oldest->kind, oldest->id));

		out->chain = gone;
		gone = out;
	}
	return gone;
}

void texts_put(struct texts *texts, const struct index_item *item, struct rye_blob *text)
{
	size_t len = strlen(item->id);
	struct entry *entry = malloc(sizeof(*entry) + len + 1), *old = NULL, *gone = NULL;

	if (!entry)
		return;
	*entry = (struct entry){ .gen = item->gen, .kind = item->kind };
	entry->text = rye_blob_ref(text);
	memcpy(entry->id, item->id, len + 1);
	WITH_LOCK(&texts->lock) {
		struct entry **at = slot_of(texts, item->kind, item->id);

		if (*at)
			old = take_out(texts, at);
		put_in(texts, slot_of(texts, item->kind, item->id), entry);
		gone = shrink(texts, TEXTS_BYTES);
	}
	release(old);
	release(gone);
}

struct rye_blob *texts_take(struct texts *texts, const struct index_item *item)
{
	struct entry *entry = NULL;
	struct rye_blob *text = NULL;

	WITH_LOCK(&texts->lock) {
		struct entry **at = slot_of(texts, item->kind, item->id);

		if (*at)
			entry = take_out(texts, at);
	}
	/* of another state of the item: it is of no use to anybody */
	if (entry && entry->gen == item->gen)
		text = rye_blob_ref(entry->text);
	release(entry);
	return text;
}

void texts_clear(struct texts *texts)
{
	struct entry *gone = NULL;

	WITH_LOCK(&texts->lock)
		gone = shrink(texts, 0);
	release(gone);
}
