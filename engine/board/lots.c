/* SPDX-License-Identifier: MIT */
/*
 * lots.c: which worker asks, see lots.h. What is drawn is random, all else follows from what was heard.
 * No lock: its caller has one.
 */
#include "board/lots.h"

#include "board/board.h"
#include "str.h"

#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A claim and the word of it take some milliseconds, and tens where much is asked: up to hundreds of workers one asks by this. */
#define SPAN_MAX_MS 4000
#define SPAN_FIRST_MS 4

void lots_begin(struct lots *lots)
{
	bool won = atomic_exchange(&lots->won, false);

	if (lots->drew && won)
		lots->span_ms /= 2;
	else if (lots->drew)
		lots->span_ms = MIN_OF(SPAN_MAX_MS, MAX_OF(SPAN_FIRST_MS, 2 * lots->span_ms));
	lots->drew = false;
	lots->n = 0;
	lots->at = 0;
}

/* Of those that are open one goes, or none; with the last one there is nothing to ask for. */
static void lots_close(struct lots *lots, const char *id)
{
	for (int i = 0; i < lots->n; i++) {
		if (strcmp(lots->open[i], id) != 0)
			continue;
		memmove(lots->open[i], lots->open[--lots->n], ID_UUID_MAX);
		break;
	}
	if (!lots->n)
		lots->at = 0;
}

static void lots_open(struct lots *lots, const char *id, int64_t now)
{
	/* with more than are told apart it asks, whatever it hears */
	if (lots->n == LOTS_MAX)
		id = "";
	else
		lots->n++;
	snprintf(lots->open[lots->n - 1], ID_UUID_MAX, "%s", id);
	if (!lots->at)
		lots->at = now +
			   (lots->span_ms ? randombytes_uniform((uint32_t)lots->span_ms + 1) : 0);
}

unsigned lots_hear(struct lots *lots, const char *notice, int64_t now)
{
	char *end;
	unsigned news = (unsigned)strtoul(notice, &end, 10);

	/* a program of another version says nothing: whatever it was */
	if (end == notice || *end != ' ')
		news = BOARD_ORDER | BOARD_WORD | BOARD_TOLD;
	else if (!news)
		lots_close(lots, end + 1);
	if (news & BOARD_ORDER)
		lots_open(lots, *end ? end + 1 : "", now);
	return news;
}

int64_t lots_at(const struct lots *lots)
{
	return lots->n ? lots->at : INT64_MAX;
}

void lots_drawn(struct lots *lots)
{
	lots->drew = true;
}

void lots_won(struct lots *lots)
{
	lots->won = true;
}
