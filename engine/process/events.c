/* SPDX-License-Identifier: MIT */
/*
 * The queue of events between a call's worker and its listener, and the teller thread that
 * empties it. Memory is bounded by what a run may print: capture tells only bytes that it keeps.
 * The teller starts with the first event, so a call that only renders text never has one.
 */
#include "process/process.h"

#include "bounds.h"
#include "buf.h"
#include "scope.h"
#include "str.h"

#include <string.h>

struct events_piece {
	struct rye_event event; /* .bytes: set when it is told */
	struct rye_buf text;
	struct events_piece *next;
};

struct ending {
	struct rye_outcome outcome; /* its blobs are ours */
	char *message;
	events_end_fn tell; /* NULL: not yet */
	void *arg;
};

struct events {
	struct rye_event_listener who;
	struct tellers *tellers;
	/* The beginning of a character, by stream; only the worker touches it. */
	struct rye_buf tail[RYE_STREAM__MAX];
	bool teller; /* only the worker touches it */
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t more;
	struct events_piece *first, **last, *of[RYE_STREAM__MAX]; /* of: the stream's last piece */
	size_t waiting;
	struct ending ending;
};

/* ---- counting tellers ---- */

void tellers_init(struct tellers *tellers)
{
	*tellers = (struct tellers){ .n = 0 };
	pthread_mutex_init(&tellers->lock, NULL);
	pthread_cond_init(&tellers->none, NULL);
}

void tellers_done(struct tellers *tellers)
{
	{
		GUARD(&tellers->lock);
		while (tellers->n)
			pthread_cond_wait(&tellers->none, &tellers->lock);
	}
	pthread_cond_destroy(&tellers->none);
	pthread_mutex_destroy(&tellers->lock);
}

static void count_teller(struct tellers *tellers, bool begins)
{
	GUARD(&tellers->lock);
	tellers->n += begins ? 1 : (size_t)-1;
	if (!tellers->n)
		pthread_cond_broadcast(&tellers->none);
}

/* ---- the teller ---- */

static void piece_free(struct events_piece *piece)
{
	buf_done(&piece->text);
	free(piece);
}

/* Lock held. */
static struct events_piece *unlink_first(struct events *events)
{
	struct events_piece *piece = events->first;

	events->first = piece->next;
	if (!events->first)
		events->last = &events->first;
	for (size_t i = 0; i < RYE_STREAM__MAX; i++)
		if (events->of[i] == piece)
			events->of[i] = NULL;
	events->waiting--;
	return piece;
}

/* Waits for the next piece; NULL: it was the last, *ret_end is what is left to tell. */
static struct events_piece *take_piece(struct events *events, struct ending *ret_end)
{
	struct events_piece *piece = NULL;

	GUARD(&events->lock);
	while (!events->first && !events->ending.tell)
		pthread_cond_wait(&events->more, &events->lock);
	if (events->first) {
		piece = unlink_first(events);
	} else {
		*ret_end = events->ending;
		events->ending = (struct ending){ .tell = NULL };
	}
	return piece;
}

/* A long piece is told in several; a character is never cut. */
static void tell_piece(const struct events *events, struct events_piece *piece, uint64_t *number)
{
	struct rye_span left = { piece->text.len ? piece->text.data : "", piece->text.len };

	do {
		size_t n = left.len > EVENTS_PIECE ? utf8_start(left.ptr, EVENTS_PIECE) : left.len;

		piece->event.bytes = (struct rye_span){ left.ptr, n };
		piece->event.number = ++*number;
		events->who.fn(events->who.arg, &piece->event);
		left.ptr += n;
		left.len -= n;
	} while (left.len);
}

static void *teller_main(void *arg)
{
	struct events *events = arg;
	struct tellers *tellers = events->tellers;
	struct ending end = { .tell = NULL };
	struct events_piece *piece;
	uint64_t number = 0;

	while ((piece = take_piece(events, &end))) {
		tell_piece(events, piece, &number);
		piece_free(piece);
	}
	end.outcome.message = end.message ? end.message : "";
	/* It may be the end of the call, and of `events` with it. */
	end.tell(end.arg, &end.outcome);
	rye_outcome_done(&end.outcome);
	free(end.message);
	count_teller(tellers, false);
	return NULL;
}

static bool start_teller(struct events *events)
{
	pthread_attr_t attr;
	pthread_t thread;

	if (events->teller)
		return true;
	count_teller(events->tellers, true);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	events->teller = pthread_create(&thread, &attr, teller_main, events) == 0;
	pthread_attr_destroy(&attr);
	if (!events->teller)
		count_teller(events->tellers, false);
	return events->teller;
}

/* ---- the worker's side ---- */

struct events *events_new(struct tellers *tellers, const struct rye_event_listener *who)
{
	struct events *events = who->fn ? calloc(1, sizeof(*events)) : NULL;

	if (!events)
		return NULL;
	events->who = *who;
	events->tellers = tellers;
	events->last = &events->first;
	pthread_mutex_init(&events->lock, NULL);
	pthread_cond_init(&events->more, NULL);
	return events;
}

void events_free(struct events *events)
{
	if (!events)
		return;
	while (events->first) {
		struct events_piece *next = events->first->next;

		piece_free(events->first);
		events->first = next;
	}
	for (size_t i = 0; i < RYE_STREAM__MAX; i++)
		buf_done(&events->tail[i]);
	pthread_cond_destroy(&events->more);
	pthread_mutex_destroy(&events->lock);
	free(events);
}

/* Lock held. The piece that this text may be added to; NULL: it is one of its own. */
static struct events_piece *find_piece(const struct events *events, const struct events_piece *more)
{
	struct events_piece *last = events->of[more->event.stream];

	if (!last || last->text.len + more->text.len > RYE_BUF_CAP)
		return NULL;
	if (events->waiting >= EVENTS_WAITING)
		return last;
	return !last->next && last->text.len < EVENTS_PIECE ? last : NULL;
}

/* Takes piece over. */
static void events_enqueue(struct events *events, struct events_piece *piece)
{
	enum rye_stream stream = piece->event.stream;
	struct events_piece *into = NULL;

	if (!start_teller(events)) {
		piece_free(piece);
		return;
	}
	{
		GUARD(&events->lock);
		if (piece->event.type == RYE_EVENT_OUTPUT)
			into = find_piece(events, piece);
		if (into) {
			buf_add(&into->text, piece->text.data, piece->text.len);
		} else {
			*events->last = piece;
			events->last = &piece->next;
			events->waiting++;
			if (piece->event.type == RYE_EVENT_OUTPUT)
				events->of[stream] = piece;
		}
		pthread_cond_signal(&events->more);
	}
	if (into)
		piece_free(piece);
}

static struct events_piece *piece_new(const struct rye_event *event)
{
	struct events_piece *piece = calloc(1, sizeof(*piece));

	if (piece)
		piece->event = *event;
	return piece;
}

/* What was held back of the stream and what came now, as far as it is whole characters. */
static void put_text(struct events *events, enum rye_stream stream, struct rye_span bytes, bool end)
{
	const struct rye_event event = { .type = RYE_EVENT_OUTPUT, .stream = stream };
	struct rye_buf *tail = &events->tail[stream];
	auto_buf struct rye_buf joined = RYE_BUF_INIT;
	struct events_piece *piece = piece_new(&event);
	size_t used;

	if (!piece)
		return;
	if (tail->len) {
		buf_add(&joined, tail->data, tail->len);
		buf_addspan(&joined, bytes);
		bytes = (struct rye_span){ joined.data, joined.len };
	}
	used = result_mend(bytes, end, &piece->text);
	buf_clear(tail);
	buf_add(tail, bytes.ptr + used, bytes.len - used);
	if (piece->text.len)
		events_enqueue(events, piece);
	else
		piece_free(piece);
}

void events_output(struct events *events, enum rye_stream stream, struct rye_span bytes)
{
	if (events && bytes.len)
		put_text(events, stream, bytes, false);
}

static void put_event(struct events *events, const struct rye_event *event)
{
	struct events_piece *piece = events ? piece_new(event) : NULL;

	if (piece)
		events_enqueue(events, piece);
}

void events_progress(struct events *events, uint64_t bytes)
{
	put_event(events, &(const struct rye_event){ .type = RYE_EVENT_PROGRESS, .done = bytes });
}

void events_state(struct events *events, enum rye_event_state state)
{
	put_event(events, &(const struct rye_event){ .type = RYE_EVENT_STATE, .state = state });
}

void events_thread(struct events *events, const char *id)
{
	const struct rye_event event = { .type = RYE_EVENT_STATE, .state = RYE_STATE_STARTED };
	struct events_piece *piece = events ? piece_new(&event) : NULL;

	if (!piece)
		return;
	buf_adds(&piece->text, id);
	events_enqueue(events, piece);
}

bool events_end(struct events *events, const struct rye_outcome *outcome, events_end_fn tell,
		void *arg)
{
	if (!events || !events->teller)
		return false;
	for (size_t i = 0; i < RYE_STREAM__MAX; i++)
		if (events->tail[i].len)
			put_text(events, (enum rye_stream)i, (struct rye_span){ "", 0 }, true);
	GUARD(&events->lock);
	events->ending = (struct ending){ *outcome, strdup(outcome->message), tell, arg };
	rye_blob_ref(outcome->reply);
	rye_blob_ref(outcome->output);
	rye_blob_ref(outcome->trace);
	rye_blob_ref(outcome->instead);
	pthread_cond_signal(&events->more);
	return true;
}
