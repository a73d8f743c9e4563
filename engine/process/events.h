/* SPDX-License-Identifier: MIT */
/*
 * events.h: what a call tells while it runs. The worker that runs the call puts events into a
 * queue; a thread of this call alone, the teller, hands them to the listener and tells the end
 * last. So the worker never waits for a listener, however slow that is.
 *
 * Lock: `lock` of struct events guards the queue; it is not held while the listener is called.
 */
#ifndef RYE_PROCESS_EVENTS_H
#define RYE_PROCESS_EVENTS_H

#include <rye/rye.h>

#include <pthread.h>

/* Texts of one piece, at most: what a listener gets at once. */
#define EVENTS_PIECE (64u << 10)
/*
 * Pieces that wait at most. Behind that a stream's text is added to the stream's last piece:
 * no text is lost, but the order between the two streams is no longer told.
 */
#define EVENTS_WAITING 1024

/* The tellers that live: the engine is not closed under one. */
struct tellers {
	pthread_mutex_t lock; /* of n */
	pthread_cond_t none;
	size_t n;
};
void tellers_init(struct tellers *tellers);
void tellers_done(struct tellers *tellers); /* waits until there are none */

struct events;

/* NULL: no listener, or no memory; every function takes that. */
struct events *events_new(struct tellers *tellers, const struct rye_event_listener *who);
void events_free(struct events *events); /* after its teller, or without one */

/* On the worker of the call. Bytes become text: broken characters U+FFFD, none cut in two. */
void events_output(struct events *events, enum rye_stream stream, struct rye_span bytes);
void events_progress(struct events *events, uint64_t bytes);
void events_state(struct events *events, enum rye_event_state state);

/*
 * The last event: calls tell(arg, outcome) on the teller, behind all others. False: there is no
 * teller, since nothing was ever told; then nothing is called.
 */
typedef void (*events_end_fn)(void *arg, const struct rye_outcome *outcome);
bool events_end(struct events *events, const struct rye_outcome *outcome, events_end_fn tell,
		void *arg);

#endif
