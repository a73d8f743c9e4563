/* SPDX-License-Identifier: MIT */
/*
 * talk_write.c - a WRITE: may its caller, which messages are in it, what the writer is told.
 *
 * The write that completes a message carries its verdict, so it waits for the run. Several
 * messages in one write run one after the other; if a later one fails, the write is answered
 * short, up to where the failed one begins: the writer sends the rest again, and that is
 * recognised as the failure it was (as are the bytes that python's destructor and bash's exit
 * send again): the remembered errno, no second run.
 *
 * Page cache: the kernel keeps the pages that a READ has filled, also without a handle. So pages
 * from the writer's offset on are dropped before the answer if a READ may have filled them
 * (docs/architecture.md, "The node is the handle"); a conversation is never stored into the cache.
 * They are dropped when the answer is ready: a page that the kernel had evicted is locked until the
 * answer, and a run may take an hour.
 *
 * Lock: the talk's in everything below talk_write.
 */
#include "talk/talk_inner.h"

#include "clock.h"
#include "core/reply.h"
#include "scope.h"
#include "str.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the page cache ---- */

static void on_dropped(void *arg)
{
	struct talk *talk = arg;
	struct outbox out;

	outbox_init(&out);
	{
		GUARD(&talk->lock);
		talk->invals--;
		talk_settle(talk, &out);
	}
	outbox_send(talk, &out);
	talk_unref(talk);
}

void talk_drop_pages(struct talk *talk, size_t from, struct outbox *out)
{
	size_t begin = page_floor(from);

	if (talk->cached <= begin || !talk->talks->env.invalidate || out->invalidate)
		return;
	out->invalidate = true;
	out->inval = (struct notify_pages){
		.ino = talk->ino,
		.from = (off_t)begin,
		.len = (off_t)(talk->cached - begin),
		.done = on_dropped,
		.done_arg = talk_ref(talk),
	};
	out->inval.ready = talk->w.state == WRITING_DROPS || talk->w.state == WRITING_LAST;
	talk->invals++;
	talk->cached = begin;
	talk->w.late = true;
}

/*
 * The line ends with its page: what comes later is in pages that no READ has filled, so nothing has
 * to be dropped when it comes. A notification would make the kernel discard the size that a
 * reader's GETATTR waits for.
 */
void talk_tell_running(struct talk *talk, struct outbox *out)
{
	size_t end = transcript_size(&talk->text), page = (size_t)sysconf(_SC_PAGESIZE), pad;
	struct rye_blob *note = talk->note;

	if (!note)
		return;
	talk_drop_pages(talk, end, out);
	transcript_append(&talk->text, (struct rye_span){ note->data, note->len - 1 });
	for (pad = page - (end + note->len) % page; pad > 0; pad--)
		transcript_append(&talk->text, (struct rye_span){ " ", 1 });
	transcript_append(&talk->text, (struct rye_span){ "\n", 1 });
	rye_blob_unref(note);
	talk->note = NULL;
}

/* ---- messages that failed ---- */

void talk_forget_failure(struct talk *talk)
{
	free(talk->failure.bytes);
	talk->failure = (struct failure){ 0 };
}

/* Are these the bytes of the message that failed, at its place? */
static bool is_failure(struct talk *talk, const struct talk_write *write)
{
	struct failure *f = &talk->failure;
	size_t off = (size_t)write->off, rest, n;

	if (!f->bytes)
		return false;
	if (off == f->off)
		f->matched = 0;
	else if (off != f->off + f->matched)
		return false;
	rest = f->len - f->matched;
	n = MIN_OF(rest, write->bytes.len);
	if (memcmp(f->bytes + f->matched, write->bytes.ptr, n) != 0) {
		talk_forget_failure(talk);
		return false;
	}
	if (n == rest)
		return true;
	/* the same bytes may come in smaller pieces now */
	f->matched += n;
	return false;
}

static void remember_failure(struct talk *talk, int sys)
{
	struct writing *w = &talk->w;
	size_t len = w->len - w->kept;
	char *bytes = malloc(MAX_OF(len, (size_t)1));

	talk_forget_failure(talk);
	if (!bytes || !sys || !len) {
		free(bytes);
		return;
	}
	memcpy(bytes, w->bytes + w->kept, len);
	talk->failure = (struct failure){ bytes, len, w->off + w->kept, 0, sys };
}

/* ---- one write ---- */

enum writing_act writing_go(struct writing *w, enum writing_event event)
{
	const struct writing_step *step = writing_step(w->state, event);

	assert(step->act != WRITING_NEVER);
	/* without assertions: what waits goes on waiting for what it is due */
	if (step->act != WRITING_NEVER)
		w->state = step->next;
	return step->act;
}

void talk_keep_written(struct talk *talk, size_t upto)
{
	struct writing *w = &talk->w;

	transcript_insert(&talk->text, w->off + w->kept,
			  span_skip((struct rye_span){ w->bytes, upto }, w->kept));
	w->kept = upto;
	w->mark = feed_mark(&talk->feed);
}

/* A READ from now on fills its page with the bytes that stay. */
static void set_answer(struct talk *talk, int sys, size_t count, struct outbox *out)
{
	struct writing *w = &talk->w;

	writing_go(w, WRITING_ANSWER);
	w->park->sys = sys;
	w->park->count = count;
	talk->expect = w->off + count;
	talk->told = MAX_OF(talk->told, talk->expect);
	talk_drop_pages(talk, w->off, out);
}

void talk_fail_write(struct talk *talk, int sys, int again, struct outbox *out)
{
	struct writing *w = &talk->w;

	remember_failure(talk, again);
	if (w->fed < w->len)
		feed_lost(&talk->feed, w->mark);
	set_answer(talk, w->kept ? 0 : sys, w->kept, out);
}

static void tell_broken(struct talk *talk, struct outbox *out)
{
	struct rye_blob *line = reply_error_line(talk->feed.why);

	out->speaker = caller_ref(talk->w.writer);
	out->broken = line;
	memcpy(out->complaint, talk->feed.why, sizeof(talk->feed.why));
	if (line)
		transcript_append(&talk->text, (struct rye_span){ line->data, line->len });
	/* text that only lacks its newline may come again with it */
	talk_fail_write(talk, talk->feed.sys, feed_broken(&talk->feed) ? talk->feed.sys : 0, out);
	feed_lost(&talk->feed, talk->w.mark);
}

static void begin_run(struct talk *talk, struct outbox *out)
{
	struct writing *w = &talk->w;

	if (w->park->parked.ended) {
		/* an earlier message ended just before it could be cancelled */
		talk_fail_write(talk, EINTR, ECANCELED, out);
		return;
	}
	if (!park_wait(w->park)) {
		talk_fail_write(talk, ECANCELED, ECANCELED, out);
		return;
	}
	w->run = run_new(talk, w->writer);
	if (!w->run) {
		talk_fail_write(talk, ENOMEM, ENOMEM, out);
		return;
	}
	writing_go(w, WRITING_MESSAGE);
	/* those behind it are never rendered in this thread */
	w->run->first = w->kept == 0;
	out->start = run_ref(w->run);
}

/* From where the feed is: the next message, or the answer. */
void talk_go_on(struct talk *talk, struct outbox *out)
{
	struct writing *w = &talk->w;
	enum feed_verdict verdict = FEED_MORE;

	while (w->fed < w->len && verdict == FEED_MORE) {
		size_t used;

		verdict = feed_step(&talk->feed,
				    (struct rye_span){ w->bytes + w->fed, w->len - w->fed }, &used);
		w->fed += used;
	}
	if (verdict == FEED_COMPLETE) {
		begin_run(talk, out);
	} else if (verdict == FEED_GARBAGE) {
		tell_broken(talk, out);
	} else {
		talk_keep_written(talk, w->len);
		set_answer(talk, 0, w->len, out);
	}
}

void open_go(struct talk *talk, enum open_event event)
{
	const struct open_step *step = open_step(talk->open, event);
	struct talks *talks = talk->talks;

	talk->open = step->next;
	if (step->act == OPEN_STAY)
		return;
	GUARD(&talks->lock);
	if (step->act == OPEN_LIST) {
		talk->next_open = talks->open;
		talk->link_open = &talks->open;
		if (talks->open)
			talks->open->link_open = &talk->next_open;
		talks->open = talk;
		talks->n_open++;
		parking_sweep_by(talks->env.parking, clock_ns() + OPEN_COUNTS_MS * NS_PER_MS);
	} else {
		*talk->link_open = talk->next_open;
		if (talk->next_open)
			talk->next_open->link_open = talk->link_open;
		talk->link_open = NULL;
		talks->n_open--;
	}
}

void talk_start_over(struct talk *talk)
{
	feed_restart(&talk->feed);
	open_go(talk, OPEN_FINISHED);
}

void talk_writing_done(struct talk *talk)
{
	struct writing *w = &talk->w;

	/* pages it filled whole stay in the cache */
	if (talk->expect >= w->off + TALK_PAGE)
		talk->cached = MAX_OF(talk->cached, page_floor(talk->expect));
	caller_unref(talk->speaker);
	talk->speaker = w->writer;
	free(w->bytes);
	*w = (struct writing){ 0 };
	open_go(talk, feed_open(&talk->feed) ? OPEN_UNFINISHED : OPEN_FINISHED);
}

/* Where this write goes on, or begins anew; its blank lines and its broken text. */
static size_t talk_write_place(struct talk *talk, const struct talk_write *write)
{
	enum shows_act act = shows_go(talk, SHOWS_WRITTEN);
	size_t off = (size_t)write->off;

	if (off != talk->expect && feed_open(&talk->feed)) {
		if (!write->append)
			talk_start_over(talk);
		else
			off = talk->expect;
	}
	if (act == SHOWS_AFRESH || off != talk->expect)
		feed_fresh(&talk->feed);
	if (act == SHOWS_CUT)
		transcript_cut(&talk->text, off);
	return off;
}

/* The kernel cuts a long write at a page, into requests of at least this much. */
static bool may_be_cut(const struct talk_write *write)
{
	return write->bytes.len >= 31 * TALK_PAGE &&
	       ((size_t)write->off + write->bytes.len) % TALK_PAGE == 0;
}

/* 0: it is under way, park and writer are taken over; else its errno. */
static int talk_write_begin(struct talk *talk, struct park *park, const struct talk_write *write,
			    struct caller *writer, struct outbox *out)
{
	struct writing *w = &talk->w;
	char *bytes;

	if (writing_step(w->state, WRITING_CAME)->act == WRITING_AGAIN)
		return EAGAIN;
	if (is_failure(talk, write)) {
		if (feed_open(&talk->feed))
			talk_start_over(talk);
		return talk->failure.sys;
	}
	if (transcript_unread(&talk->text) > TRANSCRIPT_KEEP)
		return ENOSPC;
	if ((size_t)write->off > transcript_size(&talk->text) + TRANSCRIPT_GAP_MAX)
		return EFBIG;
	bytes = malloc(MAX_OF(write->bytes.len, (size_t)1));
	if (!bytes)
		return ENOMEM;
	memcpy(bytes, write->bytes.ptr, write->bytes.len);
	*w = (struct writing){
		.park = park,
		.bytes = bytes,
		.len = write->bytes.len,
		.off = talk_write_place(talk, write),
		.writer = writer,
	};
	talk->here.park = write->answer ? park : NULL;
	talk->here.thread = pthread_self();
	talk->here.answer = write->answer;
	writing_go(w, WRITING_CAME);
	w->mark = feed_mark(&talk->feed);
	open_go(talk, OPEN_PIECE);
	talk->feed.cut = may_be_cut(write);
	w->late = talk->told < w->off + w->len;
	clock_gettime(CLOCK_REALTIME, &talk->mtime);
	talk_go_on(talk, out);
	talk_settle(talk, out);
	return 0;
}

void talk_hand_over(struct talk *talk, struct park *park, struct feed *feed, struct caller *writer)
{
	struct outbox out;

	outbox_init(&out);
	{
		GUARD(&talk->lock);
		talk->feed = *feed;
		talk->w = (struct writing){ .park = park, .writer = writer };
		writing_go(&talk->w, WRITING_CAME);
		begin_run(talk, &out);
		talk_settle(talk, &out);
	}
	outbox_send(talk, &out);
}

/* ---- the caller ---- */

static bool talk_write_is_by(const struct caller *caller, const struct fuse_ctx *ctx)
{
	return caller && caller->tid == ctx->pid && caller->uid == ctx->uid;
}

/* Of the last writer of this conversation, or the thread that opened it, looked at just now, one read
 * says whether it still may; any other thread is examined at each write. */
static struct caller *talk_write_identify(struct talk *talk, const struct fuse_ctx *ctx)
{
	struct callers *callers = talk->talks->env.callers;
	struct caller *speaker = NULL;

	{
		GUARD(&talk->lock);
		if (talk_write_is_by(talk->speaker, ctx))
			speaker = caller_ref(talk->speaker);
		else if (!talk->speaker && talk_write_is_by(talk->who, ctx))
			speaker = caller_ref(talk->who);
	}
	if (speaker && caller_stands(callers, speaker))
		return speaker;
	caller_unref(speaker);
	return caller_examine(callers, ctx->pid, ctx->uid);
}

/* The writer, or NULL with the errno. Decided at lookup, and again now. */
static struct caller *talk_write_authorise(struct talk *talk, fuse_req_t req, int *sys)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	struct caller *writer = talk_write_identify(talk, ctx);
	char why[CALLER_WHY];

	*sys = ENOMEM;
	if (!writer)
		return NULL;
	*sys = 0;
	if (talk_may(talk, writer, why) && !talk->refused && writer->uid == talk->who->uid)
		return writer;
	*sys = writer->unseen ? EAGAIN : EACCES;
	if (writer->allowed && talk->refused)
		snprintf(why, sizeof(why), "looked up by a caller who may not use it");
	reply_attempt(talk, writer, why);
	caller_unref(writer);
	return NULL;
}

/* Whatever thread has answered it meanwhile: the conversation may be forgotten by then. */
static void talk_write_leave(struct talk *talk, const struct park *park)
{
	{
		GUARD(&talk->lock);
		if (talk->here.park == park)
			talk->here.park = NULL;
	}
	talk_unref(talk);
}

static void talk_write_take(struct talk *talk, struct park *park, const struct talk_write *write,
			    struct caller *writer)
{
	fuse_req_t req = park->parked.req;
	struct outbox out;
	int sys;

	outbox_init(&out);
	talk_ref(talk);
	{
		GUARD(&talk->lock);
		sys = talk_write_begin(talk, park, write, writer, &out);
	}
	if (sys) {
		park_drop(park);
		caller_unref(writer);
		reply_errno(req, sys);
	} else {
		outbox_send(talk, &out);
	}
	talk_write_leave(talk, park);
}

void talk_write(struct talk *talk, fuse_req_t req, const struct talk_write *write)
{
	struct park *park = NULL;
	struct caller *writer = NULL;
	int sys = EINVAL;

	/* pages written back from an mmap come without a writer and in no order: not parsed */
	if (!write->paged && write->off >= 0)
		writer = talk_write_authorise(talk, req, &sys);
	if (!writer) {
		reply_errno(req, sys);
		return;
	}
	park = park_new(talk, req, PARK_WRITE);
	if (park) {
		talk_write_take(talk, park, write, writer);
	} else {
		caller_unref(writer);
		reply_errno(req, ENOMEM);
	}
}
