/* SPDX-License-Identifier: MIT */
/* near.h: "did you mean …?": the known word that is most like one that was typed. Pure. */
#ifndef RYE_COMMON_NEAR_H
#define RYE_COMMON_NEAR_H

#include <stdbool.h>
#include <stddef.h>

#define NEAR_MAX 120 /* longer words are like none */

/* How many letters must be put in, taken out, replaced or swapped with their neighbour. */
int near_distance(const char *a, const char *b);

/* From how many such changes on a word is another word, not a misspelt one. */
int near_limit(const char *word);

/* The known word that one is most like: near_start, near_offer for each known one. */
struct near_word {
	const char *word;
	int nearest; /* only less than this is like it; near_limit at first */
	const char *best; /* what the nearest one means; NULL: none is like it */
	bool whole; /* a word that is cut short is like none: "java" is no javascript; false at first */
};
void near_start(struct near_word *near, const char *word);
/* A word that is cut short ("exec") is as near as one with a wrong letter. */
void near_offer(struct near_word *near, const char *known, const char *meant);

#endif
