/* SPDX-License-Identifier: MIT */
/*
 * feed.c - finds the end of a message in bytes that come cut anywhere.
 *
 * A JSON object frames itself: braces, brackets and strings are tracked, not the whole grammar,
 * which is the engine's. YAML has no end of its own: it is framed by the write that brings it, and
 * of a single line only the engine knows whether it may be a part (RYE_FORM_LINE).
 * Broken text must not wait for an end that cannot come: an open string that meets a line's end, a
 * bracket that closes a brace, a NUL, too much depth or YAML without a newline is garbage at once,
 * so the write that brought it fails.
 *
 * Pure: no lock, no I/O. Called by talk*.c under the conversation's lock.
 */
#include "talk/talk_inner.h"

#include "err.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum mode {
	START, /* before a message */
	OPENED, /* behind the first brace: JSON or YAML's flow style? */
	JSON,
	BRACED, /* behind a closing brace: the newline belongs to it */
	AFTER, /* behind a message and its newline: blank lines belong to it too */
	BROKEN, /* behind garbage: only a brace begins anew */
};

/* A message of up to so many bytes is copied once, a longer one again as it grows. */
#define ROOM 1024

/* What is left of the write in hand. */
struct feed_piece {
	const char *p, *end;
	const char *line; /* where the line of p begins */
	const char *begun; /* the line in which the open message began; NULL: in an earlier write */
};

void feed_init(struct feed *feed)
{
	*feed = (struct feed){ .mode = START };
}

void feed_done(struct feed *feed)
{
	rye_blob_unref(feed->room);
	feed_init(feed);
}

bool feed_open(const struct feed *feed)
{
	return feed->mode == OPENED || feed->mode == JSON;
}

bool feed_broken(const struct feed *feed)
{
	return feed->mode == BROKEN;
}

static void drop_message(struct feed *feed)
{
	rye_blob_unref(feed->room);
	feed->room = NULL;
	feed->len = 0;
	feed->depth = 0;
	feed->quoted = false;
	feed->escape = false;
	feed->mark = 0;
}

void feed_restart(struct feed *feed)
{
	drop_message(feed);
	feed->mode = START;
	feed->refused = false;
}

void feed_refuse(struct feed *feed)
{
	feed->refused = true;
}

void feed_fresh(struct feed *feed)
{
	feed->refused = false;
	if (feed->mode == AFTER || feed->mode == BROKEN)
		feed->mode = START;
}

int feed_mark(const struct feed *feed)
{
	return feed_open(feed) ? START : feed->mode;
}

void feed_lost(struct feed *feed, int mark)
{
	drop_message(feed);
	if (feed->mode != BROKEN)
		feed->mode = mark;
}

/* The rest of this write is lost; what follows is likely its tail. */
static enum feed_verdict drop_write(struct feed *feed, int sys, const char *why)
{
	if (why != feed->why)
		snprintf(feed->why, sizeof(feed->why), "%s", why);
	feed->sys = sys;
	drop_message(feed);
	feed->mode = BROKEN;
	return FEED_GARBAGE;
}

/* Line and column of the next byte, both from 1. */
static void put_position(const struct feed *feed, size_t upto, unsigned *line, size_t *column)
{
	size_t begin = 0;

	*line = 1;
	for (size_t i = 0; i < upto; i++)
		if (feed->room->data[i] == '\n') {
			(*line)++;
			begin = i + 1;
		}
	*column = upto - begin + 1;
}

static enum feed_verdict drop_write_here(struct feed *feed, const char *what)
{
	unsigned line;
	size_t column;

	put_position(feed, feed->len, &line, &column);
	snprintf(feed->why, sizeof(feed->why), "message broken in line %u, column %zu: %s", line,
		 column, what);
	return drop_write(feed, EINVAL, feed->why);
}

static bool feed_grow(struct feed *feed, size_t size)
{
	struct rye_blob *room = rye_blob_new(NULL, size);

	if (!room)
		return false;
	if (feed->room)
		memcpy(room->data, feed->room->data, feed->len);
	rye_blob_unref(feed->room);
	feed->room = room;
	return true;
}

static bool feed_keep(struct feed *feed, const char *ptr, size_t len)
{
	size_t size = feed->room ? feed->room->len : 0, need = feed->len + len;

	if (len > FEED_MAX - feed->len)
		return false;
	if ((!feed->room || need > size) &&
	    !feed_grow(feed, MAX_OF(MAX_OF(size * 2, need), (size_t)ROOM)))
		return false;
	memcpy(feed->room->data + feed->len, ptr, len);
	feed->len += len;
	return true;
}

static bool level_square(const struct feed *feed)
{
	unsigned level = feed->depth - 1;

	return feed->square[level / 8] & (1u << (level % 8));
}

/* NULL, or what is wrong with one more level. */
static const char *open_level(struct feed *feed, char c)
{
	unsigned bit = 1u << (feed->depth % 8);

	if (feed->depth == FEED_DEPTH)
		return "nested deeper than 256 levels";
	if (c == '[')
		feed->square[feed->depth / 8] |= bit;
	else
		feed->square[feed->depth / 8] &= ~bit;
	feed->depth++;
	return NULL;
}

static const char *close_level(struct feed *feed, char c)
{
	if (level_square(feed) != (c == ']'))
		return c == ']' ? "a ] where } was wanted" : "a } where ] was wanted";
	feed->depth--;
	return NULL;
}

static const char *step_bracket(struct feed *feed, char c)
{
	if (c == '{' || c == '[')
		return open_level(feed, c);
	if (c == '}' || c == ']')
		return close_level(feed, c);
	return NULL;
}

static const char *step_string(struct feed *feed, char c)
{
	if (c == '\n')
		return "a string is not closed at the end of its line";
	if (feed->escape)
		feed->escape = false;
	else if (c == '\\')
		feed->escape = true;
	else if (c == '"')
		feed->quoted = false;
	return NULL;
}

static const char *step_json(struct feed *feed, char c)
{
	if (feed->quoted)
		return step_string(feed, c);
	if (c == '"')
		feed->quoted = true;
	return step_bracket(feed, c);
}

static enum feed_verdict too_big(struct feed *feed)
{
	if (feed->len > FEED_MAX / 2)
		return drop_write(feed, EFBIG, "message too big, wanted at most 16 MiB");
	return drop_write(feed, ENOMEM, "out of memory");
}

/* ---- YAML ---- */

static enum rye_form form_of(struct rye_span text)
{
	const char *newline = memchr(text.ptr, '\n', text.len);
	struct rye_span rest = span_skip(text, (size_t)(newline + 1 - text.ptr));

	return span_trim(rest).len ? RYE_FORM_YAML : RYE_FORM_LINE;
}

/* From the beginning of the line to the end of the write. */
static enum feed_verdict yaml_message(struct feed *feed, struct feed_piece *in, const char *from)
{
	size_t len = (size_t)(in->end - from);
	const char *nul = memchr(from, '\0', len);

	in->p = in->end;
	drop_message(feed);
	if (!feed_keep(feed, from, nul ? (size_t)(nul - from) : len))
		return too_big(feed);
	if (nul)
		return drop_write_here(feed, "a NUL byte");
	if (feed->cut)
		return drop_write(feed, EFBIG,
				  "YAML that may be longer than one write: write it as JSON");
	if (in->end[-1] != '\n') {
		/* the same text with its newline is welcome at the same place */
		drop_write(feed, EINVAL,
			   "message unfinished: YAML ends with a newline, so end it "
			   "with a newline, or write one JSON object");
		feed->mode = START;
		return FEED_GARBAGE;
	}
	feed->mode = AFTER;
	feed->form = form_of(feed_message(feed));
	return FEED_COMPLETE;
}

/* ---- JSON ---- */

static enum feed_verdict step_inside(struct feed *feed, struct feed_piece *in)
{
	char c = *in->p++;
	const char *wrong = step_json(feed, c);

	if (wrong)
		return drop_write_here(feed, wrong);
	if (!feed_keep(feed, &c, 1))
		return too_big(feed);
	if (feed->depth)
		return FEED_MORE;
	feed->mode = BRACED;
	return FEED_COMPLETE;
}

/* Behind the first brace: a quote or the closing brace makes it JSON. */
static enum feed_verdict step_opened(struct feed *feed, struct feed_piece *in)
{
	char c = *in->p;

	if (strchr(" \t\r\n", c)) {
		in->p++;
		return feed_keep(feed, &c, 1) ? FEED_MORE : too_big(feed);
	}
	if (c != '"' && c != '}')
		return in->begun ? yaml_message(feed, in, in->begun) :
				   drop_write_here(feed, "wanted a name in double quotes, or }");
	feed->mode = JSON;
	return step_inside(feed, in);
}

static enum feed_verdict begin_json(struct feed *feed, struct feed_piece *in)
{
	feed_restart(feed);
	feed->mode = OPENED;
	feed->form = RYE_FORM_JSON;
	in->begun = in->line;
	open_level(feed, '{');
	return feed_keep(feed, in->p++, 1) ? FEED_MORE : too_big(feed);
}

/* ---- between messages ---- */

static bool only_blanks(const struct feed_piece *in)
{
	const char *p = in->p;

	while (p < in->end && *p && strchr(" \t\r\n", *p))
		p++;
	return p == in->end;
}

/* Alone in its write it is a message; before one, or behind one, a part of it. */
static enum feed_verdict blank_line(struct feed *feed, struct feed_piece *in)
{
	in->line = ++in->p;
	feed->mark = 0;
	if (feed->mode != START)
		feed->mode = AFTER;
	if (feed->mode != START || !only_blanks(in))
		return FEED_MORE;
	in->p = in->end;
	drop_message(feed);
	feed->form = RYE_FORM_JSON;
	if (!feed_keep(feed, "{}", 2))
		return drop_write(feed, ENOMEM, "out of memory");
	return FEED_COMPLETE;
}

/* A byte order mark as far as it came, taken; false: what stands here is none. */
static bool take_mark(struct feed *feed, struct feed_piece *in)
{
	static const char mark[] = "\xef\xbb\xbf";
	size_t n = 0, want = feed->mark == 3 ? 3 : 3 - feed->mark;
	const char *from = mark + (feed->mark == 3 ? 0 : feed->mark);

	while (n < want && in->p + n < in->end && in->p[n] == from[n])
		n++;
	if (n == 0 || (n < want && in->p + n < in->end))
		return false;
	feed->mark = feed->mark == 3 ? 4 : feed->mark + n;
	in->p += n;
	in->line = in->p;
	return true;
}

static enum feed_verdict step_between(struct feed *feed, struct feed_piece *in)
{
	char c = *in->p;

	if (take_mark(feed, in))
		return feed->mark > 3 ? drop_write(feed, EINVAL,
						   "message begins with two byte order marks") :
					FEED_MORE;
	if (feed->mark == 1 || feed->mark == 2)
		return drop_write(feed, EINVAL, "message begins with half a byte order mark");
	if (feed->refused && c != '{')
		return drop_write(feed, EINVAL, ERR_SEVERAL);
	if (feed->mode == BROKEN && c != '{')
		return drop_write(feed, EINVAL,
				  "the lines before could not be read: one JSON object, or all "
				  "lines in one write (… | cat > run)");
	if (c == '{')
		return begin_json(feed, in);
	if (c == '\n')
		return blank_line(feed, in);
	if (c != ' ' && c != '\t' && c != '\r')
		return yaml_message(feed, in, in->line);
	in->p++;
	return FEED_MORE;
}

static enum feed_verdict talk_feed_step(struct feed *feed, struct feed_piece *in)
{
	if (*in->p == '\0') {
		if (!feed_open(feed))
			drop_message(feed);
		return drop_write_here(feed, "a NUL byte");
	}
	if (feed->mode == OPENED)
		return step_opened(feed, in);
	return feed->mode == JSON ? step_inside(feed, in) : step_between(feed, in);
}

/* Bytes that only lengthen a JSON string: taken at once. */
static size_t plain_run(const struct feed *feed, const struct feed_piece *in)
{
	const char *p = in->p;

	if (feed->mode == JSON && feed->quoted && !feed->escape)
		while (p < in->end && *p != '"' && *p != '\\' && (unsigned char)*p >= ' ')
			p++;
	return (size_t)(p - in->p);
}

/* The newline of `printf`, or the empty line of `: >> ctl`, asks for nothing. */
static enum feed_verdict step_line(struct feed *feed, struct feed_piece *in)
{
	const char *from = in->p;
	size_t len = (size_t)(in->end - from);

	drop_message(feed);
	if (only_blanks(in))
		return FEED_MORE;
	if (len > FEED_LINE_MAX)
		return drop_write(feed, EINVAL, "one verb of 4096 bytes at most is wanted");
	if (!feed_keep(feed, from, len))
		return too_big(feed);
	feed->mode = AFTER;
	feed->form = RYE_FORM_YAML;
	return FEED_COMPLETE;
}

enum feed_verdict feed_step(struct feed *feed, struct rye_span bytes, size_t *ret_used)
{
	struct feed_piece in = { bytes.ptr, bytes.ptr + bytes.len, bytes.ptr, NULL };
	enum feed_verdict verdict = FEED_MORE;

	if (feed->lines) {
		*ret_used = bytes.len;
		return step_line(feed, &in);
	}
	while (in.p < in.end && verdict == FEED_MORE) {
		size_t run = plain_run(feed, &in);

		if (run)
			verdict = feed_keep(feed, in.p, run) ? FEED_MORE : too_big(feed);
		else
			verdict = talk_feed_step(feed, &in);
		in.p += run;
	}
	*ret_used = verdict == FEED_GARBAGE ? bytes.len : (size_t)(in.p - bytes.ptr);
	return verdict;
}

struct rye_span feed_message(const struct feed *feed)
{
	return (struct rye_span){ feed->room ? feed->room->data : "", feed->len };
}

/* The feed alone has the room: it may be cut to what is in it. */
struct rye_blob *feed_take(struct feed *feed)
{
	struct rye_blob *room = feed->room;

	room->len = feed->len;
	room->data[room->len] = 0;
	feed->room = NULL;
	feed->len = 0;
	return room;
}

/* Where the innermost brace, bracket or string that is still open began. */
static size_t innermost_open(const struct feed *feed)
{
	size_t at[FEED_DEPTH + 1] = { 0 };
	unsigned depth = 0;
	char quote = 0;
	bool escape = false;

	for (size_t i = 0; i < feed->len; i++) {
		char c = feed->room->data[i];

		if (quote) {
			quote = escape || c != quote ? quote : 0;
			escape = !escape && c == '\\';
		} else if (c == '"') {
			quote = c;
			at[depth] = i;
		} else if ((c == '{' || c == '[') && depth < FEED_DEPTH) {
			at[depth++] = i;
		} else if ((c == '}' || c == ']') && depth) {
			depth--;
		}
	}
	return quote || !depth ? at[depth] : at[depth - 1];
}

bool feed_unfinished(const struct feed *feed, char *why, size_t size)
{
	const char *want = "}";
	unsigned line;
	size_t column;

	if (!feed_open(feed))
		return false;
	if (feed->quoted)
		want = "\"";
	else if (level_square(feed))
		want = "]";
	put_position(feed, innermost_open(feed), &line, &column);
	snprintf(why, size,
		 "message unfinished: %zu bytes came, wanted %s for what begins in line %u, "
		 "column %zu",
		 feed->len, want, line, column);
	return true;
}
