/* SPDX-License-Identifier: MIT */
/*
 * feed.c - finds the end of a message in bytes that come cut anywhere.
 *
 * It tracks braces, brackets and strings, not the whole grammar of JSON: that is the engine's,
 * which gets the text of a complete message. What it must not do is let broken text wait for
 * ever: an open string that meets a line's end, a bracket that closes a brace, a NUL or too
 * much depth is garbage at once, so the write that brought it fails.
 *
 * Pure: no lock, no I/O. Called by talk.c under the conversation's lock.
 */
#include "feed.h"

#include "util.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum mode {
	START, /* before a message; only spaces of an empty line came */
	OPENED, /* behind the first brace: JSON or YAML's flow style? */
	JSON,
	FLOW,
	LINE,
	BRACED, /* behind a closing brace: the newline belongs to it */
	AFTER, /* behind a message and its newline: blank lines belong to it too */
	BROKEN, /* behind garbage: only a brace begins anew */
};

/* Room for a message of up to so many bytes is kept for the next one. */
#define SMALL 4096

void feed_init(struct feed *feed)
{
	*feed = (struct feed){ .mode = START };
}

static void drop_text(struct feed *feed)
{
	rye_blob_unref(feed->room);
	feed->room = NULL;
	feed->text = NULL;
	feed->size = 0;
}

void feed_done(struct feed *feed)
{
	drop_text(feed);
	free(feed->json);
	feed_init(feed);
}

bool feed_open(const struct feed *feed)
{
	return feed->mode >= OPENED && feed->mode <= LINE;
}

static void drop_message(struct feed *feed)
{
	free(feed->json);
	feed->json = NULL;
	feed->json_len = 0;
	feed->len = 0;
	feed->depth = 0;
	feed->quote = 0;
	feed->escape = false;
	feed->scalar = false;
	if (feed->size > SMALL)
		drop_text(feed);
}

void feed_restart(struct feed *feed)
{
	drop_message(feed);
	feed->mode = START;
}

void feed_fresh(struct feed *feed)
{
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

static enum feed_verdict garbage(struct feed *feed, int sys, const char *why)
{
	if (why != feed->why)
		snprintf(feed->why, sizeof(feed->why), "%s", why);
	feed->sys = sys;
	drop_message(feed);
	feed->mode = BROKEN;
	return FEED_GARBAGE;
}

/* Line and column of the next byte, both from 1. */
static void position(const struct feed *feed, size_t upto, unsigned *line, size_t *column)
{
	size_t begin = 0;

	*line = 1;
	for (size_t i = 0; i < upto; i++)
		if (feed->text[i] == '\n') {
			(*line)++;
			begin = i + 1;
		}
	*column = upto - begin + 1;
}

static enum feed_verdict garbage_here(struct feed *feed, const char *what)
{
	unsigned line;
	size_t column;

	position(feed, feed->len, &line, &column);
	snprintf(feed->why, sizeof(feed->why), "message broken in line %u, column %zu: %s", line,
		 column, what);
	return garbage(feed, EINVAL, feed->why);
}

static bool grow(struct feed *feed, size_t size)
{
	struct rye_blob *room = rye_blob_new(NULL, size);

	if (!room)
		return false;
	if (feed->len)
		memcpy(room->data, feed->text, feed->len);
	rye_blob_unref(feed->room);
	feed->room = room;
	feed->text = room->data;
	feed->size = size;
	return true;
}

static bool keep(struct feed *feed, const char *ptr, size_t len)
{
	size_t need = feed->len + len;

	if (len > FEED_MAX - feed->len)
		return false;
	if (need > feed->size && !grow(feed, MAX_OF(MAX_OF(feed->size * 2, need), (size_t)256)))
		return false;
	if (len)
		memcpy(feed->text + feed->len, ptr, len);
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
	else if (c == '\\' && feed->quote == '"')
		feed->escape = true;
	else if (c == feed->quote)
		feed->quote = 0;
	return NULL;
}

static const char *step_json(struct feed *feed, char c)
{
	if (feed->quote)
		return step_string(feed, c);
	if (c == '"')
		feed->quote = c;
	return step_bracket(feed, c);
}

/* In YAML a quote begins a string only where a scalar may begin ("it's" is a plain one). */
static const char *step_flow(struct feed *feed, char c)
{
	if (feed->quote)
		return step_string(feed, c);
	if (c == '\n')
		return "over several lines a message is JSON, with its names in double quotes";
	if (feed->scalar && (c == '"' || c == '\''))
		feed->quote = c;
	if (strchr("{[,:", c))
		feed->scalar = true;
	else if (c != ' ' && c != '\t')
		feed->scalar = false;
	return step_bracket(feed, c);
}

static const char *step_opened(struct feed *feed, char c)
{
	if (strchr(" \t\r\n", c))
		return NULL;
	feed->mode = c == '"' || c == '}' ? JSON : FLOW;
	if (feed->mode == JSON)
		return step_json(feed, c);
	feed->scalar = true;
	if (memchr(feed->text, '\n', feed->len))
		return "wanted a name in double quotes, or }";
	return step_flow(feed, c);
}

/* The line is in text, without its newline. */
static enum feed_verdict convert(struct feed *feed)
{
	struct rye_span line = { feed->text, feed->len };
	char why[sizeof(feed->why)];
	int sys = feed_yaml(line, &feed->json, &feed->json_len, why);

	if (sys)
		return garbage(feed, sys, why);
	return FEED_COMPLETE;
}

static enum feed_verdict end_braces(struct feed *feed)
{
	enum mode was = feed->mode;

	feed->mode = BRACED;
	if (was == FLOW)
		return convert(feed);
	return FEED_COMPLETE;
}

static enum feed_verdict end_line(struct feed *feed)
{
	if (feed->len && feed->text[feed->len - 1] == '\r')
		feed->len--;
	feed->mode = AFTER;
	return convert(feed);
}

static enum feed_verdict empty_line(struct feed *feed)
{
	drop_message(feed);
	feed->mode = START;
	if (!keep(feed, "{}", 2))
		return garbage(feed, ENOMEM, "out of memory");
	return FEED_COMPLETE;
}

static enum feed_verdict too_big(struct feed *feed)
{
	if (feed->len > FEED_MAX / 2)
		return garbage(feed, EFBIG, "message too big, wanted at most 16 MiB");
	return garbage(feed, ENOMEM, "out of memory");
}

/* One byte inside braces. */
static enum feed_verdict step_inside(struct feed *feed, char c)
{
	const char *wrong;

	if (feed->mode == OPENED)
		wrong = step_opened(feed, c);
	else
		wrong = feed->mode == JSON ? step_json(feed, c) : step_flow(feed, c);
	if (wrong)
		return garbage_here(feed, wrong);
	if (!keep(feed, &c, 1))
		return too_big(feed);
	return feed->depth ? FEED_MORE : end_braces(feed);
}

static enum feed_verdict step_line(struct feed *feed, char c)
{
	if (c == '\n')
		return end_line(feed);
	return keep(feed, &c, 1) ? FEED_MORE : too_big(feed);
}

static enum feed_verdict begin(struct feed *feed, char c)
{
	drop_message(feed);
	if ((unsigned char)c == 0xef)
		return garbage(feed, EINVAL, "message begins with a byte order mark, wanted {");
	feed->mode = LINE;
	if (c == '{') {
		feed->mode = OPENED;
		open_level(feed, c);
	}
	return keep(feed, &c, 1) ? FEED_MORE : too_big(feed);
}

/* One byte where no message has begun. */
static enum feed_verdict step_between(struct feed *feed, char c)
{
	if (feed->mode == BROKEN && c != '{')
		return garbage(feed, EINVAL,
			       "behind a message that could not be read, wanted one that begins "
			       "with {");
	if (c == ' ' || c == '\t' || c == '\r')
		return FEED_MORE;
	if (c != '\n')
		return begin(feed, c);
	if (feed->mode == START)
		return empty_line(feed);
	feed->mode = AFTER;
	return FEED_MORE;
}

static enum feed_verdict step(struct feed *feed, char c)
{
	if (c == '\0' && !feed_open(feed))
		drop_message(feed);
	if (c == '\0')
		return garbage_here(feed, "a NUL byte");
	switch ((enum mode)feed->mode) {
	case OPENED:
	case JSON:
	case FLOW:
		return step_inside(feed, c);
	case LINE:
		return step_line(feed, c);
	case START:
	case BRACED:
	case AFTER:
	case BROKEN:
		break;
	}
	return step_between(feed, c);
}

/* Bytes that only lengthen a JSON string or a line: taken at once. */
static size_t plain_run(const struct feed *feed, const char *ptr, size_t n)
{
	size_t i = 0;

	if (feed->mode == LINE)
		while (i < n && ptr[i] != '\n' && ptr[i] != '\0')
			i++;
	else if (feed->mode == JSON && feed->quote && !feed->escape)
		while (i < n && ptr[i] != '"' && ptr[i] != '\\' && (unsigned char)ptr[i] >= ' ')
			i++;
	return i;
}

enum feed_verdict feed_step(struct feed *feed, struct rye_span bytes, size_t *ret_used)
{
	size_t i = 0;

	while (i < bytes.len) {
		size_t run = plain_run(feed, bytes.ptr + i, bytes.len - i);
		enum feed_verdict verdict;

		if (run) {
			verdict = keep(feed, bytes.ptr + i, run) ? FEED_MORE : too_big(feed);
			i += run;
		} else {
			verdict = step(feed, bytes.ptr[i++]);
		}
		if (verdict != FEED_MORE) {
			*ret_used = i;
			return verdict;
		}
	}
	*ret_used = i;
	return FEED_MORE;
}

struct rye_span feed_message(const struct feed *feed)
{
	if (feed->json)
		return (struct rye_span){ feed->json, feed->json_len };
	return (struct rye_span){ feed->text, feed->len };
}

struct rye_blob *feed_take(struct feed *feed)
{
	struct rye_span message = feed_message(feed);
	struct rye_blob *room = feed->room;

	if (feed->json || feed->size <= SMALL)
		return rye_blob_new(message.ptr, message.len);
	/* Nobody else has it yet: it may be cut to what is in it. */
	room->len = feed->len;
	room->data[room->len] = 0;
	feed->room = NULL;
	drop_text(feed);
	feed->len = 0;
	return room;
}

/* Where the innermost brace, bracket or string that is still open began. */
static size_t innermost(const struct feed *feed)
{
	size_t at[FEED_DEPTH + 1] = { 0 };
	unsigned depth = 0;
	char quote = 0;
	bool escape = false;

	for (size_t i = 0; i < feed->len; i++) {
		char c = feed->text[i];

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

	if (feed->mode == LINE) {
		snprintf(why, size,
			 "message unfinished: %zu bytes came, wanted the end of the line",
			 feed->len);
		return true;
	}
	if (!feed_open(feed))
		return false;
	if (feed->quote)
		want = feed->quote == '"' ? "\"" : "'";
	else if (level_square(feed))
		want = "]";
	position(feed, innermost(feed), &line, &column);
	snprintf(why, size,
		 "message unfinished: %zu bytes came, wanted %s for what begins in line %u, "
		 "column %zu",
		 feed->len, want, line, column);
	return true;
}
