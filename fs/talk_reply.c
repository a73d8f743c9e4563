/* SPDX-License-Identifier: MIT */
/*
 * talk_reply.c - what a conversation says without the engine: its first content, messages
 * that could not be read or are not finished, "running", and the lines of `.ryefs/errors`.
 *
 * Replies are one line of JSON, as the engine's are. Called by talk*.c; only what says so in
 * talk_state.h wants the talk's lock.
 */
#include "talk_calls.h"

#include "auto.h"
#include "ctl.h"
#include "feed_out.h"
#include "util.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* `.ryefs/errors` tells the latest sentences, not a history. */
#define ERRORS_MAX 8192
/* Unfinished messages looked through for one reader. */
#define OPEN_MAX 64

static struct rye_blob *finish(struct feed_out *out)
{
	struct rye_blob *blob = out->failed ? NULL : rye_blob_new(out->data, out->len);

	free(out->data);
	return blob;
}

struct rye_blob *reply_error_line(const char *sentence)
{
	struct feed_out out = { 0 };

	feed_out_text(&out, "{\"status\":\"error\",\"error\":");
	feed_out_string(&out, sentence, strlen(sentence));
	feed_out_text(&out, "}\n");
	return finish(&out);
}

struct rye_blob *reply_running_line(const char *thread_id)
{
	struct feed_out out = { 0 };

	feed_out_text(&out, "{\"status\":\"running\"");
	if (*thread_id) {
		feed_out_text(&out, ",\"thread_id\":");
		feed_out_string(&out, thread_id, strlen(thread_id));
	}
	feed_out_text(&out, "}\n");
	return finish(&out);
}

struct rye_blob *reply_unfinished(const struct talk *talk)
{
	char why[240];

	if (!feed_unfinished(&talk->feed, why, sizeof(why)))
		return NULL;
	return reply_error_line(why);
}

/* ---- unfinished messages of living conversations ---- */

/* With references; how many. */
static size_t open_talks(struct talks *talks, struct talk *ret[OPEN_MAX])
{
	size_t n = 0;

	if (talks->n_open == 0)
		return 0;
	WITH_LOCK(&talks->lock)
		for (struct talk *talk = talks->open; talk && n < OPEN_MAX; talk = talk->next_open)
			ret[n++] = talk_ref(talk);
	return n;
}

/* A new reference to the writer if the message is still unfinished; its sentence in why. */
static struct caller *open_speaker(struct talk *talk, char *why, size_t size)
{
	struct caller *speaker = NULL;

	WITH_LOCK(&talk->lock)
		if (talk->speaker && feed_unfinished(&talk->feed, why, size))
			speaker = caller_ref(talk->speaker);
	return speaker;
}

/* fn per unfinished message of this reader's own. */
static void each_open(struct talks *talks, const struct caller *reader,
		      void (*fn)(struct feed_out *out, const struct talk *talk, const char *why),
		      struct feed_out *out)
{
	struct talk *found[OPEN_MAX];
	size_t n = open_talks(talks, found);

	for (size_t i = 0; i < n; i++) {
		char why[240];
		struct caller *speaker = open_speaker(found[i], why, sizeof(why));

		if (speaker && callers_related(talks->env.callers, speaker, reader))
			fn(out, found[i], why);
		caller_unref(speaker);
		talk_unref(found[i]);
	}
}

/* ---- first content ---- */

struct key_text {
	struct feed_out out;
	const char *key;
};

const char *reply_verb_name(enum rye_verb verb)
{
	static const char *const names[] = {
		[RYE_RUN] = "run",   [RYE_DRY_RUN] = "dry_run", [RYE_ASYNC] = "async",
		[RYE_FORK] = "fork", [RYE_EXECUTE] = "execute", [RYE_FETCH] = "fetch",
		[RYE_SIGN] = "sign",
	};

	return names[verb];
}

static struct rye_blob *usage(struct talk *talk)
{
	const struct ctl *ctl = ctl_root_find(reply_verb_name(talk->verb));
	struct rye_ask ask = { talk->kind, talk->id, RYE_VIEW_USAGE, NULL };
	struct feed_out out = { 0 };
	struct rye_blob *blob;
	struct rye_err err;

	if (ctl || rye_view(talk->talks->env.rye, &ask, &blob, &err))
		blob = NULL;
	if (blob && talk->verb == RYE_RUN)
		return blob;
	if (!ctl)
		ctl = ctl_find(talk->kind, reply_verb_name(talk->verb));
	if (blob)
		feed_out_add(&out, blob->data, blob->len);
	rye_blob_unref(blob);
	feed_out_text(&out, reply_verb_name(talk->verb));
	feed_out_text(&out, ": ");
	feed_out_text(&out, ctl ? ctl->help : "write one JSON object, read the reply");
	feed_out_text(&out, "\n");
	return finish(&out);
}

static void same_key(struct feed_out *out, const struct talk *talk, const char *why)
{
	struct key_text *text = (struct key_text *)out;

	if (strcmp(talk->key, text->key) != 0 || out->len)
		return;
	feed_out_text(out, "{\"status\":\"error\",\"error\":");
	feed_out_string(out, why, strlen(why));
	feed_out_text(out, "}\n");
}

/* Its time, too: a file that is younger at every look is one that changed, to editors. */
struct rye_blob *reply_initial(struct talk *talk)
{
	struct key_text text = { .key = talk->key };
	struct last last;
	struct rye_blob *reply;

	talk->mtime = talk->talks->since;
	if (!talk->allowed)
		return NULL;
	each_open(talk->talks, talk->who, same_key, &text.out);
	if (text.out.len) {
		clock_gettime(CLOCK_REALTIME, &talk->mtime);
		return finish(&text.out);
	}
	if (callers_last(talk->talks->env.callers, talk->who, talk->key, &last)) {
		reply = last.reply ? rye_blob_ref(last.reply) : NULL;
		if (reply)
			talk->mtime = last.at;
		last_done(&last);
		if (reply)
			return reply;
	}
	return usage(talk);
}

/* ---- records ---- */

void reply_record(struct talk *talk, struct caller *who, struct rye_blob *line,
		  const char *sentence)
{
	struct feed_out out = { 0 };
	struct last last = { .reply = line };

	feed_out_text(&out, sentence);
	feed_out_text(&out, "\n");
	last.output = finish(&out);
	callers_record(talk->talks->env.callers, who, talk->key, &last);
	rye_blob_unref(last.output);
}

static void add_line(struct feed_out *out, const struct talk *talk, const char *sentence)
{
	size_t len = strcspn(sentence, "\n");

	feed_out_text(out, talk->key);
	if (*talk->id) {
		feed_out_text(out, " ");
		feed_out_text(out, reply_verb_name(talk->verb));
	}
	feed_out_text(out, ": ");
	feed_out_add(out, sentence, len);
	feed_out_text(out, "\n");
}

/* The old lines that still fit, whole ones. */
static void add_old(struct feed_out *out, const struct rye_blob *old, size_t room)
{
	const char *from = old->data, *cut;

	if (old->len > room) {
		cut = memchr(old->data + old->len - room, '\n', room);
		from = cut ? cut + 1 : old->data + old->len;
	}
	feed_out_add(out, from, old->data + old->len - from);
}

/* Takes line's bytes over. */
static void complain(struct talks *talks, struct caller *who, struct feed_out *line)
{
	struct callers *callers = talks->env.callers;
	struct feed_out out = { 0 };
	struct last last = { 0 };

	if (callers_last(callers, who, "errors", &last) && last.errors)
		add_old(&out, last.errors, ERRORS_MAX - MIN_OF(line->len, (size_t)ERRORS_MAX));
	last_done(&last);
	feed_out_add(&out, line->data, line->len);
	last.errors = finish(&out);
	callers_record(callers, who, "errors", &last);
	last_done(&last);
	if (talks->env.complain && !line->failed)
		talks->env.complain(talks->env.arg, line->data);
	free(line->data);
}

void reply_complain(struct talk *talk, struct caller *who, const char *sentence)
{
	struct feed_out line = { 0 };

	add_line(&line, talk, sentence);
	complain(talk->talks, who, &line);
}

void talks_complain(struct talks *talks, struct caller *who, const char *name, const char *sentence)
{
	struct feed_out line = { 0 };

	feed_out_text(&line, name);
	feed_out_text(&line, ": ");
	feed_out_add(&line, sentence, strcspn(sentence, "\n"));
	feed_out_text(&line, "\n");
	complain(talks, who, &line);
}

/* ---- files of the caller's own (ctl.h) ---- */

struct errors_text {
	struct feed_out out;
	struct timespec at; /* of the newest failure that is recorded */
	bool newer; /* which unfinished messages are wanted */
};

static void add_unfinished(struct feed_out *out, const struct talk *talk, const char *why)
{
	const struct errors_text *text = (const struct errors_text *)out;
	const struct timespec *at = &talk->mtime;
	bool newer = at->tv_sec != text->at.tv_sec ? at->tv_sec > text->at.tv_sec :
						     at->tv_nsec > text->at.tv_nsec;

	if (newer == text->newer)
		add_line(out, talk, why);
}

/* The newest stands last: a message left unfinished long ago does not hide what came after. */
static struct rye_blob *own_errors(struct talks *talks, const struct caller *who)
{
	struct errors_text text = { 0 };
	struct last last = { 0 };

	if (callers_last(talks->env.callers, who, "errors", &last) && last.errors) {
		text.at = last.at;
		each_open(talks, who, add_unfinished, &text.out);
		feed_out_add(&text.out, last.errors->data, last.errors->len);
	}
	last_done(&last);
	text.newer = true;
	each_open(talks, who, add_unfinished, &text.out);
	return finish(&text.out);
}

/* One who is refused has no failures of its own but this: it is told why, and nothing else. */
static struct rye_blob *refused_errors(const struct caller *who)
{
	struct feed_out out = { 0 };

	feed_out_text(&out, "control files: ");
	feed_out_text(&out, who->why);
	feed_out_text(&out, "\n");
	return finish(&out);
}

struct rye_blob *ctl_last_blob(struct talks *talks, const struct caller *who,
			       const struct ctl_own *own, struct timespec *ret_at)
{
	struct last last = { 0 };
	struct rye_blob *blob = NULL;

	*ret_at = talks->since;
	if (!who->allowed && own->what == CTL_ERRORS && *who->why)
		return refused_errors(who);
	if (!who->allowed)
		return rye_blob_new("", 0);
	if (own->what == CTL_ERRORS) {
		clock_gettime(CLOCK_REALTIME, ret_at);
		return own_errors(talks, who);
	}
	if (callers_last(talks->env.callers, who, own->key, &last))
		*ret_at = last.at;
	if (own->what == CTL_OUTPUT && last.output)
		blob = rye_blob_ref(last.output);
	if (own->what == CTL_TRACE && last.trace)
		blob = rye_blob_ref(last.trace);
	last_done(&last);
	return blob ? blob : rye_blob_new("", 0);
}
