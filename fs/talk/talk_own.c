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

/* A new reference to the writer if the message is still unfinished; its sentence in why, and since
 * when it is so. */
static struct caller *open_speaker(struct talk *talk, char why[FEED_WHY], struct timespec *ret_at)
{
	GUARD(&talk->lock);
	*ret_at = talk->mtime;
	if (talk->speaker && talk->open == OPEN_LISTED &&
	    feed_unfinished(&talk->feed, why, FEED_WHY))
		return caller_ref(talk->speaker);
	return NULL;
}

/* A new reference to the writer: the unfinished message is its last one now; why says what is
 * missing. */
static struct caller *own_count_locked(struct talk *talk, const struct caller *of,
				       char why[FEED_WHY], struct timespec *ret_at)
{
	auto_blob struct rye_blob *line = NULL;

	GUARD(&talk->lock);
	if (!talk->speaker || (of && talk->speaker != of) || talk->open != OPEN_LISTED ||
	    !feed_unfinished(&talk->feed, why, FEED_WHY))
		return NULL;
	line = reply_error_line(why);
	*ret_at = talk->mtime;
	if (line)
		reply_record(talk, talk->speaker, why,
			     &(struct last){ .reply = line, .age_ns = reply_age_ns(talk->mtime) });
	open_go(talk, OPEN_COUNT);
	return line ? caller_ref(talk->speaker) : NULL;
}

void own_count(struct talk *talk, const struct caller *of)
{
	struct complaint what = { .mend = NULL };
	char why[FEED_WHY];
	struct caller *speaker = own_count_locked(talk, of, why, &what.at);

	if (speaker)
		reply_complain(talk, speaker, why, &what);
	caller_unref(speaker);
}

void own_count_open(struct talks *talks, const struct caller *reader, const char *key)
{
	struct talk *found[OPEN_MAX];
	size_t n = listed_talks(talks, found);

	for (size_t i = 0; i < n; i++) {
		char why[FEED_WHY];
		struct timespec at;
		struct caller *speaker = open_speaker(found[i], why, &at);
		bool back = reader && speaker && strcmp(found[i]->key, key) == 0 &&
			    callers_related(talks->env.callers, speaker, reader);

		if (speaker && (back || reply_age_ns(at) >= OPEN_COUNTS_MS * NS_PER_MS))
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

static struct rye_blob *own_sentence(const char *key, const char *sentence)
{
	struct text text = { 0 };

	if (*sentence)
		text_addf(&text, "%s: %s\n", key, sentence);
	return text_blob(&text);
}

/* Of a caller that is not allowed; ref: as caller_refusal has it. */
static struct rye_blob *own_refusal(const struct caller *who, const char *key, const char *ref)
{
	char why[CALLER_WHY];

	caller_refusal(who, RYE_RUN, ref, why);
	return own_sentence(key, why);
}

/* One part of the caller's last reply; none: what is told instead of it. */
static struct rye_blob *own_part(struct talks *talks, const struct caller *who, const char *key,
				 bool trace, struct own_origin *ret)
{
	struct last last = { 0 };
	struct rye_blob *part, *blob;

	*ret = (struct own_origin){ .at = talks->since };
	if (!who->allowed)
		return trace ? own_sentence(key, "") : own_refusal(who, key, key);
	own_count_open(talks, who, key);
	if (!callers_last(talks->env.callers, who, key, &last))
		return own_sentence(key, trace ? "" :
						 "there is no reply of this caller here; write a "
						 "message to run, then read this again");
	*ret = (struct own_origin){ last.at, last.from, last.disputed };
	part = trace ? last.trace : last.output;
	blob = last.disputed ? own_sentence(key, reply_disputed) :
	       part	     ? rye_blob_ref(part) :
			       rye_blob_new("", 0);
	last_done(&last);
	return blob;
}

struct rye_blob *own_output(struct talks *talks, const struct caller *who, const char *key,
			    struct own_origin *ret)
{
	return own_part(talks, who, key, false, ret);
}

struct rye_blob *own_trace(struct talks *talks, const struct caller *who, const char *key,
			   struct own_origin *ret)
{
	return own_part(talks, who, key, true, ret);
}

/* ---- .ryefs/errors ---- */

struct errors_text {
	struct text out;
	struct timespec at; /* of the newest failure that is recorded */
	bool newer; /* which unfinished messages are wanted */
};

static void add_open_line(struct errors_text *text, const struct talk *talk, const char *why,
			  struct timespec at)
{
	bool newer = at.tv_sec != text->at.tv_sec ? at.tv_sec > text->at.tv_sec :
						    at.tv_nsec > text->at.tv_nsec;

	if (newer != text->newer)
		return;
	reply_add_time(&text->out, at.tv_sec);
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
		struct timespec at;
		struct caller *speaker = open_speaker(found[i], why, &at);

		if (speaker && callers_related(talks->env.callers, speaker, reader))
			add_open_line(text, found[i], why, at);
		caller_unref(speaker);
		talk_unref(found[i]);
	}
}

/* The newest stands last: a message left unfinished long ago does not hide what came after. */
struct rye_blob *own_errors(struct talks *talks, const struct caller *who, const char *key,
			    struct own_origin *ret)
{
	struct errors_text text = { 0 };
	struct last last = { 0 };

	*ret = (struct own_origin){ 0 };
	clock_gettime(CLOCK_REALTIME, &ret->at);
	/* a refused caller has no failures but this one */
	if (!who->allowed)
		return own_refusal(who, "control files", NULL);
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
