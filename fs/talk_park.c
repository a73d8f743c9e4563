/* SPDX-License-Identifier: MIT */
/*
 * talk_park.c - requests that wait, and the one thread that looks after them.
 *
 * The kernel tells once that a waiting caller has a signal, and not which (a background job's
 * SIGCHLD looks like ^C). So an interrupted request is looked at in /proc at once and every
 * 100 ms: only a signal that would end the caller cancels its run. The same thread ends waits
 * that have a bound, gives up on cancelled runs that do not end, and lets caller.c forget.
 *
 * Lock: the talk's for its requests, talks->lock for the list of talks and the clock.
 */
#include "talk_calls.h"

#include "auto.h"
#include "proc.h"
#include "reply.h"
#include "util.h"

#include <errno.h>
#include <stdlib.h>

#define NEVER INT64_MAX
#define SWEEP_NS (30 * NS_PER_S)

/* ---- one request ---- */

struct park *park_new(struct talks *talks, fuse_req_t req, enum park_type type)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	struct park *park = calloc(1, sizeof(*park));

	if (!park)
		return NULL;
	park->talks = talks;
	park->req = req;
	park->tid = ctx->pid;
	park->type = type;
	park->look_ns = NEVER;
	park->due_ns = NEVER;
	return park;
}

/* In a FUSE thread that holds the request's lock: only leave word. */
static void on_interrupt(fuse_req_t req, void *data)
{
	struct park *park = data;
	struct talks *talks = park->talks;

	park->interrupted = true;
	WITH_LOCK(&talks->lock) {
		talks->poked = true;
		pthread_cond_signal(&talks->poke);
	}
}

void park_answer(struct park *park)
{
	if (park->hooked)
		fuse_req_interrupt_func(park->req, NULL, NULL);
	if (park->sys)
		reply_errno(park->req, park->sys);
	else if (park->type == PARK_GETATTR)
		reply_attr(park->req, &park->st, 0);
	else if (park->type == PARK_READ)
		reply_bytes(park->req, park->data, park->len);
	else
		reply_written(park->req, park->count);
	free(park->data);
	free(park);
}

/* ---- the list of talks that wait, talks->lock ---- */

static void activate(struct talk *talk, int64_t due_ns)
{
	struct talks *talks = talk->talks;

	WITH_LOCK(&talks->lock) {
		if (!talk->link_active) {
			talk_ref(talk);
			talk->next_active = talks->active;
			talk->link_active = &talks->active;
			if (talks->active)
				talks->active->link_active = &talk->next_active;
			talks->active = talk;
		}
		if (due_ns < talks->wake_ns) {
			talks->poked = true;
			pthread_cond_signal(&talks->poke);
		}
	}
}

bool talk_deactivate(struct talk *talk)
{
	bool was = false;

	WITH_LOCK(&talk->talks->lock)
		if (talk->link_active) {
			was = true;
			*talk->link_active = talk->next_active;
			if (talk->next_active)
				talk->next_active->link_active = talk->link_active;
			talk->link_active = NULL;
		}
	return was;
}

struct talk **talks_active(struct talks *talks, size_t *ret_n)
{
	struct talk **found = NULL;
	size_t n = 0;

	WITH_LOCK(&talks->lock) {
		for (struct talk *talk = talks->active; talk; talk = talk->next_active)
			n++;
		found = n ? calloc(n, sizeof(struct talk *)) : NULL;
		n = 0;
		for (struct talk *talk = talks->active; talk && found; talk = talk->next_active)
			found[n++] = talk_ref(talk);
	}
	*ret_n = n;
	return found;
}

void talk_wait(struct talk *talk, struct park *park)
{
	if (!park->hooked) {
		park->hooked = true;
		fuse_req_interrupt_func(park->req, on_interrupt, park);
	}
	if (talk->talks->bound_ns)
		park->due_ns = now_ns() + talk->talks->bound_ns;
	activate(talk, park->interrupted ? 0 : park->due_ns);
}

/* ---- readers ---- */

bool talk_waits(const struct talk *talk)
{
	return talk->w.park || talk->behind;
}

/* The answer as things are now. */
static void fill(struct talk *talk, struct park *park)
{
	if (park->type == PARK_GETATTR) {
		talk_fill_stat(talk, &park->st);
		return;
	}
	park->data = malloc(MAX_OF(park->size, (size_t)1));
	if (park->data)
		park->len = talk_fill_read(talk, park->off, park->data, park->size);
	else
		park->sys = ENOMEM;
}

static bool may_read(const struct talk *talk, const struct park *park, bool last)
{
	if (park->type == PARK_READ && park->off < transcript_size(&talk->text))
		return true;
	return !park->held && (last || !talk_waits(talk)) && talk->invals == 0;
}

/* last: nothing but the write's own answer is waited for. True: a GETATTR was among them. */
static bool release_readers(struct talk *talk, struct outbox *out, bool last)
{
	struct park **link = &talk->readers;
	bool attrs = false;

	while (*link) {
		struct park *park = *link;

		if (may_read(talk, park, last)) {
			*link = park->next;
			attrs |= park->type == PARK_GETATTR;
			fill(talk, park);
			outbox_answer(out, park);
		} else {
			link = &park->next;
		}
	}
	return attrs;
}

/*
 * The kernel takes no size from a GETATTR that was sent before a WRITE was answered or a page
 * dropped, unless the write does not extend the file, nothing was dropped, and the reader has
 * its answer before the writer goes on. Then the reader is answered first and the writer a
 * moment later; else the other way round: the reader has the size that the writer sets, gets
 * its message, and asks again.
 */
static void answer_write(struct talk *talk, struct outbox *out)
{
	struct writing *w = &talk->w;
	int64_t now = now_ns(), due = now + TALK_SETTLE_MS * NS_PER_MS;

	if (now < w->answer_ns)
		return;
	if (!w->late && !w->answer_ns && release_readers(talk, out, !talk->behind)) {
		w->answer_ns = due;
		activate(talk, due);
		return;
	}
	outbox_answer(out, w->park);
	talk_writing_done(talk);
	for (struct park *park = talk->readers; park && !talk->behind; park = park->next) {
		park->held = true;
		park->due_ns = MIN_OF(park->due_ns, due);
	}
	if (talk->readers)
		activate(talk, due);
}

void talk_settle(struct talk *talk, struct outbox *out)
{
	/* once: what is read from now on is what will be there */
	if (talk->w.park && talk->w.ready && !talk->w.dropped) {
		talk->w.dropped = true;
		talk_drop_pages(talk, talk->w.off, out);
	}
	if (talk->w.park && talk->w.ready && talk->invals == 0)
		answer_write(talk, out);
	else
		release_readers(talk, out, false);
	if (!talk->readers && !talk_waits(talk) && talk_deactivate(talk))
		talk->refs--; /* never the last: whoever holds the lock has one */
}

/* ---- the timer ---- */

enum act { ACT_NONE, ACT_CANCEL, ACT_DETACH, ACT_LEAVE };

/* Lock held. Is the caller of this request being ended? */
static bool ended(struct park *park, int64_t now)
{
	if (!park->interrupted)
		return false;
	if (park->look_ns == NEVER)
		park->look_ns = now;
	if (now < park->look_ns)
		return false;
	park->look_ns = now + TALK_RELOOK_MS * NS_PER_MS;
	return proc_interrupted(park->tid);
}

/* Lock held. What is to be done about the write, and the errno it gets. */
static enum act look_at_write(struct talk *talk, int64_t now, int *sys)
{
	struct writing *w = &talk->w;

	*sys = EINTR;
	if (!w->park || !w->run)
		return ACT_NONE;
	if (w->give_up_ns)
		return now >= w->give_up_ns ? ACT_LEAVE : ACT_NONE;
	if (ended(w->park, now)) {
		w->give_up_ns = now + TALK_CANCEL_MS * NS_PER_MS;
		return talk->verb == RYE_FORK ? ACT_DETACH : ACT_CANCEL;
	}
	if (now < w->park->due_ns)
		return ACT_NONE;
	w->park->due_ns = NEVER;
	*sys = EINPROGRESS;
	return ACT_DETACH;
}

/* Lock held. Readers that are interrupted or have waited long enough. */
static void look_at_readers(struct talk *talk, int64_t now, struct outbox *out)
{
	struct park **link = &talk->readers;

	while (*link) {
		struct park *park = *link;
		bool over = ended(park, now);

		if (!over && now < park->due_ns) {
			link = &park->next;
			continue;
		}
		*link = park->next;
		if (over)
			park->sys = EINTR;
		else
			talk_tell_running(talk, out);
		fill(talk, park);
		outbox_answer(out, park);
	}
}

static int64_t park_next(const struct park *park, int64_t next)
{
	int64_t look = park->interrupted ? park->look_ns : NEVER;

	return MIN_OF(next, MIN_OF(look, park->due_ns));
}

/* Lock held. */
static int64_t next_look(const struct talk *talk)
{
	int64_t next = NEVER;

	if (talk->w.park && talk->w.run) {
		next = park_next(talk->w.park, next);
		if (talk->w.give_up_ns)
			next = talk->w.give_up_ns;
	}
	if (talk->w.park && talk->w.answer_ns)
		next = talk->w.answer_ns;
	for (const struct park *park = talk->readers; park; park = park->next)
		next = park_next(park, next);
	return next;
}

static int64_t look_at(struct talk *talk, int64_t now)
{
	struct run *run = NULL;
	struct outbox out;
	enum act act;
	int64_t next;
	int sys;

	outbox_init(&out);
	WITH_LOCK(&talk->lock) {
		act = look_at_write(talk, now, &sys);
		if (act != ACT_NONE)
			run = run_ref(talk->w.run);
		look_at_readers(talk, now, &out);
		talk_settle(talk, &out);
		next = next_look(talk);
	}
	outbox_send(talk, &out);
	if (act == ACT_CANCEL)
		run_cancel(run, RYE_INTERRUPTED);
	else if (act == ACT_DETACH)
		run_detach(run, sys);
	else if (act == ACT_LEAVE)
		run_leave(run, sys, NULL);
	run_unref(run);
	return next;
}

static int64_t look_at_all(struct talks *talks)
{
	size_t n;
	auto_free struct talk **active = talks_active(talks, &n);
	int64_t now = now_ns(), next = NEVER;

	for (size_t i = 0; i < n; i++) {
		next = MIN_OF(next, look_at(active[i], now));
		talk_unref(active[i]);
	}
	if (now >= talks->sweep_ns) {
		callers_sweep(talks->env.callers);
		talks->sweep_ns = now + SWEEP_NS;
	}
	return next;
}

/* Lock held: until `next`, or until somebody pokes. */
static void sleep_until(struct talks *talks, int64_t next)
{
	int64_t end = MIN_OF(next, now_ns() + SWEEP_NS);
	struct timespec until = { end / NS_PER_S, end % NS_PER_S };

	talks->wake_ns = end;
	while (!talks->poked && !talks->closed)
		if (pthread_cond_timedwait(&talks->poke, &talks->lock, &until) == ETIMEDOUT)
			break;
	talks->poked = false;
	talks->wake_ns = NEVER; /* awake: whoever comes now may have been overlooked */
}

static void *timer(void *arg)
{
	struct talks *talks = arg;
	bool closed = false;

	while (!closed) {
		int64_t next = look_at_all(talks);

		WITH_LOCK(&talks->lock) {
			sleep_until(talks, next);
			closed = talks->closed;
		}
	}
	return NULL;
}

int talks_timer_start(struct talks *talks)
{
	pthread_condattr_t attr;
	int r;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&talks->poke, &attr);
	pthread_condattr_destroy(&attr);
	talks->sweep_ns = now_ns() + SWEEP_NS;
	talks->wake_ns = NEVER;
	r = pthread_create(&talks->timer, NULL, timer, talks);
	if (r)
		pthread_cond_destroy(&talks->poke);
	return -r;
}

void talks_timer_stop(struct talks *talks)
{
	WITH_LOCK(&talks->lock) {
		talks->closed = true;
		pthread_cond_signal(&talks->poke);
	}
	pthread_join(talks->timer, NULL);
}
