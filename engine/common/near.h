/* SPDX-License-Identifier: MIT */
/* near.h: "did you mean …?": the known word that is most like one that was typed. Pure. */
#ifndef RYE_COMMON_NEAR_H
#define RYE_COMMON_NEAR_H

#include <stddef.h>

#define NEAR_MAX 120 /* longer words are like none */

/* How many letters must be put in, taken out, replaced or swapped with their neighbour. */
int near_distance(const char *a, const char *b);

/* From how many such changes on a word is another word, not a misspelt one. */
int near_limit(const char *word);

#endif
