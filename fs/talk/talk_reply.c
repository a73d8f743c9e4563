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
	const struct ctl *ctl = ctl_of_verb(talk->verb);
	struct rye_ask ask = { talk->kind, talk->id, RYE_VIEW_USAGE, NULL };
	struct text out = { 0 };
	struct rye_blob *blob = NULL;
	struct rye_err err;

	if (ctl->of && rye_view(talk->talks->env.rye, &ask, &blob, &err))
		blob = NULL;
	if (blob && talk->verb == RYE_RUN)
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
	if (!talk->allowed)
		return NULL;
	own_count_open(talk->talks, talk->who, talk->key);
	if (callers_last(talk->talks->env.callers, talk->who, talk->key, &last)) {
		talk->disputed = last.disputed;
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

void reply_record(struct talk *talk, struct caller *who, struct rye_blob *line,
		  const char *sentence)
{
	struct text out = { 0 };
	struct last last = { .reply = line, .from = talk->no };

	text_add(&out, sentence);
	text_add(&out, "\n");
	last.output = text_blob(&out);
	callers_record(talk->talks->env.callers, who, talk->key, &last);
	rye_blob_unref(last.output);
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
	if (*talk->id)
		text_addf(out, " %s", ctl_of_verb(talk->verb)->name);
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

/* The old lines that still fit, whole ones. */
static void talk_reply_add_old(struct text *out, const struct rye_blob *old, size_t room)
{
	const char *from = old->data, *cut;

	if (old->len > room) {
		cut = memchr(old->data + old->len - room, '\n', room);
		from = cut ? cut + 1 : old->data + old->len;
	}
	text_addn(out, from, old->data + old->len - from);
}

/* Takes line's bytes over. mend: as reply_advise. */
static void talk_reply_complain(struct talks *talks, struct caller *who, struct text *line,
				const char *mend)
{
	struct callers *callers = talks->env.callers;
	struct text out = { 0 };
	struct last last = { 0 };

	if (callers_last(callers, who, CTL_ERRORS_KEY, &last) && last.errors)
		talk_reply_add_old(&out, last.errors,
				   ERRORS_MAX - MIN_OF(line->len, (size_t)ERRORS_MAX));
	last_done(&last);
	reply_add_time(&out, time(NULL));
	text_addn(&out, line->data, line->len - (mend ? 1 : 0));
	if (mend)
		text_addf(&out, "; " MEND_WITH "%s\n", mend);
	last.errors = text_blob(&out);
	callers_record(callers, who, CTL_ERRORS_KEY, &last);
	last_done(&last);
	if (talks->env.complain && !line->failed)
		talks->env.complain(talks->env.arg, line->data);
	free(line->data);
}

void reply_advise(struct talk *talk, struct caller *who, const char *sentence, const char *mend)
{
	struct text line = { 0 };

	reply_add_line(&line, talk, sentence);
	talk_reply_complain(talk->talks, who, &line, line.failed ? NULL : mend);
}

void reply_complain(struct talk *talk, struct caller *who, const char *sentence)
{
	reply_advise(talk, who, sentence, NULL);
}

char *reply_mend(const struct talk *talk, const struct rye_blob *message)
{
	const struct ctl *ctl = ctl_of_verb(talk->verb);
	auto_buf struct rye_buf path = RYE_BUF_INIT, text = RYE_BUF_INIT;

	if (!message || !talk->talks->env.mountpoint)
		return NULL;
	buf_addf(&path, "%s/", talk->talks->env.mountpoint);
	if (*talk->id)
		buf_addf(&path, "%s/%s/", rye_kind_dir(talk->kind), talk->id);
	buf_adds(&path, ctl->name);
	/* dash's echo would take a backslash of JSON for its own */
	buf_adds(&text, strchr(message->data, '\\') ? "printf '%s\\n' " : "echo ");
	buf_shell(&text, message->data);
	buf_adds(&text, " > ");
	buf_shell(&text, path.failed ? ctl->name : path.data);
	return buf_steal(&text);
}

void talks_complain(struct talks *talks, struct caller *who, const char *name, const char *sentence)
{
	struct text line = { 0 };

	text_add(&line, name);
	text_add(&line, ": ");
	talk_reply_add_sentence(&line, sentence);
	talk_reply_complain(talks, who, &line, NULL);
}
