/* SPDX-License-Identifier: MIT */
/*
 * texts.h: renderings that a verification brought before anybody asked for them. Whoever asks
 * first takes one away: what the scan has read need not be read, hashed and parsed again for
 * the first reader, and afterwards it is the reader who holds it. Has a lock of its own, taken
 * last and held for nanoseconds.
 */
#ifndef RYE_ITEM_TEXTS_H
#define RYE_ITEM_TEXTS_H

#include "item/index.h"

struct texts;

/* A tree of ten thousand items is about 25 MB; of bigger ones the latest verified stay. */
#define TEXTS_BYTES (32u << 20)

struct texts *texts_new(void); /* NULL: out of memory */
void texts_free(struct texts *texts); /* NULL is fine */
void texts_put(struct texts *texts, const struct index_item *item, struct rye_blob *text);
/* The text of exactly this state of the item, now the caller's; NULL: not here (any more). */
struct rye_blob *texts_take(struct texts *texts, const struct index_item *item);
void texts_clear(struct texts *texts);

#endif
