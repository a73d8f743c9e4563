/* SPDX-License-Identifier: MIT */
/*
 * lots.h: which of the workers that wait asks for an order that all of them hear of. Each draws how long it waits before it
 * asks, and forgets the order when it hears that it was taken: so one asks, mostly, and when that one dies the next
 * does. How long is drawn from a span that grows where others were faster and shrinks where none was: a
 * worker that is alone asks at once, among a hundred each waits up to some seconds and one of them a hundredth of it.
 */
#ifndef RYE_BOARD_LOTS_H
#define RYE_BOARD_LOTS_H

#include "base/id.h"

#include <stdbool.h>
#include <stdint.h>

/* Orders that are open at once, as far as they are told apart. */
#define LOTS_MAX 32

/* Begin with zeros. One thread's, but `won`. */
struct lots {
	char open[LOTS_MAX][ID_UUID_MAX]; /* ids; "": of several */
	int n;
	int64_t at; /* clock_ms: when it asks; 0: nothing is open */
	int64_t span_ms;
	bool drew; /* it has asked since its last wait */
	_Atomic bool won; /* and got something */
};

/* A wait begins: whatever is open was asked for. */
void lots_begin(struct lots *lots);
/* A notice, "NEWS ID", NEWS 0: it was taken. Its news. */
unsigned lots_hear(struct lots *lots, const char *notice, int64_t now);
/* When to ask; INT64_MAX: there is nothing to ask for. */
int64_t lots_at(const struct lots *lots);
void lots_drawn(struct lots *lots);
void lots_won(struct lots *lots);

#endif
