/* SPDX-License-Identifier: MIT */
/* asker.h: what children of runs may do, by the runs above them; no lock of its own. */
#ifndef RYE_RUN_ASKER_H
#define RYE_RUN_ASKER_H

#include "run/run_inner.h"

/* May a child of that run use the verb on the item? ref NULL: not known yet. */
bool asker_may(const struct exec *exec, uint64_t number, enum rye_verb verb, const char *ref);
/* What it is confined to itself; false: nobody knows that run. */
bool asker_confine(const struct exec *exec, uint64_t number, struct confine *ret);
/* Its lists and those of all above it, for a thread that one of its children starts: what that
 * one's children may call each of them has to allow as well. A new array. */
json_t *asker_within(const struct exec *exec, uint64_t number);

#endif
