/* SPDX-License-Identifier: MIT */
/*
 * talk_own.c - what a caller finds of its own: `output`, `trace.json`, `.ryefs/errors`, and
 * the messages that it left unfinished.
 *
 * An unfinished message runs nothing, but it must not look as if nothing had been written: it
 * becomes the caller's last message as soon as the caller looks up a control file of the item
 * again, or after OPEN_COUNTS_MS. Then the file that it was written to is the place of an error,
 * and no older reply is shown.
 *
 * Lock: the talk's while its message is recorded, so that the record never comes behind that
 * of the message's own end; else none is held.
 */
#include "talk/talk_inner.h"

#include "clock.h"
#include "core/ctl.h"
#include "core/page.h"
#include "scope.h"

#include <string.h>

/* Unfinished messages looked through at a time. */
#define OPEN_MAX 64
/* While there are any: so much later than OPEN_COUNTS_MS one may be counted. */
#define RELOOK_NS (200 * NS_PER_MS)

/* The listed talks, at most OPEN_MAX, each with a reference; returns how many. */
static size_t listed_talks(struct talks *talks, struct talk *ret[OPEN_MAX])
{
	size_t n = 0;

	if (talks->n_open == 0)
		return 0;
	GUARD(&talks->lock);
	for (struct talk *talk = talks->open; talk && n < OPEN_MAX; talk = talk->next_open)
		ret[n++] = talk_ref(talk);
	return n;
}

/* A new reference to the writer if the message is still unfinished; its sentence in why. */
static struct caller *open_speaker(struct talk *talk, char why[FEED_WHY])
{
	struct caller *speaker = NULL;

	GUARD(&talk->lock);
	if (talk->speaker && talk->open == OPEN_LISTED &&
	    feed_unfinished(&talk->feed, why, FEED_WHY))
		speaker = caller_ref(talk->speaker);
	return speaker;
}

/* True: the unfinished message is its speaker's last one now; why says what is missing. */
static bool own_count_locked(struct talk *talk, struct caller *speaker, char why[FEED_WHY],
			     struct timespec *ret_at)
{
	auto_blob struct rye_blob *line = NULL;

	GUARD(&talk->lock);
	if (talk->speaker != speaker || talk->open != OPEN_LISTED ||
	    !feed_unfinished(&talk->feed, why, FEED_WHY))
		return false;
	line = reply_error_line(why);
	*ret_at = talk->mtime;
	if (line)
		reply_record(talk, speaker, line, why, reply_age_ns(talk->mtime));
	open_go(talk, OPEN_COUNT);
	return line;
}

void own_count(struct talk *talk, struct caller *speaker)
{
	char why[FEED_WHY];
	struct timespec at;

	if (own_count_locked(talk, speaker, why, &at))
		reply_complain_late(talk, speaker, why, at);
}

static bool is_old(struct talk *talk)
{
	bool old = false;

	GUARD(&talk->lock);
	old = reply_age_ns(talk->mtime) >= OPEN_COUNTS_MS * NS_PER_MS;
	return old;
}

void own_count_open(struct talks *talks, const struct caller *reader, const char *key)
{
	struct talk *found[OPEN_MAX];
	size_t n = listed_talks(talks, found);

	for (size_t i = 0; i < n; i++) {
		char why[FEED_WHY];
		struct caller *speaker = open_speaker(found[i], why);
		bool back = reader && speaker && strcmp(found[i]->key, key) == 0 &&
			    callers_related(talks->env.callers, speaker, reader);

		if (speaker && (back || is_old(found[i])))
			own_count(found[i], speaker);
		caller_unref(speaker);
		talk_unref(found[i]);
	}
}

int64_t talks_count_old(struct talks *talks)
{
	own_count_open(talks, NULL, NULL);
	return talks->n_open ? clock_ns() + RELOOK_NS : 0;
}

/* ---- output, trace.json ---- */

void own_was_read(struct talks *talks, const char *key, uint64_t from)
{
	if (from)
		callers_read(talks->env.callers, key, from);
}

void own_refused(struct talks *talks, struct caller *who, const char *key)
{
	talks_complain(talks, who, key, reply_disputed);
}

static struct rye_blob *refused_text(const char *key, const struct caller *who)
{
	struct text text = { 0 };

	if (*who->why)
		text_addf(&text, "%s: %s\n", key, who->why);
	return text_blob(&text);
}

static struct rye_blob *disputed_text(const char *key)
{
	struct text text = { 0 };

	text_addf(&text, "%s: %s\n", key, reply_disputed);
	return text_blob(&text);
}

struct rye_blob *own_output(struct talks *talks, const struct caller *who, const char *key,
			    struct own_origin *ret)
{
	struct last last = { 0 };
	struct rye_blob *blob;
	struct text text = { 0 };

	*ret = (struct own_origin){ .at = talks->since };
	if (!who->allowed)
		return refused_text(key, who);
	own_count_open(talks, who, key);
	if (!callers_last(talks->env.callers, who, key, &last)) {
		text_addf(&text,
			  "%s: there is no reply of this caller here; write a message to run, then "
			  "read this again\n",
			  key);
		return text_blob(&text);
	}
	*ret = (struct own_origin){ last.at, last.from, last.disputed };
	blob = last.disputed ? disputed_text(key) :
	       last.output   ? rye_blob_ref(last.output) :
			       rye_blob_new("", 0);
	last_done(&last);
	return blob;
}

struct rye_blob *own_trace(struct talks *talks, const struct caller *who, const char *key,
			   struct own_origin *ret)
{
	struct last last = { 0 };
	struct rye_blob *blob = NULL;

	*ret = (struct own_origin){ .at = talks->since };
	if (!who->allowed)
		return rye_blob_new("", 0);
	own_count_open(talks, who, key);
	if (callers_last(talks->env.callers, who, key, &last))
		*ret = (struct own_origin){ last.at, last.from, last.disputed };
	if (last.disputed)
		blob = disputed_text(key);
	else if (last.trace)
		blob = rye_blob_ref(last.trace);
	last_done(&last);
	return blob ? blob : rye_blob_new("", 0);
}

/* ---- .ryefs/errors ---- */

struct errors_text {
	struct text out;
	struct timespec at; /* of the newest failure that is recorded */
	bool newer; /* which unfinished messages are wanted */
};

static void add_open_line(struct errors_text *text, const struct talk *talk, const char *why)
{
	const struct timespec *at = &talk->mtime;
	bool newer = at->tv_sec != text->at.tv_sec ? at->tv_sec > text->at.tv_sec :
						     at->tv_nsec > text->at.tv_nsec;

	if (newer != text->newer)
		return;
	reply_add_time(&text->out, at->tv_sec);
	reply_add_line(&text->out, talk, why);
}

/* The reader's own unfinished messages are failures now, even if they are completed later. */
static void add_open_lines(struct errors_text *text, struct talks *talks,
			   const struct caller *reader)
{
	struct talk *found[OPEN_MAX];
	size_t n = listed_talks(talks, found);

	for (size_t i = 0; i < n; i++) {
		char why[FEED_WHY];
		struct caller *speaker = open_speaker(found[i], why);

		if (speaker && callers_related(talks->env.callers, speaker, reader))
			add_open_line(text, found[i], why);
		caller_unref(speaker);
		talk_unref(found[i]);
	}
}

/* A refused caller has no failures but this one: it is told why it is refused, nothing else. */
static struct rye_blob *refused_errors(const struct caller *who)
{
	struct text out = { 0 };

	if (*who->why)
		text_addf(&out, "control files: %s\n", who->why);
	return text_blob(&out);
}

/* The newest stands last: a message left unfinished long ago does not hide what came after. */
struct rye_blob *own_errors(struct talks *talks, const struct caller *who, const char *key,
			    struct own_origin *ret)
{
	struct errors_text text = { 0 };
	struct last last = { 0 };

	*ret = (struct own_origin){ 0 };
	clock_gettime(CLOCK_REALTIME, &ret->at);
	if (!who->allowed)
		return refused_errors(who);
	own_count_open(talks, NULL, NULL);
	if (callers_last(talks->env.callers, who, key, &last) && last.errors) {
		text.at = last.at;
		add_open_lines(&text, talks, who);
		text_addn(&text.out, last.errors->data, last.errors->len);
	}
	last_done(&last);
	text.newer = true;
	add_open_lines(&text, talks, who);
	return text_blob(&text.out);
}
