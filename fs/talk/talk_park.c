/* SPDX-License-Identifier: MIT */
/*
 * talk_park.c - requests of a conversation that wait, and which of them can be answered.
 *
 * The parking thread says when the caller of a waiting request is being ended, and when it has
 * waited long enough. An ended writer's run is cancelled; its WRITE is answered when the run has
 * ended, at the latest TALK_CANCEL_MS later.
 *
 * Lock: the talk's.
 */
#include "talk/talk_inner.h"

#include "clock.h"
#include "core/ctl.h"
#include "core/reply.h"
#include "scope.h"

#include <errno.h>
#include <stdlib.h>

/* ---- one request ---- */

static void park_wake(struct parked *parked, enum parked_why why);

static void park_done(struct parked *parked)
{
	struct park *park = (struct park *)parked;

	free(park->data);
	talk_unref(park->talk);
}

struct park *park_new(struct talk *talk, fuse_req_t req, enum park_type type)
{
	static const struct parked_class class = { .wake = park_wake, .done = park_done };
	struct park *park = parked_new(talk->talks->env.parking, req, &class, talk, sizeof(*park));

	if (!park)
		return NULL;
	park->talk = talk_ref(talk);
	park->type = type;
	park->due_ns = PARKED_NEVER;
	return park;
}

void park_answer(struct park *park)
{
	fuse_req_t req = parked_leave(&park->parked);

	if (park->later)
		*park->later = (struct node_answer){ true, park->sys, park->count };
	else if (park->type == PARK_NAMED)
		named_answer(park->talk->named, req, park->sys);
	else if (park->sys)
		reply_errno(req, park->sys);
	else if (park->type == PARK_GETATTR)
		reply_attr(req, &park->st, 0);
	else if (park->type == PARK_READ)
		reply_bytes(req, park->data, park->len);
	else
		reply_written(req, park->count);
	parked_unref(&park->parked);
}

void park_drop(struct park *park)
{
	if (!park)
		return;
	parked_leave(&park->parked);
	parked_unref(&park->parked);
}

/* Lock held. */
static bool park_until(struct park *park, int64_t due_ns)
{
	park->due_ns = due_ns;
	return parking_wait(&park->parked, due_ns);
}

bool park_wait(struct park *park)
{
	int64_t bound_ns = park->talk->talks->bound_ns;

	return park_until(park, bound_ns ? clock_ns() + bound_ns : PARKED_NEVER);
}

/* ---- readers ---- */

bool talk_waits(const struct talk *talk)
{
	return talk->w.state != WRITING_NONE || talk->behind;
}

/* The answer as things are now. */
static void talk_park_fill(struct talk *talk, struct park *park)
{
	if (park->type == PARK_GETATTR) {
		talk_fill_stat(talk, &park->st);
		return;
	}
	park->data = talk_read_room(talk, park->off, park->size);
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

/* ---- what an answer waits for after another one ---- */

/* Lock held, as by all of these. */
static void settling_begin(struct talk_settling *settling)
{
	settling->n = 0;
	settling->end_ns = clock_ns() + TALK_SETTLE_MOST_MS * NS_PER_MS;
}

/* Before its answer is sent: until then it sleeps. */
static void settling_add(struct talk_settling *settling, pid_t tid)
{
	if (settling->n < SETTLING_MOST)
		settling->threads[settling->n++] =
			(struct talk_settling_thread){ tid, proc_turns(tid) };
}

static bool settling_goes_on(const struct talk_settling *settling, int64_t now)
{
	for (unsigned i = 0; i < settling->n && now < settling->end_ns; i++) {
		uint64_t turns = settling->threads[i].turns;

		if (turns && turns == proc_turns(settling->threads[i].tid))
			return true;
	}
	return false;
}

/* It waits on. False: it need not, or the mount goes. */
static bool park_settles(struct talk *talk, struct park *park, int64_t now)
{
	return now < park->due_ns || (settling_goes_on(&talk->settling, now) &&
				      park_until(park, now + TALK_SETTLE_MS * NS_PER_MS));
}

/* last: nothing but the write's own answer is waited for; told: those of a GETATTR among them, or NULL. */
static void release_readers(struct talk *talk, struct outbox *out, bool last,
			    struct talk_settling *told)
{
	struct park **link = &talk->readers;

	while (*link) {
		struct park *park = *link;

		if (may_read(talk, park, last)) {
			*link = park->next;
			if (told && park->type == PARK_GETATTR)
				settling_add(told, park->parked.tid);
			talk_park_fill(talk, park);
			outbox_answer(out, park);
		} else {
			link = &park->next;
		}
	}
}

/*
 * The kernel takes no size from a GETATTR that was sent before a WRITE was answered or a page
 * dropped, unless the write does not extend the file, nothing was dropped, and the reader has
 * its answer before the writer goes on. Then the reader is answered first and the writer a
 * moment later; else the other way round: the reader has the size that the writer sets, gets
 * its message, and asks again.
 */
static bool readers_go_first(struct talk *talk, struct outbox *out)
{
	struct writing *w = &talk->w;

	if (w->late)
		return false;
	settling_begin(&talk->settling);
	release_readers(talk, out, !talk->behind, &talk->settling);
	if (!talk->settling.n || !park_until(w->park, clock_ns() + TALK_SETTLE_MS * NS_PER_MS))
		return false;
	writing_go(w, WRITING_READERS);
	return true;
}

static void answer_write(struct talk *talk, struct outbox *out)
{
	int64_t due = clock_ns() + TALK_SETTLE_MS * NS_PER_MS;

	if (talk->readers && !talk->behind) {
		settling_begin(&talk->settling);
		settling_add(&talk->settling, talk->w.park->parked.tid);
	}
	outbox_answer(out, talk->w.park);
	writing_go(&talk->w, WRITING_TOLD);
	talk_writing_done(talk);
	for (struct park *park = talk->readers; park && !talk->behind; park = park->next) {
		park->held = true;
		park_until(park, MIN_OF(park->due_ns, due));
	}
}

void talk_settle(struct talk *talk, struct outbox *out)
{
	struct writing *w = &talk->w;

	if ((w->state != WRITING_DROPS && w->state != WRITING_LAST) || talk->invals > 0)
		release_readers(talk, out, false, NULL);
	else if (w->state == WRITING_LAST ? !park_settles(talk, w->park, clock_ns()) :
					    !readers_go_first(talk, out))
		answer_write(talk, out);
}

/* ---- on the parking thread ---- */

/* Lock held. What is to be done about the write. */
static enum writing_act look_at_write(struct talk *talk, int64_t now)
{
	struct writing *w = &talk->w;
	enum writing_act act = WRITING_STAY;

	if (w->state == WRITING_NONE)
		return act;
	if (w->park->parked.ended)
		act = writing_go(w, WRITING_SIGNAL);
	if (act == WRITING_STAY && now >= w->park->due_ns)
		act = writing_go(w, WRITING_DUE);
	if (act == WRITING_CANCEL)
		park_until(w->park, now + TALK_CANCEL_MS * NS_PER_MS);
	return act;
}

/* Lock held. Readers that are being ended or have waited long enough. */
static void look_at_readers(struct talk *talk, int64_t now, struct outbox *out)
{
	struct park **link = &talk->readers;

	while (*link) {
		struct park *park = *link;
		bool over = park->parked.ended;

		if (!over && (park->held ? park_settles(talk, park, now) : now < park->due_ns)) {
			link = &park->next;
			continue;
		}
		*link = park->next;
		if (over)
			park->sys = EINTR;
		else
			talk_tell_running(talk, out);
		talk_park_fill(talk, park);
		outbox_answer(out, park);
	}
}

static void talk_park_look_at(struct talk *talk, int64_t now)
{
	bool forks = ctl_of_verb(talk->target.verb)->ways & RYE_WAY_FORK;
	struct talk_run *run = NULL;
	struct outbox out;
	enum writing_act act;

	outbox_init(&out);
	{
		GUARD(&talk->lock);
		act = look_at_write(talk, now);
		if (act != WRITING_STAY)
			run = run_ref(talk->w.run);
		look_at_readers(talk, now, &out);
		talk_settle(talk, &out);
	}
	outbox_send(talk, &out);
	if (act == WRITING_DETACH || (act == WRITING_CANCEL && forks))
		run_detach(run, act == WRITING_DETACH ? EINPROGRESS : EINTR);
	else if (act == WRITING_CANCEL)
		run_cancel(run, RYE_INTERRUPTED);
	else if (act == WRITING_LEAVE)
		run_leave(run, EINTR, NULL);
	run_unref(run);
}

/* The mount goes: readers are answered, the run is cancelled and its write answered. */
static void talk_park_abandon(struct talk *talk)
{
	struct talk_run *run = NULL;
	struct outbox out;

	outbox_init(&out);
	{
		GUARD(&talk->lock);
		if (talk->w.run)
			run = run_ref(talk->w.run);
		while (talk->readers) {
			struct park *park = talk->readers;

			talk->readers = park->next;
			park->sys = ECANCELED;
			outbox_answer(&out, park);
		}
		/* one that only let its readers go first does not wait for that either */
		talk->settling.n = 0;
		if (talk->w.state == WRITING_LAST)
			talk->w.park->due_ns = 0;
		talk_settle(talk, &out);
	}
	outbox_send(talk, &out);
	if (!run)
		return;
	run_cancel(run, RYE_CANCELLED);
	run_leave(run, ECANCELED, NULL);
	run_unref(run);
}

static void park_wake(struct parked *parked, enum parked_why why)
{
	struct talk *talk = ((struct park *)parked)->talk;

	if (why == PARKED_CLOSED)
		talk_park_abandon(talk);
	else
		talk_park_look_at(talk, clock_ns());
}
