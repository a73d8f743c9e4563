/* SPDX-License-Identifier: MIT */
/*
 * talk_reply.c - what a conversation says without the engine: its first content, messages
 * that could not be framed or are not finished, "running", the lines of `.ryefs/errors`.
 *
 * Replies are one line of JSON, as the engine's are. Called by talk*.c; only what says so in
 * talk_inner.h wants the talk's lock.
 */
#include "talk/talk_inner.h"

#include "buf.h"
#include "clock.h"
#include "core/ctl.h"
#include "core/page.h"
#include "err.h"
#include "scope.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* `.ryefs/errors` tells the latest sentences, not a history. */
#define ERRORS_MAX 8192

const char reply_disputed[] =
	"several threads of this process have replies here that nothing has read, and nothing tells "
	"whose task reads; keep one descriptor for each task and read the reply from it, or save "
	"each task's message as calls/NAME/request.json and read replies/NAME/output";

struct rye_blob *reply_error_line(const char *sentence)
{
	struct text out = { 0 };

	text_add(&out, "{\"status\":\"error\",\"error\":");
	text_add_json(&out, sentence);
	text_add(&out, "}\n");
	return text_blob(&out);
}

struct rye_blob *reply_running_line(const char *thread_id)
{
	struct text out = { 0 };

	text_add(&out, "{\"status\":\"running\"");
	if (*thread_id) {
		text_add(&out, ",\"thread_id\":");
		text_add_json(&out, thread_id);
	}
	text_add(&out, "}\n");
	return text_blob(&out);
}

struct rye_blob *reply_unfinished(const struct talk *talk)
{
	char why[240];

	if (!feed_unfinished(&talk->feed, why, sizeof(why)))
		return NULL;
	return reply_error_line(why);
}

/* ---- first content ---- */

static struct rye_blob *usage(struct talk *talk)
{
	const struct ctl *ctl = ctl_of_verb(talk->target.verb);
	struct rye_ask ask = { talk->target.kind, talk->target.id, RYE_VIEW_USAGE, NULL };
	struct text out = { 0 };
	struct rye_blob *blob = NULL;
	struct rye_err err;

	if (talk->target.thread) {
		text_addf(&out, "ctl: write one of %s; the next reading tells what came of it\n",
			  *talk->target.thread ? RYE_THREAD_VERBS : RYE_THREADS_VERBS);
		return text_blob(&out);
	}
	if (talk->target.lines) {
		text_add(&out, "ctl: write one of " RYE_REMOTE_WORDS
			       "; the next reading tells what came of it\n");
		return text_blob(&out);
	}
	if (talk->target.starts) {
		text_add(&out, "new: write REF, or REF {\"input\": …}, in one line: starts it as a "
			       "thread; the reply is its id\n");
		return text_blob(&out);
	}
	if (talk->target.verb != RYE_REMOTE && ctl->of &&
	    rye_view(talk->talks->env.rye, &ask, &blob, &err))
		blob = NULL;
	if (blob && talk->target.verb == RYE_RUN)
		return blob;
	if (blob)
		text_addn(&out, blob->data, blob->len);
	rye_blob_unref(blob);
	text_addf(&out, "%s: %s\n", ctl->name, ctl->help);
	return text_blob(&out);
}

/* Its time, too: a file that is younger at every look is one that changed, to editors. */
struct rye_blob *reply_initial(struct talk *talk)
{
	struct last last;
	struct rye_blob *reply;

	talk->mtime = talk->talks->since;
	if (talk->refused)
		return NULL;
	own_count_open(talk->talks, talk->who, talk->key);
	if (callers_last(talk->talks->env.callers, talk->who, talk->key, &last)) {
		talk->shows = last.disputed ? SHOWS_DISPUTED : SHOWS_LAST;
		talk->shown = last.from;
		reply = last.disputed ? reply_error_line(reply_disputed) :
			last.reply    ? rye_blob_ref(last.reply) :
					NULL;
		if (reply)
			talk->mtime = last.at;
		last_done(&last);
		if (reply)
			return reply;
	}
	return usage(talk);
}

/* ---- records ---- */

int64_t reply_age_ns(struct timespec at)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (now.tv_sec - at.tv_sec) * NS_PER_S + now.tv_nsec - at.tv_nsec;
}

void reply_record(const struct talk *talk, struct caller *who, const char *sentence,
		  const struct last *what)
{
	struct last last = *what;
	struct text out = { 0 };

	text_addf(&out, "%s\n", sentence);
	last.output = text_blob(&out);
	last.from = talk->no;
	callers_record(talk->talks->env.callers, who, talk->key, &last);
	rye_blob_unref(last.output);
}

static void record_attempt(struct talks *talks, struct caller *who, const char *key,
			   const char *sentence)
{
	struct text out = { 0 };
	struct last last = { .reply = reply_error_line(sentence) };

	text_addf(&out, "%s\n", sentence);
	last.output = text_blob(&out);
	callers_record(talks->env.callers, who, key, &last);
	last_done(&last);
}

void talks_attempt(struct talks *talks, struct caller *who, const char *key, const char *sentence)
{
	record_attempt(talks, who, key, sentence);
	talks_complain(talks, who, key, sentence);
}

void reply_attempt(struct talk *talk, struct caller *who, const char *sentence)
{
	record_attempt(talk->talks, who, talk->key, sentence);
	reply_complain(talk, who, sentence, NULL);
}

/* Its first line and, where it has one, its remedy. */
static void talk_reply_add_sentence(struct text *out, const char *sentence)
{
	size_t n = strcspn(sentence, "\n");
	const char *mend = strstr(sentence + n, MEND_WITH);

	text_addn(out, sentence, n);
	if (mend) {
		text_add(out, "; ");
		text_addn(out, mend, strcspn(mend, "\n"));
	}
	text_add(out, "\n");
}

void reply_add_line(struct text *out, const struct talk *talk, const char *sentence)
{
	text_add(out, talk->key);
	/* of a remote's own files the name is in the place */
	if (*talk->target.id && talk->target.verb != RYE_REMOTE)
		text_addf(out, " %s", ctl_of_verb(talk->target.verb)->name);
	text_add(out, ": ");
	talk_reply_add_sentence(out, sentence);
}

void reply_add_time(struct text *out, time_t at)
{
	char stamp[32];
	struct tm tm;

	strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ ", gmtime_r(&at, &tm));
	text_add(out, stamp);
}

/* The last lines that still fit, whole ones. */
static void talk_reply_add_old(struct text *out, struct rye_span old, size_t room)
{
	const char *cut;

	if (old.len > room) {
		cut = memchr(old.ptr + old.len - room, '\n', room);
		old.len = cut ? (size_t)(old.ptr + old.len - cut) - 1 : 0;
		old.ptr = cut ? cut + 1 : old.ptr;
	}
	text_addn(out, old.ptr, old.len);
}

#define STAMP_LEN (sizeof("2026-01-01T00:00:00Z ") - 1)

/* How much of the old lines stands before one of that time. What is newer stays last; lines of the
 * same second are not told apart. */
static size_t talk_reply_place(const struct last *last, const struct timespec *at)
{
	const struct rye_blob *old = last->errors;
	struct text stamp = { 0 };
	const char *end = old->data + old->len, *line;

	if (at->tv_sec > last->at.tv_sec ||
	    (at->tv_sec == last->at.tv_sec && at->tv_nsec >= last->at.tv_nsec))
		return old->len;
	reply_add_time(&stamp, at->tv_sec);
	for (; !stamp.failed && end > old->data; end = line) {
		line = memrchr(old->data, '\n', (size_t)(end - old->data) - 1);
		line = line ? line + 1 : old->data;
		if ((size_t)(end - line) < STAMP_LEN || memcmp(line, stamp.data, STAMP_LEN) < 0)
			break;
	}
	free(stamp.data);
	return (size_t)(end - old->data);
}

static void talk_reply_keep(struct callers *callers, struct caller *who, const char *line,
			    const struct complaint *what)
{
	struct text said = { 0 }, out = { 0 };
	struct last last = { 0 };
	struct rye_span head = { "", 0 }, tail = { "", 0 };

	reply_add_time(&said, what->at.tv_sec);
	text_addn(&said, line, strlen(line) - (what->mend ? 1 : 0));
	if (what->mend)
		text_addf(&said, "; " MEND_WITH "%s\n", what->mend);
	if (callers_last(callers, who, CTL_ERRORS_KEY, &last) && last.errors) {
		head = (struct rye_span){ last.errors->data, talk_reply_place(&last, &what->at) };
		tail = (struct rye_span){ head.ptr + head.len, last.errors->len - head.len };
	}
	talk_reply_add_old(&out, head,
			   ERRORS_MAX - MIN_OF(said.len + tail.len, (size_t)ERRORS_MAX));
	text_addn(&out, said.data, said.len);
	text_addn(&out, tail.ptr, tail.len);
	out.failed |= said.failed;
	free(said.data);
	last_done(&last);
	last = (struct last){ .errors = text_blob(&out), .age_ns = reply_age_ns(what->at) };
	callers_record(callers, who, CTL_ERRORS_KEY, &last);
	last_done(&last);
}

/* Takes line's bytes over. what NULL: now, and no command would have done. */
static void talk_reply_complain(struct talks *talks, struct caller *who, struct text *line,
				const struct complaint *what)
{
	struct complaint said = { .mend = what ? what->mend : NULL };

	if (what && what->at.tv_sec)
		said.at = what->at;
	else
		clock_gettime(CLOCK_REALTIME, &said.at);
	if (!line->failed) {
		talk_reply_keep(talks->env.callers, who, line->data, &said);
		if (talks->env.complain)
			talks->env.complain(talks->env.arg, line->data);
	}
	free(line->data);
}

void reply_complain(struct talk *talk, struct caller *who, const char *sentence,
		    const struct complaint *what)
{
	struct text line = { 0 };

	reply_add_line(&line, talk, sentence);
	talk_reply_complain(talk->talks, who, &line, what);
}

void talks_complain(struct talks *talks, struct caller *who, const char *name, const char *sentence)
{
	struct text line = { 0 };

	text_addf(&line, "%s: ", name);
	talk_reply_add_sentence(&line, sentence);
	talk_reply_complain(talks, who, &line, NULL);
}

/* A program that calls by name may have file tools alone: the same file is to be saved again. */
static void mend_named(const struct talk *talk, const struct rye_blob *message,
		       const struct rye_buf *dir, struct rye_buf *text)
{
	bool below = !*talk->target.id && talk->target.verb != RYE_EXECUTE;

	buf_addf(text, "saving %s as %scalls/%s%s%s/request.json", message->data, dir->data,
		 below ? ctl_of_verb(talk->target.verb)->name : "", below ? "/" : "",
		 named_commit_name(talk->named));
}

char *reply_mend(const struct talk *talk, const struct rye_blob *message)
{
	const struct ctl *ctl = ctl_of_verb(talk->target.verb);
	auto_buf struct rye_buf path = RYE_BUF_INIT, text = RYE_BUF_INIT;

	if (!message || !talk->talks->env.mountpoint)
		return NULL;
	buf_addf(&path, "%s/", talk->talks->env.mountpoint);
	if (*talk->target.id)
		buf_addf(&path, "%s/%s/", rye_kind_dir(talk->target.kind), talk->target.id);
	if (talk->named && !path.failed) {
		mend_named(talk, message, &path, &text);
		return buf_steal(&text);
	}
	buf_adds(&path, ctl->name);
	/* dash's echo would take a backslash of JSON for its own */
	buf_adds(&text, strchr(message->data, '\\') ? "printf '%s\\n' " : "echo ");
	buf_shell(&text, message->data);
	buf_adds(&text, " > ");
	buf_shell(&text, path.failed ? ctl->name : path.data);
	return buf_steal(&text);
}
