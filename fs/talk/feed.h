/* SPDX-License-Identifier: MIT */
/*
 * feed.h: when do the bytes written to a control file form one message? A pure incremental
 * scanner without lock or I/O. What the message says is the engine's business.
 *
 * A message is one JSON object, complete with its closing brace however it was cut; or YAML:
 * all the lines from its first to the end of one write, which has to end with a newline; or a
 * write of blank lines alone, which means {}. Blank lines before a message in the same write
 * and right behind one belong to it. One byte order mark before it is dropped.
 */
#ifndef RYE_FS_TALK_FEED_H
#define RYE_FS_TALK_FEED_H

#include <rye/rye.h>

/* One message; the engine's bound for an item too. */
#define FEED_MAX (16u << 20)
/* Open braces and brackets: the engine's JSON parser stops there as well. */
#define FEED_DEPTH 256

/* A sentence with its place. */
#define FEED_WHY 240

enum feed_verdict {
	FEED_MORE, /* all bytes taken, no message is complete */
	FEED_COMPLETE, /* feed_message() is one */
	FEED_GARBAGE, /* can never become a message: feed->why, feed->sys */
};

struct feed {
	int mode; /* enum mode of feed.c */
	bool quoted, escape; /* inside a string, behind a backslash */
	bool cut; /* set by the caller: the write in hand may be the first part of a longer one */
	enum rye_form form; /* of the message just completed */
	int sys; /* EINVAL or EFBIG, when garbage */
	unsigned depth;
	unsigned mark; /* bytes of a byte order mark before the message; 4: a second one */
	uint8_t square[FEED_DEPTH / 8]; /* per level: opened by [ instead of { */
	struct rye_blob *room; /* that text lies in; the feed alone has it */
	char *text; /* what came of the message, NULL before its first byte */
	size_t len, size;
	char why[FEED_WHY];
};

void feed_init(struct feed *feed);
void feed_done(struct feed *feed); /* frees; usable again */

/*
 * Takes bytes up to the end of the message they complete; *ret_used says how many. They are the
 * rest of one write: call it again with what is left. After GARBAGE all of that write is used
 * and lost, and mostly only a message that begins with { is taken until feed_restart: what
 * follows broken text is likely its tail.
 */
enum feed_verdict feed_step(struct feed *feed, struct rye_span bytes, size_t *ret_used);

/* The bytes of the message just completed, of feed->form, borrowed until the next feed_step. */
struct rye_span feed_message(const struct feed *feed);

/* The same as a blob, the caller's; a long one is given away, not copied. NULL: no memory. */
struct rye_blob *feed_take(struct feed *feed);

/* Forgets what is unfinished and broken; an empty line is a message again. */
void feed_restart(struct feed *feed);
/* The reader has taken the reply, or the writer went elsewhere: the blank lines are over. */
void feed_fresh(struct feed *feed);
/* Where it is between two messages; feed_lost goes back there when the writer was told that
 * what it wrote since was not taken, and will write that or something else in its place. */
int feed_mark(const struct feed *feed);
void feed_lost(struct feed *feed, int mark);

bool feed_broken(const struct feed *feed); /* is only a message that begins with { taken? */
bool feed_open(const struct feed *feed); /* has an object begun and not ended? */
/* The same; says what is missing and where, one line. */
bool feed_unfinished(const struct feed *feed, char *why, size_t size);

#endif
