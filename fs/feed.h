/* SPDX-License-Identifier: MIT */
/*
 * feed.h: when do the bytes written to a control file form one message? A pure incremental
 * scanner without lock or I/O: any cutting of the same bytes gives the same messages.
 *
 * A message is one JSON object, complete with its closing brace; or one line of YAML
 * (`key: value`, or `{flow}`), complete with its newline (or closing brace); or an empty line
 * alone, which means {}. Blank lines right behind an object or a line belong to it.
 */
#ifndef RYE_FS_FEED_H
#define RYE_FS_FEED_H

#include <rye/rye.h>

/* One message; the engine's bound for an item too. */
#define FEED_MAX (16u << 20)
/* Open braces and brackets: the engine's JSON parser stops there as well. */
#define FEED_DEPTH 256

enum feed_verdict {
	FEED_MORE, /* all bytes taken, no message is complete */
	FEED_COMPLETE, /* feed_message() is one */
	FEED_GARBAGE, /* can never become a message: feed->why, feed->sys */
};

struct feed {
	int mode; /* enum mode of feed.c */
	bool escape, scalar; /* behind a backslash; where a YAML scalar may begin */
	char quote; /* inside a string begun by this, or 0 */
	int sys; /* EINVAL or EFBIG, when garbage */
	unsigned depth;
	uint8_t square[FEED_DEPTH / 8]; /* per level: opened by [ instead of { */
	struct rye_blob *room; /* that text lies in; nobody else has it */
	char *text; /* what came of the message, NULL before its first byte */
	size_t len, size;
	char *json; /* a YAML message as JSON */
	size_t json_len;
	char why[240];
};

void feed_init(struct feed *feed);
void feed_done(struct feed *feed); /* frees; usable again */

/*
 * Takes bytes up to the end of the message they complete; *ret_used says how many. Call it
 * again with the rest. After GARBAGE the rest of that write is lost and only a message that
 * begins with { is taken, until feed_restart: what follows broken text is likely its tail.
 */
enum feed_verdict feed_step(struct feed *feed, struct rye_span bytes, size_t *ret_used);

/* The JSON text of the message just completed, borrowed until the next feed_step. */
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

bool feed_open(const struct feed *feed); /* has a message begun and not ended? */
/* The same; says what is missing and where, one line. */
bool feed_unfinished(const struct feed *feed, char *why, size_t size);

/*
 * feed_yaml.c: one line of YAML as JSON text in *ret (heap; the caller frees). Scalars are
 * typed as YAML 1.1 does: null, booleans, integers of base 2, 8, 10, 16, floats; dates and
 * base 60 stay text. Returns 0, or a positive errno with a sentence in why.
 */
int feed_yaml(struct rye_span line, char **ret, size_t *ret_len, char why[240]);

#endif
