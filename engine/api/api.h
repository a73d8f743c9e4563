/* SPDX-License-Identifier: MIT */
/*
 * api.h: what a runner sees of its engine beside <rye/rye.h>, which is all that others see: the parts that
 * its records are read and its children are started with. They live as long as the engine.
 */
#ifndef RYE_API_API_H
#define RYE_API_API_H

#include "item/item.h"
#include "thread/thread.h"

const struct item_env *engine_items(const struct rye *rye);
struct threads *engine_family(const struct rye *rye); /* for threads that this process starts */

#endif
