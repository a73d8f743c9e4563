/* SPDX-License-Identifier: MIT */
/*
 * api.h: what a runner sees of its engine beside <rye/rye.h>, which is all that others see: the parts that
 * its records are read and its children are started with. They live as long as the engine.
 */
#ifndef RYE_API_API_H
#define RYE_API_API_H

#include "item/item.h"
#include "thread/thread.h"

/*
 * rye_open for what looks at items, keys and threads alone: a sandbox, workers and pools are not made ready, which is most
 * of what an engine costs that is opened for one thing. No call can be started by it, nor a process looked for.
 */
int engine_open_looking(const struct rye_options *opt, struct rye **ret, struct rye_err *err);

const struct item_env *engine_items(const struct rye *rye);
struct threads *engine_family(const struct rye *rye); /* for threads that this process starts */

#endif
