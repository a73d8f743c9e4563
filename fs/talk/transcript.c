/* SPDX-License-Identifier: MIT */
/*
 * transcript.c - a transcript in two parts: head, up to where was last written, and tail, what
 * is behind. Writing one message after the other and reading one reply after the other only
 * ever appends to head, to tail, or moves bytes from one to the other, so 100 000 messages
 * before the first read stay cheap.
 *
 * Pure. Called by talk*.c under the conversation's lock.
 */
#include "talk/talk_inner.h"

#include "scope.h"

#include <stdlib.h>
#include <string.h>

static size_t part_len(const struct transcript_part *part)
{
	return part->end - part->begin;
}

/* So much room before it and behind it. What is moved is paid for by what was pushed or taken since. */
static bool transcript_reserve(struct transcript_part *part, size_t front, size_t back)
{
	size_t len = part_len(part), begin = front ? front + len : 0, size;
	char *data = part->data;

	if (part->begin >= front && part->size - part->end >= back)
		return true;
	if (!front && part->begin >= len + back) {
		if (len)
			memcpy(data, data + part->begin, len);
	} else {
		size = MAX_OF(begin + len + MAX_OF(len, back), (size_t)256);
		data = malloc(size);
		if (!data)
			return false;
		if (len)
			memcpy(data + begin, part->data + part->begin, len);
		free(part->data);
		part->data = data;
		part->size = size;
	}
	part->begin = begin;
	part->end = begin + len;
	return true;
}

static bool push_back(struct transcript_part *part, const char *ptr, size_t len)
{
	if (!transcript_reserve(part, 0, len))
		return false;
	if (len)
		memcpy(part->data + part->end, ptr, len);
	part->end += len;
	return true;
}

static bool push_front(struct transcript_part *part, const char *ptr, size_t len)
{
	if (!transcript_reserve(part, len, 0))
		return false;
	part->begin -= len;
	if (len)
		memcpy(part->data + part->begin, ptr, len);
	return true;
}

static void transcript_clear(struct transcript_part *part)
{
	free(part->data);
	*part = (struct transcript_part){ 0 };
}

void transcript_done(struct transcript *text)
{
	rye_blob_unref(text->initial);
	transcript_clear(&text->head);
	transcript_clear(&text->tail);
	*text = (struct transcript){ 0 };
}

size_t transcript_size(const struct transcript *text)
{
	if (text->initial)
		return text->initial->len;
	return text->dropped + part_len(&text->head) + part_len(&text->tail);
}

size_t transcript_unread(const struct transcript *text)
{
	return part_len(&text->tail);
}

/* The initial content becomes bytes of our own, up to off. */
static bool own_bytes(struct transcript *text, size_t off)
{
	struct rye_blob *initial = text->initial;

	if (!initial)
		return true;
	if (!push_back(&text->head, initial->data, MIN_OF(off, initial->len)))
		return false;
	text->initial = NULL;
	rye_blob_unref(initial);
	return true;
}

static bool blank_lines(struct transcript *text, size_t n)
{
	if (n > TRANSCRIPT_GAP_MAX || !transcript_reserve(&text->head, 0, n))
		return false;
	if (n)
		memset(text->head.data + text->head.end, '\n', n);
	text->head.end += n;
	return true;
}

/* Head ends at off afterwards. */
static bool transcript_split(struct transcript *text, size_t off)
{
	size_t at = text->dropped + part_len(&text->head), n;

	if (off < text->dropped)
		return false;
	if (off < at) {
		n = at - off;
		if (!push_front(&text->tail, text->head.data + text->head.end - n, n))
			return false;
		text->head.end -= n;
		return true;
	}
	n = MIN_OF(off - at, part_len(&text->tail));
	if (n && !push_back(&text->head, text->tail.data + text->tail.begin, n))
		return false;
	text->tail.begin += n;
	if (part_len(&text->tail) == 0)
		transcript_clear(&text->tail);
	return blank_lines(text, off - at - n);
}

/* Drops the oldest bytes beyond TRANSCRIPT_KEEP; a reader gets empty lines in their place. */
static void drop_old(struct transcript *text)
{
	size_t len = part_len(&text->head);

	if (len <= TRANSCRIPT_KEEP)
		return;
	text->head.begin += len - TRANSCRIPT_KEEP / 2;
	text->dropped += len - TRANSCRIPT_KEEP / 2;
}

bool transcript_cut(struct transcript *text, size_t off)
{
	if (off >= transcript_size(text))
		return true;
	if (!own_bytes(text, off))
		return false;
	if (off <= text->dropped) {
		text->dropped = off;
		transcript_clear(&text->head);
	} else if (!transcript_split(text, off)) {
		return false;
	}
	transcript_clear(&text->tail);
	return true;
}

bool transcript_insert(struct transcript *text, size_t off, struct rye_span bytes)
{
	if (!own_bytes(text, SIZE_MAX) || !transcript_split(text, off))
		return false;
	if (!push_back(&text->head, bytes.ptr, bytes.len))
		return false;
	drop_old(text);
	return true;
}

bool transcript_append(struct transcript *text, struct rye_span bytes)
{
	return own_bytes(text, SIZE_MAX) && push_back(&text->tail, bytes.ptr, bytes.len);
}

/* The part of [off, off + size) that [at, at + len) covers. */
static size_t transcript_copy(char *ret, size_t off, size_t size, const char *ptr, size_t len)
{
	size_t n = off < len ? MIN_OF(size, len - off) : 0;

	if (n)
		memcpy(ret, ptr + off, n);
	return n;
}

size_t transcript_read(const struct transcript *text, size_t off, char *ret, size_t size)
{
	const struct transcript_part *head = &text->head, *tail = &text->tail;
	size_t total = transcript_size(text), n = 0;

	if (off >= total)
		return 0;
	size = MIN_OF(size, total - off);
	if (text->initial)
		return transcript_copy(ret, off, size, text->initial->data, total);
	if (off < text->dropped) {
		n = MIN_OF(size, text->dropped - off);
		memset(ret, '\n', n);
	}
	off = off + n - text->dropped;
	if (off < part_len(head))
		n += transcript_copy(ret + n, off, size - n, head->data + head->begin,
				     part_len(head));
	if (n < size) {
		off = MAX_OF(off, part_len(head)) - part_len(head);
		if (tail->data)
			n += transcript_copy(ret + n, off, size - n, tail->data + tail->begin,
					     part_len(tail));
	}
	return n;
}
