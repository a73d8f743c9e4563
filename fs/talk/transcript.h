/* SPDX-License-Identifier: MIT */
/*
 * transcript.h: the transcript of a conversation as bytes with offsets. Written bytes go in
 * where the writer's offset points and push what is behind them further back, replies are
 * appended: so a descriptor that wrote n bytes finds the reply at its own offset, and replies
 * that nobody has read yet keep their order. Pure: no lock, no I/O.
 */
#ifndef RYE_FS_TALK_TRANSCRIPT_H
#define RYE_FS_TALK_TRANSCRIPT_H

#include <rye/rye.h>

/* Bytes kept for readers; older ones read as empty lines. */
#define TRANSCRIPT_KEEP (64u << 20)
/* A writer that seeks further than this behind the end has lost its way. */
#define TRANSCRIPT_GAP_MAX (1u << 20)

struct transcript_part {
	char *data;
	size_t begin, end, size;
};

struct transcript {
	struct rye_blob *initial; /* all of the content, until the first change */
	size_t dropped; /* bytes before head that are kept no more */
	struct transcript_part head; /* up to the last insertion */
	struct transcript_part tail; /* behind it */
};

void transcript_done(struct transcript *text);
size_t transcript_size(const struct transcript *text);
/* A writer that has this much unread behind it must read before it goes on. */
size_t transcript_unread(const struct transcript *text);

/* Drops everything from off on. */
bool transcript_cut(struct transcript *text, size_t off);
/* Behind the end: the gap reads as empty lines. False: out of memory or too far. */
bool transcript_insert(struct transcript *text, size_t off, struct rye_span bytes);
bool transcript_append(struct transcript *text, struct rye_span bytes);
/* Up to size bytes from off on; how many there were. */
size_t transcript_read(const struct transcript *text, size_t off, char *ret, size_t size);

#endif
