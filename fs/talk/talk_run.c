/* SPDX-License-Identifier: MIT */
/*
 * talk_run.c - one message in the engine's hands: given to it, cancelled, left to go on by
 * itself, and what it answered.
 *
 * Lock: none is held when rye_start, rye_call_cancel or rye_call_detach are called; the
 * engine's callback takes the talk's to put the reply into the transcript. Its result is
 * recorded for the caller before the write is answered, so that the next command finds it.
 */
#include "talk/talk_inner.h"

#include "core/page.h"
#include "err.h"
#include "scope.h"

#include <errno.h>
#include <string.h>

struct talk_run *run_new(struct talk *talk, struct caller *writer)
{
	struct talk_run *run = calloc(1, sizeof(*run));

	if (!run)
		return NULL;
	run->refs = 1;
	run->talk = talk_ref(talk);
	run->writer = caller_ref(writer);
	return run;
}

struct talk_run *run_ref(struct talk_run *run)
{
	run->refs++;
	return run;
}

void run_unref(struct talk_run *run)
{
	if (!run || --run->refs > 0)
		return;
	rye_call_unref(run->call);
	caller_unref(run->writer);
	talk_unref(run->talk);
	free(run);
}

/* False: talks_close was called, the outcome is dropped. */
static bool talk_run_enter(struct talks *talks)
{
	bool closed;

	GUARD(&talks->lock);
	closed = talks->closed;
	if (!closed)
		talks->callbacks++;
	return !closed;
}

static void talk_run_leave(struct talks *talks)
{
	GUARD(&talks->lock);
	if (--talks->callbacks == 0)
		pthread_cond_broadcast(&talks->quiet);
}

static int errno_of(enum rye_code code)
{
	int sys = rye_code_errno(code);

	return sys ? sys : EIO;
}

/* Lock held. Its WRITE was answered before: the reply goes behind all that was said since. */
static void conclude_behind(struct talk *talk, struct rye_span reply, struct outbox *out)
{
	talk->behind--;
	rye_blob_unref(talk->note);
	talk->note = NULL;
	talk_drop_pages(talk, transcript_size(&talk->text), out);
	transcript_append(&talk->text, reply);
}

/* Lock held. The reply goes into the transcript, its write gets its answer or goes on. */
static void conclude_write(struct talk *talk, const struct rye_outcome *outcome,
			   struct rye_span reply, struct outbox *out)
{
	int sys = outcome->code == RYE_OK ? 0 : errno_of(outcome->code);
	size_t kept = talk->w.kept;

	writing_go(&talk->w, WRITING_RECORDED);
	if (!sys) {
		talk_forget_failure(talk);
		talk_keep_written(talk, talk->w.fed);
	}
	/* a write whose reply nothing can read is no success */
	if (!transcript_append(&talk->text, reply) && !sys) {
		talk->w.kept = kept;
		sys = ENOMEM;
	}
	if (outcome->code == RYE_INVALID && talk->feed.form == RYE_FORM_LINE &&
	    !talk->target.starts)
		feed_refuse(&talk->feed);
	if (!sys)
		talk_go_on(talk, out);
	else
		talk_fail_write(talk, sys, outcome->code == RYE_INTERRUPTED ? ECANCELED : sys, out);
}

/* Lock held. True: the conversation gives its reference to the run away. */
static bool talk_run_conclude(struct talk_run *run, const struct rye_outcome *outcome,
			      struct outbox *out)
{
	struct talk *talk = run->talk;
	struct rye_span reply = { outcome->reply->data, outcome->reply->len };
	bool held = talk->w.run == run;

	clock_gettime(CLOCK_REALTIME, &talk->mtime);
	if (held) {
		talk->w.run = NULL;
		conclude_write(talk, outcome, reply, out);
	} else {
		conclude_behind(talk, reply, out);
	}
	talk_settle(talk, out);
	return held;
}

/* A new reference: text for a terminal, whose prompt is not to stand behind its last word; with the
 * command that would have done, or NULL. */
static struct rye_blob *ended_text(struct rye_blob *output, const char *mend)
{
	struct text text = { 0 };
	size_t len = output ? output->len : 0;

	if (!mend && (!len || output->data[len - 1] == '\n'))
		return output ? rye_blob_ref(output) : NULL;
	text_addn(&text, len ? output->data : "", len);
	if (len && output->data[len - 1] != '\n')
		text_add(&text, "\n");
	if (mend)
		text_addf(&text, MEND_WITH "%s\n", mend);
	return text_blob(&text);
}

/* The reply is the caller's last one, or that of the call by name that brought the message. */
static void talk_run_record(struct talk_run *run, const struct last *last)
{
	struct talk *talk = run->talk;

	if (talk->named)
		named_record(talk->named, last);
	else
		callers_record(talk->talks->env.callers, run->writer, talk->key, last);
}

static void talk_run_on_done(void *arg, const struct rye_outcome *outcome)
{
	struct talk_run *run = arg;
	struct talk *talk = run->talk;
	struct talks *talks = talk->talks;
	auto_free char *mend = reply_mend(talk, outcome->instead);
	auto_blob struct rye_blob *output = ended_text(outcome->output, mend);
	struct last last = { .reply = outcome->reply,
			     .output = output,
			     .trace = outcome->trace,
			     .from = talk->no };
	struct outbox out;
	bool held;

	if (!talk_run_enter(talks)) {
		run_unref(run);
		return;
	}
	{
		GUARD(&talk->lock);
		if (talk->w.run == run)
			writing_go(&talk->w, WRITING_ENDS);
	}
	own_count_open(talks, NULL, NULL);
	talk_run_record(run, &last);
	if (outcome->code != RYE_OK)
		reply_complain(talk, run->writer, outcome->message,
			       &(struct complaint){ .mend = mend });
	outbox_init(&out);
	{
		GUARD(&talk->lock);
		held = talk_run_conclude(run, outcome, &out);
	}
	outbox_send(talk, &out);
	if (held)
		run_unref(run);
	talk_run_leave(talks);
	run_unref(run);
}

/* A verb for a thread: a signal, a row, some unlinks; done when this returns. */
static void talk_run_verb(struct talk_run *run)
{
	struct talk *talk = run->talk;
	auto_blob struct rye_blob *message = NULL, *answer = NULL;
	struct rye_outcome outcome = { .code = RYE_OK, .message = "" };
	struct rye_span verb;
	struct rye_err err;

	{
		GUARD(&talk->lock);
		message = feed_take(&talk->feed);
	}
	verb = (struct rye_span){ message->data, message->len };
	if (rye_thread_ctl(talk->talks->env.rye, talk->target.thread, verb, &answer, &err)) {
		struct text line = { 0 };

		text_addf(&line, "%s\n", err.msg);
		answer = text_blob(&line);
		outcome.code = err.code;
		outcome.message = err.msg;
	}
	outcome.reply = outcome.output = answer ? answer : message;
	talk_run_on_done(run, &outcome);
}

void run_start(struct talk_run *run)
{
	struct talk *talk = run->talk;
	auto_blob struct rye_blob *message = NULL;
	struct rye_request request = {
		.verb = talk->target.verb,
		.kind = talk->target.kind,
		.id = talk->target.id,
		.target = talk->target.target,
		.uid = run->writer->uid,
		.parent_run = run->writer->run,
		/* The first alone may end inside rye_start: a WRITE may hold 100 000 messages, and
		 * each would nest the next one's call. */
		.at_once = run->first,
		.advise = !talk->target.starts,
	};
	struct node_answer *here = NULL;
	struct rye_call *call = NULL;
	enum rye_code cancel;
	bool mine = false;

	if (talk->target.thread) {
		talk_run_verb(run_ref(run)); /* the callback's */
		return;
	}
	{
		GUARD(&talk->lock);
		request.form = talk->target.starts ? RYE_FORM_THREAD : talk->feed.form;
		request.message = feed_message(&talk->feed);
		request.blob = message = feed_take(&talk->feed);
		here = run->first ? talk_here(talk, talk->w.park) : NULL;
	}
	if (here && here->carries)
		request.ret_here = &mine;
	run_ref(run); /* the callback's */
	run_ref(run); /* of this thread: the run may end before rye_start returns */
	rye_start(talk->talks->env.rye, &request, talk_run_on_done, run, &call);
	{
		GUARD(&talk->lock);
		run->call = call;
		cancel = run->cancel;
	}
	if (cancel != RYE_OK && call)
		rye_call_cancel(call, cancel);
	/* the callback's reference holds it until it is carried out */
	if (mine)
		here->carry = call;
	run_unref(run);
}

void run_cancel(struct talk_run *run, enum rye_code code)
{
	struct rye_call *call;

	{
		GUARD(&run->talk->lock);
		call = run->call;
		if (!call)
			run->cancel = code;
	}
	if (call)
		rye_call_cancel(call, code);
}

/* Lock held. */
static void leave_write(struct talk_run *run, int sys, struct rye_blob *note, struct outbox *out)
{
	struct talk *talk = run->talk;

	talk->w.run = NULL;
	talk->behind++;
	rye_blob_unref(talk->note);
	talk->note = note ? rye_blob_ref(note) : NULL;
	/* under the lock: never behind the record of the end */
	if (note && !talk->named)
		reply_record(talk, run->writer, "running", &(struct last){ .reply = note });
	talk_fail_write(talk, sys, sys == EINTR ? ECANCELED : sys, out);
	talk_settle(talk, out);
}

void run_leave(struct talk_run *run, int sys, struct rye_blob *note)
{
	struct talk *talk = run->talk;
	struct outbox out;
	bool left = false;

	outbox_init(&out);
	{
		GUARD(&talk->lock);
		left = talk->w.run == run && writing_go(&talk->w, WRITING_LEFT) == WRITING_LEAVE;
		if (left)
			leave_write(run, sys, note, &out);
	}
	outbox_send(talk, &out);
	if (left)
		run_unref(run);
}

void run_detach(struct talk_run *run, int sys)
{
	auto_blob struct rye_blob *note = NULL;
	char thread_id[64] = "";
	struct rye_call *call;

	{
		GUARD(&run->talk->lock);
		call = run->call;
	}
	/* false: it cannot become a thread of its own, or it ends this moment */
	if (!call || !rye_call_detach(call, thread_id))
		thread_id[0] = '\0';
	note = reply_running_line(thread_id);
	run_leave(run, sys, note);
}
